// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The files that make up a SQLite store: the database, what SQLite keeps beside it, and files of large values.
package enum StoreFiles {
  /// How files of values get into a copy of a store.
  package enum ValueCopy {
    /// As files of their own, for copies that stay.
    case copied
    /// As hard links where the file system has them, since files of values never change.
    case linked
  }

  package static let companionSuffixes = ["-wal", "-shm", "-journal"]

  /// The database and what SQLite keeps beside it.
  package static func databaseFiles(of store: URL) -> [URL] {
    [store] + companionSuffixes.map { sibling(of: store, $0) }
  }

  // MARK: Files of values

  /// The directory in which values too large for the database are kept: `.Name_SUPPORT` beside `Name.sqlite`.
  package static func externalData(of store: URL) -> URL { SupportDirectory(store: store).url }

  /// Links files of values back that a store's rows name, and that only the directory of a backup has.
  ///
  /// Costs one look at the directory where no backup with files of values is beside the store.
  ///
  /// - Returns: how many there were.
  /// - Throws: `SQLiteError`, `FileFailure`; `RegularFile.Problem`.
  @discardableResult
  package static func bringBackValues(of store: URL) throws -> Int {
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

  // MARK: Copying

  /// Copies a store as it is at one moment, whoever else uses it: the log's content is part of the copy's database.
  ///
  /// Only the owner can read the copy's database. Nothing is left at the new place when the copy fails.
  ///
  /// - Parameters:
  ///   - source: the store.
  ///   - destination: where nothing is yet.
  /// - Throws: `SQLiteError`, `FileFailure`; `RegularFile.Problem` where the file of a value is a link or a device.
  package static func copy(from source: URL, to destination: URL, values: ValueCopy = .copied) throws {
    try FileCalls.makePrivateFile(destination)
    do {
      let file = try StoreFile.openToCopy(source)
      defer {
        // Opened for reading, so that nothing can be lost.
        try? file.close()
      }
      // Values whose rows are deleted while they are copied belong to a state that is no more; the next one is whole.
      for attempt in 1... {
        try file.connection.backup(toPath: destination.path)
        let lost = try copyValues(of: source, to: destination, values)
        if lost.isEmpty || attempt == 5 { break }
        if try !ExternalReferences.names(in: file.connection).isDisjoint(with: lost) { break }
      }
    } catch {
      // Why the copy failed is what matters.
      for file in databaseFiles(of: destination) { try? FileCalls.removeFile(file) }
      try? FileCalls.removeTree(externalData(of: destination))
      throw error
    }
  }

  /// Links the files of a store's values beside a copy of its database.
  package static func linkValues(of source: URL, to copy: URL) throws {
    _ = try copyValues(of: source, to: copy, .linked)
  }

  /// - Returns: the names of values that were there, and are no more.
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
      // Why the names cannot be read is what matters.
      try? copy.close()
      throw error
    }
    // Those of the store's own directory that no row seems to name are copied along: a backup errs on this side.
    let unnamed = way == .copied ? try own.map(values(in:)) ?? [] : []
    let target = SupportDirectory(store: destination)
    var made: OpenDirectory?
    var lost: Set<String> = []
    for name in named.union(unnamed).sorted() {
      guard let directory = directories.first(where: { $0.exists(name) }) else {
        // Lost before this copy is made, or where nobody may look: then the copy would be called whole and be without it.
        if let failure = support.failureToOpenOthers() { throw failure }
        continue
      }
      if way == .copied, let found = directory.status(name), found.st_size > off_t(SupportDirectory.greatestValue) {
        throw RegularFile.Problem.tooLarge(
          path: directory.path(name).path, bytes: Int(found.st_size), limit: SupportDirectory.greatestValue)
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

  /// The regular files of a directory whose names are those of values.
  private static func values(in directory: OpenDirectory) throws -> [String] {
    try directory.names().filter { name in
      UUID(uuidString: name) != nil && directory.status(name).map { $0.st_mode & S_IFMT == S_IFREG } == true
    }
  }

  // MARK: Removing

  /// Removes a store: its database, and the files of values that its rows name and no other's.
  ///
  /// The directory of values may be shared: `Data.sqlite` and `Data.store` have the same.
  ///
  /// - Throws: `FileFailure`.
  package static func remove(at store: URL) throws {
    // Of a database that cannot be read nobody knows which files are its own; they stay.
    let names = (try? StoreFile.openToCopy(store)).flatMap { file -> Set<String>? in
      defer { try? file.close() }
      return try? ExternalReferences.names(in: file.connection)
    }
    for file in databaseFiles(of: store) { try FileCalls.removeFile(file) }
    try SupportDirectory(store: store).remove(names ?? [])
  }

  /// Removes a store as `remove(at:)` does; what cannot be removed stays.
  package static func removeIfPresent(at store: URL) {
    // Cleaning up after something that has failed or is done: there is nobody to tell, and nothing else to do.
    try? remove(at: store)
  }

  // MARK: Logs without a database

  /// Logs that a database has left which is gone, and which SQLite would take for those of the next one of that name.
  package static func deadLogs(of store: URL) -> [URL] {
    guard !FileCalls.exists(store) else { return [] }
    return companionSuffixes.map { sibling(of: store, $0) }.filter(FileCalls.exists)
  }

  /// Moves the logs away that lie at a place where no database is, so that the next one is not taken for theirs.
  ///
  /// A log may hold all that is left of somebody's rows: `Data.sqlite-wal` becomes `Data.sqlite-wal~`, and stays. Empty
  /// logs, and shared memory, hold nothing and are removed.
  ///
  /// - Returns: what the logs that stay are called now.
  /// - Throws: `FileFailure`.
  @discardableResult
  package static func setDeadLogsAside(of store: URL) throws -> [URL] {
    try deadLogs(of: store).compactMap { log in
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
