// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A SQLite file opened so that neither it nor what lies beside it changes by a single byte.
///
/// SQLite writes even when it reads: it makes and removes `-wal` and `-shm` files, and recovers an unfinished transaction.
/// A file with a write-ahead log, or with a journal to roll back, is therefore read from a copy, and one in WAL mode
/// without a log is opened as unchangeable, without locks: `checkUnchanged` tells whether another program wrote to it
/// meanwhile. Any other file is read where it is, under SQLite's locks.
package final class StoreAccess {
  package let url: URL
  package let connection: SQLiteConnection
  /// The directory of the copy; nil where the file is read where it is.
  private let copyFolder: PrivateDirectory?
  /// The state of the files when they were opened; nil where SQLite's locks or a copy keep it.
  private let opened: [[Int64]?]?

  /// Whether the file is read from a copy.
  package var isCopy: Bool { copyFolder != nil }

  /// Opens a file.
  /// - Throws: `StoreProblem`.
  package init(url: URL) throws {
    self.url = url
    let path = DatabaseFile.target(of: url.path)
    let before = Self.stamps(path)
    let header = try Self.header(path: path)
    let needsCopy = Self.hasContent(path + "-wal") || Self.hasContent(path + "-journal")
    let folder = needsCopy ? try Self.copy(path) : nil
    do {
      let mode: SQLiteConnection.Mode = needsCopy ? .readWrite : header.usesWriteAheadLog ? .immutable : .readOnly
      let file = folder?.url.appendingPathComponent((path as NSString).lastPathComponent).path ?? path
      let connection = try SQLiteConnection(path: file, mode: mode)
      _ = try connection.pragma("schema_version")
      connection.limitValues(toFileSize: (Self.size(file) ?? 0) + (Self.size(file + "-wal") ?? 0))
      self.connection = connection
      opened = mode == .immutable ? before : nil
      copyFolder = folder
    } catch let error as SQLiteError {
      // The copy is of no use; what SQLite says is what matters.
      try? folder?.remove()
      throw StoreProblem.from(error, path: path)
    }
  }

  deinit {
    // Nothing was written through the connection. A copy that stays is private, and the next one of the store removes it.
    try? connection.close()
    try? copyFolder?.remove()
  }

  /// Makes sure that what was read without locks is of one state of the store.
  ///
  /// - Throws: `StoreProblem` where another program has written to the store since it was opened.
  func checkUnchanged() throws {
    let path = DatabaseFile.target(of: url.path)
    if let opened, Self.stamps(path) != opened { throw Self.beingWritten((path as NSString).lastPathComponent) }
  }

  /// What changes with every write to a store's file, its log and its journal.
  static func stamps(_ path: String) -> [[Int64]?] {
    ["", "-wal", "-journal"].map { FileCalls.stamp(URL(fileURLWithPath: path + $0)) }
  }

  /// Bytes of the file and its write-ahead log.
  package var sizes: (store: Int, log: Int) {
    let path = DatabaseFile.target(of: url.path)
    return (Self.size(path) ?? 0, Self.size(path + "-wal") ?? 0)
  }

  private static func header(path: String) throws -> SQLiteFileHeader {
    let name = (path as NSString).lastPathComponent
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw StoreProblem(.missing, "There is no file \(path). Check the path of the store.")
    }
    guard !isFolder.boolValue else {
      throw StoreProblem(.notAStore, "\(path) is a folder, not a store. Name the store's file, often *.sqlite.")
    }
    do {
      try RegularFile.check(URL(fileURLWithPath: path))
    } catch RegularFile.Problem.notRegular(_, let kind) {
      throw StoreProblem(.notAStore, "\(path) is \(kind), not a store. Name the store's file, often *.sqlite.")
    }
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw StoreProblem(.noAccess, "\(path) cannot be read. Check its permissions.")
    }
    let bytes: Data
    do {
      bytes = try DatabaseFile(path: path).firstBytes(100)
    } catch let error as SQLiteError {
      throw StoreProblem(.noAccess, "\(path) cannot be read: \(error.message)")
    }
    guard !bytes.isEmpty else {
      throw StoreProblem(.notAStore, "\(name) is empty: it holds no store. Restore it from a backup.")
    }
    do {
      return try SQLiteFileHeader(bytes: bytes, path: path)
    } catch {
      throw StoreProblem(
        .notAStore, "\(name) is not a SQLite store: \(kind(of: bytes)). Check that this is the right file.")
    }
  }

  private static func kind(of bytes: Data) -> String {
    if bytes.starts(with: SQLiteFileHeader.signature) { return "its header is cut off or damaged" }
    if bytes.starts(with: Data("bplist".utf8)) { return "it is a binary property list or a binary store" }
    if bytes.starts(with: Data("<?xml".utf8)) { return "it is an XML file" }
    return "it does not begin like one"
  }

  private static func size(_ path: String) -> Int? {
    // A file that is not there has no size.
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? nil
  }

  private static func hasContent(_ path: String) -> Bool { (size(path) ?? 0) > 0 }

  /// Copies the file and its log to a private directory, as they are at one moment.
  private static func copy(_ path: String) throws -> PrivateDirectory {
    let name = (path as NSString).lastPathComponent
    let directory: PrivateDirectory
    do {
      directory = try CopyDirectory.make(for: URL(fileURLWithPath: path))
    } catch {
      throw uncopied(name, error)
    }
    do {
      for _ in 0..<5 {
        let before = stamps(path)
        for suffix in ["", "-wal", "-journal"] {
          let target = directory.url.appendingPathComponent(name + suffix)
          try FileCalls.removeFile(target)
          guard hasContent(path + suffix) else { continue }
          if suffix.isEmpty {
            try DatabaseFile(path: path).copy(to: target.path)
          } else {
            try FileCalls.copyBytes(URL(fileURLWithPath: path + suffix), to: target)
          }
        }
        if stamps(path) == before { return directory }
      }
    } catch {
      // The copy is of no use; why it could not be made is what matters.
      try? directory.remove()
      throw uncopied(name, error)
    }
    // As above.
    try? directory.remove()
    throw beingWritten(name)
  }

  private static func beingWritten(_ name: String) -> StoreProblem {
    StoreProblem(.locked, "\(name) is being written by another program. Close it and try again.")
  }

  private static func uncopied(_ name: String, _ error: any Error) -> StoreProblem {
    StoreProblem(
      .noAccess, "\(name) has a write-ahead log, and could not be copied to be read safely: \(Self.reason(error))")
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case let error as SQLiteError: error.message
    case let failure as FileFailure:
      "to \(failure.operation) '\(failure.path)' failed: \(String(cString: strerror(failure.number)))."
    case let problem as RegularFile.Problem: problem.description
    default: error.localizedDescription
    }
  }
}
