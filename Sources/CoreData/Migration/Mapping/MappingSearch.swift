// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Finds the mapping model between two versions among the files of folders.
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

  /// The mapping model that fits and maps the most entities; of equals the first by folder and name.
  internal func mapping(in folders: [URL]) -> MappingDocument? {
    var best: MappingDocument?
    for folder in folders {
      for file in Self.files(in: folder, kinds: ["cdm", "xcmappingmodel"]) {
        guard let found = mapping(at: file, in: folder),
          found.entityMappings.count > best?.entityMappings.count ?? 0
        else { continue }
        best = found
      }
    }
    return best
  }

  private func mapping(at file: URL, in folder: URL) -> MappingDocument? {
    // A mapping that cannot be read is not the one that is asked for.
    guard let document = try? MappingDocument(contentsOf: file) else { return nil }
    if fits(document) { return document }
    guard let sourceName = document.sourceVersionName, let destinationName = document.destinationVersionName,
      hasVersion(sourceName, sourceHashes, in: folder), hasVersion(destinationName, destinationHashes, in: folder),
      let fresh = try? MappingDocument(
        contentsOf: file, source: source.document, destination: destination.document),
      fits(fresh)
    else { return nil }
    return fresh
  }

  private func fits(_ document: MappingDocument) -> Bool {
    document.entityMappings.allSatisfy { mapping in
      mapping.sourceEntityName.map { sourceHashes[$0] == mapping.sourceEntityVersionHash } ?? true
        && mapping.destinationEntityName.map { destinationHashes[$0] == mapping.destinationEntityVersionHash } ?? true
    }
  }

  private func hasVersion(_ name: String, _ hashes: [String: Data], in folder: URL) -> Bool {
    Self.files(in: folder, kinds: ["momd", "mom", "xcdatamodeld", "xcdatamodel"]).contains { url in
      // Models that cannot be read have no version of that name to offer.
      let versions = (try? ModelBundle(contentsOf: url))?.versions ?? []
      return versions.contains { $0.name == name && VersionHashes($0.document).entities == hashes }
    }
  }

  private static func files(in folder: URL, kinds: Set<String>) -> [URL] {
    // A folder that cannot be listed has nothing to offer.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().map(folder.appendingPathComponent).filter { kinds.contains($0.pathExtension) }
  }
}
