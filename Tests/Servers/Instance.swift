// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A process that uses a store, as an instance of a service would.
final class Instance {
  private let process = Process()
  private let output: URL

  /// Starts an instance.
  ///
  /// - Parameter arguments: Its program, and the options of that.
  init(_ arguments: [String], output: URL) throws {
    self.output = output
    guard FileManager.default.createFile(atPath: output.path, contents: nil) else {
      throw Options.Mistake("\(output.path) cannot be written.")
    }
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments
    process.standardOutput = try FileHandle(forWritingTo: output)
    try process.run()
  }

  var isRunning: Bool { process.isRunning }

  /// Waits for the end of the process, and returns the lines that it has written.
  func finish() throws -> [[Substring]] {
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw Options.Mistake("An instance has ended with \(process.terminationStatus): \(output.path)")
    }
    return try lines()
  }

  /// Returns what the process has written so far: lines, as their words.
  func lines() throws -> [[Substring]] {
    // The last line may not be complete yet.
    try String(contentsOf: output, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
  }
}

/// Prints a line at once, also into a pipe.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

/// What an instance reports: lines of words between tabs, each written at once.
enum Report {
  static func write(_ words: Any...) {
    let texts = words.map {
      "\($0)".replacingOccurrences(of: "\n", with: " ").replacingOccurrences(of: "\t", with: " ")
    }
    FileHandle.standardOutput.write(Data((texts.joined(separator: "\t") + "\n").utf8))
  }
}

/// A directory for the output of instances, which goes with the object unless it is kept.
final class OutputDirectory {
  let url: URL
  private let isKept: Bool

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("server-faults-\(UUID().uuidString)")
    isKept = ProcessInfo.processInfo.environment["COREDATA_KEEP_OUTPUT"] != nil
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    if isKept { say("output: \(url.path)") }
  }

  deinit {
    // What is left lies in a directory for temporary files.
    if !isKept { try? FileManager.default.removeItem(at: url) }
  }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}
