// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A standard stream of the process, as a destination for text.
package struct TextSink: Sendable {
  private let descriptor: Int32

  /// Standard output, used only for the result of a command.
  package static let standardOutput = TextSink(descriptor: 1)
  /// Standard error, used for progress, notes and errors.
  package static let standardError = TextSink(descriptor: 2)

  /// Whether the destination is a terminal.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// The width of the terminal in columns; 80 if unknown.
  package var columns: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// The error when text could not be written, for example to a full disk or a closed stream.
  package struct Failure: Error, CustomStringConvertible {
    /// The system's error number (`errno`).
    let number: Int32

    package var description: String { String(cString: strerror(number)) }
  }

  /// Writes text.
  ///
  /// - Throws: `Failure`.
  package func write(_ text: String) throws {
    var rest = Data(text.utf8)
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Failure(number: errno) }
      rest = rest.dropFirst(count)
    }
  }
}
