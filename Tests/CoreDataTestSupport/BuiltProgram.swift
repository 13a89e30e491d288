// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program that the build has made beside the tests.
public struct BuiltProgram: Sendable {
  private let url: URL

  /// - Parameter name: the program's name.
  public init(_ name: String) {
    url = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name)
  }

  /// Whether the program was built.
  public var isPresent: Bool { FileManager.default.isExecutableFile(atPath: url.path) }

  /// Runs the program until it ends.
  ///
  /// - Parameter environment: variables besides those of this process.
  public func run(
    _ arguments: [String], environment: [String: String] = [:]
  ) throws -> (status: Int32, output: String, error: String) {
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let (output, error) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = error
    try process.run()
    // What the programs write in tests fits into the pipes, so that reading one after the other cannot block.
    let texts = [output, error].map { String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    process.waitUntilExit()
    return (process.terminationStatus, texts[0], texts[1])
  }
}
