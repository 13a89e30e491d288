// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The version of the model that a store is of, as its metadata describe it.
package struct StoreVersion: Hashable, Sendable {
  /// The version hashes of the store's entities.
  package let hashes: [String: Data]
  /// The identifiers of the version that are not empty.
  package let identifiers: [String]

  package init(metadata: [String: Any]) {
    hashes = metadata[StoreMetadata.Key.hashes] as? [String: Data] ?? [:]
    identifiers = (metadata[StoreMetadata.Key.identifiers] as? [Any] ?? []).compactMap { $0 as? String }
      .filter { !$0.isEmpty }
  }

  /// The checksum of the version, as `NSManagedObjectModel.versionChecksum`.
  package var checksum: String { VersionHashes.checksum(of: hashes) }

  /// The version in a sentence: by its identifiers, or else by its checksum.
  package var words: String { words(nil, addingChecksum: false) }

  /// Names the version in a sentence.
  ///
  /// - Parameters:
  ///   - name: the name of the version among those of the program; nil for one that it does not have.
  ///   - adds: whether to add the checksum to a name.
  private func words(_ name: String?, addingChecksum adds: Bool) -> String {
    if let name = name ?? (identifiers.isEmpty ? nil : identifiers.joined(separator: ", ")) {
      return "the version '\(name)'" + (adds ? " (checksum \(checksum))" : "")
    }
    return "a version without a name (checksum \(checksum))"
  }

  /// Names two versions in a sentence, with their checksums where their names do not tell them apart.
  package static func words(
    _ first: StoreVersion, _ second: StoreVersion, name: (StoreVersion) -> String?
  ) -> (first: String, second: String) {
    let names = [first, second].map { (version: $0, name: name($0)) }
    let words = names.map { $0.version.words($0.name, addingChecksum: false) }
    if words[0] != words[1] { return (words[0], words[1]) }
    return (
      names[0].version.words(names[0].name, addingChecksum: true),
      names[1].version.words(names[1].name, addingChecksum: true)
    )
  }
}

/// What another connection has made of an open store.
package enum StoreVersionProblem: Error, Hashable, Sendable {
  /// The store is of another version of its model than when it was opened.
  case migrated(from: StoreVersion, to: StoreVersion)
  /// The store is of the same version, but its entities have other numbers, or its tables or columns other names.
  case rearranged
}
