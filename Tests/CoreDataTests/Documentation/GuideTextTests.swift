// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The text of the guide")
struct GuideTextTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../..").standardizedFileURL
  private static let catalog = root.appendingPathComponent("Sources/CoreData/CoreData.docc")

  private static func articles() throws -> [(name: String, text: String)] {
    try FileManager.default.contentsOfDirectory(atPath: catalog.path).filter { $0.hasSuffix(".md") }.sorted().map {
      ($0, try String(contentsOf: catalog.appendingPathComponent($0), encoding: .utf8))
    }
  }

  /// The tests of this directory and of those in it.
  private static func testFiles() throws -> [URL] {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    return try FileManager.default.subpathsOfDirectory(atPath: directory.path)
      .filter { $0.hasSuffix("Tests.swift") }.sorted().map { directory.appendingPathComponent($0) }
  }

  /// The lines between the marks, without the indentation that they share.
  private static func snippets() throws -> [String: String] {
    var snippets: [String: String] = [:]
    for file in try testFiles() {
      var (name, lines): (String?, [String]) = (nil, [])
      for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
        let bare = line.trimmingCharacters(in: .whitespaces)
        if bare.hasPrefix("// guide: ") {
          (name, lines) = (String(bare.dropFirst("// guide: ".count)), [])
        } else if bare == "// end", let found = name {
          let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
          let snippet = lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
          #expect(
            snippets.updateValue(snippet, forKey: found) == nil,
            "\(file.lastPathComponent) has a snippet named \(found), and so has an earlier file")
          name = nil
        } else {
          lines.append(line)
        }
      }
    }
    return snippets
  }

  /// The Swift blocks of a text, but for those that only import modules.
  private static func blocks(of text: String) -> [String] {
    text.components(separatedBy: "```swift\n").dropFirst().compactMap { part in
      let block = part.components(separatedBy: "\n```")[0]
      return block.split(separator: "\n").allSatisfy { $0.hasPrefix("import ") } ? nil : block
    }
  }

  @Test("Every block of code is compiled and run by a test, and none is missing")
  func code() throws {
    let snippets = try Self.snippets()
    var used: Set<String> = []
    for article in try Self.articles() {
      for block in Self.blocks(of: article.text) {
        let name = snippets.first { $0.value == block }?.key
        #expect(name != nil, "\(article.name) has code that no test runs:\n\(block)")
        if let name { used.insert(name) }
      }
    }
    #expect(used == Set(snippets.keys) && used.count > 15)
  }

  @Test("Links lead to articles, and every article is on the first page")
  func links() throws {
    let articles = try Self.articles()
    let names = Set(articles.map { $0.name.replacingOccurrences(of: ".md", with: "") })
    var linked: Set<String> = []
    for article in articles {
      for part in article.text.components(separatedBy: "<doc:").dropFirst() {
        let name = String(part.prefix { $0 != ">" })
        #expect(names.contains(name), "\(article.name) links to \(name)")
        if article.name == "CoreData.md" { linked.insert(name) }
      }
    }
    #expect(linked == names.subtracting(["CoreData"]))
  }
}
