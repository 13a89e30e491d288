// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Large binary values in files beside a store.
///
/// The first byte of a column says where the value is: after 1 come the bytes of the value; after 2 comes the name of a
/// file in `.<store>_SUPPORT/_EXTERNAL_DATA`, a UUID followed by a zero byte.
package final class ExternalData {
  /// The size, in bytes, from which a value is stored in a file. Core Data's own limit is not documented.
  package static let smallestFile = 100 * 1024

  package static let inlineMark: UInt8 = 1
  private static let fileMark: UInt8 = 2

  /// The directory of the files.
  package var folder: URL { support.values }
  private let support: SupportDirectory
  /// Whether large values are stored in files. An in-memory store keeps all values in its rows.
  private let hasFiles: Bool
  /// The names of files written since the last commit, which a rollback removes.
  private var written: [String] = []
  /// The names of files that no row references after the commit.
  private var obsolete: [String] = []
  /// Whether an outer transaction is open, which decides at its end which files stay.
  package var isHoldingBack = false

  /// A position in the lists, to undo everything after it.
  package struct Mark {
    fileprivate let written: Int
    fileprivate let obsolete: Int
  }

  package var mark: Mark { Mark(written: written.count, obsolete: obsolete.count) }

  /// Creates the files of the store at `url`.
  package init(store url: URL) {
    support = SupportDirectory(store: url)
    hasFiles = !RegularFile.isNullDevice(url)
  }

  /// Creates another object for the same files.
  package init(beside other: ExternalData) {
    support = other.support
    hasFiles = other.hasFiles
  }

  /// Returns the value that a column's bytes represent.
  package func value(of bytes: Data) throws -> Data {
    guard let mark = bytes.first else { return bytes }
    if mark == Self.inlineMark { return Data(bytes.dropFirst()) }
    guard let name = Self.fileName(in: bytes) else {
      // A column without a marker byte was written before the attribute allowed external storage.
      return bytes
    }
    do {
      return try support.read(name)
    } catch {
      throw UnreadableFile(path: folder.appendingPathComponent(name).path, cause: error)
    }
  }

  /// The reason the file of a value could not be read: it is missing, or is not a regular file.
  package struct UnreadableFile: Error, CustomStringConvertible {
    package let path: String
    package let cause: any Error

    package var description: String {
      switch cause {
      case let problem as RegularFile.Problem: "its value is in a file that is not read: \(problem)"
      case let failure as FileFailure where failure.number == ENOENT: "its file '\(path)' is missing"
      case let failure as FileFailure:
        "its file '\(path)' cannot be read: \(String(cString: strerror(failure.number)))"
      default: "its file '\(path)' cannot be read: \(cause)"
      }
    }

    /// Whether a retry is likely to fail too, unlike after a disk error or a lack of memory.
    package var isLasting: Bool {
      guard let failure = cause as? FileFailure else { return cause is RegularFile.Problem }
      return [ENOENT, ENOTDIR, EISDIR, ELOOP, EACCES, EPERM].contains(failure.number)
    }
  }

  /// Returns the column's bytes for a value, after writing a large value to a file.
  package func stored(_ value: Data) throws -> Data {
    guard value.count >= Self.smallestFile, hasFiles else { return Data([Self.inlineMark]) + value }
    let name = UUID().uuidString
    try support.make().write(value, to: name, mode: support.fileMode)
    written.append(name)
    return Data([Self.fileMark]) + Data(name.utf8) + Data([0])
  }

  /// Returns the column's bytes for a value of another store, after linking its file beside this store under a new
  /// name.
  ///
  /// External data files never change, so they can be shared.
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

  /// Marks the file that a column references, if any, as unused after the commit.
  package func willReplace(_ bytes: Data) {
    if let name = Self.fileName(in: bytes) { obsolete.append(name) }
  }

  /// The length of a column that references a file, in bytes.
  package static let fileNameLength = 38

  /// Removes the file that a column referenced, if any, after the commit.
  package func remove(_ bytes: Data) throws {
    if let name = Self.fileName(in: bytes) { try support.open()?.removeFile(name) }
  }

  /// Removes the files that the committed rows no longer reference.
  ///
  /// - Parameter synchronize: syncs the commit to disk; called only if there are such files.
  package func didCommit(_ synchronize: () throws -> Void) {
    if isHoldingBack { return }
    do {
      if !obsolete.isEmpty { try synchronize() }
      // A leftover file only takes up space; the rows are correct.
      removeFiles(obsolete)
    } catch {
      // After a power failure the old rows may come back and need their files, so all of them stay.
    }
    written = []
    obsolete = []
  }

  /// Removes the files of rows that were rolled back.
  ///
  /// - Parameter mark: the beginning of the part of the transaction that was rolled back; nil for all of it.
  package func didRollBack(to mark: Mark? = nil) {
    let (first, second) = (mark?.written ?? 0, mark?.obsolete ?? 0)
    // As in `didCommit(_:)`: no row references these files.
    removeFiles(written[first...])
    written.removeSubrange(first...)
    obsolete.removeSubrange(second...)
  }

  private func removeFiles(_ names: some Collection<String>) {
    // A leftover file only takes up space.
    guard !names.isEmpty, let directory = try? support.open() else { return }
    for name in names { try? directory.removeFile(name) }
  }

  /// Returns the name of the file that a column references; nil if the column holds the value itself.
  package static func fileName(in bytes: Data) -> String? {
    guard bytes.count == fileNameLength, bytes.first == fileMark, bytes.last == 0 else { return nil }
    let name = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    return isFileName(name) ? name : nil
  }

  /// Whether a string is a UUID, as the names of all external data files are.
  package static func isFileName(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    return bytes.count == 36
      && bytes.enumerated().allSatisfy { position, byte in
        [8, 13, 18, 23].contains(position) ? byte == 0x2D : Character(UnicodeScalar(byte)).isHexDigit
      }
  }
}

/// Finds the files that the rows of a store reference. No model is needed, since the columns can be recognized.
package enum ExternalReferences {
  /// Returns the names of all referenced files, including missing ones.
  ///
  /// Several stores may share a directory, so a store owns only the files that its rows reference.
  package static func names(in connection: SQLiteConnection) throws -> Set<String> {
    var names: Set<String> = []
    for table in try connection.catalog().tables where table.name.hasPrefix("Z") {
      for column in table.columns where column.declaredType.uppercased() == "BLOB" {
        let name = SQLName.quoted(column.name)
        let rows = try connection.rows(
          "SELECT \(name) FROM \(SQLName.quoted(table.name)) WHERE typeof(\(name)) = 'blob' AND length(\(name)) = 38 "
            + "AND substr(\(name), 1, 1) = x'02'")
        for row in rows {
          if let bytes = row[0].blob, let file = ExternalData.fileName(in: bytes) { names.insert(file) }
        }
      }
    }
    return names
  }

  /// Returns the names of the referenced files that are among the given ones.
  package static func presentNames(in connection: SQLiteConnection, among present: Set<String>) throws -> Set<String> {
    present.isEmpty ? [] : try names(in: connection).intersection(present)
  }
}

/// The directory of a store's external data: `.Name_SUPPORT/_EXTERNAL_DATA` beside `Name.sqlite`.
///
/// Symbolic links to the directory or its files are not followed: otherwise a store from an archive could expose or
/// remove any file of the user. A support directory that is a link is used only if the store is reached through a link
/// too and both lead to the same directory.
package struct SupportDirectory {
  /// `.Name_SUPPORT`.
  package let url: URL
  private let store: URL

  package static let valuesName = "_EXTERNAL_DATA"

  /// Determines the directory of the store at a path, which may be a symbolic link.
  package init(store: URL) {
    self.store = store
    url = Self.location(of: store)
  }

  private init(url: URL, store: URL) {
    self.url = url
    self.store = store
  }

  /// Returns the directory beside the given path, or beside the database that it links to.
  private static func location(of store: URL) -> URL {
    let given = sibling(of: store)
    guard FileCalls.isSymbolicLink(store) else { return given }
    let real = sibling(of: store.resolvingSymlinksInPath())
    guard FileCalls.exists(given) else { return real }
    let leadsThere =
      FileCalls.isSymbolicLink(given) && given.resolvingSymlinksInPath().path == real.resolvingSymlinksInPath().path
    return leadsThere ? real : given
  }

  // MARK: Other directories

  /// Other directories that may hold values missing from this one.
  ///
  /// If a backup `Data~.sqlite` was restored by renaming it to `Data.sqlite`, its values are still in `.Data~_SUPPORT`.
  /// Since file names are unique, a file with the right name has the right content.
  private var others: [SupportDirectory] {
    let stores = FileCalls.isSymbolicLink(store) ? [store, store.resolvingSymlinksInPath()] : [store]
    return (stores.map(Self.sibling) + stores.flatMap(Self.ofBackups)).filter { $0 != url }
      .map { SupportDirectory(url: $0, store: store) }
  }

  /// Opens the directories in `others`, skipping those that cannot be opened.
  package func openOthers() -> [OpenDirectory] { others.compactMap { try? $0.open() } }

  /// Returns the error of opening the first such directory that cannot be opened, and so may hold missing values.
  package func failureToOpenOthers() -> FileFailure? {
    for other in others {
      do {
        _ = try other.open()
      } catch let failure as FileFailure {
        return failure
      } catch {
        // A link or a file instead of a directory cannot contain values.
      }
    }
    return nil
  }

  /// Returns `.Name~_SUPPORT`, `.Name~2_SUPPORT` and so on beside a store.
  private static func ofBackups(of store: URL) -> [URL] {
    let folder = store.deletingLastPathComponent()
    let (prefix, suffix) = (".\(store.deletingPathExtension().lastPathComponent)~", "_SUPPORT")
    // If the directory cannot be listed, no backups are found in it.
    let names = (try? OpenDirectory.open(folder).names()) ?? []
    return names.filter { name in
      name.hasPrefix(prefix) && name.hasSuffix(suffix) && name.count >= prefix.count + suffix.count
        && name.dropFirst(prefix.count).dropLast(suffix.count).allSatisfy(\.isNumber)
    }.sorted().map { folder.appendingPathComponent($0, isDirectory: true) }
  }

  private static func sibling(of store: URL) -> URL {
    store.deletingLastPathComponent()
      .appendingPathComponent(".\(store.deletingPathExtension().lastPathComponent)_SUPPORT", isDirectory: true)
  }

  /// `.Name_SUPPORT/_EXTERNAL_DATA`.
  package var values: URL { url.appendingPathComponent(Self.valuesName, isDirectory: true) }

  /// Opens the directory of the values; nil if there is none.
  ///
  /// - Throws: `RegularFile.Problem.notDirectory` if a link or something else is in its place; `FileFailure`.
  package func open() throws -> OpenDirectory? {
    do {
      return try OpenDirectory.open(url.deletingLastPathComponent()).directoryIfPresent(url.lastPathComponent)?
        .directoryIfPresent(Self.valuesName)
    } catch let failure as FileFailure where failure.number == ENOENT {
      return nil
    }
  }

  /// Opens the directory of the values, creating it if it does not exist.
  ///
  /// - Throws: the same errors as `open()`.
  package func make() throws -> OpenDirectory {
    let mode = fileMode | (fileMode & 0o444) >> 2
    let parent = try OpenDirectory.open(url.deletingLastPathComponent())
    let isNew = !parent.exists(url.lastPathComponent)
    let values = try parent.makeDirectory(url.lastPathComponent, mode: mode).makeDirectory(Self.valuesName, mode: mode)
    var found = stat()
    // If root creates the directories for the store of another user, that user owns them.
    if isNew, geteuid() == 0, stat(store.path, &found) == 0 { try copyPermissions(of: found) }
    return values
  }

  /// Gives both directories the owner, group and permissions of another directory, or those that match a store's file.
  package func copyPermissions(of found: stat) throws {
    let parent = try OpenDirectory.open(url.deletingLastPathComponent())
    guard let support = try parent.directoryIfPresent(url.lastPathComponent) else { return }
    try support.directoryIfPresent(Self.valuesName)?.copyPermissions(of: found)
    try support.copyPermissions(of: found)
  }

  /// The permissions of external data files: at most those of the store.
  package var fileMode: mode_t {
    var found = stat()
    return stat(store.path, &found) == 0 ? found.st_mode & 0o666 | 0o600 : 0o666
  }

  /// Returns the names of the files; empty if there is no directory.
  ///
  /// - Throws: the same errors as `open()`.
  package func names() throws -> Set<String> { Set(try open()?.names() ?? []) }

  /// Syncs the names of new files to disk.
  package func synchronize() throws {
    let support = try OpenDirectory.open(url.deletingLastPathComponent()).directory(url.lastPathComponent)
    try support.directory(Self.valuesName).synchronize()
    try support.synchronize()
  }

  /// Removes files, and then the directories if they are empty.
  package func remove(_ names: some Collection<String>) throws {
    guard !names.isEmpty else { return }
    let parent = try OpenDirectory.open(url.deletingLastPathComponent())
    guard let support = try parent.directoryIfPresent(url.lastPathComponent) else { return }
    if let values = try support.directoryIfPresent(Self.valuesName) {
      for name in names { try values.removeFile(name) }
      try support.removeDirectoryIfEmpty(Self.valuesName)
    }
    try parent.removeDirectoryIfEmpty(url.lastPathComponent)
  }

  /// The size limit for reading an external data file, in bytes.
  package static let maxValueSize = Int(Int32.max)

  /// Returns the contents of an external data file, which may be in the directory of a backup. A large file is read on
  /// first use, so that a fetch does not read the pictures of all objects.
  ///
  /// - Throws: `RegularFile.Problem` for a link, a device, a FIFO or a file of more than 2 GiB; `FileFailure`.
  package func read(_ name: String) throws -> Data {
    try directory(of: name).contents(name, limit: Self.maxValueSize)
  }

  /// Opens an external data file to read it in parts.
  ///
  /// - Throws: the same errors as `read(_:)`.
  package func file(_ name: String) throws -> ReadableFile {
    try directory(of: name).file(name, limit: Self.maxValueSize)
  }

  /// Opens the directory that contains a file: the store's own, or that of a backup.
  private func directory(of name: String) throws -> OpenDirectory {
    if let own = try open(), own.exists(name) { return own }
    guard let other = openOthers().first(where: { $0.exists(name) }) else {
      throw FileFailure(operation: "open", path: values.appendingPathComponent(name).path, number: ENOENT)
    }
    return other
  }
}
