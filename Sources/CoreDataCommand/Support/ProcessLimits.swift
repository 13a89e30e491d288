// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// Process limits under which the tool cannot work: Foundation and Dispatch would wait forever, or end the process,
/// without another thread, address space or a file descriptor.
enum ProcessLimits {
  private static let (threads, descriptors, addressSpace) = (4, 16, 64 << 20)

  /// Returns a failure for the limit that is too low; nil if there is none.
  static func failure() -> CommandFailure? {
    guard let problem = descriptorProblem() ?? addressProblem() ?? threadProblem() else { return nil }
    return CommandFailure(.failed, problem)
  }

  /// Returns advice for a write that failed at the limit for the size of a file; nil for any other error, and without
  /// such a limit.
  static func fileSizeAdvice(for error: any Error) -> String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur < 1 << 62,
      isFileTooLarge(error)
    else { return nil }
    return "The process can write files of at most \(NumberText.grouped(Int(limit.rlim_cur))) bytes. Raise the limit "
      + "(ulimit -f)."
  }

  /// SQLite's SQLITE_IOERR: SQLite has no code of its own for a file that became too large.
  private static let sqliteIOError = 10

  private static func isFileTooLarge(_ error: any Error) -> Bool {
    if let failure = error as? FileFailure { return failure.number == EFBIG }
    let error = error as NSError
    if error.domain == NSPOSIXErrorDomain, error.code == EFBIG { return true }
    if error.userInfo[NSSQLiteErrorDomain] as? Int == sqliteIOError { return true }
    return (error.userInfo[NSUnderlyingErrorKey] as? any Error).map(isFileTooLarge) ?? false
  }

  private static func descriptorProblem() -> String? {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<descriptors {
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        // Without this file, the limit is unknown.
        guard errno == EMFILE || errno == ENFILE else { return nil }
        return
          "The process can open only \(opened.count) more files, and coredata needs \(descriptors). Raise the limit "
          + "(ulimit -n)."
      }
      opened.append(descriptor)
    }
    return nil
  }

  private static func addressProblem() -> String? {
    let address = mmap(nil, addressSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard address != MAP_FAILED else {
      return
        "The process cannot get \(addressSpace >> 20) MB more of address space, which coredata needs. Raise the limit "
        + "(ulimit -v)."
    }
    munmap(address, addressSpace)
    return nil
  }

  private static func threadProblem() -> String? {
    let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    defer { gate.deallocate() }
    pthread_mutex_init(gate, nil)
    pthread_mutex_lock(gate)
    var made: [pthread_t] = []
    var result: Int32 = 0
    for _ in 0..<threads where result == 0 {
      var thread = pthread_t()
      // Each thread waits until all have been created.
      result = pthread_create(
        &thread, nil,
        { gate in
          guard let gate = gate?.assumingMemoryBound(to: pthread_mutex_t.self) else { return nil }
          pthread_mutex_lock(gate)
          pthread_mutex_unlock(gate)
          return nil
        }, gate)
      if result == 0 { made.append(thread) }
    }
    pthread_mutex_unlock(gate)
    for thread in made { pthread_join(thread, nil) }
    pthread_mutex_destroy(gate)
    guard result != 0 else { return nil }
    return "The process can create only \(made.count) more threads, and coredata needs \(threads). Raise the limit of "
      + "processes (ulimit -u) or of address space (ulimit -v)."
  }
}
