// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The right to work on a store as a whole, which one process at a time has: to migrate it by copying, to replace it, and
/// to finish or undo what another process has left behind.
///
/// It is a lock of the operating system on a file in the work folder, so that it ends with the process, however that ends.
/// Writers of rows do not know it; `StoreHold` keeps them away.
final class MigrationLock {
  /// Somebody else has the lock.
  struct Held: Error {
    /// What the other says of its work.
    let journal: WorkJournal?
  }

  let place: StorePlace
  private let descriptor: Int32

  private init(place: StorePlace, descriptor: Int32) {
    self.place = place
    self.descriptor = descriptor
  }

  deinit { Self.letGo(descriptor) }

  /// Gives a lock back, also where a process that has just been started still has the descriptor.
  private static func letGo(_ descriptor: Int32) {
    // What could fail here is undone by closing.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Takes the lock, and makes the work folder where there is none.
  ///
  /// - Parameter timeout: seconds to wait for another who has it.
  /// - Throws: `Held`; `FileFailure`.
  static func take(_ place: StorePlace, timeout: TimeInterval = 0) throws -> MigrationLock {
    let end = Date().addingTimeInterval(timeout)
    while true {
      if let lock = try attempt(place) { return lock }
      if Date() >= end {
        // What cannot be read is not needed: the lock itself says enough.
        throw Held(journal: try? WorkJournal.read(place))
      }
      usleep(20_000)
    }
  }

  private static func attempt(_ place: StorePlace) throws -> MigrationLock? {
    while true {
      try FileCalls.makeFolder(place.workFolder)
      let descriptor = open(place.lockFile.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
      // Who had the lock has removed the folder in this moment.
      if descriptor < 0, errno == ENOENT { continue }
      guard descriptor >= 0 else {
        let failure = FileFailure(operation: "open", path: place.lockFile.path, number: errno)
        // Nothing is in it, where it was made here.
        try? FileCalls.removeFolderIfEmpty(place.workFolder)
        throw failure
      }
      let lock = MigrationLock(place: place, descriptor: descriptor)
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        if errno == EWOULDBLOCK { return nil }
        throw FileFailure(operation: "lock", path: place.lockFile.path, number: errno)
      }
      // The lock of a file that has been removed meanwhile keeps nobody away.
      if lock.isOfFile(place.lockFile) { return lock }
    }
  }

  /// Whether a process has the lock at this moment.
  static func isHeld(_ place: StorePlace) throws -> Bool {
    let descriptor = open(place.lockFile.path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return false }
    guard descriptor >= 0 else {
      throw FileFailure(operation: "open", path: place.lockFile.path, number: errno)
    }
    defer { letGo(descriptor) }
    // Asked for together with others: two who ask do not see each other.
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }

  private func isOfFile(_ url: URL) -> Bool {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { return false }
    return FileCalls.identity(url) == .init(device: UInt64(found.st_dev), number: UInt64(found.st_ino))
  }

  /// Removes the work folder with everything in it, the journal and the lock last. The lock is of no use afterwards.
  func removeWorkFolder() throws {
    let last = [place.journalFile.lastPathComponent, place.lockFile.lastPathComponent]
    for name in try FileCalls.names(in: place.workFolder) where !last.contains(name) {
      try FileCalls.removeTree(place.workFolder.appendingPathComponent(name))
    }
    for name in last { try FileCalls.removeFile(place.workFolder.appendingPathComponent(name)) }
    // Another process may have made a lock file of its own in this moment.
    try FileCalls.removeFolderIfEmpty(place.workFolder)
  }
}
