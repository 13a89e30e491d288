// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The models and messages in the guide on migration")
struct GuideModelTextTests {
  private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  private static let catalog = directory.appendingPathComponent("../../../../Sources/CoreData/CoreData.docc")
    .standardizedFileURL

  /// The articles under "Migration" on the first page.
  private static func articles() throws -> [String] {
    let page = try String(contentsOf: catalog.appendingPathComponent("CoreData.md"), encoding: .utf8)
    let rest = try #require(page.components(separatedBy: "### Migration\n").last)
    let group = try #require(rest.components(separatedBy: "\n###").first)
    return group.components(separatedBy: "<doc:").dropFirst().map { String($0.prefix { $0 != ">" }) }
  }

  /// The blocks of a text in one of the languages.
  private static func blocks(of text: String, in languages: Set<String>) -> [[String]] {
    var blocks: [[String]] = []
    var language: String?
    for line in text.components(separatedBy: "\n") {
      if line.hasPrefix("```") {
        language = language == nil ? String(line.dropFirst(3)) : nil
        if language.map(languages.contains) == true { blocks.append([]) }
      } else if language.map(languages.contains) == true {
        blocks[blocks.count - 1].append(line.trimmingCharacters(in: .whitespaces))
      }
    }
    return blocks
  }

  @Test("Every line of a model, a mapping model and an error is one of a test")
  func lines() throws {
    var code = ""
    for name in try FileManager.default.contentsOfDirectory(atPath: Self.directory.path) where name.hasSuffix(".swift")
    {
      code += try String(contentsOf: Self.directory.appendingPathComponent(name), encoding: .utf8)
    }
    code = code.replacingOccurrences(of: "\\\"", with: "\"")
    var count = 0
    for article in try Self.articles() {
      let text = try String(contentsOf: Self.catalog.appendingPathComponent("\(article).md"), encoding: .utf8)
      for block in Self.blocks(of: text, in: ["xml", "mapping", "text"]) {
        for line in block where !line.isEmpty {
          // Not in the condition, whose values a failure would print.
          let isTested = code.contains(line)
          #expect(isTested, "\(article).md has a line that no test has: \(line)")
        }
        count += 1
      }
    }
    #expect(count > 30)
  }
}
