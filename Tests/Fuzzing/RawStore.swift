// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// Accesses a database through SQLite alone, to damage it and to count its rows independently of the project.
final class RawStore {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private var handle: OpaquePointer?

  /// Opens a file read-only, or without syncing and without a journal.
  init(_ url: URL, isReadOnly: Bool = false) throws {
    let flags = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    guard sqlite3_open_v2(url.path, &handle, flags | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
      sqlite3_close_v2(handle)
      throw Failure(description: "SQLite cannot open \(url.lastPathComponent).")
    }
  }

  deinit { sqlite3_close_v2(handle) }

  /// Closes the file now.
  func close() {
    sqlite3_close_v2(handle)
    handle = nil
  }

  /// Runs statements without values.
  func run(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw Failure(description: String(cString: sqlite3_errmsg(handle)))
    }
  }

  /// Runs a statement with a BLOB as its first parameter.
  func run(_ sql: String, blob: Data) throws {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      throw Failure(description: String(cString: sqlite3_errmsg(handle)))
    }
    defer { sqlite3_finalize(statement) }
    // Makes SQLite copy the bytes (SQLITE_TRANSIENT).
    let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    _ = blob.withUnsafeBytes { sqlite3_bind_blob(statement, 1, $0.baseAddress, Int32(blob.count), copies) }
    guard sqlite3_step(statement) == SQLITE_DONE else {
      throw Failure(description: String(cString: sqlite3_errmsg(handle)))
    }
  }

  /// Returns the first column of every row as text.
  func texts(_ sql: String) throws -> [String] {
    try rows(sql).map { $0.first.flatMap { $0 } ?? "" }
  }

  /// Returns all rows as text.
  func rows(_ sql: String) throws -> [[String?]] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      throw Failure(description: String(cString: sqlite3_errmsg(handle)))
    }
    defer { sqlite3_finalize(statement) }
    var found: [[String?]] = []
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return found }
      guard code == SQLITE_ROW else { throw Failure(description: String(cString: sqlite3_errmsg(handle))) }
      found.append(
        (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) }
        })
      // Do not count a store with endless rows.
      guard found.count < 1 << 17 else { throw Failure(description: "Too many rows.") }
    }
  }

  /// Returns the BLOB in the first column of the first row.
  func blob(_ sql: String) throws -> Data? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      throw Failure(description: String(cString: sqlite3_errmsg(handle)))
    }
    defer { sqlite3_finalize(statement) }
    guard sqlite3_step(statement) == SQLITE_ROW, let bytes = sqlite3_column_blob(statement, 0) else { return nil }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, 0)))
  }

  /// Whether SQLite's integrity check finds no error.
  func isWhole() throws -> Bool { try texts("PRAGMA integrity_check(1)") == ["ok"] }

  /// Returns the tables of objects: those with a column `Z_PK`, except Core Data's own.
  func objectTables() throws -> [String] {
    try texts(
      """
      SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND m.name GLOB 'Z*' AND m.name NOT GLOB 'Z_*'
      AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = 'Z_PK') ORDER BY m.name
      """)
  }

  /// Returns the number of rows of all entities, counted by reading every table.
  func objectCount() throws -> Int {
    try objectTables().reduce(0) { sum, table in
      let name = table.replacingOccurrences(of: "\"", with: "\"\"")
      return sum + (Int(try texts("SELECT COUNT(*) FROM \"\(name)\" NOT INDEXED").first ?? "") ?? 0)
    }
  }
}

/// The contents of a directory, for comparison.
struct DirectoryContent: Equatable {
  private var entries: [String: Data] = [:]

  /// - Parameter isWanted: Selects the paths; nil for all.
  init(_ directory: URL, _ isWanted: ((String) -> Bool)? = nil) throws {
    for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) where isWanted?(path) ?? true {
      let url = directory.appendingPathComponent(path)
      let values = try url.resourceValues(forKeys: [.isRegularFileKey])
      entries[path] = values.isRegularFile == true ? try Data(contentsOf: url) : Data()
    }
  }

  /// Describes the paths that differ.
  func differences(from old: DirectoryContent) -> String {
    Set(entries.keys).union(old.entries.keys).sorted().compactMap { path in
      switch (old.entries[path], entries[path]) {
      case (nil, _): "\(path) is new"
      case (_, nil): "\(path) is gone"
      case (let before, let after): before == after ? nil : "\(path) is changed"
      }
    }.joined(separator: ", ")
  }
}
