// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataPredicates

@Suite("Printing predicates")
struct PrinterTests {
  @Test(
    "Predicates are printed as Foundation prints them",
    arguments: [
      ("name beginswith[cd] 'a' && age => 18", "name BEGINSWITH[cd] \"a\" AND age >= 18"),
      ("SOME tags.name = 'x'", "ANY tags.name == \"x\""),
      ("(a = 1 or b = 2) and c = 3", "(a == 1 OR b == 2) AND c == 3"),
      ("not (a = 1)", "NOT a == 1"),
      ("none a = 1", "NOT ANY a == 1"),
      ("a = YES and b = null", "a == 1 AND b == nil"),
      ("#in = 1", "#in == 1"),
      ("a between {1, 2}", "a BETWEEN {1, 2}"),
      ("d > CAST(700000000, 'NSDate')", "d > CAST(700000000.000000, \"NSDate\")"),
      ("(a + 1) * b > 2.0", "(a + 1) * b > 2"),
      ("SUBQUERY(xs, $x, $x.a > 1).@count > 0", "SUBQUERY(xs, $x, $x.a > 1).@count > 0"),
      ("count(xs) > 1 and now() < d", "count:(xs) > 1 AND now() < d"),
      ("flags & 4 != 0 || ~a << 2 = b", "flags & 4 != 0 OR (~a) << 2 == b"),
      ("bitwiseXor:with:(a, 1) > a | (b >> 1)", "a ^ 1 > a | (b >> 1)"),
      ("a[first] == 'q\"'", "a[FIRST] == \"q\\\"\""),
      ("objectFrom:withIndex:(-1, {}) != b", "(-1)[{}] != b"), ("objectFrom:withIndex:(1, 0) == b", "1[0] == b"),
    ])
  func foundationStyle(source: String, printed: String) throws {
    #expect(PredicatePrinter().format(try PredicateParser.parse(source)) == printed)
  }

  @Test(
    "Derivation expressions have functions in place of collection operators",
    arguments: [
      ("pages.@count", "count:(pages)"), ("items.@sum.price", "sum:(items.price)"),
      ("primaryLabel.code", "primaryLabel.code"), ("canonical:(name)", "canonical:(name)"), ("now()", "now()"),
    ])
  func derivations(source: String, printed: String) throws {
    #expect(PredicatePrinter.derivationFormat(try PredicateParser.parseExpression(source)) == printed)
  }

  @Test("Keys with any characters are printed in quotes, and read again")
  func quotedKeys() throws {
    let printed: [(ExpressionSyntax, String)] = [
      (.keyPath("apo'strophe"), #"#"apo'strophe""#), (.keyPath("a b.c"), #"#"a b".c"#),
      (.keyPathOf(.variable("source"), "a.b\"c.@count"), ##"$source.a.#"b\"c".@count"##),
    ]
    for (expression, text) in printed {
      #expect(PredicatePrinter().format(expression) == text)
      #expect(try PredicateParser.parseExpression(text) == expression)
    }
    #expect(try PredicateParser.parseExpression("#'in'.#\"a.b\"") == .keyPath("in.a.b"))
    #expect(throws: (any Error).self) { try PredicateParser.parseExpression("#'open") }
  }

  @Test("What is printed exactly and read again is the same tree", arguments: 0..<40)
  func roundTrip(seed: UInt64) throws {
    var generator = TreeGenerator(seed: seed)
    for _ in 0..<50 {
      let tree = generator.predicate(depth: 4)
      let text = PredicatePrinter(style: .exact).format(tree)
      #expect(try PredicateParser.parse(text) == tree, "\(text)")
    }
  }
}

/// Trees at random, the same for the same seed.
struct TreeGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed &+ 0x9E37_79B9_7F4A_7C15
  }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  mutating func predicate(depth: Int) -> PredicateSyntax {
    switch depth > 0 ? Int.random(in: 0..<6, using: &self) : 5 {
    case 0: return .and((0..<Int.random(in: 2...3, using: &self)).map { _ in predicate(depth: depth - 1) })
    case 1: return .or((0..<Int.random(in: 2...3, using: &self)).map { _ in predicate(depth: depth - 1) })
    case 2: return .not(predicate(depth: depth - 1))
    case 3: return .constant(Bool.random(using: &self))
    default:
      let op = pick([ComparisonSyntax.Operator.lessThan, .equalTo, .like, .between, .in, .contains, .endsWith])
      return .comparison(
        ComparisonSyntax(
          expression(depth: depth), op, expression(depth: depth), modifier: pick([.direct, .all, .any]),
          options: .init(rawValue: UInt.random(in: 0...15, using: &self))))
    }
  }

  private mutating func expression(depth: Int) -> ExpressionSyntax {
    guard depth > 0 else { return leaf() }
    let below = depth - 1
    switch Int.random(in: 0..<14, using: &self) {
    case 0:
      return .keyPathOf(pick([.variable("x"), .function(operand: nil, name: "now", arguments: [])]), "a.in.@count")
    case 1: return .function(operand: leaf(), name: "do:with:", arguments: [expression(depth: below)])
    case 2, 3:
      if Int.random(in: 0..<5, using: &self) == 0 {
        return .function(operand: nil, name: "onesComplement:", arguments: [expression(depth: below)])
      }
      let name = pick((PredefinedFunction.operators.keys + ["modulus:by:"]).sorted())
      return .function(operand: nil, name: name, arguments: [expression(depth: below), expression(depth: below)])
    case 4: return .function(operand: nil, name: pick(["sum:", "uppercase:"].dropLast(1)), arguments: [leaf()])
    case 5: return .aggregate((0..<Int.random(in: 0...3, using: &self)).map { _ in expression(depth: below) })
    case 6: return .union(expression(depth: below), expression(depth: below))
    case 7: return .minus(expression(depth: below), .intersect(leaf(), leaf()))
    case 8: return .subquery(collection: expression(depth: below), variable: "v", predicate: predicate(depth: below))
    case 9: return .conditional(predicate(depth: below), expression(depth: below), leaf())
    case 10: return .fetch(request: leaf(), context: leaf(), countOnly: Bool.random(using: &self))
    case 11: return .function(operand: nil, name: "objectFrom:withIndex:", arguments: [.keyPath("a"), index(below)])
    case 12: return .function(operand: nil, name: "castObject:toType:", arguments: [.keyPath("a"), leaf()])
    default: return leaf()
    }
  }

  private mutating func index(_ depth: Int) -> ExpressionSyntax {
    Bool.random(using: &self)
      ? .function(operand: nil, name: pick(["FIRST", "LAST", "SIZE"]), arguments: []) : expression(depth: depth)
  }

  private mutating func leaf() -> ExpressionSyntax {
    switch Int.random(in: 0..<6, using: &self) {
    case 0: return .evaluatedObject
    case 1: return .variable(pick(["x", "source"]))
    case 2: return .keyPath(pick(["name", "a.b.c", "books.@max.price", "in.out", "SELF", "true", "größe", "first"]))
    case 3: return .anyKey
    default: return .constant(value(nested: true))
    }
  }

  private mutating func value(nested: Bool) -> PlainValue {
    switch Int.random(in: 0..<(nested ? 14 : 11), using: &self) {
    case 0: return .null
    case 1: return .boolean(Bool.random(using: &self))
    case 2, 3: return .integer(pick([0, -1, 7, .max, .min, Int64.random(in: -9999...9999, using: &self)]))
    case 4: return .real(pick([0, -0.5, 1e300, 1e-9, 2, .infinity, Double.random(in: -1...1, using: &self)]))
    case 5: return .decimal(pick([Decimal(5), Decimal(sign: .minus, exponent: -3, significand: 12345)]))
    case 6: return .string(pick(["", "a", "it's \"so\"", "back\\slash\n\t", "é🎉", "%@ AND"]))
    case 7: return .date(Date(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &self)))
    case 8: return .data(Data([1, 2, 255]))
    case 9: return .uuid(pick([UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))]))
    case 10: return .string("plain")
    case 11: return .array([value(nested: false), value(nested: false)])
    case 12: return .set([.integer(1), .string("b")])
    default: return .dictionary(["k": value(nested: false), "l": .null])
    }
  }
}

@Suite("Printing what is nested deep")
struct DeepPrintingTests {
  /// Texts that nest something so many times.
  private static let shapes: [(String, @Sendable (Int) -> String)] = [
    ("NOT", { String(repeating: "NOT ", count: $0) + "a == 1" }),
    ("!", { String(repeating: "!", count: $0) + "(a == 1 AND b == 2)" }),
    (
      "AND and OR",
      { depth in (0..<depth).reduce("a == 1") { $1 % 2 == 0 ? "(\($0)) AND b == 2" : "(\($0)) OR b == 2" } }
    ),
    ("NOT and AND", { depth in (0..<depth).reduce("a == 1") { text, _ in "NOT (\(text) AND b == 2)" } }),
    ("minus", { "a == " + String(repeating: "- ", count: $0) + "b" }),
    ("complement", { "a == " + String(repeating: "~", count: $0) + "b" }),
    ("sum to the left", { "a == b" + String(repeating: " + b", count: $0) }),
    ("sum to the right", { "a == " + String(repeating: "b + (", count: $0) + "b" + String(repeating: ")", count: $0) }),
    ("union", { "a IN b" + String(repeating: " UNION b", count: $0) }),
    ("power", { "a == b" + String(repeating: " ** b", count: $0) }),
    ("function", { "a == " + String(repeating: "abs(", count: $0) + "b" + String(repeating: ")", count: $0) }),
    ("index", { "a == b" + String(repeating: "[0]", count: $0) }),
    ("index within", { "a == " + String(repeating: "b[", count: $0) + "0" + String(repeating: "]", count: $0) }),
    ("aggregate", { "a IN " + String(repeating: "{", count: $0) + "b" + String(repeating: "}", count: $0) }),
    ("condition", { depth in "a == " + (0..<depth).reduce("b") { text, _ in "TERNARY(a == 1, \(text), c)" } }),
    ("subquery", { depth in (0..<depth).reduce("a == 1") { text, _ in "SUBQUERY(b, $x, \(text)).@count > 0" } }),
  ]

  @Test("What was read can be printed and read again, at every depth that is read at all", arguments: shapes.indices)
  func again(index: Int) throws {
    let (name, text) = Self.shapes[index]
    var deepest = 0
    for depth in [
      1, 2, 3, 10, 40, 48, 49, 50, 51, 52, 64, 66, 67, 97, 98, 99, 100, 101, 132, 133, 197, 198, 199, 200, 201,
    ] {
      let tree: PredicateSyntax
      do {
        tree = try PredicateParser.parse(text(depth))
      } catch {
        continue
      }
      deepest = max(deepest, depth)
      for printer in [PredicatePrinter(), PredicatePrinter(style: .exact)] {
        #expect(try PredicateParser.parse(printer.format(tree)) == tree, "\(name) \(depth)")
      }
    }
    #expect(deepest >= 50, "\(name) is read to a depth of \(deepest)")
  }
}
