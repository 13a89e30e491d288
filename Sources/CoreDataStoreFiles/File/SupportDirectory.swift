// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The directory of a store's external data: `.Name_SUPPORT/_EXTERNAL_DATA` beside `Name.sqlite`.
///
/// Symbolic links are followed neither to the directory nor to its files: otherwise a store from an archive could expose or
/// remove any file of the user. A support directory that is a link is used only where the store is reached through a link
/// too, and both lead to the same place.
package struct SupportDirectory {
  /// `.Name_SUPPORT`.
  package let url: URL
  private let store: URL

  package static let valuesName = "_EXTERNAL_DATA"

  /// The directory of the store at a path, which may be a symbolic link.
  package init(store: URL) {
    self.store = store
    url = Self.location(of: store)
  }

  private init(url: URL, store: URL) {
    self.url = url
    self.store = store
  }

  /// The directory beside the given path, or beside the database that it links to.
  private static func location(of store: URL) -> URL {
    let given = sibling(of: store)
    guard FileCalls.isSymbolicLink(store) else { return given }
    let real = sibling(of: store.resolvingSymlinksInPath())
    guard FileCalls.exists(given) else { return real }
    let leadsThere =
      FileCalls.isSymbolicLink(given) && given.resolvingSymlinksInPath().path == real.resolvingSymlinksInPath().path
    return leadsThere ? real : given
  }

  // MARK: Values elsewhere

  /// Other directories that may hold values which are missing here.
  ///
  /// If a backup `Data~.sqlite` was restored by renaming it to `Data.sqlite`, its values are still in `.Data~_SUPPORT`. Since
  /// file names are unique, a file with the right name has the right content.
  private var others: [SupportDirectory] {
    let stores = FileCalls.isSymbolicLink(store) ? [store, store.resolvingSymlinksInPath()] : [store]
    return (stores.map(Self.sibling) + stores.flatMap(Self.ofBackups)).filter { $0 != url }
      .map { SupportDirectory(url: $0, store: store) }
  }

  /// Opens the directories in `others`, without those that cannot be opened.
  package func openOthers() -> [OpenDirectory] { others.compactMap { try? $0.open() } }

  /// The failure to open one of those directories, which may hold missing values.
  package func failureToOpenOthers() -> FileFailure? {
    for other in others {
      do {
        _ = try other.open()
      } catch let failure as FileFailure {
        return failure
      } catch {
        // A link or a file instead of a directory cannot hold values.
      }
    }
    return nil
  }

  /// `.Name~_SUPPORT`, `.Name~2_SUPPORT` and so on beside a store.
  private static func ofBackups(of store: URL) -> [URL] {
    let folder = store.deletingLastPathComponent()
    let (prefix, suffix) = (".\(store.deletingPathExtension().lastPathComponent)~", "_SUPPORT")
    // Where the directory cannot be listed, nothing can be found in it.
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

  /// Opens the directory of the values; nil where there is none.
  ///
  /// - Throws: `RegularFile.Problem.notDirectory` where a link, or something else, is in its place; `FileFailure`.
  package func open() throws -> OpenDirectory? {
    do {
      return try OpenDirectory.open(url.deletingLastPathComponent()).directoryIfPresent(url.lastPathComponent)?
        .directoryIfPresent(Self.valuesName)
    } catch let failure as FileFailure where failure.number == ENOENT {
      return nil
    }
  }

  /// Opens the directory of the values, and creates it if it does not exist.
  ///
  /// - Throws: as `open()`.
  package func make() throws -> OpenDirectory {
    let mode = fileMode | (fileMode & 0o444) >> 2
    let parent = try OpenDirectory.open(url.deletingLastPathComponent())
    let isNew = !parent.exists(url.lastPathComponent)
    let values = try parent.makeDirectory(url.lastPathComponent, mode: mode).makeDirectory(Self.valuesName, mode: mode)
    var found = stat()
    // If root creates the directories for the store of another user, that user owns them.
    if isNew, geteuid() == 0, stat(store.path, &found) == 0 { try takePermissions(of: found) }
    return values
  }

  /// Gives both directories the owner, the group and the permissions of another directory, or those that suit a store's file.
  package func takePermissions(of found: stat) throws {
    let parent = try OpenDirectory.open(url.deletingLastPathComponent())
    guard let support = try parent.directoryIfPresent(url.lastPathComponent) else { return }
    try support.directoryIfPresent(Self.valuesName)?.takePermissions(of: found)
    try support.takePermissions(of: found)
  }

  /// The permissions of files of values: those of the store, or fewer.
  package var fileMode: mode_t {
    var found = stat()
    return stat(store.path, &found) == 0 ? found.st_mode & 0o666 | 0o600 : 0o666
  }

  /// The names of the files; none where there is no directory.
  ///
  /// - Throws: as `open()`.
  package func names() throws -> Set<String> { Set(try open()?.names() ?? []) }

  /// Syncs the names of new files to disk.
  package func synchronize() throws {
    let support = try OpenDirectory.open(url.deletingLastPathComponent()).directory(url.lastPathComponent)
    try support.directory(Self.valuesName).synchronize()
    try support.synchronize()
  }

  /// Removes files, and the directories if they are empty then.
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

  /// The largest file of a value that is read, in bytes.
  package static let greatestValue = Int(Int32.max)

  /// Reads the file of a value, which may be in the directory of a backup.
  ///
  /// - Throws: `RegularFile.Problem` for a link, a device, a FIFO or a file of more than 2 GiB; `FileFailure`.
  package func read(_ name: String) throws -> Data {
    let own = try open()
    if let own, own.exists(name) { return try own.read(name, limit: Self.greatestValue) }
    guard let other = openOthers().first(where: { $0.exists(name) }) else {
      throw FileFailure(operation: "open", path: values.appendingPathComponent(name).path, number: ENOENT)
    }
    return try other.read(name, limit: Self.greatestValue)
  }
}
