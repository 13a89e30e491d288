// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

/// What a page shows of a command: a line with `$`, and the lines below it.
private struct PageCommand {
  let page: String
  let line: Int
  /// The line after `$`.
  let text: String
  var output: [String] = []

  var place: String { "\(page):\(line): $ \(text)" }

  /// The commands of a page, in blocks that begin with one.
  static func all(of page: String) throws -> [PageCommand] {
    let text = try String(contentsOf: SourceRoot.url.appendingPathComponent(page), encoding: .utf8)
    var commands: [PageCommand] = []
    var (isInside, isFirst, isTranscript) = (false, false, false)
    for (number, line) in text.components(separatedBy: "\n").enumerated() {
      if line.hasPrefix("```") {
        isInside.toggle()
        (isFirst, isTranscript) = (true, false)
        continue
      }
      guard isInside else { continue }
      if line.hasPrefix("$ "), isFirst || isTranscript {
        commands.append(PageCommand(page: page, line: number + 1, text: String(line.dropFirst(2))))
        isTranscript = true
      } else if isTranscript {
        commands[commands.count - 1].output.append(line)
      }
      isFirst = false
    }
    for index in commands.indices {
      while commands[index].output.last?.isEmpty == true { commands[index].output.removeLast() }
    }
    return commands
  }
}

@Suite("Commands on pages")
struct PageTranscriptTests {
  /// The commands that are not run here, and why.
  private static let notRun = [
    "swift run trips": "needs a package that is built; Tests/SwiftDataTests has its program (FirstGuideTests)",
    "coredata store copy Done.sqlite 'postgresql://app@/shop?schema=app'":
      "needs a server and a million rows; ServerStoreCommandTests copies stores",
    "swift package coredata migrate check Sources/Shop/Shop.xcdatamodeld --mappings Sources/Shop":
      "needs a package that is built; Examples/Moved/check.sh runs it",
    "swift package coredata migrate run Old.sqlite Sources/Shop/Shop.xcdatamodeld --mappings Sources/Shop":
      "needs a package that is built; Examples/Moved/check.sh runs the tool of a package",
    "swift package coredata migrate check ShopMigrationPlan": planNeeded,
    "swift package coredata model diff ShopMigrationPlan@1.0.0 ShopMigrationPlan@2.0.0": planNeeded,
    "swift package coredata model lock ShopMigrationPlan": planNeeded,
  ]
  private static let planNeeded =
    "needs a package that is built; ModelInCodeTests reads plans, and Examples/Trips/check.sh runs the tool with one"

  private static var pages: [String] {
    get throws {
      let directories = ["Documentation", "Sources/CoreData/CoreData.docc", "Sources/SwiftData/SwiftData.docc"]
      return try ["README.md", "MOVING.md"]
        + directories.flatMap { directory in
          try FileManager.default.contentsOfDirectory(atPath: SourceRoot.url.appendingPathComponent(directory).path)
            .filter { $0.hasSuffix(".md") }.sorted().map { "\(directory)/\($0)" }
        }
    }
  }

  private static let transcripts = Result {
    try Transcript.names.filter { $0.hasPrefix("Page") || $0.hasPrefix("Guide") }.map { try Transcript(named: $0) }
  }

  @Test("What a page shows of a command is what the command writes in a transcript", arguments: try pages)
  func page(_ name: String) throws {
    let transcripts = try Self.transcripts.get()
    for shown in try PageCommand.all(of: name) where Self.notRun[shown.text] == nil {
      // A pager shows the same.
      let text = shown.text.hasSuffix(" | less") ? String(shown.text.dropLast(" | less".count)) : shown.text
      let words = try #require(Transcript.words(text), "\(shown.place)")
      let candidates = transcripts.flatMap(\.commands).filter { $0.words == words }
      #expect(!candidates.isEmpty, "\(shown.place) is in no transcript")
      guard let last = candidates.last, !shown.output.isEmpty else { continue }
      let isShown = candidates.contains { Self.matches(shown.output[...], Self.terminal($0)[...]) }
      let difference = Placeholder.difference(Self.terminal(last), shown.output) ?? ""
      #expect(isShown, "\(shown.place) has another output in its transcript:\n\(difference)")
    }
  }

  @Test("Each command that is not run is on a page")
  func notRun() throws {
    let shown = Set(try Self.pages.flatMap { try PageCommand.all(of: $0) }.map(\.text))
    for text in Self.notRun.keys { #expect(shown.contains(text), "No page shows $ \(text)") }
  }

  /// Returns whether lines of a page are those of a transcript. On a page, `…` stands for any lines, or for the rest of one.
  private static func matches(_ shown: ArraySlice<String>, _ actual: ArraySlice<String>) -> Bool {
    guard let first = shown.first else { return actual.isEmpty }
    if first == "…" {
      return (actual.startIndex...actual.endIndex).contains { matches(shown.dropFirst(), actual[$0...]) }
    }
    guard let line = actual.first else { return false }
    let isSame = first.last == "…" ? line.hasPrefix(first.dropLast()) : Placeholder.line(line, isLike: plain(first))
    return isSame && matches(shown.dropFirst(), actual.dropFirst())
  }

  /// Transcripts have the names of files in place of their paths.
  private static func plain(_ line: String) -> String { line.replacingOccurrences(of: "/tmp/Done/", with: "") }

  /// The lines as on a terminal, where the steps of a migration come before its result.
  private static func terminal(_ command: Transcript.Command) -> [String] {
    let steps = command.error.filter { $0.hasPrefix("step ") }
    return steps + command.output + command.error.filter { !$0.hasPrefix("step ") }
  }
}
