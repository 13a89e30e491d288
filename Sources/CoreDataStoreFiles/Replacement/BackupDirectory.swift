// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The private directory in which one backup is made, `.Data~-backup`, and which reserves the backup's number.
///
/// The database is called `part.sqlite` there until it and its values are on the disk. It gets its own name in the directory
/// then: from that moment on the backup is whole, and who finds it gives it its place. What has another name is torn.
package struct BackupDirectory {
  /// What processes have left that were killed while they made backups.
  package struct Leftovers {
    /// Backups that were complete, and have their names now.
    package var completed: [URL] = []
    /// How many were not complete, and have been removed.
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
  /// The complete backup, before it has its place.
  private var whole: URL { directory.url.appendingPathComponent(databaseName) }
  private var place: URL { folder.appendingPathComponent(databaseName) }

  // MARK: Making

  /// Makes a backup of a store.
  ///
  /// - Returns: where the backup is.
  /// - Throws: `StoreReplacement.Refusal`, `StoreFileProblem`, `FileFailure`, `SQLiteError`, `RegularFile.Problem`,
  ///   `CocoaError`. No backup is left then.
  package static func makeBackup(of url: URL, in folder: URL) throws -> URL {
    let place = StoreLocation(url)
    guard FileCalls.exists(place.file) else { throw StoreFileProblem.missing(path: url.path) }
    if place.holds(folder) { throw StoreReplacement.Refusal.ownDirectory(path: folder.path) }
    if !FileCalls.exists(folder) {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    _ = try settleAll(of: url, in: folder)
    var directory = try reserve(for: url, in: folder)
    do {
      try directory.fill(from: place)
      while true {
        if let backup = try directory.publish() { return backup }
        directory = try directory.renumbered(for: url)
      }
    } catch {
      // What stays has no backup's name, and the next backup removes it; why there is none is what matters.
      try? directory.remove()
      throw error
    }
  }

  /// Reserves the first number that is free.
  private static func reserve(for store: URL, in folder: URL) throws -> BackupDirectory {
    var number = 1
    while true {
      let name = BackupName(of: store, number: number)
      if name.isFree(in: folder),
        let directory = try PrivateDirectory.claim(url(name.base, in: folder))
      {
        let reserved = BackupDirectory(
          directory: directory, folder: folder, base: name.base, databaseName: name.base + name.suffix)
        // Who had the number has given it its place in between.
        if name.isFree(in: folder) { return reserved }
        try directory.remove()
      }
      number += 1
    }
  }

  static func url(_ base: String, in folder: URL) -> URL {
    folder.appendingPathComponent(".\(base)\(suffix)", isDirectory: true)
  }

  /// Copies the store, its values included, and waits until all of it is on the disk.
  private func fill(from store: StoreLocation) throws {
    try StoreFiles.copy(from: store.url, to: draft)
    if let log = StoreLocation(draft).companions.first(where: FileCalls.exists) {
      throw StoreVerification.Problem(reason: "'\(log.lastPathComponent)' is left beside the backup.")
    }
    try FileCalls.takePermissions(of: store.file, for: draft)
    var found = stat()
    if stat(store.support.url.path, &found) == 0 || stat(store.file.path, &found) == 0 {
      try SupportDirectory(store: draft).takePermissions(of: found)
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

  /// Gives a complete backup its place, its values first.
  ///
  /// - Returns: where it is; nil where something else has got its name meanwhile.
  /// - Throws: `FileFailure`.
  private func publish() throws -> URL? {
    let (values, target) = (StoreFiles.externalData(of: whole), StoreFiles.externalData(of: place))
    let hasValues = FileCalls.exists(values)
    if hasValues {
      if FileCalls.exists(target) { return nil }
      try FileCalls.rename(values, to: target)
    }
    var isNamed = false
    do {
      isNamed = try FileCalls.renameToNew(whole, to: place)
    } catch {
      // The name counts, not whether the other one could be removed; else why there is no name is what matters.
      isNamed = FileCalls.identity(whole) == FileCalls.identity(place)
      if !isNamed, hasValues { try? FileCalls.rename(target, to: values) }
      if !isNamed { throw error }
    }
    if !isNamed {
      if hasValues { try FileCalls.rename(target, to: values) }
      return nil
    }
    try FileCalls.synchronize(folder)
    // The backup is whole, and has its name; what stays of the directory is cleared up by the next one.
    try? directory.remove()
    return place
  }

  /// The same backup under the next number that is free.
  private func renumbered(for store: URL) throws -> BackupDirectory {
    let next = try Self.reserve(for: store, in: folder)
    let values = StoreFiles.externalData(of: whole)
    if FileCalls.exists(values) { try FileCalls.rename(values, to: StoreFiles.externalData(of: next.whole)) }
    try FileCalls.rename(whole, to: next.whole)
    try directory.remove()
    return next
  }

  /// Removes a backup that has not got its place.
  private func remove() throws { try directory.remove() }

  /// Removes a backup that has its place, with its files of values.
  ///
  /// - Throws: `FileFailure`.
  package static func removeBackup(_ backup: URL) throws {
    try StoreFiles.remove(at: backup)
    // The number of a backup is its own, and so are all files of values under it; the directory of a store may be shared.
    let name = backup.deletingPathExtension().lastPathComponent
    guard let mark = name.lastIndex(of: "~"), name[mark...].dropFirst().allSatisfy(\.isNumber) else { return }
    let others = try FileCalls.names(in: backup.deletingLastPathComponent())
      .filter { $0 == name || $0.hasPrefix(name + ".") }
    if others.isEmpty { try FileCalls.removeTree(StoreFiles.externalData(of: backup)) }
  }

  // MARK: Clearing up

  /// Finishes or removes what processes have left that were killed while they made backups of a store.
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
        // It cannot have been made by this framework, or not be cleared up; the next number is free.
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
    if FileCalls.identity(backup.whole) == FileCalls.identity(backup.place) {
      // It has its place; only the name in the directory was still to go.
      try directory.remove()
    } else if let place = try backup.publish() {
      found.completed.append(place)
    }
    // Else something else has got the name since. The backup stays where it is: it is whole.
  }
}
