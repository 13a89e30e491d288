// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The private directory in which one backup is made, `.Data~-backup`. It also reserves the backup's number.
///
/// The database is called `part.sqlite` there until it and its values have been synced to disk. Then it is renamed
/// within the directory, which marks the backup as complete: recovery moves it into place. A database with another name
/// is incomplete.
package struct BackupDirectory {
  /// Remains of backups by killed processes.
  package struct Leftovers {
    /// Backups that were complete, and have been moved into place.
    package var completed: [URL] = []
    /// The number of incomplete backups that were removed.
    package var removedCount = 0
  }

  private let directory: PrivateDirectory
  private let folder: URL
  /// `Data~2`.
  private let base: String
  /// `Data~2.sqlite`.
  private let databaseName: String

  private static let suffix = "-backup"
  private static let draftName = "part.sqlite"

  private var draft: URL { directory.url.appendingPathComponent(Self.draftName) }
  /// The complete backup before it is moved into place.
  private var whole: URL { directory.url.appendingPathComponent(databaseName) }
  private var location: URL { folder.appendingPathComponent(databaseName) }

  // MARK: Making

  /// Makes a backup of a store.
  ///
  /// - Returns: the location of the backup.
  /// - Throws: `StoreReplacement.Refusal`, `StoreFileProblem`, `FileFailure`, `SQLiteError`, `RegularFile.Problem`. No
  ///   backup is left then.
  package static func makeBackup(of url: URL, in folder: URL) throws -> URL {
    let location = StoreLocation(url)
    guard FileCalls.exists(location.file) else { throw StoreFileProblem.missing(path: url.path) }
    if location.holds(folder) { throw StoreReplacement.Refusal.ownDirectory(path: folder.path) }
    try FileCalls.makeDirectories(folder)
    _ = try settleAll(of: url, in: folder)
    var directory = try reserve(for: url, in: folder)
    do {
      try directory.fill(from: location)
      while true {
        if let backup = try directory.publish() { return backup }
        directory = try directory.renumbered(for: url)
      }
    } catch {
      // Anything left does not have a backup's name, and the next backup removes it. The error that is being thrown
      // takes precedence.
      try? directory.remove()
      throw error
    }
  }

  /// Reserves the first available number.
  private static func reserve(for store: URL, in folder: URL) throws -> BackupDirectory {
    var number = 1
    while true {
      let name = BackupName(of: store, number: number)
      if name.isFree(in: folder),
        let directory = try PrivateDirectory.claim(url(name.base, in: folder))
      {
        let reserved = BackupDirectory(
          directory: directory, folder: folder, base: name.base, databaseName: name.base + name.suffix)
        // Another process may have used the number meanwhile.
        if name.isFree(in: folder) { return reserved }
        try directory.remove()
      }
      number += 1
    }
  }

  static func url(_ base: String, in folder: URL) -> URL {
    folder.appendingPathComponent(".\(base)\(suffix)", isDirectory: true)
  }

  /// Copies the store and its values, and syncs the copy to disk.
  private func fill(from store: StoreLocation) throws {
    try StoreFiles.copy(from: store.url, to: draft)
    if let log = StoreLocation(draft).companions.first(where: FileCalls.exists) {
      throw StoreVerification.Problem(reason: "'\(log.lastPathComponent)' is left beside the backup.")
    }
    try FileCalls.copyPermissions(of: store.file, for: draft)
    var found = stat()
    if stat(store.support.url.path, &found) == 0 || stat(store.file.path, &found) == 0 {
      try SupportDirectory(store: draft).copyPermissions(of: found)
    }
    try FileCalls.synchronize(draft)
    let values = StoreLocation.externalData(of: draft)
    if FileCalls.exists(values) {
      // The files themselves were synced when they were copied.
      try FileCalls.synchronize(values)
      try FileCalls.synchronize(values.deletingLastPathComponent())
      try FileCalls.rename(values.deletingLastPathComponent(), to: StoreFiles.externalData(of: whole))
    }
    try FileCalls.synchronize(directory.url)
    try FileCalls.rename(draft, to: whole)
    try FileCalls.synchronize(directory.url)
  }

  // MARK: Putting in place

  /// Moves a complete backup into place, its values first.
  ///
  /// - Returns: the location; nil if another process has taken the name meanwhile.
  /// - Throws: `FileFailure`.
  private func publish() throws -> URL? {
    let (values, target) = (StoreFiles.externalData(of: whole), StoreFiles.externalData(of: location))
    let hasValues = FileCalls.exists(values)
    if hasValues {
      if FileCalls.exists(target) { return nil }
      try FileCalls.rename(values, to: target)
    }
    var isNamed = false
    do {
      isNamed = try FileCalls.renameToNew(whole, to: location)
    } catch {
      // If the backup has its name, a failure to remove the other link does not matter.
      isNamed = FileCalls.identity(whole) == FileCalls.identity(location)
      if !isNamed, hasValues { try? FileCalls.rename(target, to: values) }
      if !isNamed { throw error }
    }
    if !isNamed {
      if hasValues { try FileCalls.rename(target, to: values) }
      return nil
    }
    try FileCalls.synchronize(folder)
    // The backup is complete and in place; the next backup removes the rest of the directory.
    try? directory.remove()
    return location
  }

  /// Returns the same backup under the next available number.
  private func renumbered(for store: URL) throws -> BackupDirectory {
    let next = try Self.reserve(for: store, in: folder)
    let values = StoreFiles.externalData(of: whole)
    if FileCalls.exists(values) { try FileCalls.rename(values, to: StoreFiles.externalData(of: next.whole)) }
    try FileCalls.rename(whole, to: next.whole)
    try directory.remove()
    return next
  }

  /// Removes a backup that is not in place.
  private func remove() throws { try directory.remove() }

  /// Removes a backup that is in place, with its external data files.
  ///
  /// - Throws: `FileFailure`.
  package static func removeBackup(_ backup: URL) throws {
    try StoreFiles.remove(at: backup)
    // A backup's number is unique, so all external data files under it belong to it. The directory of a store may be
    // shared.
    let name = backup.deletingPathExtension().lastPathComponent
    guard let mark = name.lastIndex(of: "~"), name[mark...].dropFirst().allSatisfy(\.isNumber) else { return }
    let others = try FileCalls.names(in: backup.deletingLastPathComponent())
      .filter { $0 == name || $0.hasPrefix(name + ".") }
    if others.isEmpty { try FileCalls.removeTree(StoreFiles.externalData(of: backup)) }
  }

  // MARK: Cleaning up

  /// Finishes or removes backups left by killed processes.
  ///
  /// - Throws: `StoreReplacement.Refusal`, `FileFailure`.
  package static func settleAll(of store: URL, in folder: URL) throws -> Leftovers {
    if StoreLocation(store).holds(folder) { throw StoreReplacement.Refusal.ownDirectory(path: folder.path) }
    var found = Leftovers()
    let prefix = "." + BackupName.prefix(of: store)
    for name in try FileCalls.names(in: folder).sorted() where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
      let number = name.dropFirst(prefix.count).dropLast(suffix.count)
      guard number.allSatisfy(\.isNumber) else { continue }
      do {
        let url = folder.appendingPathComponent(name, isDirectory: true)
        guard let directory = try PrivateDirectory.reclaim(url) else { continue }
        try settle(directory, base: String(name.dropFirst().dropLast(suffix.count)), in: folder, &found)
      } catch is FileFailure {
        // The directory was not made by this framework, or cannot be removed; backups use another number.
      }
    }
    return found
  }

  private static func settle(
    _ directory: PrivateDirectory, base: String, in folder: URL, _ found: inout Leftovers
  ) throws {
    let names = try directory.names()
    let whole = names.first { name in
      (name == base || name.hasPrefix(base + ".")) && FileCalls.isRegular(directory.url.appendingPathComponent(name))
    }
    guard let whole else {
      let isEmpty = names.isEmpty
      try directory.remove()
      if !isEmpty { found.removedCount += 1 }
      return
    }
    let backup = BackupDirectory(directory: directory, folder: folder, base: base, databaseName: whole)
    if FileCalls.identity(backup.whole) == FileCalls.identity(backup.location) {
      // The backup is in place; only the link in the directory was left.
      try directory.remove()
    } else if let location = try backup.publish() {
      found.completed.append(location)
    }
    // Otherwise the name is taken, and the complete backup stays in its directory.
  }
}

/// The names of a backup's files. Backups of `Data.sqlite` and `Data.store` never share a number, since both would use
/// `.Data~_SUPPORT` for their values.
package struct BackupName {
  /// `Data~2`.
  package let base: String
  /// `.sqlite`, or nothing.
  package let suffix: String

  /// Returns the first available name: `Data~.sqlite` for `Data.sqlite`, or one with a number.
  package static func free(for url: URL, in folder: URL) -> URL {
    var number = 1
    while true {
      let name = BackupName(of: url, number: number)
      // The number may be reserved for a backup in progress.
      if name.isFree(in: folder), !FileCalls.exists(BackupDirectory.url(name.base, in: folder)) {
        return name.database(in: folder)
      }
      number += 1
    }
  }

  package init(of store: URL, number: Int) {
    base = Self.prefix(of: store) + (number == 1 ? "" : String(number))
    suffix = store.pathExtension.isEmpty ? "" : ".\(store.pathExtension)"
  }

  /// Returns the common prefix of the names of all backups of a store, `Data~`.
  package static func prefix(of store: URL) -> String { "\(store.deletingPathExtension().lastPathComponent)~" }

  package func database(in folder: URL) -> URL { folder.appendingPathComponent(base + suffix) }

  /// Whether a replaced store can be kept under a name: the name is available, or in use by that store itself or its
  /// values.
  ///
  /// An interrupted attempt may have linked the values already. They are never mixed with those of another store.
  package static func canKeep(_ old: URL, at target: URL, values: [String], in directory: URL) -> Bool {
    if let found = FileCalls.identity(target) { return found == FileCalls.identity(old) }
    guard FileCalls.exists(StoreFiles.externalData(of: target)) else { return true }
    let present = StoreLocation.externalData(of: target)
    // A directory that cannot be listed belongs to another user.
    guard let names = try? FileCalls.names(in: present) else { return false }
    return names.allSatisfy { name in
      values.contains(name)
        && FileCalls.identity(present.appendingPathComponent(name))
          == FileCalls.identity(directory.appendingPathComponent(name))
    }
  }

  /// Whether no file, not even a broken symbolic link, has a name of this backup.
  package func isFree(in folder: URL) -> Bool {
    // If the directory cannot be listed, making the backup fails with the reason.
    let names = (try? FileCalls.names(in: folder)) ?? []
    return !names.contains { name in
      name == base || name.hasPrefix(base + ".") || name == ".\(base)_SUPPORT"
        || StoreFiles.companionSuffixes.contains { name == base + $0 }
    }
  }
}
