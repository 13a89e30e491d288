// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The versions that `ModelVersions` hands out, each made when it is first asked for.
package final class VersionShelf {
  /// The names of all versions in their order, of those too that cannot be read.
  package let names: [String]
  /// The hashes that a compiled bundle notes for its versions; nil for a version of which it notes none.
  package let recordedHashes: [[String: Data]?]
  private let bundle: ModelBundle?
  private var made: [Int: ModelVersion?]

  package init(_ bundle: ModelBundle) {
    self.bundle = bundle
    names = bundle.names
    recordedHashes = names.map { bundle.recordedHashes[$0] }
    made = [:]
  }

  package init(_ versions: [ModelVersion]) {
    bundle = nil
    names = versions.map(\.name)
    recordedHashes = versions.map { _ in nil }
    made = Dictionary(uniqueKeysWithValues: versions.enumerated().map { ($0.offset, $0.element) })
  }

  /// The versions at some positions that can be read.
  package func versions(at positions: [Int]) -> [ModelVersion] {
    let missing = positions.filter { made[$0] == nil }
    if let bundle, !missing.isEmpty {
      for (position, content) in zip(missing, bundle.versions(at: missing)) {
        made[position] = .some(
          content.map {
            ModelVersion(name: names[position], document: $0.document, versionHashes: $0.hashes, url: bundle.url)
          })
      }
    }
    return positions.compactMap { made[$0] ?? nil }
  }

  /// The version at a position; nil where it cannot be read.
  package func version(at position: Int) -> ModelVersion? { versions(at: [position]).first }
}
