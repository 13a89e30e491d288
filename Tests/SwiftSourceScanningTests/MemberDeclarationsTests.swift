// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning
import Testing

@Suite("Members of types")
struct MemberDeclarationsTests {
  /// Returns a line for each member of a source.
  private func members(_ text: String) -> [String] {
    let file = SourceFile(path: "", bytes: Array(text.utf8), keepsConditions: true)
    return file.memberDeclarations(in: 0..<file.words.count).map { member in
      switch member {
      case .condition(let text): text
      case .expansion(let macro): "#\(macro.name)\(macro.genericArguments)\(macro.arguments)"
      case .other(let keyword): keyword
      case .property(let property):
        (property.isConstant ? "let " : "var ")
          + property.bindings.map { binding in
            binding.name + (binding.type.map { ": \($0)" } ?? "") + (binding.initialValue.map { " = \($0)" } ?? "")
              + (binding.accessors == .none ? "" : " {\(binding.accessors)}")
          }.joined(separator: ", ")
      }
    }
  }

  @Test("Properties end where the next member begins")
  func ends() {
    #expect(
      members(
        """
        var a = 1
        @A(x) public var b: [Int] = c
          .map { $0 }
          + 2
        private(set) let d = e ??
          f, g: Int; var h: Int { 1 }
        final class func i() -> Int where T: U { var x = 1 }
        var j: Int = 1 { didSet { } } ; lazy var k = { 1 }()
        """) == [
          "var a = 1", "var b: [Int] = c\n  .map { $0 }\n  + 2", "let d = e ??\n  f, g: Int", "var h: Int {computed}",
          "func", "var j: Int = 1 {observers}", "var k = { 1 }()",
        ])
  }

  @Test("Types of functions include their effects")
  func effects() {
    #expect(
      members("var a: (Int) async throws(E) -> [B]? = c\nvar b: @Sendable () -> Void") == [
        "var a: (Int) async throws(E) -> [B]? = c", "var b: @Sendable () -> Void",
      ])
  }

  @Test("Other declarations are told by their keywords")
  func others() {
    #expect(
      members(
        """
        init?(a: Int) { }
        convenience init() { self.init(a: 1) }
        deinit { }
        class Inner { var x = 1 }
        class var shared: Int { 1 }
        indirect enum E { case a }
        typealias B = (Int) -> Void
        subscript<T>(_ x: T) -> T { get { x } }
        case a = 1, b
        """) == [
          "init", "init", "deinit", "class", "var shared: Int {computed}", "enum", "typealias", "subscript", "case",
        ])
  }

  @Test("Conditions and macros are members")
  func conditions() {
    #expect(
      members("#if A && (B)\nvar a = 1\n#else\n#M.Unique<T>([\\.a])\n#endif\n#Index { 1 }\nvar b = #file\nvar c = 1")
        == [
          "#if A && (B)", "var a = 1", "#else", "#Unique<T>([\\.a])", "#endif", "#Index", "var b = #file", "var c = 1",
        ])
  }

  @Test(
    "Damaged sources have an end",
    arguments: [
      "var", "var a: ", "var a = ", "var a = {", "@A(", "@", "#", "class", "private(", "var (", "}", ")", "var a, , b",
      "#if", "\"", "/*", "var `", "init", "var a: Int = 1 {",
    ])
  func damaged(text: String) {
    for copies in [1, 2, 50] {
      let source = String(repeating: text + " ", count: copies)
      #expect(members(source).count <= source.utf8.count)
      #expect(members(source + "\n" + source).count <= 2 * source.utf8.count + 1)
    }
  }

  @Test("The head of a declaration has its attributes in order, with their arguments")
  func heads() {
    let text = "@A(x: 1) @B.C<Int>(\")\") @D private(set) nonisolated(unsafe) public static var a = 1"
    let file = SourceFile(path: "", bytes: Array(text.utf8), keepsConditions: true)
    let head = DeclarationHead(from: 0, in: file)
    #expect(head.attributeList.map(\.name) == ["A", "C", "D"])
    #expect(head.attributeList.map(\.arguments) == ["(x: 1)", "(\")\")", ""])
    #expect(Set(head.modifiers) == ["public", "static"])
    #expect(file.word(head.end) == "var")
  }
}
