// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Large binary values that stand in files beside a store.
///
/// A column of such an attribute begins with a byte that says where the value is: 1 for the bytes that follow, 2 for a
/// file in `.<store>_SUPPORT/_EXTERNAL_DATA` whose name, a UUID and a zero byte, follows.
package final class ExternalData {
  /// From this size on a value gets a file. Core Data keeps small values inline; the exact border is not documented.
  package static let smallestFile = 100 * 1024

  private static let inlineMark: UInt8 = 1
  private static let fileMark: UInt8 = 2

  /// Where the files are.
  package var folder: URL { support.values }
  private let support: SupportDirectory
  /// Whether large values get files; a store in memory keeps all values itself.
  private let hasFiles: Bool
  /// The names of files written since the last commit, which a rollback takes away.
  private var written: [String] = []
  /// The names of files that no row will name after the commit.
  private var obsolete: [String] = []
  /// Whether the transaction that writes are committed in goes on: then only its end tells which files stay.
  package var isHoldingBack = false

  /// What has been noted so far, for undoing what comes after it.
  package struct Mark {
    fileprivate let written: Int
    fileprivate let obsolete: Int
  }

  package var mark: Mark { Mark(written: written.count, obsolete: obsolete.count) }

  /// The files of the store at `url`.
  package init(store url: URL) {
    support = SupportDirectory(store: url)
    hasFiles = !RegularFile.isNullDevice(url)
  }

  /// The value for which `bytes` stand in a column.
  package func value(of bytes: Data) throws -> Data {
    guard let mark = bytes.first else { return bytes }
    if mark == Self.inlineMark { return Data(bytes.dropFirst()) }
    guard let name = Self.fileName(in: bytes) else {
      // Neither mark: the column was written before the attribute allowed files.
      return bytes
    }
    do {
      return try support.read(name)
    } catch {
      throw UnreadableFile(path: folder.appendingPathComponent(name).path, cause: error)
    }
  }

  /// Why the file of a value could not be read: it is missing, or no regular file.
  package struct UnreadableFile: Error, CustomStringConvertible {
    package let path: String
    package let cause: any Error

    package init(
      path: String, cause: any Error
    ) {
      self.path = path
      self.cause = cause
    }

    package var description: String {
      switch cause {
      case let problem as RegularFile.Problem: "its value is in a file that is not read: \(problem)"
      case let failure as FileFailure where failure.number == ENOENT: "its file '\(path)' is missing"
      case let failure as FileFailure:
        "its file '\(path)' cannot be read: \(String(cString: strerror(failure.number)))"
      default: "its file '\(path)' cannot be read: \(cause)"
      }
    }
  }

  /// What is to stand in the column for a value; writes a file for a large one.
  package func stored(_ value: Data) throws -> Data {
    guard value.count >= Self.smallestFile, hasFiles else { return Data([Self.inlineMark]) + value }
    let name = UUID().uuidString
    try support.make().write(value, to: name, mode: support.fileMode)
    written.append(name)
    return Data([Self.fileMark]) + Data(name.utf8) + Data([0])
  }

  /// What is to stand in the column for a value of another store; its file, if any, gets another name beside this store.
  ///
  /// Files of values are written once and never changed, so that two names for one content do no harm.
  package func adopted(_ bytes: Data, from other: ExternalData) throws -> Data {
    guard let old = Self.fileName(in: bytes) else { return bytes }
    guard hasFiles else { return Data([Self.inlineMark]) + (try other.value(of: bytes)) }
    let directory = try support.make()
    let name = UUID().uuidString
    do {
      guard let source = try other.support.open() else {
        throw FileFailure(operation: "open", path: other.folder.path, number: ENOENT)
      }
      _ = try source.link(old, to: directory, name)
    } catch {
      throw UnreadableFile(path: other.folder.appendingPathComponent(old).path, cause: error)
    }
    written.append(name)
    return Data([Self.fileMark]) + Data(name.utf8) + Data([0])
  }

  /// Notes that the file, if any, which a column names will not be named any more after the commit.
  package func willReplace(_ bytes: Data) {
    if let name = Self.fileName(in: bytes) { obsolete.append(name) }
  }

  /// How many bytes a column holds that names a file.
  package static let fileNameLength = 38

  /// Takes away the file, if any, which a column named that is committed without it.
  package func remove(_ bytes: Data) throws {
    if let name = Self.fileName(in: bytes) { try support.open()?.removeFile(name) }
  }

  /// Takes away the files that the committed rows no longer name.
  ///
  /// - Parameter synchronize: waits until the commit is on the disk; called where there are such files.
  package func didCommit(_ synchronize: () throws -> Void) {
    if isHoldingBack { return }
    do {
      if !obsolete.isEmpty { try synchronize() }
      // A file left behind costs space and no more; the rows are right.
      removeFiles(obsolete)
    } catch {
      // After a power failure the old rows may come back, and need their files. All of them stay.
    }
    written = []
    obsolete = []
  }

  /// Takes away the files that were written for rows which are not.
  ///
  /// - Parameter mark: where to stop, when a part of a transaction is undone; nil for all of it.
  package func didRollBack(to mark: Mark? = nil) {
    let (first, second) = (mark?.written ?? 0, mark?.obsolete ?? 0)
    // As above: nothing names these files.
    removeFiles(written[first...])
    written.removeSubrange(first...)
    obsolete.removeSubrange(second...)
  }

  private func removeFiles(_ names: some Collection<String>) {
    // A file left behind costs space and no more; the rows are right.
    guard !names.isEmpty, let directory = try? support.open() else { return }
    for name in names { try? directory.removeFile(name) }
  }

  /// The name of the file that a column names; nil where it holds a value.
  package static func fileName(in bytes: Data) -> String? {
    guard bytes.count == fileNameLength, bytes.first == fileMark, bytes.last == 0 else { return nil }
    let name = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    return isFileName(name) ? name : nil
  }

  /// Whether a text is a UUID, which all files of values are named by.
  package static func isFileName(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    return bytes.count == 36
      && bytes.enumerated().allSatisfy { position, byte in
        [8, 13, 18, 23].contains(position) ? byte == 0x2D : Character(UnicodeScalar(byte)).isHexDigit
      }
  }
}
