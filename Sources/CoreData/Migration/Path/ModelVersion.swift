// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A version of a model by its name.
///
/// Most versions of a model are only compared. So a version is what its file says and its hashes, and `NSManagedObjectModel`
/// is made when a migration goes through it.
package struct ModelVersion {
  package let name: String
  private let content: Content

  /// What copies of a version share.
  private final class Content {
    let url: URL?
    var made: NSManagedObjectModel?
    lazy var document: ModelDocument = made?.document ?? ModelDocument(entities: [])
    lazy var versionHashes: VersionHashes = made?.versionHashes ?? VersionHashes(document)

    init(url: URL?) { self.url = url }
  }

  /// Names a model that is at hand.
  package init(name: String, model: NSManagedObjectModel) {
    self.name = name
    content = Content(url: nil)
    content.made = model
  }

  /// Names what a file says, which has been validated.
  package init(name: String, document: ModelDocument, versionHashes: VersionHashes, url: URL? = nil) {
    self.name = name
    content = Content(url: url)
    content.document = document
    content.versionHashes = versionHashes
  }

  /// What the version says.
  package var document: ModelDocument { content.document }

  /// The hashes of its entities and properties.
  var versionHashes: VersionHashes { content.versionHashes }

  /// The hash of each entity.
  package var hashes: [String: Data] { versionHashes.entities }

  /// What it has in common with others.
  var likeness: ModelLikeness { ModelLikeness(document, versionHashes) }

  /// The version as a model.
  ///
  /// - Throws: as `NSManagedObjectModel.load(contentsOf:version:)`, for indexes that contradict the entity.
  package func model() throws -> NSManagedObjectModel {
    if let made = content.made { return made }
    let model = try NSManagedObjectModel(document: document)
    model.takeVersionHashes(versionHashes)
    if let url = content.url { model.wasRead(from: url) }
    content.made = model
    return model
  }

  /// Whether one of a store's identifiers, of which empty ones count for nothing, is the version's.
  package func isNamed(by identifiers: [String]) -> Bool {
    identifiers.contains { !$0.isEmpty && ($0 == name || document.versionIdentifiers.contains($0)) }
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
