// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The lock for replacing a store, held by one process at a time: to migrate the store by copying, to replace it, and
/// to finish or undo interrupted work.
///
/// It is an operating system lock on a file in the work directory, so it ends with the process in any case. It does not
/// block writers of rows; `StoreWriteLock` does.
package final class MigrationLock {
  /// Another process holds the lock.
  package struct Held: Error {
    /// The journal of the other process.
    package let journal: WorkJournal?
  }

  package let location: StoreLocation
  /// The directory that the store is in.
  package let folder: OpenDirectory
  /// The work directory.
  package let work: OpenDirectory
  /// The outcome of interrupted work found when the lock was taken.
  package var settled: InterruptedWork.Outcome?
  private let descriptor: Int32
  /// Whether this process has created the lock file.
  private var isNew = false

  private init(location: StoreLocation, folder: OpenDirectory, work: OpenDirectory, descriptor: Int32) {
    self.location = location
    self.folder = folder
    self.work = work
    self.descriptor = descriptor
  }

  deinit { Self.release(descriptor) }

  /// Releases a lock, even if a newly started child process still has the descriptor.
  private static func release(_ descriptor: Int32) {
    // If unlocking fails, closing releases the lock.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Takes the lock, creating the work directory if it does not exist.
  ///
  /// - Parameter timeout: how long to wait for another process, in seconds.
  /// - Throws: `Held`; `WorkDirectory.Refusal`; `FileFailure`.
  package static func acquire(_ location: StoreLocation, timeout: TimeInterval = 0) throws -> MigrationLock {
    let end = Date().addingTimeInterval(timeout)
    let folder = try OpenDirectory.open(location.folder)
    while true {
      if let lock = try attempt(location, folder) { return lock }
      if Date() >= end {
        // The journal only adds detail to the error.
        throw Held(
          journal: try? WorkDirectory.open(location, in: folder).flatMap { try WorkJournal.read($0, location) })
      }
      usleep(20_000)
    }
  }

  package static func attempt(_ location: StoreLocation, _ folder: OpenDirectory) throws -> MigrationLock? {
    while true {
      guard let work = try WorkDirectory.make(location, in: folder) else {
        // Another process has finished its work and removed the directory, or the store's own directory no longer
        // exists.
        if try folder.status().st_nlink == 0 {
          throw FileFailure(operation: "open", path: location.folder.path, number: ENOENT)
        }
        continue
      }
      try refuseIrregularLock(work, location)
      let isNew = !work.exists(StoreLocation.lockName)
      let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
      let descriptor = openat(work.descriptor, StoreLocation.lockName, flags, 0o600)
      // Computing the lock's path accesses files, which changes `errno`.
      let number = errno
      // The process that held the lock has just removed the directory.
      if descriptor < 0, number == ENOENT { continue }
      guard descriptor >= 0 else {
        let failure = FileFailure(operation: "open", path: location.lockFile.path, number: number)
        // If the directory was created here, it is empty.
        try? folder.removeDirectoryIfEmpty(location.workFolder.lastPathComponent)
        try refuseIrregularLock(work, location)
        throw failure
      }
      let lock = MigrationLock(location: location, folder: folder, work: work, descriptor: descriptor)
      lock.isNew = isNew
      try refuseIrregularLock(work, location)
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let number = errno
        if number == EWOULDBLOCK { return nil }
        throw FileFailure(operation: "lock", path: location.lockFile.path, number: number)
      }
      // A lock on a file that has been removed meanwhile protects nothing.
      if lock.isInPlace { return lock }
    }
  }

  private static func refuseIrregularLock(_ work: OpenDirectory, _ location: StoreLocation) throws {
    guard let found = work.status(StoreLocation.lockName), found.st_mode & S_IFMT != S_IFREG else { return }
    throw WorkDirectory.Refusal(path: location.lockFile.path, reason: "The lock file is not a regular file.")
  }

  /// Whether a process holds the lock.
  package static func isHeld(_ work: OpenDirectory, _ location: StoreLocation) throws -> Bool {
    let descriptor = openat(work.descriptor, StoreLocation.lockName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    let number = errno
    if descriptor < 0, number == ENOENT { return false }
    guard descriptor >= 0 else {
      let failure = FileFailure(operation: "open", path: location.lockFile.path, number: number)
      try refuseIrregularLock(work, location)
      throw failure
    }
    defer { release(descriptor) }
    // A shared lock, so that two processes that check at the same time do not block each other.
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }

  /// Whether the locked file is still the one that other processes would open.
  private var isInPlace: Bool {
    var (file, directory) = (stat(), stat())
    guard fstat(descriptor, &file) == 0, fstat(work.descriptor, &directory) == 0 else { return false }
    return work.identity(StoreLocation.lockName) == .init(file)
      && folder.identity(location.workFolder.lastPathComponent) == .init(directory)
  }

  /// Leaves a work directory with an unreadable journal unchanged.
  package func leaveUntouched() {
    // A lock file that no process has locked is harmless.
    if isNew { try? work.removeFile(StoreLocation.lockName) }
  }

  /// Returns the names in the work directory that this framework uses, except that of the lock file.
  package func leftovers() throws -> [String] {
    try work.names().filter { $0 != StoreLocation.lockName && StoreLocation.isOwn($0) }
  }

  /// Removes this framework's files from the work directory, the journal and the lock last, and then the directory if
  /// it is empty. This releases the lock.
  package func removeWorkFolder() throws {
    let last = [StoreLocation.journalName, StoreLocation.lockName]
    for name in try leftovers() where !last.contains(name) { try work.removeTree(name) }
    for name in last { try work.removeTree(name) }
    // Another process may just have created a lock file of its own.
    try folder.removeDirectoryIfEmpty(location.workFolder.lastPathComponent)
  }
}
