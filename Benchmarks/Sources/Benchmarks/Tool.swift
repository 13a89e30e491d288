// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The tool `coredata` beside this program.
enum Tool {
  /// Runs the tool until it ends.
  static func run(_ arguments: [String], accepting statuses: Set<Int32> = [0]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("coredata")
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard statuses.contains(process.terminationStatus) else {
      throw Failure(text: "coredata \(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
    }
  }
}
