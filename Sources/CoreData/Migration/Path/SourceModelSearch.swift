// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// Looks for the model of a store where no version beside the destination model fits.
///
/// Looks at single versions first, then at versions of several models merged: a program that merges its models when it runs
/// has stores that no single file fits.
struct SourceModelSearch {
  /// The files of models, in the order in which they are looked at.
  let files: [URL]

  /// Makes a search of files.
  init(files: [URL]) {
    self.files = files
  }

  /// Makes a search of the files that a model was made of, then of those in other places.
  init(for destination: NSManagedObjectModel, in places: ModelSearch) {
    var files = destination.origins
    // Where a folder cannot be listed, there is still the model that the store carries.
    for url in (try? places.models()) ?? []
    where !files.contains(where: { $0.standardizedFileURL == url.standardizedFileURL }) {
      files.append(url)
    }
    self.files = files
  }

  /// A version that a store was written with, and the versions in the same file, in their order.
  typealias Found = (version: ModelVersion, siblings: [ModelVersion])

  /// Looks for a version that a store was written with.
  func version(fitting metadata: [String: Any], configuration: String?) -> Found? {
    let list = ModelVersionList(files)
    func fits(_ model: NSManagedObjectModel) -> Bool {
      model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
        || model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
    }
    if let version = list.versions.first(where: { fits($0.model) }) {
      let siblings = list.versions.filter { $0.fileName == version.fileName }
      return (
        ModelVersion(name: version.place, model: version.model),
        siblings.map { ModelVersion(name: $0.place, model: $0.model) }
      )
    }
    let choice = ModelMerge.choice(
      among: list.models, for: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:])
    guard choice.missing.isEmpty,
      let merged = NSManagedObjectModel(byMerging: choice.models, forStoreMetadata: metadata), fits(merged)
    else { return nil }
    let names = choice.models.compactMap { model in list.versions.first { $0.model === model }?.place }
    return (ModelVersion(name: names.joined(separator: " + "), model: merged), [])
  }
}
