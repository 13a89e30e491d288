// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

/// `-O` leaves out the texts of Swift's own preconditions, so the function is compiled with it here.
@Suite("Mistakes of a program that stop it")
struct TrapTests {
  private static let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Sources/CoreDataMistakes/Trap.swift").standardizedFileURL

  /// Compiles a program with the function, and runs it.
  ///
  /// - Returns: what it writes to standard error, and its signal or status.
  private func run(_ statement: String, _ options: [String]) throws -> (words: String, status: Int32) {
    let directory = try TemporaryDirectory()
    let main = try directory.write("let count = CommandLine.arguments.count\n\(statement)\n", to: "main.swift")
    let program = directory.file("program")
    let compiling = try Self.output(
      ["swiftc", "-package-name", "mistakes", Self.source.path, main.path, "-o", program.path] + options)
    try #require(compiling.status == 0, "\(compiling.words)")
    return try Self.output([program.path])
  }

  private static func output(_ arguments: [String]) throws -> (words: String, status: Int32) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let pipe = Pipe()
    process.standardError = pipe
    try process.run()
    let words = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (words, process.terminationStatus)
  }

  @Test("A release build says what the mistake was", arguments: [["-O"], ["-Osize"], ["-Onone"]])
  func words(_ options: [String]) throws {
    let plain = try run("trap(\"The count is \\(count).\")", options)
    #expect(plain.words.contains("Fatal error: The count is 1."))
    #expect(plain.status != 0)
    let conditional = try run("trap(unless: count > 5, \"The count is only \\(count).\")", options)
    #expect(conditional.words.contains("Fatal error: The count is only 1."))
    #expect(conditional.status != 0)
    let fulfilled = try run("trap(unless: count == 1, \"The count is \\(count).\")", options)
    #expect(fulfilled.words == "" && fulfilled.status == 0)
  }
}
