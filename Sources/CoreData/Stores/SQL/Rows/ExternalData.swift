// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Large binary values that stand in files beside a store.
///
/// A column of such an attribute begins with a byte that says where the value is: 1 for the bytes that follow, 2 for a
/// file in `.<store>_SUPPORT/_EXTERNAL_DATA` whose name, a UUID and a zero byte, follows.
final class ExternalData {
  /// From this size on a value gets a file. Core Data keeps small values inline; the exact border is not documented.
  static let smallestFile = 100 * 1024

  private static let inlineMark: UInt8 = 1
  private static let fileMark: UInt8 = 2

  let folder: URL
  /// Files written since the last commit, which a rollback takes away.
  private var written: [URL] = []
  /// Files that no row will name after the commit.
  private var obsolete: [URL] = []
  /// Whether the transaction that writes are committed in goes on: then only its end tells which files stay.
  var isHoldingBack = false

  /// What has been noted so far, for undoing what comes after it.
  struct Mark {
    fileprivate let written: Int
    fileprivate let obsolete: Int
  }

  var mark: Mark { Mark(written: written.count, obsolete: obsolete.count) }

  /// The folder of the store at `url`.
  init(store url: URL) {
    let name = url.deletingPathExtension().lastPathComponent
    folder = url.deletingLastPathComponent()
      .appendingPathComponent(".\(name)_SUPPORT", isDirectory: true)
      .appendingPathComponent("_EXTERNAL_DATA", isDirectory: true)
  }

  /// The value for which `bytes` stand in a column.
  func value(of bytes: Data) throws -> Data {
    guard let mark = bytes.first else { return bytes }
    if mark == Self.inlineMark { return Data(bytes.dropFirst()) }
    guard let file = file(for: bytes) else {
      // Neither mark: the column was written before the attribute allowed files.
      return bytes
    }
    do {
      return try Data(contentsOf: file)
    } catch {
      throw MissingFile(path: file.path, cause: error)
    }
  }

  /// Why the file of a value could not be read.
  struct MissingFile: Error {
    let path: String
    let cause: any Error
  }

  /// What is to stand in the column for a value; writes a file for a large one.
  func stored(_ value: Data) throws -> Data {
    guard value.count >= Self.smallestFile else { return Data([Self.inlineMark]) + value }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let name = UUID().uuidString
    let file = folder.appendingPathComponent(name)
    try value.write(to: file, options: .atomic)
    written.append(file)
    return Data([Self.fileMark]) + Data(name.utf8) + Data([0])
  }

  /// What is to stand in the column for a value of another store; its file, if any, gets another name beside this store.
  ///
  /// Files of values are written once and never changed, so that two names for one content do no harm.
  func adopted(_ bytes: Data, from other: ExternalData) throws -> Data {
    guard let file = other.file(for: bytes) else { return bytes }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let name = UUID().uuidString
    let copy = folder.appendingPathComponent(name)
    do {
      try FileManager.default.linkItem(at: file, to: copy)
    } catch  where FileManager.default.fileExists(atPath: file.path) {
      // Another file system, or one that has no links.
      try FileManager.default.copyItem(at: file, to: copy)
    } catch {
      throw MissingFile(path: file.path, cause: error)
    }
    written.append(copy)
    return Data([Self.fileMark]) + Data(name.utf8) + Data([0])
  }

  /// Notes that the file, if any, which a column names will not be named any more after the commit.
  func willReplace(_ bytes: Data) {
    if let file = file(for: bytes) { obsolete.append(file) }
  }

  /// How many bytes a column holds that names a file.
  static let fileNameLength = 38

  /// Takes away the file, if any, which a column named that is committed without it.
  func remove(_ bytes: Data) {
    // As for `didCommit()`.
    if let file = file(for: bytes) { try? FileManager.default.removeItem(at: file) }
  }

  /// Takes away the files that the committed rows no longer name.
  ///
  /// - Parameter synchronize: waits until the commit is on the disk; called where there are such files.
  func didCommit(_ synchronize: () throws -> Void) {
    if isHoldingBack { return }
    do {
      if !obsolete.isEmpty { try synchronize() }
      // A file left behind costs space and no more; the rows are right.
      for file in obsolete { try? FileManager.default.removeItem(at: file) }
    } catch {
      // After a power failure the old rows may come back, and need their files. All of them stay.
    }
    written = []
    obsolete = []
  }

  /// Takes away the files that were written for rows which are not.
  ///
  /// - Parameter mark: where to stop, when a part of a transaction is undone; nil for all of it.
  func didRollBack(to mark: Mark? = nil) {
    let (first, second) = (mark?.written ?? 0, mark?.obsolete ?? 0)
    // As above: nothing names these files.
    for file in written[first...] { try? FileManager.default.removeItem(at: file) }
    written.removeSubrange(first...)
    obsolete.removeSubrange(second...)
  }

  private func file(for bytes: Data) -> URL? {
    Self.fileName(in: bytes).map { folder.appendingPathComponent($0) }
  }

  /// The name of the file that a column names; nil where it holds a value.
  static func fileName(in bytes: Data) -> String? {
    guard bytes.count == fileNameLength, bytes.first == fileMark, bytes.last == 0 else { return nil }
    let name = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    return UUID(uuidString: name) == nil ? nil : name
  }
}
