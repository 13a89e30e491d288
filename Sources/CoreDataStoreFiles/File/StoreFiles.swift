// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The files of a SQLite store: the database, SQLite's companion files, and external data files.
package enum StoreFiles {
  /// How external data files are copied.
  package enum ValueCopy {
    /// As separate files, for permanent copies.
    case copied
    /// As hard links if the file system supports them, since external data files never change.
    case linked
  }

  package static let companionSuffixes = ["-wal", "-shm", "-journal"]

  /// Returns the database and SQLite's companion files.
  package static func databaseFiles(of store: URL) -> [URL] {
    [store] + companionSuffixes.map { sibling(of: store, $0) }
  }

  // MARK: External data files

  /// Returns the directory of values too large for the database: `.Name_SUPPORT` beside `Name.sqlite`.
  package static func externalData(of store: URL) -> URL { SupportDirectory(store: store).url }

  /// Links back the external data files that a store's rows reference and that only the directory of a backup has.
  ///
  /// If there is no such directory beside the store, this costs one directory listing.
  ///
  /// - Returns: the number of files linked.
  /// - Throws: `SQLiteError`, `FileFailure`; `RegularFile.Problem`.
  @discardableResult
  package static func relinkExternalData(of store: URL) throws -> Int {
    let support = SupportDirectory(store: store)
    let others = support.openOthers()
    guard !others.isEmpty else { return 0 }
    let file = try StoreFile.openToCopy(store)
    defer {
      // Opened for reading, so that nothing can be lost.
      try? file.close()
    }
    var own: OpenDirectory?
    var count = 0
    for name in try ExternalReferences.names(in: file.connection).subtracting(support.names()).sorted() {
      guard let other = others.first(where: { $0.exists(name) }) else { continue }
      let target = try own ?? support.make()
      own = target
      if try other.link(name, to: target, name) { count += 1 }
    }
    if count > 0 { try support.synchronize() }
    return count
  }

  /// Gives a copy of a store and its external data files the permissions of the store and, if allowed, its owner.
  ///
  /// - Throws: `FileFailure`; `RegularFile.Problem`.
  package static func copyPermissions(of store: URL, for copy: URL) throws {
    let original = URL(fileURLWithPath: DatabaseFile.target(of: store.path))
    let support = SupportDirectory(store: copy)
    for name in try support.names() {
      try FileCalls.copyPermissions(of: original, for: support.values.appendingPathComponent(name))
    }
    var found = stat()
    if stat(original.path, &found) == 0 { try support.copyPermissions(of: found) }
    try FileCalls.copyPermissions(of: original, for: copy)
  }

  /// Moves a complete store on the same disk to its final name: first its external data files, then its database.
  ///
  /// - Parameter holdsValues: whether it is a SQLite store, which may have external data files.
  /// - Returns: false if the name is taken.
  /// - Throws: `SQLiteError`, `FileFailure`; `RegularFile.Problem`.
  package static func move(_ draft: URL, to store: URL, holdsValues: Bool) throws -> Bool {
    var linked: [String] = []
    do {
      if holdsValues { try moveValues(of: draft, to: store, &linked) }
      try FileCalls.synchronize(draft)
      if try FileCalls.renameToNew(draft, to: store) {
        try FileCalls.synchronize(store.deletingLastPathComponent())
        return true
      }
    } catch {
      // The error that is being thrown takes precedence. A leftover file only takes up space.
      if !FileCalls.exists(store) { try? SupportDirectory(store: store).remove(linked) }
      throw error
    }
    try SupportDirectory(store: store).remove(linked)
    return false
  }

  /// Links a draft's external data files beside the store that the draft becomes. All files in the draft's private
  /// directory are its own, so its rows need not be read.
  ///
  /// - Parameter linked: receives the names of the files that did not exist before, also if an error is thrown.
  private static func moveValues(of draft: URL, to store: URL, _ linked: inout [String]) throws {
    guard let values = try SupportDirectory(store: draft).open() else { return }
    let support = SupportDirectory(store: store)
    let target = try support.make()
    for name in try values.names().sorted() {
      if try values.link(name, to: target, name) { linked.append(name) }
    }
    var found = stat()
    if stat(draft.path, &found) == 0 { try support.copyPermissions(of: found) }
    if !linked.isEmpty { try support.synchronize() }
  }

  // MARK: Copying

  /// Copies a consistent state of a store, even while others use it. The log's content becomes part of the copy's
  /// database.
  ///
  /// Only the owner can read the copy's database. Nothing is left at the destination if the copy fails.
  ///
  /// - Parameters:
  ///   - source: the store.
  ///   - destination: a location without a file.
  /// - Throws: `SQLiteError`, `FileFailure`; `RegularFile.Problem` if an external data file is a link or a device.
  package static func copy(from source: URL, to destination: URL, values: ValueCopy = .copied) throws {
    try FileCalls.makePrivateFile(destination)
    do {
      let file = try StoreFile.openToCopy(source)
      defer {
        // Opened for reading, so that nothing can be lost.
        try? file.close()
      }
      // If rows are deleted while their values are copied, the copy is repeated with the new state.
      for attempt in 1... {
        try file.connection.backup(toPath: destination.path)
        let lost = try copyValues(of: source, to: destination, values)
        if lost.isEmpty || attempt == 5 { break }
        if try !ExternalReferences.names(in: file.connection).isDisjoint(with: lost) { break }
      }
    } catch {
      // The error that is being thrown takes precedence.
      for file in databaseFiles(of: destination) { try? FileCalls.removeFile(file) }
      try? FileCalls.removeTree(externalData(of: destination))
      throw error
    }
  }

  /// Links a store's external data files beside a copy of its database.
  package static func linkValues(of source: URL, to copy: URL) throws {
    _ = try copyValues(of: source, to: copy, .linked)
  }

  /// - Returns: the names of values that disappeared meanwhile.
  private static func copyValues(of source: URL, to destination: URL, _ way: ValueCopy) throws -> Set<String> {
    let support = SupportDirectory(store: source)
    let own = try support.open()
    let directories = (own.map { [$0] } ?? []) + support.openOthers()
    guard !directories.isEmpty else { return [] }
    let copy = try SQLiteConnection(url: destination, mode: .immutable)
    let named: Set<String>
    do {
      named = try ExternalReferences.names(in: copy)
      try copy.close()
    } catch {
      // The error that is being thrown takes precedence.
      try? copy.close()
      throw error
    }
    // A backup errs on the safe side: it includes files in the store's own directory that no row seems to reference.
    let unnamed = way == .copied ? try own.map(values(in:)) ?? [] : []
    let target = SupportDirectory(store: destination)
    var made: OpenDirectory?
    var lost: Set<String> = []
    for name in named.union(unnamed).sorted() {
      guard let directory = directories.first(where: { $0.exists(name) }) else {
        // The file was lost earlier, or it is in a directory that cannot be read; in the latter case the copy would be
        // incomplete.
        if let failure = support.failureToOpenOthers() { throw failure }
        continue
      }
      if way == .copied, let found = directory.status(name), found.st_size > off_t(SupportDirectory.maxValueSize) {
        throw RegularFile.Problem.tooLarge(
          path: directory.path(name).path, bytes: Int(found.st_size), limit: SupportDirectory.maxValueSize)
      }
      let new = try made ?? target.make()
      made = new
      do {
        _ = try way == .linked ? directory.link(name, to: new, name) : directory.copy(name, to: new, name)
      } catch let failure as FileFailure where failure.number == ENOENT && !directory.exists(name) {
        lost.insert(name)
      }
    }
    return lost.intersection(named)
  }

  /// Returns the size of the external data files that a backup of a store copies, in bytes; 0 if their directory cannot
  /// be read.
  package static func valuesSize(of store: URL) -> Int {
    // This is an estimate; the code that reads the files reports why they cannot be read.
    guard let directory = try? SupportDirectory(store: store).open(), let names = try? values(in: directory) else {
      return 0
    }
    return names.reduce(0) { $0 + Int(directory.status($1)?.st_size ?? 0) }
  }

  /// Returns the regular files in a directory whose names are those of external data files.
  private static func values(in directory: OpenDirectory) throws -> [String] {
    try directory.names().filter { name in
      UUID(uuidString: name) != nil && directory.isRegularFile(name)
    }
  }

  // MARK: Removing

  /// Removes a store: its database, and the external data files that its rows reference.
  ///
  /// The directory of the values may be shared: `Data.sqlite` and `Data.store` use the same one.
  ///
  /// - Throws: `FileFailure`.
  package static func remove(at store: URL) throws {
    // A store at the null device is in memory; the device itself belongs to the system.
    if RegularFile.isNullDevice(store) { return }
    // If the database cannot be read, its files are unknown and stay.
    let names = (try? StoreFile.openToCopy(store)).flatMap { file -> Set<String>? in
      defer { try? file.close() }
      return try? ExternalReferences.names(in: file.connection)
    }
    for file in databaseFiles(of: store) { try FileCalls.removeFile(file) }
    try SupportDirectory(store: store).remove(names ?? [])
  }

  // MARK: Logs without a database

  /// Logs without a database, which SQLite would apply to the next database of that name.
  package static func orphanedLogs(of store: URL) -> [URL] {
    guard !FileCalls.exists(store) else { return [] }
    return companionSuffixes.map { sibling(of: store, $0) }.filter(FileCalls.exists)
  }

  /// Renames logs without a database, so that SQLite does not apply them to the next one. A log may hold the only copy
  /// of some rows, so it is kept: `Data.sqlite-wal` is renamed to `Data.sqlite-wal~`. Empty logs and shared-memory
  /// files are removed.
  ///
  /// - Returns: the new names of the logs that are kept.
  /// - Throws: `FileFailure`.
  @discardableResult
  package static func setOrphanedLogsAside(of store: URL) throws -> [URL] {
    try orphanedLogs(of: store).compactMap { log in
      if FileCalls.isRegular(log), log.path.hasSuffix("-shm") || FileCalls.size(log) == 0 {
        try FileCalls.removeFile(log)
        return nil
      }
      var number = 1
      while true {
        let aside = sibling(of: log, "~\(number == 1 ? "" : String(number))")
        if try FileCalls.renameToNew(log, to: aside) { return aside }
        number += 1
      }
    }
  }

  private static func sibling(of store: URL, _ suffix: String) -> URL {
    store.deletingLastPathComponent().appendingPathComponent(store.lastPathComponent + suffix)
  }
}

/// Names of temporary files and directories beside a store.
package enum TemporaryName {
  /// The longest path of a store in bytes, to which SQLite can add 8 more: it opens paths of up to 511.
  private static let longestPath = 503
  /// The longest name of a store in bytes, to which SQLite can add 8 more: a name can have 255.
  private static let longestName = 247

  /// Whether the files that SQLite creates beside a store get names and paths of valid length.
  package static func leavesRoom(_ store: URL) -> Bool {
    store.lastPathComponent.utf8.count <= longestName && store.path.utf8.count <= longestPath
  }

  /// Returns the store's name, shortened so that temporary names and paths that begin with it are valid.
  ///
  /// - Parameter others: the number of bytes in the path besides the name.
  static func stem(of store: URL, besides others: Int) -> String {
    var name = store.lastPathComponent
    // An identifier takes 36 bytes of a temporary name, and the words beside it up to 10.
    let limit = min(200, longestPath - others)
    while !name.isEmpty, name.utf8.count > limit { name.removeLast() }
    return name
  }
}

/// Private directories for temporary copies of a store, which are read or used to rehearse a migration.
package enum CopyDirectory {
  /// Creates a directory beside a store or in the temporary directory, whichever can be written and has a path short
  /// enough.
  ///
  /// Copies of the same store left by killed processes are removed.
  ///
  /// - Parameter holdsRows: false for a small copy without rows, for which the temporary directory is preferred.
  /// - Throws: `FileFailure` of the last place.
  package static func make(for store: URL, holdsRows: Bool = true) throws -> PrivateDirectory {
    let (beside, temporary) = (file(of: store).deletingLastPathComponent(), FileManager.default.temporaryDirectory)
    let (first, second) = holdsRows ? (beside, temporary) : (temporary, beside)
    do {
      return try make(for: store, in: first)
    } catch is FileFailure {
      return try make(for: store, in: second)
    }
  }

  /// Returns the directories in which a store can be copied for reading: beside it, the temporary directory, and an
  /// in-memory file system if there is one with ample space.
  ///
  /// - Parameter bytes: the size of the copy.
  static func places(for store: URL, bytes: Int) -> [URL] {
    var places = [file(of: store).deletingLastPathComponent(), FileManager.default.temporaryDirectory]
    #if os(Linux)
    let memory = URL(fileURLWithPath: "/dev/shm")
    if FileCalls.exists(memory), FileCalls.freeSpace(beside: memory) / 2 >= bytes { places.append(memory) }
    #endif
    return places
  }

  /// Creates a directory for a copy in a parent directory, after removing copies left there by killed processes.
  ///
  /// - Throws: `FileFailure`; its number is `ENAMETOOLONG` if SQLite could not open the copy there.
  static func make(for store: URL, in parent: URL) throws -> PrivateDirectory {
    let directory = try PrivateDirectory.make(prefix: prefix(for: store, in: parent), in: parent)
    let copy = directory.url.appendingPathComponent(store.lastPathComponent)
    guard TemporaryName.leavesRoom(copy) else {
      try directory.remove()
      throw FileFailure(operation: "copy the store to", path: copy.path, number: ENAMETOOLONG)
    }
    return directory
  }

  /// Removes copies left beside a store by killed processes.
  package static func removeAbandoned(for store: URL) {
    let folder = file(of: store).deletingLastPathComponent()
    PrivateDirectory.removeAbandoned(prefix: prefix(for: store, in: folder), in: folder)
  }

  private static func file(of store: URL) -> URL {
    FileCalls.isSymbolicLink(store) ? store.resolvingSymlinksInPath() : store
  }

  private static func prefix(for store: URL, in parent: URL) -> String {
    // The copy's path is PARENT/.STEM-copy-IDENTIFIER/NAME.
    let others = parent.path.utf8.count + 1 + ".-copy-".utf8.count + 36 + 1 + store.lastPathComponent.utf8.count
    return ".\(TemporaryName.stem(of: file(of: store), besides: others))-copy-"
  }
}
