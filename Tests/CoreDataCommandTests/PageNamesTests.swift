// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Names of commands and options on pages")
struct PageNamesTests {
  private static var tool: ToolSpecification { CommandLineTool.specification }

  /// Options of other programs.
  private static let foreign: Set<String> = [
    "--static-swift-stdlib",  // the Swift compiler's
    "--format=custom",  // pg_dump's
  ]

  /// Calls that are not commands, and that the CHANGELOG names because the tool answers them with help or a hint.
  private static let hints: Set<String> = ["coredata help", "coredata info"]

  private static var pages: [String] {
    get throws {
      let guides = ["Sources/CoreData/CoreData.docc", "Sources/SwiftData/SwiftData.docc"]
      return try ["README.md", "MOVING.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "DEVIATIONS.md"]
        + (["Documentation", "Integrations"] + guides).flatMap { directory in
          try FileManager.default.contentsOfDirectory(atPath: SourceRoot.url.appendingPathComponent(directory).path)
            .filter { $0.hasSuffix(".md") }.sorted().map { "\(directory)/\($0)" }
        }
    }
  }

  private static func text(_ page: String) throws -> String {
    try String(contentsOf: SourceRoot.url.appendingPathComponent(page), encoding: .utf8)
  }

  /// Pieces of code on a page: spans, and lines of blocks that call the tool.
  private static func code(of page: String) throws -> [String] {
    let parts = try text(page).components(separatedBy: "```")
    let prose = parts.indices.filter { $0 % 2 == 0 }.map { parts[$0] }.joined(separator: "\n")
    let spans = prose.matches(of: /`([^`]+)`/).map { $0.1.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    let lines = parts.joined(separator: "\n").components(separatedBy: "\n").compactMap { line in
      line.firstMatch(of: /^(?: *|\$ .*)(coredata [^|#]*)/).map { String($0.1) }
    }
    return spans + lines
  }

  /// Returns what is wrong with the names in a piece of code; nil if all exist.
  private static func problem(of code: String) -> String? {
    var words = code.split(separator: " ").map(String.init)
    let options = words.filter { $0.hasPrefix("--") && $0.count > 2 && !foreign.contains($0) }
      .map { String($0.prefix { $0 != "=" }.dropFirst(2).prefix { $0 != "." && $0 != "," && $0 != ")" }) }
    let isCall = words.first == "coredata"
    if isCall { words.removeFirst() }
    guard let first = words.first, isCall || tool.groups.contains(where: { $0.name == first }) else {
      // An option alone may be any command's.
      guard words.first?.hasPrefix("--") == true else { return nil }
      let known = Set(tool.commands.flatMap { tool.options(of: $0) }.map(\.name))
      return options.first { !known.contains($0) }.map { "no command has --\($0)" }
    }
    // A word in capitals stands for a command, and `model` alone for the group.
    guard first.wholeMatch(of: /[a-z-]+/) != nil, !first.hasPrefix("-") else { return nil }
    let isGroup = tool.groups.contains { $0.name == first }
    if isGroup, words.count == 1 || words[1].wholeMatch(of: /[a-z][a-z-]*/) == nil { return nil }
    let path = isGroup ? [first, words[1]] : [first]
    guard let command = tool.commands.first(where: { $0.path == path }) else {
      return "there is no command \(path.joined(separator: " "))"
    }
    let known = Set(tool.options(of: command).map(\.name))
    return options.first { !known.contains($0) }.map { "\(path.joined(separator: " ")) has no --\($0)" }
  }

  @Test("Every command and option that a page names exists", arguments: try pages)
  func names(page: String) throws {
    for code in try Self.code(of: page) where !Self.hints.contains(code) {
      let problem = Self.problem(of: code)
      #expect(problem == nil, "\(page): `\(code)`: \(problem ?? "")")
    }
  }

  @Test("A name that does not exist is found, and other programs' code is not judged")
  func found() {
    #expect(Self.problem(of: "coredata store fetch X") == "there is no command store fetch")
    #expect(Self.problem(of: "store import X --key") == "store import has no --key")
    #expect(Self.problem(of: "coredata explane DS102") == "there is no command explane")
    #expect(Self.problem(of: "--dryrun") == "no command has --dryrun")
    for code in ["git log --oneline", "store", "coredata COMMAND --help", "store import F --update-by K", "--dry-run"] {
      #expect(Self.problem(of: code) == nil, "\(code)")
    }
  }

  @Test("The table of the README has every command, and each once")
  func table() throws {
    let rows = try #require(try Self.text("README.md").components(separatedBy: "## The tool").dropFirst().first)
      .components(separatedBy: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| |") && !$0.hasPrefix("| -") }
    var named: [[String]] = []
    for row in rows.prefix(Self.tool.groups.count + 1) {
      let spans = row.matches(of: /`([a-z-]+)`/).map { String($0.1) }.filter { !$0.hasPrefix("--") }
      let group = spans.first.flatMap { name in Self.tool.groups.first { $0.name == name }?.name }
      named += group.map { group in spans.dropFirst().map { [group, $0] } } ?? spans.map { [$0] }
    }
    let names = { (paths: [[String]]) in paths.map { $0.joined(separator: " ") }.sorted() }
    #expect(names(named) == names(Self.tool.commands.map(\.path)))
  }
}
