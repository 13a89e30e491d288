// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Commands in the guide")
struct GuideTranscriptTests {
  private static let catalog = Transcript.directory.deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Sources/CoreData/CoreData.docc")
  private static let prefix = "Guide"

  @Test(
    "What an article with a transcript shows of a command is what the command writes",
    arguments: try Transcript.names.filter { $0.hasPrefix(prefix) })
  func article(_ name: String) throws {
    let article = Self.catalog.appendingPathComponent("\(name.dropFirst(Self.prefix.count)).md")
    let examples = try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```console\n$ ")
      .dropFirst()
      .compactMap { $0.components(separatedBy: "\n```").first }
    let commands = try Transcript(named: name).commands
    #expect(!examples.isEmpty)
    for example in examples {
      let lines = example.components(separatedBy: "\n")
      let candidates = commands.filter { $0.text == lines[0] }
      #expect(!candidates.isEmpty, "\(name).txt has no command \(lines[0])")
      let isShown = candidates.contains { Placeholder.difference(Self.terminal($0), Array(lines.dropFirst())) == nil }
      #expect(isShown, "\(name).txt has another output of \(lines[0])")
    }
  }

  /// The lines as on a terminal, where the steps of a migration come before its result.
  private static func terminal(_ command: Transcript.Command) -> [String] {
    let steps = command.error.filter { $0.hasPrefix("step ") }
    return steps + command.output + command.error.filter { !$0.hasPrefix("step ") }
  }
}
