// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// The result of a command: on standard output, or in a file that appears only when it is complete.
///
/// A device, a pipe or a FIFO is written to as it is; nothing is put in its place.
final class ResultWriter {
  private let streams: CommandStreams
  /// The file; nil for standard output.
  let path: String?
  private var descriptor: Int32?
  /// What gets the name of the result when it is complete; nil for what is written to directly.
  private var draft: URL?
  private var buffer = ""
  private static let bufferLimit = 1 << 16

  /// What the command has done that a result which cannot be written does not undo, as a sentence.
  var workDone: String?

  init(path: String?, streams: CommandStreams) {
    self.path = path
    self.streams = streams
  }

  deinit { closeDescriptor() }

  /// Whether the result is shown on a terminal.
  var isTerminal: Bool { path == nil && streams.isOutputTerminal }

  /// Sees to it that the file can be written, before the command does anything.
  ///
  /// - Throws: `CommandFailure`.
  func prepare() throws {
    guard let path else { return }
    var found = stat()
    guard stat(path, &found) == 0, found.st_mode & S_IFMT != S_IFREG else { return try makeDraft(target) }
    guard found.st_mode & S_IFMT != S_IFDIR else {
      throw CommandFailure(.usage, "The result cannot be written to \(path): it is a directory. Name a file in it.")
    }
    // Without a reader a FIFO is refused; waiting for one could take for ever.
    let opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard opened >= 0 else { throw unwritable(errno) }
    _ = fcntl(opened, F_SETFL, fcntl(opened, F_GETFL) & ~O_NONBLOCK)
    descriptor = opened
  }

  /// The file itself, where the path is a symbolic link to it.
  private var target: URL {
    let url = URL(fileURLWithPath: path ?? "")
    return FileCalls.isSymbolicLink(url) ? url.resolvingSymlinksInPath() : url
  }

  private func makeDraft(_ target: URL) throws {
    let draft = target.deletingLastPathComponent()
      .appendingPathComponent("\(target.lastPathComponent).part-\(UUID().uuidString)")
    let opened = open(draft.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard opened >= 0 else { throw unwritable(errno) }
    (descriptor, self.draft) = (opened, draft)
    do {
      if FileCalls.exists(target) { try FileCalls.takePermissions(of: target, for: draft) }
    } catch let failure as FileFailure {
      abandon()
      throw unwritable(failure.number)
    }
  }

  /// Writes text for people, without control characters that could steer a terminal.
  func write(_ text: String) throws { try write(safe: StyledText.escaped(text)) }

  /// Writes text that a program may read again: on a terminal as text for people, elsewhere as it is.
  func write(source text: String) throws { try isTerminal ? write(text) : write(safe: text) }

  /// Writes text that has no such characters.
  func write(safe text: String) throws {
    buffer += text
    if buffer.utf8.count >= Self.bufferLimit { try flush() }
  }

  /// Puts the file in its place.
  func commit() throws {
    try flush()
    guard let draft else { return closeDescriptor() }
    guard let descriptor, close(descriptor) == 0 else { throw unwritable(errno) }
    self.descriptor = nil
    // rename(2) replaces what is there in one step.
    guard rename(draft.path, target.path) == 0 else { throw unwritable(errno) }
    self.draft = nil
  }

  /// Leaves a file that was there as it was.
  func abandon() {
    closeDescriptor()
    // The work has failed already; a piece of a file that stays must not hide why.
    if let draft { try? FileCalls.removeFile(draft) }
    draft = nil
  }

  private func closeDescriptor() {
    if let descriptor { close(descriptor) }
    descriptor = nil
  }

  private func flush() throws {
    guard !buffer.isEmpty else { return }
    defer { buffer = "" }
    guard path != nil else { return try streams.output(buffer) }
    guard let descriptor else { throw unwritable(EBADF) }
    var rest = Data(buffer.utf8)
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
      "The result cannot be written to \(path ?? ""): \(reason). Check that the directory exists and may be written.")
  }
}
