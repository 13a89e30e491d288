// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning
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
    let count = 3_000
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

  @Test("One attribute thousands of times before a declaration is reported, and the port ends", arguments: [2, count])
  func repeatedAttributes(count: Int) {
    let text = "class A: NSManagedObject {\n  " + String(repeating: "@NSManaged ", count: count) + "var a: Int16\n}\n"
    for purpose in [Translator.Purpose.build, .port] {
      let result = translate(text, purpose)
      #expect(result.messages.last?.text == "The declaration has @NSManaged twice.")
      #expect(result.messages.allSatisfy { $0.line == 2 && $0.severity == .error })
    }
  }

  @Test(
    "Thousands of types of one name within each other take a time in proportion to their number",
    arguments: ["class A: NSManagedObject {\n", "class P: NSEntityMigrationPolicy {\n"])
  func nestedNamesakes(start: String) {
    let member = "@objc func f(_ a: String) -> String { a }\n@objc var b: Int { 1 }\n"
    let text = start + member + String(repeating: start, count: 2_500)
    for purpose in [Translator.Purpose.build, .port] { #expect(translate(text, purpose).lines >= 2_501) }
  }

  @Test(
    "Brackets that are not closed remove no line", arguments: ["#keyPath(", "#keyPath(a.b", "f((", "@objc(", "a<[{"])
  func unclosed(part: String) {
    let result = translate(String(repeating: part, count: Self.count) + "\nlet x = 1\n", .build)
    #expect(result.lines == 3)
  }

  @Test("A port of attributes within each other takes a time in proportion to their number")
  func nestedAttributes() {
    for part in ["@objc(", "@available(", "private("] {
      let open = String(repeating: part, count: Self.count)
      #expect(translate(open + "\nlet x = 1\n", .port).lines == 3)
      #expect(translate(open + "a" + String(repeating: ")", count: Self.count) + "\nlet x = 1\n", .port).lines >= 3)
    }
  }

  @Test("Thousands of types within each other are told apart, with the variables of each")
  func nested() throws {
    let count = 2_000
    let text =
      (0..<count).map { "class A\($0) {\n  var a\($0): Int\n" }.joined() + String(repeating: "}\n", count: count)
    let file = SourceFile(path: "A.swift", bytes: Array(text.utf8))
    #expect(file.types.count == count)
    #expect(file.types[2].name == "A0.A1.A2" && file.types[count - 1].bareName == "A\(count - 1)")
    #expect(file.types.allSatisfy { !$0.isHidden })
    #expect(translate(text, .port).lines == 3 * count + 1)
    for position in file.words.indices where file.words[position].hasPrefix("a") {
      #expect(file.type(around: position)?.bareName == file.words[position].uppercased())
    }
  }

  @Test("The innermost type of each token is the last one that has it in its body")
  func innermost() {
    let text = """
      private class A: B { struct C<T> { var d: Int } ; extension E { } func f() { enum G { case h } } }
      protocol I: class { var j: Int { get } }
      class K: L class M { var n = 1 }
      class O<P: Q> where P: R { class S {} ; var t = 1
      """
    let file = SourceFile(path: "A.swift", bytes: Array(text.utf8))
    #expect(file.types.map(\.name) == ["A", "A.C", "A.E", "A.G", "I", "M", "O", "O.S"])
    #expect(file.types.map(\.isPrivate) == [true, true, true, true, false, false, false, false])
    #expect(file.types.map(\.isHidden) == [false, false, false, true, false, false, false, false])
    for position in file.words.indices {
      let wanted = file.types.last { $0.body.contains(position) }?.name
      #expect(file.type(around: position)?.name == wanted, "\(file.words[position])")
    }
    #expect(file.type(around: -1) == nil && file.type(around: file.words.count) == nil)
    for (position, token) in file.tokens.enumerated() {
      #expect(file.token(from: token.range.lowerBound) == position)
      #expect(file.startOfLine(token.range.lowerBound) <= token.range.lowerBound)
    }
  }
}
