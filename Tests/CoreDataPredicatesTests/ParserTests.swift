// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataPredicates

@Suite("Reading predicate formats")
struct ParserTests {
  private func parse(_ format: String, _ arguments: PlainValue...) throws -> PredicateSyntax {
    try PredicateParser.parse(format, arguments: arguments.map { .value($0) })
  }

  private func expression(_ format: String) throws -> ExpressionSyntax {
    try PredicateParser.parseExpression(format)
  }

  @Test(
    "Every operator is read in every spelling",
    arguments: [
      ("=", ComparisonSyntax.Operator.equalTo), ("==", .equalTo), ("!=", .notEqualTo), ("<>", .notEqualTo),
      ("<", .lessThan), ("<=", .lessThanOrEqualTo), ("=<", .lessThanOrEqualTo), (">", .greaterThan),
      (">=", .greaterThanOrEqualTo), ("=>", .greaterThanOrEqualTo), ("BETWEEN", .between), ("in", .in),
      ("Contains", .contains), ("beginswith", .beginsWith), ("ENDSWITH", .endsWith), ("LIKE", .like),
      ("matches", .matches),
    ])
  func operators(spelling: String, op: ComparisonSyntax.Operator) throws {
    #expect(try parse("a \(spelling) b") == .comparison(.init(.keyPath("a"), op, .keyPath("b"))))
    #expect(
      try parse("a \(spelling)[cD] b")
        == .comparison(
          .init(.keyPath("a"), op, .keyPath("b"), options: [.caseInsensitive, .diacriticInsensitive])))
  }

  @Test("AND binds closer than OR, NOT closer than both")
  func precedence() throws {
    let (a, b, c) = (try parse("a == 1"), try parse("b == 2"), try parse("c == 3"))
    #expect(try parse("a == 1 OR b == 2 && c == 3") == .or([a, .and([b, c])]))
    #expect(try parse("(a == 1 || b == 2) and NOT c == 3") == .and([.or([a, b]), .not(c)]))
    #expect(try parse("a==1 AND b==2 AND c==3") == .and([a, b, c]))
    #expect(try parse("!(a == 1)") == .not(a))
  }

  @Test("ANY, SOME, ALL and NONE modify the comparison")
  func modifiers() throws {
    let comparison = ComparisonSyntax(
      .keyPath("tags.name"), .equalTo, .constant(.string("x")), modifier: .any)
    #expect(try parse("ANY tags.name == 'x'") == .comparison(comparison))
    #expect(try parse("some tags.name == 'x'") == .comparison(comparison))
    #expect(try parse("NONE tags.name == 'x'") == .not(.comparison(comparison)))
    guard case .comparison(let all) = try parse("ALL tags.name == 'x'") else {
      Issue.record("not a comparison")
      return
    }
    #expect(all.modifier == .all)
  }

  @Test(
    "Literals have the value that they show",
    arguments: [
      ("12", PlainValue.integer(12)), ("-12", .integer(-12)), ("1.5", .real(1.5)), ("-1e3", .real(-1000)),
      ("0x1F", .integer(31)), ("0b101", .integer(5)), ("0o17", .integer(15)),
      ("-9223372036854775808", .integer(.min)), ("'it\\'s'", .string("it's")), ("\"a\\n\\u00e9\"", .string("a\né")),
      ("TRUE", .boolean(true)), ("no", .boolean(false)), ("nil", .null), ("NULL", .null),
      ("CAST(10.5, \"NSDate\")", .date(Date(timeIntervalSinceReferenceDate: 10.5))),
    ])
  func literals(text: String, value: PlainValue) throws {
    #expect(try expression(text) == .constant(value))
  }

  @Test("Arguments stand for placeholders in order, and not inside quotes")
  func arguments() throws {
    #expect(
      try parse("%K == %@ AND n > %ld AND '%@' != %f", .string("a.b"), .string("x"), .integer(3), .integer(2))
        == .and([
          .comparison(.init(.keyPath("a.b"), .equalTo, .constant(.string("x")))),
          .comparison(.init(.keyPath("n"), .greaterThan, .constant(.integer(3)))),
          .comparison(.init(.constant(.string("%@")), .notEqualTo, .constant(.real(2)))),
        ]))
    #expect(
      try PredicateParser.parse("%@ AND a < %@", arguments: [.predicate(.constant(true)), .expression(.variable("v"))])
        == .and([.constant(true), .comparison(.init(.keyPath("a"), .lessThan, .variable("v")))]))
    #expect(throws: PredicateSyntaxError.self) { try parse("a == %@") }
    #expect(throws: PredicateSyntaxError.self) { try parse("%K == 1", .integer(1)) }
  }

  @Test("Arithmetic follows the usual precedence")
  func arithmetic() throws {
    func call(_ name: String, _ a: ExpressionSyntax, _ b: ExpressionSyntax) -> ExpressionSyntax {
      .function(operand: nil, name: name, arguments: [a, b])
    }
    let (a, b, c) = (ExpressionSyntax.keyPath("a"), ExpressionSyntax.keyPath("b"), ExpressionSyntax.keyPath("c"))
    #expect(try expression("a + b * c") == call("add:to:", a, call("multiply:by:", b, c)))
    #expect(try expression("(a - b) / c") == call("divide:by:", call("from:subtract:", a, b), c))
    #expect(try expression("a * b ** c") == call("multiply:by:", a, call("raise:toThePower:", b, c)))
    #expect(try expression("a -1") == call("from:subtract:", a, .constant(.integer(1))))
    #expect(try expression("-a") == call("from:subtract:", .constant(.integer(0)), a))
  }

  @Test("Operators on bits bind as in C among one another, and tighter than comparisons")
  func bits() throws {
    func call(_ name: String, _ a: ExpressionSyntax, _ b: ExpressionSyntax) -> ExpressionSyntax {
      .function(operand: nil, name: name, arguments: [a, b])
    }
    let (a, b, c) = (ExpressionSyntax.keyPath("a"), ExpressionSyntax.keyPath("b"), ExpressionSyntax.keyPath("c"))
    let four = ExpressionSyntax.constant(.integer(4))
    #expect(try expression("a | b & c") == call("bitwiseOr:with:", a, call("bitwiseAnd:with:", b, c)))
    #expect(try expression("a & b ^ c") == call("bitwiseXor:with:", call("bitwiseAnd:with:", a, b), c))
    #expect(
      try expression("a << b + c >> 4")
        == call("rightshift:by:", call("leftshift:by:", a, call("add:to:", b, c)), four))
    #expect(
      try expression("~a & b")
        == call("bitwiseAnd:with:", .function(operand: nil, name: "onesComplement:", arguments: [a]), b))
    let flag = PredicateSyntax.comparison(.init(call("bitwiseAnd:with:", a, four), .equalTo, four))
    #expect(try parse("a & 4 == 4 && a & 4 = 4 || TRUEPREDICATE") == .or([.and([flag, flag]), .constant(true)]))
    #expect(throws: PredicateSyntaxError.self) { try expression("a & & b") }
    #expect(throws: PredicateSyntaxError.self) { try expression(String(repeating: "~", count: 100_000) + "a") }
  }

  @Test("Key paths keep collection operators, escapes and reserved words after a dot")
  func keyPaths() throws {
    #expect(try expression("books.@max.price") == .keyPath("books.@max.price"))
    #expect(try expression("@count") == .keyPath("@count"))
    #expect(try expression("#in.select.any") == .keyPath("in.select.any"))
    #expect(try expression("SELF.name") == .keyPath("name"))
    #expect(try expression("$x.a.b") == .keyPathOf(.variable("x"), "a.b"))
    #expect(
      try expression("a[LAST].b")
        == .keyPathOf(
          .function(
            operand: nil, name: "objectFrom:withIndex:",
            arguments: [.keyPath("a"), .function(operand: nil, name: "LAST", arguments: [])]), "b"))
  }

  @Test("Functions are read in both spellings, with operand, and with a predicate inside")
  func functions() throws {
    #expect(try expression("sum:(a)") == .function(operand: nil, name: "sum:", arguments: [.keyPath("a")]))
    #expect(try expression("sum(a)") == .function(operand: nil, name: "sum:", arguments: [.keyPath("a")]))
    #expect(try expression("now()") == .function(operand: nil, name: "now", arguments: []))
    #expect(
      try expression("FUNCTION($m, 'do:with:', a, 1)")
        == .function(
          operand: .variable("m"), name: "do:with:", arguments: [.keyPath("a"), .constant(.integer(1))]))
    #expect(
      try parse("SUBQUERY(xs, $x, $x.a > 1).@count > 0")
        == .comparison(
          .init(
            .keyPathOf(
              .subquery(
                collection: .keyPath("xs"), variable: "x",
                predicate: .comparison(
                  .init(.keyPathOf(.variable("x"), "a"), .greaterThan, .constant(.integer(1))))), "@count"),
            .greaterThan, .constant(.integer(0)))))
    #expect(
      try expression("TERNARY(TRUEPREDICATE, 1, 2)")
        == .conditional(.constant(true), .constant(.integer(1)), .constant(.integer(2))))
    #expect(
      try expression("FETCH($r, $c, YES)") == .fetch(request: .variable("r"), context: .variable("c"), countOnly: true))
    #expect(
      try expression("a UNION {1, b}") == .union(.keyPath("a"), .aggregate([.constant(.integer(1)), .keyPath("b")])))
  }

  @Test(
    "What cannot be read is named with its place",
    arguments: [
      ("", 0), ("a ==", 4), ("a == 1 AND", 10), ("a == 'x", 5), ("(a == 1", 7), ("a == 1)", 6), ("a", 0),
      ("a ==[x] 1", 5), ("foo:(1) > 1", 0), ("a == 1 2", 7), ("a ; b", 2), ("1 AND 2", 0), ("(a == 1) + 2 > 3", 0),
      ("sqrt:(1, 2) == 1", 0), ("a == 12b", 7), ("AND == 1", 0), ("SUBQUERY(a, x, b == 1)", 12),
    ])
  func errors(format: String, position: Int) throws {
    let error = try #require(throws: PredicateSyntaxError.self) { try parse(format) }
    #expect(error.position == position, "\(error)")
    #expect(error.format == format)
  }

  @Test("Nesting without end is refused, not suffered")
  func depth() throws {
    let count = 10_000
    for format in [
      String(repeating: "(", count: count) + "a", String(repeating: "NOT ", count: count) + "a == 1",
      String(repeating: "-", count: count) + "a == 1", "a == " + String(repeating: "1 + ", count: count) + "1",
      "a == " + String(repeating: "abs:(", count: count), "a" + String(repeating: "[0]", count: count),
      "a" + String(repeating: "[b", count: count), "{" + String(repeating: "{", count: count),
    ] {
      #expect(throws: PredicateSyntaxError.self) { try parse(format) }
    }
    #expect(throws: Never.self) {
      try parse(String(repeating: "(", count: 150) + "a == 1" + String(repeating: ")", count: 150))
    }
    #expect(throws: Never.self) { try parse(Array(repeating: "a == 1", count: 5000).joined(separator: " OR ")) }
  }

  @Test("Chains of operators in nested parentheses are refused before the tree is too high to be freed")
  func height() throws {
    func nested(_ operand: String, _ chain: String, _ depth: Int) -> String {
      String(repeating: "(", count: depth) + operand + String(repeating: chain + ")", count: depth)
    }
    let sum = String(repeating: " + 1", count: 150)
    let index = String(repeating: "[0]", count: 150)
    for format in [
      "a == " + nested("1", sum, 150), nested("a", index, 150) + " == 1", "a == " + nested("1", sum + index, 100),
      String(repeating: "NOT (", count: 100) + "a == " + nested("1", sum, 50) + String(repeating: ")", count: 100),
      "a == " + nested("1", " ** 2", 199) + sum + " * " + nested("1", sum, 10),
      "TERNARY(TRUEPREDICATE, \(nested("1", sum, 20)), 1) == 1", "ANY {\(nested("1", sum, 20))} == 1",
      "SUBQUERY(a, $x, $x == \(nested("1", sum, 20))).@count == 1", "abs:(\(nested("1", sum, 20))) == 1",
    ] {
      #expect(throws: PredicateSyntaxError.self) { try parse(format) }
    }
    #expect(throws: Never.self) { try parse("a == " + nested("1", " + 1", 150)) }
    #expect(throws: Never.self) {
      try parse(Array(repeating: "a == 1" + sum, count: 100).joined(separator: " OR "))
    }
  }
}
