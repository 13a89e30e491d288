// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation

/// Where a command's text goes, and what it knows of its surroundings.
struct CommandStreams {
  var output: (String) throws -> Void
  var error: (String) -> Void
  var isOutputTerminal = false
  var isErrorTerminal = false
  /// Columns of the terminal behind standard error.
  var columns = 80
  var environment: [String: String] = [:]

  /// Those of the process.
  static var process: CommandStreams {
    CommandStreams(
      output: { try TextSink.standardOutput.write($0) },
      error: { text in
        // There is nowhere left to complain.
        try? TextSink.standardError.write(text)
      },
      isOutputTerminal: TextSink.standardOutput.isTerminal, isErrorTerminal: TextSink.standardError.isTerminal,
      columns: TextSink.standardError.columns, environment: ProcessInfo.processInfo.environment)
  }
}

/// The result of a command: on standard output, or in a file that appears only when it is complete.
final class ResultWriter {
  private let streams: CommandStreams
  private let path: String?
  private var file: FileHandle?
  private var buffer = ""
  private static let bufferLimit = 1 << 16

  init(path: String?, streams: CommandStreams) {
    self.path = path
    self.streams = streams
  }

  private var temporaryPath: String? { path.map { $0 + ".part-\(ProcessInfo.processInfo.processIdentifier)" } }

  /// Whether the result is shown on a terminal.
  var isTerminal: Bool { path == nil && streams.isOutputTerminal }

  func write(_ text: String) throws {
    buffer += text
    if buffer.utf8.count >= Self.bufferLimit { try flush() }
  }

  /// Puts the file in its place.
  func commit() throws {
    try flush()
    guard let path, let temporaryPath else { return }
    if file == nil { try open(temporaryPath) }
    try file?.close()
    file = nil
    // rename(2) replaces what is there in one step.
    guard rename(temporaryPath, path) == 0 else {
      let reason = String(cString: strerror(errno))
      abandon()
      throw CommandFailure(.failed, "The result cannot be written to \(path): \(reason).")
    }
  }

  /// Leaves a file that was there as it was.
  func abandon() {
    guard let temporaryPath, file != nil || FileManager.default.fileExists(atPath: temporaryPath) else { return }
    // The work has failed already; a piece of a file that stays must not hide why.
    try? file?.close()
    file = nil
    try? FileManager.default.removeItem(atPath: temporaryPath)
  }

  private func flush() throws {
    guard !buffer.isEmpty else { return }
    defer { buffer = "" }
    guard let temporaryPath else { return try streams.output(buffer) }
    if file == nil { try open(temporaryPath) }
    try file?.write(contentsOf: Data(buffer.utf8))
  }

  private func open(_ temporaryPath: String) throws {
    guard FileManager.default.createFile(atPath: temporaryPath, contents: nil),
      let handle = FileHandle(forWritingAtPath: temporaryPath)
    else {
      throw CommandFailure(
        .failed, "The result cannot be written to \(path ?? ""). Check that the folder exists and may be written.")
    }
    file = handle
  }
}
