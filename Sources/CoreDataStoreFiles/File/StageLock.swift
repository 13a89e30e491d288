// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Keeps other processes, and other coordinators of this one, from running the stages of a store at the same time, and
/// from using it while the code of a stage runs.
///
/// A file beside the store is locked, and is removed afterwards. The lock ends with the process. Where the store's name is
/// a symbolic link, the file is beside its target, so that those that use another name wait too.
package final class StageLock: Sendable {
  /// Another process, or another coordinator, runs the stages of the store.
  package struct Held: Error {
    /// The name of the stage, if its code has begun.
    package let stage: String?
  }

  /// The lock in whose work this thread, or this task, is.
  @TaskLocal private static var current: StageLock?

  /// A text that no other lock has.
  package let run = UUID().uuidString
  private let descriptor: Int32
  private let path: String

  /// Waits for the lock.
  ///
  /// - Parameter timeout: how long to wait, in seconds.
  /// - Throws: `Held`; `FileFailure` if the file cannot be created; `RegularFile.Problem` if its name has something else.
  package init(_ store: URL, timeout: TimeInterval) throws {
    let path = Self.path(store)
    let end = Date().addingTimeInterval(timeout)
    while true {
      let descriptor = try Self.opened(path, O_RDWR | O_CREAT)
      // The file may have been removed by the process that had the lock.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isFile(descriptor, at: path) {
        Self.share(descriptor, like: store)
        (self.descriptor, self.path) = (descriptor, path)
        return
      }
      close(descriptor)
      guard Date() < end else { throw Held(stage: nil) }
      usleep(20_000)
    }
  }

  deinit {
    unlink(path)
    close(descriptor)
  }

  /// Runs work, in which connections that are opened to the store belong to the stage.
  package func hold<Result>(_ work: () throws -> Result) rethrows -> Result {
    try Self.$current.withValue(self, operation: work)
  }

  /// Returns the lock of a store, if this is called in its work; nil otherwise.
  package static func own(_ store: URL) -> StageLock? {
    guard let current, current.path == path(store) else { return nil }
    return current
  }

  /// Throws if somebody else runs the code of the stage that the metadata of a store tell of.
  ///
  /// If nobody does, the process was killed, or could not remove its record. The code will run again, and see what others
  /// have written.
  ///
  /// - Parameter own: the lock of the stage that the caller belongs to; nil for none.
  /// - Throws: `Held`; `FileFailure` if the file of the lock cannot be opened.
  package static func check(_ metadata: [String: Any], of store: URL, own: StageLock?) throws {
    guard let stage = StoreMetadata.begunStage(metadata) else { return }
    let path = path(store)
    if own?.path == path { return }
    if try isHeld(path) { throw Held(stage: stage) }
  }

  /// Removes the file that a process has left which was killed while it had the lock.
  package static func removeAbandoned(_ store: URL) {
    guard exists(store) else { return }
    // Taking the lock and releasing it removes the file. A process that has it removes it itself.
    _ = try? StageLock(store, timeout: 0)
  }

  /// Whether a process has the lock, or was killed while it had it.
  package static func exists(_ store: URL) -> Bool { FileCalls.exists(URL(fileURLWithPath: path(store))) }

  private static func isHeld(_ path: String) throws -> Bool {
    let descriptor: Int32
    do {
      descriptor = try opened(path, O_RDONLY)
    } catch let failure as FileFailure where failure.number == ENOENT {
      return false
    }
    defer { close(descriptor) }
    // A shared lock, so that those that look at the same time do not see each other.
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }

  private static func opened(_ path: String, _ flags: Int32) throws -> Int32 {
    let descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw FileFailure(operation: "open", path: path, number: errno) }
    var file = stat()
    if fstat(descriptor, &file) == 0, let kind = RegularFile.kind(of: file) {
      close(descriptor)
      throw RegularFile.Problem.notRegular(path: path, kind: kind)
    }
    return descriptor
  }

  /// Lets the users that may use the store look at the lock.
  private static func share(_ descriptor: Int32, like store: URL) {
    var (file, lock) = (stat(), stat())
    guard stat(store.path, &file) == 0, fstat(descriptor, &lock) == 0, lock.st_uid == geteuid() else { return }
    // Where this fails, others are told that they may not open the file.
    _ = fchmod(descriptor, file.st_mode & 0o666 | 0o600)
  }

  private static func path(_ store: URL) -> String {
    // The code of a stage may open its store by way of another directory.
    let file = store.absoluteURL.resolvingSymlinksInPath()
    return file.deletingLastPathComponent().appendingPathComponent(".\(file.lastPathComponent)-stages").path
  }

  private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
    var open = stat()
    var named = stat()
    return fstat(descriptor, &open) == 0 && stat(path, &named) == 0 && open.st_ino == named.st_ino
      && open.st_dev == named.st_dev
  }
}
