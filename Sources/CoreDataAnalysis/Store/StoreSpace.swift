// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The disk space that a backup and a migration of a store need beside it, and what is free there.
package struct StoreSpace: Hashable, Sendable {
  /// The bytes of the store's file with its log.
  package let database: Int
  /// The bytes of its files of external data. A backup has copies of them; a migration uses the files themselves, or
  /// links to
  /// them, unless it writes values anew.
  package let values: Int
  /// Whether a step of the migration may write values anew: one with a mapping model, or one that moves values of an
  /// attribute
  /// from files into the database.
  package var writesValues = false
  /// The free bytes on the disk of the store; nil where the file system does not tell.
  package let free: Int?

  init(database: Int, values: Int = 0, writesValues: Bool = false, free: Int?) {
    (self.database, self.values, self.writesValues, self.free) = (database, values, writesValues, free)
  }

  /// The bytes of a backup.
  package var copy: Int { database + values }

  /// The bytes of a backup, and of what a migration writes at most: a new store, or the journal of its transaction.
  package var needed: Int { copy + database + (writesValues ? values : 0) }

  /// ST602, where less is free than is needed; nil otherwise, and where that is unknown.
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
    // What the file system does not tell is not judged.
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: directory.path)
    let sizes = file.sizes
    return StoreSpace(
      database: sizes.store + sizes.log, values: StoreFiles.valuesSize(of: url),
      free: attributes?[.systemFreeSize] as? Int)
  }
}
