// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Leaves a store as a writer does that is killed in a transaction: half of it is in the file, and the way back in a journal
/// beside it.
public enum HotJournal {
  /// - Parameter isShort: whether the file says that it has pages which have not been written yet.
  public static func leave(at url: URL, table: String, isShort: Bool = false) throws {
    let copy = url.deletingLastPathComponent().appendingPathComponent("killed-\(UUID().uuidString)")
    let target = DatabaseFile.target(of: url.path)
    let writer = try SQLiteConnection(url: url, mode: .readWrite)
    let mode = try writer.journalMode()
    if mode == .wal { try writer.setJournalMode(.delete) }
    // So few pages in memory that changed ones are written before the transaction ends.
    try writer.setPragma("cache_size", to: 1)
    try writer.begin(.immediate)
    try writer.run("UPDATE Z_METADATA SET Z_UUID = 'of a transaction that never ended'")
    try writer.run("UPDATE \(table) SET Z_OPT = Z_OPT + 1000")
    try writer.run(
      "CREATE TABLE Z_NEVER AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100) "
        + "SELECT zeroblob(900) FROM c")
    try DatabaseFile(path: target).copy(to: copy.path)
    try FileManager.default.copyItem(atPath: target + "-journal", toPath: copy.path + "-journal")
    try writer.rollback()
    try writer.close()
    var bytes = try Data(contentsOf: copy)
    if isShort { bytes.replaceSubrange(28..<32, with: Data([0, 1, 0, 0])) }
    // As where the mode was left in the same transaction.
    if mode == .wal { bytes.replaceSubrange(18..<20, with: Data([2, 2])) }
    try bytes.write(to: copy)
    for suffix in ["", "-wal", "-shm", "-journal"] {
      let file = target + suffix
      if FileManager.default.fileExists(atPath: file) { try FileManager.default.removeItem(atPath: file) }
      let made = copy.path + suffix
      if FileManager.default.fileExists(atPath: made) { try FileManager.default.moveItem(atPath: made, toPath: file) }
    }
  }
}
