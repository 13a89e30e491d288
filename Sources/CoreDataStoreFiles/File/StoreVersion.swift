// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The model version of a store, as described by its metadata.
package struct StoreVersion: Hashable, Sendable {
  /// The version hashes of the store's entities.
  package let hashes: [String: Data]
  /// The identifiers of the version, without empty ones.
  package let identifiers: [String]

  package init(metadata: [String: Any]) {
    hashes = metadata[StoreMetadata.Key.hashes] as? [String: Data] ?? [:]
    identifiers = (metadata[StoreMetadata.Key.identifiers] as? [Any] ?? []).compactMap { $0 as? String }
      .filter { !$0.isEmpty }
  }

  /// The checksum of the version, like `NSManagedObjectModel.versionChecksum`.
  package var checksum: String { VersionHashes.checksum(of: hashes) }

  /// The version as text for a sentence: its identifiers, or else its checksum.
  package var text: String { text(nil, addingChecksum: false) }

  /// Names the version for a sentence.
  ///
  /// - Parameters:
  ///   - name: the program's name for the version; nil if the program does not have this version.
  ///   - adds: whether to add the checksum to a name.
  private func text(_ name: String?, addingChecksum adds: Bool) -> String {
    if let name = name ?? (identifiers.isEmpty ? nil : identifiers.joined(separator: ", ")) {
      return "the version '\(name)'" + (adds ? " (checksum \(checksum))" : "")
    }
    return "a version without a name (checksum \(checksum))"
  }

  /// Names two versions for a sentence, with their checksums if their names are equal.
  package static func text(
    _ first: StoreVersion, _ second: StoreVersion, name: (StoreVersion) -> String?
  ) -> (first: String, second: String) {
    let names = [first, second].map { (version: $0, name: name($0)) }
    let text = names.map { $0.version.text($0.name, addingChecksum: false) }
    if text[0] != text[1] { return (text[0], text[1]) }
    return (
      names[0].version.text(names[0].name, addingChecksum: true),
      names[1].version.text(names[1].name, addingChecksum: true)
    )
  }
}

/// A change to an open store by another connection.
package enum StoreVersionProblem: Error, Hashable, Sendable {
  /// The store has been migrated to another model version since it was opened.
  case migrated(from: StoreVersion, to: StoreVersion)
  /// The store has the same version, but its entity numbers, tables or column names have changed.
  case rearranged
}

/// Another process has begun a migration stage, whose code changes rows before the store gets its new version, since the
/// store was opened.
package struct UnfinishedStage: Error, Hashable, Sendable {
  /// The name of the stage.
  package let name: String
}
