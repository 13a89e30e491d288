// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where text goes: a stream of the process, or a file.
package struct TextSink: Sendable {
  private enum Target: Sendable {
    case descriptor(Int32)
    case file(String)
  }

  private let target: Target

  /// The result of a command, and nothing else.
  package static let standardOutput = TextSink(target: .descriptor(1))
  /// Progress, remarks and errors.
  package static let standardError = TextSink(target: .descriptor(2))

  /// A file that each writing replaces as a whole, so that no half of a result is ever seen.
  package static func file(_ path: String) -> TextSink { TextSink(target: .file(path)) }

  /// Whether the text goes to a terminal.
  package var isTerminal: Bool {
    if case .descriptor(let descriptor) = target { isatty(descriptor) == 1 } else { false }
  }

  /// How many columns the terminal has; 80 where it does not tell.
  package var columns: Int {
    guard case .descriptor(let descriptor) = target else { return 80 }
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes text.
  ///
  /// - Throws: Foundation's error, as for a full disk or a closed pipe.
  package func write(_ text: String) throws {
    switch target {
    case .descriptor(let descriptor):
      try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
    case .file(let path):
      let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
      // Replacing would put a file in the place of a device or pipe. Without a type there is nothing to replace yet.
      let isPlain = type == nil || type == .typeRegular
      try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: isPlain ? .atomic : [])
    }
  }
}
