// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

extension ModelVersion {
  /// Names a model that is at hand.
  package init(name: String, model: NSManagedObjectModel) {
    self.init(name: name, object: model) { (model.document, model.versionHashes) }
  }

  /// The version as a model.
  ///
  /// - Throws: as `NSManagedObjectModel.load(contentsOf:version:)`, for indexes that contradict the entity.
  package func model() throws -> NSManagedObjectModel {
    if let made = object as? NSManagedObjectModel { return made }
    let model = try NSManagedObjectModel(document: document)
    model.takeVersionHashes(versionHashes)
    if let url { model.wasRead(from: url) }
    object = model
    return model
  }

  /// Whether a store was written with the version's entities of a configuration.
  func wrote(_ metadata: [String: Any], configuration: String?) -> Bool {
    guard let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data] else { return false }
    guard let configuration else { return hashes == stored }
    // A store has no entities that the version does not have; most versions are told apart by that alone. A version that
    // cannot be made a model of has written no store.
    guard stored.allSatisfy({ hashes[$0.key] == $0.value }), let model = try? model() else { return false }
    return model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
  }
}
