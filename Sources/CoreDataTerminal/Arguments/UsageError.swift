// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A command line that cannot be understood.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and what was probably meant.
  package let message: String
  /// How the command is called right.
  package let usage: String
  /// Where to read more.
  package let help: String

  /// The text for standard error.
  package var description: String {
    "error: \(message)\nUsage: \(usage)\nSee \(help)"
  }
}
