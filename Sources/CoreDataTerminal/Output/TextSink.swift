// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A standard stream of the process, as a destination for text.
package struct TextSink: Sendable {
  private let descriptor: Int32

  /// For the result of a command, and nothing else.
  package static let standardOutput = TextSink(descriptor: 1)
  /// For progress, notes and errors.
  package static let standardError = TextSink(descriptor: 2)

  /// Whether the destination is a terminal.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// The width of the terminal in columns; 80 if unknown.
  package var columns: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes text.
  ///
  /// - Throws: Foundation's errors, for example for a full disk or a closed pipe.
  package func write(_ text: String) throws {
    try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
  }
}
