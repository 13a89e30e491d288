// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// Writes the result of a command to standard output, or to a file that appears only when it is complete.
///
/// A device, a pipe or a FIFO is written directly and never replaced.
final class ResultWriter {
  private let streams: CommandStreams
  /// The path of the file; nil for standard output.
  let path: String?
  private var descriptor: Int32?
  /// The file that is renamed to the result when it is complete; nil if the result is written directly.
  private var draft: URL?
  private var buffer = ""
  private static let bufferLimit = 1 << 16

  /// A sentence about work that has been completed even if the result cannot be written.
  var workDone: String? {
    didSet { StopSignals.leave() }
  }

  init(path: String?, streams: CommandStreams) {
    self.path = path
    self.streams = streams
  }

  /// A result that was not committed leaves nothing behind.
  deinit { discard() }

  /// Whether the result is shown on a terminal.
  var isTerminal: Bool { path == nil && streams.isOutputTerminal }

  /// Makes sure that the file can be written before the command starts.
  ///
  /// - Throws: `CommandFailure`.
  func prepare() throws {
    guard let path else { return }
    var found = stat()
    guard stat(path, &found) == 0, found.st_mode & S_IFMT != S_IFREG else { return try makeDraft(target) }
    guard found.st_mode & S_IFMT != S_IFDIR else {
      throw CommandFailure(.usage, "The result cannot be written to \(path): it is a directory. Name a file in it.")
    }
    // A FIFO without a reader is rejected, since waiting for one could take forever.
    let opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard opened >= 0 else { throw unwritable(errno) }
    _ = fcntl(opened, F_SETFL, fcntl(opened, F_GETFL) & ~O_NONBLOCK)
    descriptor = opened
  }

  /// The file, after resolving a symbolic link.
  private var target: URL {
    let url = URL(fileURLWithPath: path ?? "")
    return FileCalls.isSymbolicLink(url) ? url.resolvingSymlinksInPath() : url
  }

  private func makeDraft(_ target: URL) throws {
    PartialFiles.removeAbandoned(for: target)
    let (draft, opened) = try PartialFiles.make(for: target) { unwritable($0) }
    (descriptor, self.draft) = (opened, draft)
    UnfinishedFiles.add(draft)
    do {
      if FileCalls.exists(target) { try FileCalls.copyPermissions(of: target, for: draft) }
    } catch let failure as FileFailure {
      discard()
      throw unwritable(failure.number)
    }
  }

  /// Writes text for display, escaping control characters that could affect a terminal.
  func write(_ text: String) throws {
    let escaped = StyledText.escaped(text)
    try write(safe: isTerminal ? TextLayout.fitted(escaped, width: max(60, streams.columns)) : escaped)
  }

  /// Writes text that may be read by a program, escaped only on a terminal.
  func write(source text: String) throws { try write(safe: isTerminal ? StyledText.escaped(text) : text) }

  /// Writes text that contains no control characters.
  func write(safe text: String) throws {
    buffer += text
    if buffer.utf8.count >= Self.bufferLimit { try flush() }
  }

  /// Completes the result by renaming the file.
  func commit() throws {
    try flush()
    guard let draft else { return closeDescriptor() }
    guard let descriptor else { throw unwritable(EBADF) }
    // A second descriptor keeps the file locked until it has its final name.
    let lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    defer { if lock >= 0 { close(lock) } }
    guard close(descriptor) == 0 else { throw unwritable(errno) }
    self.descriptor = nil
    // rename(2) replaces an existing file atomically.
    guard rename(draft.path, target.path) == 0 else { throw unwritable(errno) }
    UnfinishedFiles.remove(draft)
    self.draft = nil
  }

  /// Discards the result, leaving an existing file unchanged.
  func discard() {
    closeDescriptor()
    // The error of the work is reported, rather than a failure to remove the partial file.
    if let draft {
      try? FileCalls.removeFile(draft)
      UnfinishedFiles.remove(draft)
    }
    draft = nil
  }

  private func closeDescriptor() {
    if let descriptor { close(descriptor) }
    descriptor = nil
  }

  /// Writes buffered text.
  func flush() throws {
    guard !buffer.isEmpty else { return }
    defer { buffer = "" }
    guard path != nil else {
      do {
        return try streams.output(buffer)
      } catch let failure as TextSink.Failure {
        throw CommandFailure(.failed, "The result cannot be written to standard output: \(failure).")
      }
    }
    guard let descriptor else { throw unwritable(EBADF) }
    var rest = Data(streams.masked(buffer).utf8)
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw unwritable(errno) }
      rest = rest.dropFirst(count)
    }
  }

  private func unwritable(_ number: Int32) -> CommandFailure {
    let reason = String(cString: strerror(number))
    return CommandFailure(
      .failed,
      "The result cannot be written to \(path ?? ""): \(reason). Check that the directory exists and is writable.")
  }
}

/// The files that are renamed to results when they are complete: `Name.part-UUID` beside `Name`.
///
/// A process locks its files while it writes them, and the lock ends with the process. So an unlocked one is abandoned.
private enum PartialFiles {
  private static func prefix(of target: URL) -> String { target.lastPathComponent + ".part-" }

  /// Creates, opens and locks a file.
  ///
  /// - Throws: `error` with the number of the system's error.
  static func make(
    for target: URL, orThrow error: (Int32) -> CommandFailure
  ) throws -> (url: URL, descriptor: Int32) {
    while true {
      let url = target.deletingLastPathComponent().appendingPathComponent(prefix(of: target) + UUID().uuidString)
      let opened = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
      guard opened >= 0 else { throw error(errno) }
      // Where files cannot be locked, none can be found abandoned either.
      let isTaken = flock(opened, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
      if !isTaken, FileCalls.exists(url) { return (url, opened) }
      // Another process has considered the new file abandoned before it was locked, and removes it.
      close(opened)
    }
  }

  /// Removes the files that killed processes of this user have left behind.
  static func removeAbandoned(for target: URL) {
    let (prefix, folder) = (prefix(of: target), target.deletingLastPathComponent())
    // Cleaning up is optional. If the directory cannot be read, writing the result says so.
    for name in (try? FileCalls.names(in: folder)) ?? []
    where name.hasPrefix(prefix) && UUID(uuidString: String(name.dropFirst(prefix.count))) != nil {
      let url = folder.appendingPathComponent(name)
      let opened = open(url.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard opened >= 0 else { continue }
      defer { close(opened) }
      var found = stat()
      guard fstat(opened, &found) == 0, found.st_mode & S_IFMT == S_IFREG, found.st_uid == geteuid(),
        flock(opened, LOCK_EX | LOCK_NB) == 0
      else { continue }
      // As above.
      try? FileCalls.removeFile(url)
    }
  }
}
