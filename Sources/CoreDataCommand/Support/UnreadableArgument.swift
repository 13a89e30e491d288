// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation

/// Arguments that are not UTF-8, such as file names from old systems. Swift replaces their invalid bytes, so they would
/// refer to other files.
enum UnreadableArgument {
  /// Returns a failure for the first such argument; nil if there is none.
  static func failure() -> CommandFailure? {
    for position in 1..<max(Int(CommandLine.argc), 1) {
      guard let argument = CommandLine.unsafeArgv[position], String(validatingCString: argument) == nil else {
        continue
      }
      return CommandFailure(
        .usage,
        "The argument \(position), “\(String(cString: argument))”, is not UTF-8, and coredata opens only files whose "
          + "names are. Rename the file, or make a symbolic link to it with another name.")
    }
    return nil
  }
}
