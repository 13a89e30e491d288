// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import Foundation

/// The files that SQLite keeps beside a database: the write-ahead log, its index (`-shm`) and the rollback journal.
package enum DatabaseCompanions {
  package static let suffixes = ["-wal", "-shm", "-journal"]

  /// Throws an error if the database, or a file beside it, is unsafe to give to SQLite.
  ///
  /// SQLite writes, truncates and removes its companion files without checking what they are. Through a symbolic link,
  /// which an archive can contain, it would overwrite any file of the user. A rollback journal can name a
  /// super-journal, and SQLite removes the named file, whatever its contents, once it has rolled the journal back.
  ///
  /// - Throws: `SQLiteError` (`isCannotOpen`).
  static func check(_ path: String) throws {
    guard path != ":memory:", !path.isEmpty else { return }
    do {
      try RegularFile.check(URL(fileURLWithPath: path))
      let target = DatabaseFile.target(of: path)
      for suffix in suffixes {
        try RegularFile.check(URL(fileURLWithPath: target + suffix), followsLinks: false)
      }
      try checkSuperJournal(URL(fileURLWithPath: target + "-journal"))
    } catch let problem as RegularFile.Problem {
      throw SQLiteError(
        extendedCode: SQLITE_CANTOPEN, message: "\(problem) SQLite was not given the file", sql: nil, path: path)
    }
  }

  private static func checkSuperJournal(_ journal: URL) throws {
    guard FileCalls.exists(journal), let name = try superJournal(namedBy: journal), !isSuperJournalName(name) else {
      return
    }
    throw SQLiteError(
      extendedCode: SQLITE_CANTOPEN,
      message:
        "'\(journal.lastPathComponent)' beside it names '\(name)' as the journal of several databases, which SQLite "
        + "would remove; no journal of SQLite has such a name. SQLite was not given the file", sql: nil,
      path: journal.path)
  }

  /// Returns the super-journal name at the end of a rollback journal, or nil if there is none or SQLite could not read
  /// it.
  ///
  /// Source: <https://www.sqlite.org/fileformat.html#the_rollback_journal>, and `readSuperJournal` in SQLite's pager.c.
  private static func superJournal(namedBy journal: URL) throws -> String? {
    let bytes: [UInt8]
    do {
      bytes = [UInt8](try RegularFile.lastBytes(4096, of: journal))
    } catch let failure as FileFailure where failure.number == ENOENT || failure.isAboutPermissions {
      return nil
    }
    let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    guard bytes.count >= 16, bytes.suffix(8) == magic[...] else { return nil }
    let tail = Array(bytes.suffix(16))
    let length = tail[0..<4].reduce(0) { $0 << 8 | Int($1) }
    guard length > 0, length <= bytes.count - 16 else { return nil }
    return String(decoding: bytes.dropLast(16).suffix(length), as: UTF8.self)
  }

  /// Returns whether SQLite creates super-journals with such a name: the name of the main database, `-mj`, six
  /// hexadecimal digits, 9, and two more hexadecimal digits.
  private static func isSuperJournalName(_ name: String) -> Bool {
    let end = Array(name.utf8.suffix(12))
    guard end.count == 12, end.starts(with: Array("-mj".utf8)), end[9] == UInt8(ascii: "9") else { return false }
    return end.dropFirst(3).allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
  }

  /// Returns the URL of a database's write-ahead log.
  package static func log(of path: String) -> URL { URL(fileURLWithPath: DatabaseFile.target(of: path) + "-wal") }

  /// Returns the size of the write-ahead log file in bytes, whatever its contents, or 0 if it does not exist.
  package static func logFileSize(_ path: String) -> Int { FileCalls.size(log(of: path)) }

  /// Returns the size in bytes of a write-ahead log that SQLite would read, or 0 if it does not exist or does not begin
  /// with the signature of a log, so that SQLite ignores it.
  ///
  /// - Throws: `FileFailure`, `RegularFile.Problem`.
  package static func logSize(_ path: String) throws -> Int {
    let log = log(of: path)
    do {
      // https://www.sqlite.org/fileformat.html#the_write_ahead_log
      let start = [UInt8](try RegularFile.firstBytes(4, of: log))
      guard start.count == 4, start[0...2] == [0x37, 0x7f, 0x06], [0x82, 0x83].contains(start[3]) else { return 0 }
      return Int(FileCalls.size(log))
    } catch let failure as FileFailure where failure.number == ENOENT || failure.number == ENOTDIR {
      return 0
    } catch let failure as FileFailure where failure.isAboutPermissions {
      return Int(FileCalls.size(log))
    }
  }

  /// Returns whether a database has a rollback journal that SQLite may have to roll back.
  ///
  /// Its writer may still be active; only SQLite can find out, from the lock that the writer holds. A journal that
  /// begins with a zero byte is finished.
  package static func hasJournal(_ path: String) -> Bool {
    let journal = URL(fileURLWithPath: DatabaseFile.target(of: path) + "-journal")
    do {
      return try RegularFile.firstBytes(1, of: journal).contains { $0 != 0 }
    } catch let failure as FileFailure where failure.number == ENOENT || failure.number == ENOTDIR {
      return false
    } catch {
      // Opening the database opens the journal too and reports the error.
      return true
    }
  }

  /// Returns whether the companion files contain nothing that SQLite could apply to a database of that name.
  ///
  /// The log must be empty or missing, and the journal empty, missing or finished. The log's index does not matter,
  /// because the first connection rebuilds it.
  package static func areIdle(_ path: String) -> Bool { logFileSize(path) == 0 && !hasJournal(path) }
}
