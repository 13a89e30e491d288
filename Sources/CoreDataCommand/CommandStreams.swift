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

  /// Writes sentences to standard error, without control characters that could steer a terminal.
  func say(_ text: String) { error(StyledText.escaped(text)) }

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
