// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Finds the mapping model between two versions among the resources of a program.
internal struct MappingSearch {
  private let source: NSManagedObjectModel
  private let destination: NSManagedObjectModel
  private let sourceHashes: [String: Data]
  private let destinationHashes: [String: Data]

  internal init(source: NSManagedObjectModel, destination: NSManagedObjectModel) {
    self.source = source
    self.destination = destination
    sourceHashes = source.entityVersionHashesByName
    destinationHashes = destination.entityVersionHashesByName
  }

  /// The mapping model that fits and maps the most entities; of equals the first that the search comes upon.
  internal func mapping(in search: ModelSearch) -> MappingDocument? {
    // Folders that cannot be listed have nothing to offer.
    let files = (try? search.mappingModels()) ?? []
    var best: MappingDocument?
    for file in files {
      guard let found = mapping(at: file, in: search),
        found.entityMappings.count > best?.entityMappings.count ?? 0
      else { continue }
      best = found
    }
    return best
  }

  private func mapping(at file: URL, in search: ModelSearch) -> MappingDocument? {
    // A mapping that cannot be read is not the one that is asked for.
    guard let document = try? MappingDocument(contentsOf: file) else { return nil }
    if fits(document) { return document }
    guard let sourceName = document.sourceVersionName, let destinationName = document.destinationVersionName,
      hasVersion(sourceName, sourceHashes, in: search), hasVersion(destinationName, destinationHashes, in: search),
      // As above.
      let fresh = try? MappingDocument(
        contentsOf: file, source: source.document, destination: destination.document),
      fits(fresh)
    else { return nil }
    return fresh
  }

  private func fits(_ document: MappingDocument) -> Bool {
    MappingFile.mismatches(of: document, source: sourceHashes, destination: destinationHashes).isEmpty
  }

  private func hasVersion(_ name: String, _ hashes: [String: Data], in search: ModelSearch) -> Bool {
    // As above; and models that cannot be read have no version of that name.
    ((try? search.models()) ?? []).contains { url in
      ((try? ModelBundle(contentsOf: url))?.versions ?? []).contains {
        $0.name == name && VersionHashes($0.document).entities == hashes
      }
    }
  }
}
