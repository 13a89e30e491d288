// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataMistakes
import Foundation

/// The `sqlite3 *` of a connection, with everything that must live as long as it.
///
/// Statements hold the handle rather than the connection, so that a connection can cache statements without a retain
/// cycle.
final class DatabaseHandle {
  private(set) var pointer: OpaquePointer?
  let path: String
  var progressHandler: ProgressHandler?
  var traceHandler: TraceHandler?
  var logHandler: LogHandler?
  /// The statements that this module prepared. `sqlite3_next_stmt` would also list the internal ones of virtual tables.
  private var statements: Set<OpaquePointer> = []
  /// The open BLOB handles.
  private var blobs: Set<OpaquePointer> = []
  /// Guards `pointer` between `close` and `interrupt`, which may be called on another thread.
  private let lock = NSLock()

  init(pointer: OpaquePointer, path: String) {
    self.pointer = pointer
    self.path = path
  }

  deinit {
    releaseAll()
    sqlite3_close_v2(pointer)
  }

  var isOpen: Bool { pointer != nil }

  /// The pointer. Traps if the connection was closed.
  var live: OpaquePointer {
    guard let pointer else {
      trap("The connection to \(path) was closed; open a new one before using it.")
    }
    return pointer
  }

  /// Returns the pointer, or throws an error if the connection was closed.
  func opened(for sql: String? = nil) throws -> OpaquePointer {
    guard let pointer else {
      throw SQLiteError(
        extendedCode: SQLITE_MISUSE, message: "the connection was closed", sql: sql, path: path)
    }
    return pointer
  }

  func adopt(_ statement: OpaquePointer) {
    statements.insert(statement)
  }

  func finalize(_ statement: OpaquePointer) {
    // The result repeats the error of the last step, which has already been thrown.
    if statements.remove(statement) != nil { sqlite3_finalize(statement) }
  }

  func adoptBlob(_ blob: OpaquePointer) {
    blobs.insert(blob)
  }

  func closeBlob(_ blob: OpaquePointer) {
    // The result only repeats an error that has already been thrown.
    if blobs.remove(blob) != nil { sqlite3_blob_close(blob) }
  }

  private func releaseAll() {
    for blob in blobs { sqlite3_blob_close(blob) }
    blobs.removeAll()
    for statement in statements { sqlite3_finalize(statement) }
    statements.removeAll()
  }

  func close() throws {
    lock.lock()
    defer { lock.unlock() }
    guard let pointer else { return }
    releaseAll()
    let result = sqlite3_close(pointer)
    guard result == SQLITE_OK else {
      throw SQLiteError(result: result, database: pointer, sql: nil, path: path)
    }
    self.pointer = nil
    progressHandler = nil
    traceHandler = nil
    logHandler = nil
  }

  func interrupt() {
    lock.lock()
    defer { lock.unlock() }
    if let pointer { sqlite3_interrupt(pointer) }
  }

  /// Throws SQLite's last error unless `result` is SQLITE_OK.
  func check(_ result: Int32, sql: String? = nil) throws {
    guard result != SQLITE_OK else { return }
    throw SQLiteError(result: result, database: pointer, sql: sql, path: path)
  }
}
