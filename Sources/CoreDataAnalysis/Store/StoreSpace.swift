// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The disk space that a backup and a migration of a store need beside it, and what is free there.
package struct StoreSpace: Hashable, Sendable {
  /// The bytes of the store with its log, which a backup takes.
  package let copy: Int
  /// The free bytes on the disk of the store; nil where the file system does not tell.
  package let free: Int?

  /// The bytes of a backup, and of what a migration writes at most: a new store, or the journal of its transaction.
  package var needed: Int { 2 * copy }

  /// ST602, where less is free than is needed; nil otherwise, and where that is unknown.
  package var finding: Finding? {
    guard let free, free < needed else { return nil }
    let words =
      free < copy
      ? "not even a backup fits beside the store: it takes \(CountText.counted(copy, "byte"))"
      : "up to \(CountText.counted(needed, "byte")) are needed beside the store, for a backup and the migration"
    return Finding(
      .littleDiskSpace, free < copy ? .error : .warning, entity: nil, property: nil, sourceEntity: nil,
      sourceProperty: nil, "\(words), and \(CountText.grouped(free)) are free")
  }
}

extension StoreReader {
  /// The disk space that a backup and a migration of this store need.
  package var space: StoreSpace {
    let directory = URL(fileURLWithPath: DatabaseFile.target(of: url.path)).deletingLastPathComponent()
    // What the file system does not tell is not judged.
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: directory.path)
    let sizes = file.sizes
    return StoreSpace(copy: sizes.store + sizes.log, free: attributes?[.systemFreeSize] as? Int)
  }
}
