// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The right to work on a store as a whole, which one process at a time has: to migrate it by copying, to replace it, and
/// to finish or undo what another process has left behind.
///
/// It is a lock of the operating system on a file in the work directory, so that it ends with the process, however that
/// ends. Writers of rows do not know it; `StoreWriteLock` keeps them away.
package final class MigrationLock {
  /// Somebody else has the lock.
  package struct Held: Error {
    /// What the other says of its work.
    package let journal: WorkJournal?

    package init(
      journal: WorkJournal?
    ) {
      self.journal = journal
    }
  }

  package let place: StoreLocation
  /// The directory that the store is in.
  package let folder: OpenDirectory
  /// The work directory.
  package let work: OpenDirectory
  /// What became of unfinished work that was found when the lock was taken.
  package var settled: InterruptedWork.Outcome?
  private let descriptor: Int32
  /// Whether the file of the lock was made here.
  private var isNew = false

  private init(place: StoreLocation, folder: OpenDirectory, work: OpenDirectory, descriptor: Int32) {
    self.place = place
    self.folder = folder
    self.work = work
    self.descriptor = descriptor
  }

  deinit { Self.letGo(descriptor) }

  /// Gives a lock back, also where a process that has just been started still has the descriptor.
  private static func letGo(_ descriptor: Int32) {
    // What could fail here is undone by closing.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Takes the lock, and makes the work directory where there is none.
  ///
  /// - Parameter timeout: seconds to wait for another who has it.
  /// - Throws: `Held`; `WorkDirectory.Refusal`; `FileFailure`.
  package static func take(_ place: StoreLocation, timeout: TimeInterval = 0) throws -> MigrationLock {
    let end = Date().addingTimeInterval(timeout)
    let folder = try OpenDirectory.open(place.folder)
    while true {
      if let lock = try attempt(place, folder) { return lock }
      if Date() >= end {
        // What cannot be read is not needed: the lock itself says enough.
        throw Held(journal: try? WorkDirectory.open(place, in: folder).flatMap { try WorkJournal.read($0, place) })
      }
      usleep(20_000)
    }
  }

  package static func attempt(_ place: StoreLocation, _ folder: OpenDirectory) throws -> MigrationLock? {
    while true {
      guard let work = try WorkDirectory.make(place, in: folder) else {
        // Removed by who has used it; or the store's own directory is no more.
        if try folder.status().st_nlink == 0 {
          throw FileFailure(operation: "open", path: place.folder.path, number: ENOENT)
        }
        continue
      }
      try refuseIrregularLock(work, place)
      let isNew = !work.exists(StoreLocation.lockName)
      let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
      let descriptor = openat(work.descriptor, StoreLocation.lockName, flags, 0o600)
      // Who had the lock has removed the directory in this moment.
      if descriptor < 0, errno == ENOENT { continue }
      guard descriptor >= 0 else {
        let failure = FileFailure(operation: "open", path: place.lockFile.path, number: errno)
        // Nothing is in it, where it was made here.
        try? folder.removeDirectoryIfEmpty(place.workFolder.lastPathComponent)
        try refuseIrregularLock(work, place)
        throw failure
      }
      let lock = MigrationLock(place: place, folder: folder, work: work, descriptor: descriptor)
      lock.isNew = isNew
      try refuseIrregularLock(work, place)
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        if errno == EWOULDBLOCK { return nil }
        throw FileFailure(operation: "lock", path: place.lockFile.path, number: errno)
      }
      // The lock of a file that has been removed meanwhile keeps nobody away.
      if lock.isInPlace { return lock }
    }
  }

  private static func refuseIrregularLock(_ work: OpenDirectory, _ place: StoreLocation) throws {
    guard let found = work.status(StoreLocation.lockName), found.st_mode & S_IFMT != S_IFREG else { return }
    throw WorkDirectory.Refusal(path: place.lockFile.path, reason: "The file of the lock is no regular file.")
  }

  /// Whether a process has the lock at this moment.
  package static func isHeld(_ work: OpenDirectory, _ place: StoreLocation) throws -> Bool {
    let descriptor = openat(work.descriptor, StoreLocation.lockName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return false }
    guard descriptor >= 0 else {
      let failure = FileFailure(operation: "open", path: place.lockFile.path, number: errno)
      try refuseIrregularLock(work, place)
      throw failure
    }
    defer { letGo(descriptor) }
    // Asked for together with others: two who ask do not see each other.
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }

  /// Whether the lock is that of the file which others would open now.
  private var isInPlace: Bool {
    var (file, directory) = (stat(), stat())
    guard fstat(descriptor, &file) == 0, fstat(work.descriptor, &directory) == 0 else { return false }
    return work.identity(StoreLocation.lockName) == .init(file)
      && folder.identity(place.workFolder.lastPathComponent) == .init(directory)
  }

  /// Leaves a work directory that cannot be judged as it was found.
  package func leaveUntouched() {
    // Without a process that has its lock the file harms nobody.
    if isNew { try? work.removeFile(StoreLocation.lockName) }
  }

  /// What is in the work directory of ours, but for the lock.
  package func leftovers() throws -> [String] {
    try work.names().filter { $0 != StoreLocation.lockName && StoreLocation.isOwn($0) }
  }

  /// Removes what is ours from the work directory, the journal and the lock last, and the directory where nothing else is in
  /// it. The lock is of no use afterwards.
  package func removeWorkFolder() throws {
    let last = [StoreLocation.journalName, StoreLocation.lockName]
    for name in try leftovers() where !last.contains(name) { try work.removeTree(name) }
    for name in last { try work.removeTree(name) }
    // Another process may have made a lock file of its own in this moment.
    try folder.removeDirectoryIfEmpty(place.workFolder.lastPathComponent)
  }
}
