// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CoreDataSourceCode

/// Sources whose translation once took a time that grew with the square of their length: minutes for these.
@Suite("Large and unfinished sources")
struct LargeSourceTests {
  private static let count = 5_000

  private func translate(_ text: String, _ purpose: Translator.Purpose) -> (lines: Int, messages: [SourceMessage]) {
    let file = SourceFile(path: "A.swift", bytes: Array(text.utf8))
    let result = Translator(files: [file], models: [], hasResources: true, purpose: purpose).translate(file)
    return (
      String(decoding: result.bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).count,
      result.messages
    )
  }

  @Test("Every managed property of a large class gets accessors in a port")
  func properties() {
    let count = 300
    let members = (0..<count).map { "  @objc @NSManaged var a\($0): Int16\n" }.joined()
    let result = translate("class A: NSManagedObject {\n\(members)}\n", .port)
    #expect(result.lines > 5 * count)
    #expect(result.messages.isEmpty)
  }

  @Test("Attributes without a declaration are reported, each at its place")
  func attributes() {
    let text = "class A: NSManagedObject {\n" + String(repeating: "  @NSManaged\n", count: Self.count) + "}\n"
    let result = translate(text, .build)
    #expect(result.lines == Self.count + 3)
    #expect(result.messages.last?.line == Self.count + 1)
    #expect(result.messages.allSatisfy { $0.column == 3 })
  }

  @Test(
    "Brackets that are not closed remove no line", arguments: ["#keyPath(", "#keyPath(a.b", "f((", "@objc(", "a<[{"])
  func unclosed(part: String) {
    let result = translate(String(repeating: part, count: Self.count) + "\nlet x = 1\n", .build)
    #expect(result.lines == 3)
  }
}
