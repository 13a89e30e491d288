// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A DocC catalogue whose Swift blocks are code of tests, which stands between `// guide: NAME` and `// end` there.
public struct GuideCatalog: Sendable {
  /// The directory of the articles.
  public let directory: URL
  /// The directory of the tests.
  public let tests: URL

  /// - Parameters:
  ///   - path: the path of the catalogue, from the root of the repository.
  ///   - testFile: the file of the test that reads it; snippets are in its directory and those below.
  public init(_ path: String, testsBeside testFile: String) {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
    directory = root.appendingPathComponent(path).standardizedFileURL
    tests = URL(fileURLWithPath: testFile).deletingLastPathComponent()
  }

  /// The articles by the names of their files, sorted.
  public func articles() throws -> [(name: String, text: String)] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".md") }.sorted().map {
      ($0, try String(contentsOf: directory.appendingPathComponent($0), encoding: .utf8))
    }
  }

  /// The texts of the files with tests, and those beside them.
  public func testTexts() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: tests.path).filter { $0.hasSuffix(".swift") }.sorted().map {
      try String(contentsOf: tests.appendingPathComponent($0), encoding: .utf8)
    }
  }

  /// The lines between the marks, in the order of the files, without the indentation that they share.
  public func snippets() throws -> [(name: String, code: String)] {
    var snippets: [(name: String, code: String)] = []
    for text in try testTexts() {
      var (name, lines): (String?, [String]) = (nil, [])
      for line in text.components(separatedBy: "\n") {
        let bare = line.trimmingCharacters(in: .whitespaces)
        if bare.hasPrefix("// guide: ") {
          (name, lines) = (String(bare.dropFirst("// guide: ".count)), [])
        } else if bare == "// end", let found = name {
          let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
          snippets.append((found, lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")))
          name = nil
        } else {
          lines.append(line)
        }
      }
    }
    return snippets
  }

  /// The blocks of a text in a language, but for those in Swift that only import modules.
  public static func blocks(of text: String, in language: String) -> [String] {
    text.components(separatedBy: "```\(language)\n").dropFirst().compactMap { part in
      let block = part.components(separatedBy: "\n```")[0]
      return block.split(separator: "\n").allSatisfy { $0.hasPrefix("import ") } ? nil : block
    }
  }

  /// The articles to which a text links.
  public static func links(in text: String) -> [String] {
    text.components(separatedBy: "<doc:").dropFirst().map { String($0.prefix { $0 != ">" }) }
  }

  /// Whether a block is of a manifest. `Tests/Documents` compiles those.
  private static func isManifest(_ block: String) -> Bool {
    ["// swift-tools-version", ".package(", ".product(", ".target("].contains { block.hasPrefix($0) }
  }

  /// What is wrong with the code of the articles: blocks that no test has, snippets that no article has or two files
  /// have.
  public func problemsOfCode() throws -> [String] {
    var problems: [String] = []
    var names: [String: String] = [:]
    for (name, code) in try snippets() where names.updateValue(code, forKey: name) != nil {
      problems.append("Two snippets are named \(name).")
    }
    var used: Set<String> = []
    for article in try articles() {
      for block in Self.blocks(of: article.text, in: "swift") where !Self.isManifest(block) {
        if let name = names.first(where: { $0.value == block })?.key {
          used.insert(name)
        } else {
          problems.append("\(article.name) has code that no test runs:\n\(block)")
        }
      }
    }
    return problems + Set(names.keys).subtracting(used).sorted().map { "No article has the snippet \($0)." }
  }

  /// What is wrong with links: those that lead to no article, and articles to which the first page does not lead.
  ///
  /// - Parameter page: the name of the first page.
  public func problemsOfLinks(from page: String) throws -> [String] {
    let articles = try articles()
    let names = Set(articles.map { $0.name.replacingOccurrences(of: ".md", with: "") })
    var problems: [String] = []
    for article in articles {
      for link in Self.links(in: article.text) where !names.contains(link) {
        problems.append("\(article.name) links to \(link).")
      }
    }
    let linked = articles.first { $0.name == "\(page).md" }.map { Set(Self.links(in: $0.text)) } ?? []
    return problems + names.subtracting(linked).subtracting([page]).sorted().map { "The first page lacks \($0)." }
  }
}
