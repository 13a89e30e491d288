// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Finishes or undoes a replacement of a store: at its end, after a failure, or after the process has ended partway
/// through. Every step can be repeated, since this may be interrupted too.
package struct InterruptedWork {
  package let lock: MigrationLock
  package let journal: WorkJournal

  private var location: StoreLocation { lock.location }

  /// The outcome of interrupted work.
  package enum Outcome: Hashable {
    case finished
    case undone
    /// Only a transaction of the store's own file was interrupted, which SQLite has rolled back.
    case rolledBack
  }

  // MARK: Finding

  /// Finishes or undoes interrupted work before a store is opened.
  ///
  /// A hot journal is rolled back too. If there is nothing to do, this costs one or two file system calls. Work of a
  /// running process is left alone, and so is work that this process has no permission to change: the store is
  /// consistent at any time and can be read.
  ///
  /// - Returns: the outcome; nil if there was nothing to do.
  /// - Throws: `SQLiteError`, and the errors of `settle(_:)`.
  @discardableResult
  package static func settle(beforeOpening url: URL) throws -> Outcome? {
    let location = StoreLocation(url)
    let isRolledBack = try StoreFile.rollBackHotJournal(location.file)
    return try settleWork(location) ?? (isRolledBack ? .rolledBack : nil)
  }

  private static func settleWork(_ location: StoreLocation) throws -> Outcome? {
    guard FileCalls.exists(location.workFolder) else { return nil }
    do {
      return try settle(MigrationLock.acquire(location))
    } catch is MigrationLock.Held {
      return nil
    } catch let failure as FileFailure where failure.isAboutPermissions {
      return nil
    }
  }

  /// Takes the lock, and finishes or undoes interrupted work.
  ///
  /// - Throws: `MigrationLock.Held`, and the errors of `settle(_:)`.
  package static func acquireSettled(_ location: StoreLocation, timeout: TimeInterval) throws -> MigrationLock {
    var settled: Outcome?
    // Other processes may leave interrupted work repeatedly, but not forever.
    for _ in 0..<100 {
      let lock = try MigrationLock.acquire(location, timeout: timeout)
      if try lock.leftovers().isEmpty {
        lock.settled = settled
        return lock
      }
      settled = try settle(lock) ?? settled
    }
    throw WorkDirectory.Refusal(
      path: location.workFolder.path,
      reason: "Its contents were removed a hundred times, and have reappeared each "
        + "time.")
  }

  /// Finishes or undoes interrupted work.
  ///
  /// - Returns: the outcome; nil if there was nothing to do.
  /// - Throws: `FileFailure`; `RegularFile.Problem`; `WorkJournal.Unreadable`.
  package static func settle(_ lock: MigrationLock) throws -> Outcome? {
    let found: WorkJournal?
    do {
      found = try WorkJournal.read(lock.work, lock.location)
    } catch {
      lock.leaveUntouched()
      throw error
    }
    guard let journal = found else {
      // Interrupted before the journal was written: only the work directory has been changed.
      let isEmpty = try lock.leftovers().isEmpty
      try lock.removeWorkFolder()
      return isEmpty ? nil : .undone
    }
    let work = InterruptedWork(lock: lock, journal: journal)
    guard journal.isCommitted(lock.work) else {
      try work.undo(isLate: true)
      return .undone
    }
    let isUndone = journal.isInPlace == true ? try !referencesNone(of: journal, lock.location) : false
    _ = try work.finish(isLate: true)
    return isUndone ? .undone : .finished
  }

  /// Whether the rows of a store reference none of the obsolete files in a journal. If so, the transaction of an
  /// in-place migration has been committed.
  package static func referencesNone(of journal: WorkJournal, _ location: StoreLocation) throws -> Bool {
    try namesOfStore(location)?.isDisjoint(with: journal.obsolete) ?? false
  }

  // MARK: Undoing

  /// Removes the new files. The old store is in place and unchanged.
  ///
  /// - Parameter isLate: whether others may have used the store since the exchange.
  package func undo(isLate: Bool = false) throws {
    let (folder, work, name) = (lock.folder, lock.work, location.file.lastPathComponent)
    for suffix in StoreLocation.companionSuffixes {
      let moved = StoreLocation.oldName + suffix
      guard let found = work.status(moved), found.st_mode & S_IFMT == S_IFREG, !folder.exists(name + suffix) else {
        continue
      }
      try work.rename(moved, to: folder, name + suffix)
    }
    try remove(journal.added, isLate: isLate)
    StoreWriteLock.removeIdleJournal(of: location)
    try lock.removeWorkFolder()
  }

  // MARK: Finishing

  /// Moves the old store to where it is kept, or removes the files that only it needed.
  ///
  /// - Parameter isLate: whether others may have used the store since the exchange.
  /// - Returns: the location where the old store is kept.
  package func finish(isLate: Bool = false) throws -> URL? {
    // The rename must be synced to disk before files of the old store are removed.
    try lock.folder.synchronize()
    let kept = try keepOldStore()
    try remove(journal.obsolete, isLate: isLate)
    try lock.removeWorkFolder()
    try lock.folder.synchronize()
    return kept
  }

  /// Removes external data files that the present store does not reference, since a copy of the other store may have
  /// been restored.
  private func remove(_ names: [String], isLate: Bool) throws {
    guard !names.isEmpty, let needed = isLate ? try Self.namesOfStore(location) : [] else { return }
    try location.support.remove(names.filter { !needed.contains($0) })
  }

  /// Returns the files that the present store references; nil if it is damaged.
  private static func namesOfStore(_ location: StoreLocation) throws -> Set<String>? {
    try location.checkFile()
    guard FileCalls.exists(location.file) else { return [] }
    // A killed process may have left a hot journal, which a reader cannot roll back.
    let connection = try SQLiteConnection(url: location.file, mode: .readWrite)
    defer {
      // The connection has written nothing.
      try? connection.close()
    }
    do {
      return try ExternalReferences.names(in: connection)
    } catch let error as SQLiteError where error.isNotADatabase || error.isCorrupt {
      return nil
    }
  }

  private func keepOldStore() throws -> URL? {
    let (work, old) = (lock.work, StoreLocation.oldName)
    guard let path = journal.keptAt else { return nil }
    let parts = path.split(separator: "/").map(String.init)
    guard let last = parts.last, let original = work.status(old) else {
      let planned = location.folder.appendingPathComponent(path)
      return FileCalls.exists(planned) ? planned : nil
    }
    try RegularFile.check(original, location.oldStore)
    var directories = [lock.folder]
    for part in parts.dropLast() { directories.append(try directories[directories.count - 1].makeDirectory(part)) }
    let directory = directories[directories.count - 1]
    var name = last
    while !BackupName.canKeep(
      location.oldStore, at: directory.path(name), values: journal.kept, in: location.externalData)
    {
      name = BackupName.free(for: location.file, in: directory.url).lastPathComponent
    }
    try keepFiles(journal.kept, of: name, in: directory)
    if let note = journal.setAside { try note.write(in: directory, besideStore: name) }
    for suffix in StoreLocation.companionSuffixes where work.exists(old + suffix) {
      try work.rename(old + suffix, to: directory, name + suffix)
    }
    if !directory.exists(name) { try work.rename(old, to: directory, name) }
    for directory in directories.reversed() { try directory.synchronize() }
    try work.removeFile(old)
    return directory.path(name)
  }

  private func keepFiles(_ names: [String], of store: String, in directory: OpenDirectory) throws {
    guard !names.isEmpty, let source = try location.support.open() else { return }
    let target = SupportDirectory(store: directory.path(store))
    let support = try directory.makeDirectory(target.url.lastPathComponent)
    let values = try support.makeDirectory(SupportDirectory.valuesName)
    // Rows and their files may have been deleted since the exchange.
    for name in names where source.exists(name) { _ = try source.link(name, to: values, name) }
    try values.synchronize()
    try support.synchronize()
  }
}
