// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// What the first hundred bytes of a database file tell, read without opening the database.
///
/// Source: <https://www.sqlite.org/fileformat.html#the_database_header>. A write-ahead log beside the file may know better.
package struct SQLiteFileHeader: Hashable, Sendable {
  /// The bytes that every database begins with.
  package static let signature = Data("SQLite format 3\0".utf8)

  /// Bytes a page: a power of two from 512 to 65536.
  package let pageSize: Int
  /// Whether the file was last used with a write-ahead log.
  package let usesWriteAheadLog: Bool
  /// How often the file was changed, except in WAL mode.
  package let changeCounter: UInt32
  /// Pages of the file, as the header says.
  package let pageCount: Int
  /// Pages without content.
  package let freePageCount: Int
  /// Changes with the tables and indexes.
  package let schemaCookie: UInt32
  /// Whether free pages are given back: `PRAGMA auto_vacuum`, 0 for none, 1 for full, 2 for incremental.
  package let autoVacuum: Int
  /// 1 for UTF-8, 2 and 3 for UTF-16; 0 while the database has no content.
  package let textEncoding: Int
  /// `PRAGMA user_version`.
  package let userVersion: Int32
  /// `PRAGMA application_id`.
  package let applicationID: Int32
  /// The version of the SQLite library that wrote last, as 3040001.
  package let libraryVersion: Int

  /// Reads a header.
  ///
  /// - Parameters:
  ///   - bytes: the start of a file, at least 100 bytes.
  ///   - path: the file that an error names.
  /// - Throws: `SQLiteError` (`isNotADatabase`).
  package init(bytes: Data, path: String) throws {
    let bytes = [UInt8](bytes.prefix(100))
    guard bytes.count == 100, bytes.starts(with: Self.signature) else {
      throw SQLiteError(
        extendedCode: SQLITE_NOTADB, message: "the file does not begin with the header of a database", sql: nil,
        path: path)
    }
    func number(_ offset: Int) -> UInt32 {
      bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
    let rawSize = Int(bytes[16]) << 8 | Int(bytes[17])
    let size = rawSize == 1 ? 65536 : rawSize
    guard (512...65536).contains(size), size & (size - 1) == 0 else {
      throw SQLiteError(
        extendedCode: SQLITE_NOTADB, message: "the header gives an impossible page size of \(size)", sql: nil,
        path: path)
    }
    pageSize = size
    usesWriteAheadLog = bytes[19] == 2
    changeCounter = number(24)
    pageCount = Int(number(28))
    freePageCount = Int(number(36))
    schemaCookie = number(40)
    autoVacuum = number(52) == 0 ? 0 : number(64) == 0 ? 1 : 2
    textEncoding = Int(number(56))
    userVersion = Int32(bitPattern: number(60))
    applicationID = Int32(bitPattern: number(68))
    libraryVersion = Int(number(96))
  }

  /// Reads the header of a file.
  ///
  /// The file is opened by SQLite: to close a file opened in another way would take away the locks that other connections
  /// of this process have on it, and with them the certainty that nobody removes their write-ahead log.
  ///
  /// - Parameter path: the database file.
  /// - Returns: nil for an empty file, which SQLite takes for a new database.
  /// - Throws: `SQLiteError` (`isNotADatabase`), or another where the file cannot be read.
  package static func read(path: String) throws -> SQLiteFileHeader? {
    let bytes = try DatabaseFile(path: path).firstBytes(100)
    return bytes.isEmpty ? nil : try SQLiteFileHeader(bytes: bytes, path: path)
  }
}
