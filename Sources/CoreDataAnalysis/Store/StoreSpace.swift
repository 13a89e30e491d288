// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The disk space that a backup and a migration of a store need beside it, and the free space there.
package struct StoreSpace: Hashable, Sendable {
  /// The size of the store's file with its log, in bytes.
  package let database: Int
  /// The size of its external data files, in bytes. A backup copies them; a migration uses the files themselves, or
  /// links to them, unless it rewrites values.
  package let values: Int
  /// Whether a step of the migration may rewrite values: one with a mapping model, or one that moves an attribute's
  /// values from files into the database.
  package var writesValues = false
  /// The free space on the store's disk, in bytes; nil if it is unknown.
  package let free: Int?

  init(database: Int, values: Int = 0, writesValues: Bool = false, free: Int?) {
    (self.database, self.values, self.writesValues, self.free) = (database, values, writesValues, free)
  }

  /// The size of a backup, in bytes.
  package var copy: Int { database + values }

  /// The size of a backup and of the most that a migration writes, in bytes: a new store, or the journal of its
  /// transaction.
  package var needed: Int { copy + database + (writesValues ? values : 0) }

  /// ST602 if the free space is less than needed; nil otherwise, and if the free space is unknown.
  package var finding: Finding? {
    guard let free, free < needed else { return nil }
    let external = values > 0 ? " with \(CountText.counted(values, "byte")) of external data" : ""
    let words =
      free < copy
      ? "not even a backup fits beside the store: it takes \(CountText.counted(copy, "byte"))\(external)"
      : "up to \(CountText.counted(needed, "byte")) are needed beside the store, for a backup and the "
        + "migration\(external)"
    return Finding(
      .littleDiskSpace, free < copy ? .error : .warning, entity: nil, property: nil, sourceEntity: nil,
      sourceProperty: nil, "\(words), and \(CountText.grouped(free)) are free")
  }
}

extension StoreReader {
  /// The disk space that a backup and a migration of this store need.
  package var space: StoreSpace {
    let directory = URL(fileURLWithPath: DatabaseFile.target(of: url.path)).deletingLastPathComponent()
    // If the file system does not report its free space, there is no finding.
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: directory.path)
    let sizes = file.sizes
    return StoreSpace(
      database: sizes.store + sizes.log, values: StoreFiles.valuesSize(of: url),
      free: attributes?[.systemFreeSize] as? Int)
  }
}
