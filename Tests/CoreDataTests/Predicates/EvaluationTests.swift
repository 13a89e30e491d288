// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CoreData
@testable import CoreDataPredicates

@Suite("Evaluating predicates in memory")
struct EvaluationTests {
  private static var object: [String: Any] {
    [
      "n": 5, "r": 2.5, "big": Int64.max, "money": NSDecimalNumber(string: "0.1"), "name": "Éclair", "empty": "",
      "yes": true, "gone": NSNull(), "date": Date(timeIntervalSinceReferenceDate: 100), "list": [3, 1, 2, 3],
      "set": NSSet(array: ["a", "b"]), "ordered": NSOrderedSet(array: [1, 2]),
      "books": [
        ["title": "Ada", "price": 10, "tags": ["x", "y"]], ["title": "bob", "price": 20.5, "tags": ["z"]],
        ["title": "Cy", "tags": [String]()],
      ] as [[String: Any]],
      "author": ["name": "Zoë"] as [String: Any],
    ]
  }

  private func holds(_ format: String) throws -> Bool {
    try PredicateEvaluator().evaluate(PredicateParser.parse(format), with: Self.object)
  }

  private func value(_ format: String) throws -> Any? {
    try PredicateEvaluator().value(PredicateParser.parseExpression(format), with: Self.object)
  }

  @Test(
    "True predicates",
    arguments: [
      "n == 5", "n == 5.0", "n > r", "n != 6", "big == 9223372036854775807", "big < 9223372036854775808.0",
      "money == CAST('0.1', 'NSDecimalNumber')", "yes == YES", "yes == 1", "gone == nil", "absent == nil",
      "n != nil", "NOT (gone > 1)", "NOT (gone < 1)", "gone != 3", "date > CAST(99, 'NSDate')",
      "name BEGINSWITH 'É'", "name BEGINSWITH[cd] 'ec'", "name ENDSWITH[c] 'AIR'", "name CONTAINS[d] 'Ecl'",
      "NOT name CONTAINS 'ecl'", "name ==[cd] 'eclair'", "name LIKE 'É*r'", "name LIKE[cd] 'e?lai?'",
      "NOT name LIKE 'É'", "name LIKE '*'", "empty LIKE '*'", "NOT empty LIKE '?'", "name MATCHES 'É[a-z]+'",
      "NOT name MATCHES 'É'", "name MATCHES[cd] 'ECL.*'", "empty MATCHES ''", "'a\nb' LIKE 'a*'", "'*' LIKE '\\\\*'",
      "n IN {1, 5}", "2 IN list", "NOT 9 IN list", "list CONTAINS 3", "'a' IN set", "'cl' IN name",
      "name IN[cd] {'ECLAIR'}", "n BETWEEN {5, 6}", "NOT n BETWEEN {6, 7}", "date BETWEEN {CAST(0, 'NSDate'), now()}",
      "ANY books.price > 20", "NOT ALL books.price > 20", "ALL books.title != nil", "NONE books.title == 'x'",
      "ANY books.tags == 'z'", "ANY books.title BEGINSWITH[c] 'B'", "SOME list == 2", "NOT ANY absent == 1",
      "ALL absent == 1", "author.name ==[d] 'Zoe'", "books.@count == 3", "books.@sum.price == 30.5",
      "books.@max.price == 20.5", "books.@min.price == 10", "books.@avg.price == 15.25",
      "count:(list.@distinctUnionOfObjects.self) == 3", "count:(books.@unionOfArrays.tags) == 3",
      "SUBQUERY(books, $b, $b.price > 5 AND ANY $b.tags == 'x').@count == 1", "count:(books) == 3",
      "name.length == 6", "ordered[LAST] == 2", "list[0] == 3", "list[SIZE] == 4", "list[9] == nil",
      "TERNARY(n > 3, 'a', 'b') == 'a'", "({1, 2} UNION {2, 3}).@count == 3", "({1, 2} INTERSECT {2, 3}).@count == 1",
      "({1, 2} MINUS {2}).@count == 1", "TRUEPREDICATE", "'a' < 'b'", "'B' <[c] 'c'", "{1, 2} == {1.0, 2}",
    ])
  func truths(format: String) throws {
    #expect(try holds(format))
  }

  @Test(
    "Functions and arithmetic",
    arguments: [
      ("1 + 2 * 3", 7.0), ("7 / 2", 3), ("7 / 2.0", 3.5), ("2 ** 10", 1024), ("7 %% 4", 3), ("-n", -5),
      ("sum:(list)", 9), ("sum:({1, 2.5})", 3.5), ("average:(list)", 2.25), ("min:(list)", 1), ("max:(4, 9)", 9),
      ("median:(list)", 2.5), ("mode:(list)[0]", 3), ("stddev:({2, 4})", 1), ("sqrt:(16)", 4), ("log:(100)", 2),
      ("ln:(1)", 0), ("exp:(0)", 1), ("ceiling:(1.2)", 2), ("floor:(-1.2)", -2), ("trunc:(-1.7)", -1), ("abs:(-3)", 3),
      ("bitwiseAnd:with:(6, 3)", 2), ("bitwiseOr:with:(6, 3)", 7), ("bitwiseXor:with:(6, 3)", 5),
      ("6 & 3 | 8", 10), ("6 ^ 3", 5), ("1 << 4 >> 1", 8), ("~0 + 1", 0),
      ("leftshift:by:(1, 4)", 16), ("rightshift:by:(16, 4)", 1), ("onesComplement:(0)", -1), ("length:(name)", 6),
      ("CAST(date, 'NSNumber') + 1", 101), ("noindex:(n)", 5), ("big + 1", 9_223_372_036_854_775_808),
      ("add:to:(1, 2)", 3),
    ])
  func functions(format: String, expected: Double) throws {
    let number = try #require(try value(format) as? NSNumber)
    #expect(abs(number.doubleValue - expected) < 1e-9)
  }

  @Test("Distances go along the great circle, in metres, between whatever has a latitude and a longitude")
  func distances() throws {
    let berlin: [String: Any] = ["latitude": 52.52, "longitude": 13.405]
    let paris: [String: Any] = ["coordinate": ["latitude": 48.8566, "longitude": 2.3522]]
    let antipode: [String: Any] = ["latitude": -52.52, "longitude": 193.405]
    func distance(_ a: Any, _ b: Any) throws -> Double? {
      let expression = NSExpression(format: "distanceToLocation:fromLocation:(%@, $b)", NSExpression(forVariable: "a"))
      let value = try PredicateEvaluator(variables: ["a": a, "b": b]).value(expression.syntax, with: nil)
      return (value as? NSNumber)?.doubleValue
    }
    #expect(try distance(berlin, berlin) == 0)
    // About 877.5 km, by tables.
    #expect(abs(try #require(try distance(berlin, paris)) - 877_500) < 1_000)
    #expect(try distance(berlin, paris) == distance(paris, berlin))
    #expect(abs(try #require(try distance(berlin, antipode)) - .pi * 6_371_008.8) < 1)
    #expect(throws: EvaluationError.self) { try distance(berlin, ["latitude": 1]) }
    #expect(throws: EvaluationError.self) { try distance(berlin, ["latitude": 91, "longitude": 0]) }
    #expect(throws: EvaluationError.self) { try distance(berlin, "Paris") }
  }

  @Test("Texts are folded by functions")
  func textFunctions() throws {
    #expect(try value("uppercase:('aé')") as? String == "AÉ")
    #expect(try value("lowercase:('AÉ')") as? String == "aé")
    #expect(try value("canonical:('AÉ')") as? String == "ae")
    #expect(try value("uppercase:(gone)") == nil)
  }

  @Test("Decimals stay exact")
  func decimals() throws {
    let sum = try #require(try value("money + CAST('0.2', 'NSDecimalNumber')") as? NSDecimalNumber)
    #expect(sum == NSDecimalNumber(string: "0.3"))
  }

  @Test(
    "What cannot be evaluated says so",
    arguments: [
      ("n.foo == 1", EvaluationError.unknownKey("foo", object: "5 (NSNumber)")),
      ("$x == 1", .missingVariable("x")), ("name MATCHES '('", .invalidPattern("(")),
    ])
  func failures(format: String, error: EvaluationError) throws {
    let thrown = try #require(throws: EvaluationError.self) { try holds(format) }
    if case .unknownKey(let key, _) = thrown { #expect(key == "foo") } else { #expect(thrown == error) }
  }

  @Test("Values of kinds that have no common order are an error inside and no match outside")
  func kinds() throws {
    #expect(throws: EvaluationError.self) { try holds("n < 'a'") }
    #expect(throws: EvaluationError.self) { try holds("n LIKE 'a'") }
    #expect(throws: EvaluationError.self) { try holds("n BETWEEN 3") }
    #expect(try !holds("n == 'a'"))
    #expect(!NSPredicate(format: "n < 'a'").evaluate(with: Self.object))
  }

  @Test("Products of decimals that no decimal can be, and decimals that are no number, stop no program")
  func extremeDecimals() throws {
    let object: [String: Any] = [
      "small": NSDecimalNumber(string: "1e-127"), "great": NSDecimalNumber.maximum, "nan": NSDecimalNumber.notANumber,
    ]
    func holds(_ format: String) throws -> Bool {
      try PredicateEvaluator().evaluate(PredicateParser.parse(format), with: object)
    }
    #expect(try holds("small * small > 0 AND small * small < small AND small * great > 1"))
    #expect(try !holds("nan > 0") && !holds("nan < 0") && !holds("nan + 1 > 0") && !holds("nan * small < 1"))
  }

  @Test("Quotients of decimals with many digits have as many digits as others, and no quotient is lost")
  func extremeQuotients() throws {
    func quotient(_ a: String, _ b: String) throws -> Any? {
      let object = ["a": NSDecimalNumber(string: a), "b": NSDecimalNumber(string: b)]
      return try PredicateEvaluator().value(PredicateParser.parseExpression("a / b"), with: object)
    }
    let great = "340282366920938463463374607431768211455"
    for (a, b, result) in [
      ("1", great, "29387358770557187699218413430556141945e-76"),
      ("-1", great, "-29387358770557187699218413430556141945e-76"),
      ("1", "12345678901234567890123456789012345678", "81000000729000006633900060368490549359e-75"),
      ("1", "1e127", "1e-127"), ("6", "-3", "-2"), ("1", "3", "33333333333333333333333333333333333333e-38"),
      ("0", great, "0"),
      (great, great, "1"), ("1e-100", "1e-128", "1e28"),
    ] {
      let found = try #require(try quotient(a, b) as? NSDecimalNumber, "\(a) / \(b)")
      let isClose =
        abs(NSDecimalNumber(string: result).subtracting(found).doubleValue / max(abs(found.doubleValue), 1e-300))
        < 1e-35
      #expect(isClose, "\(a) / \(b) = \(found)")
    }
    // No decimal is so small or so large.
    for (a, b, result) in [("1e-100", "1e100", 1e-200), ("1e100", "1e-100", 1e200)] {
      let found = try #require(try quotient(a, b) as? NSNumber).doubleValue
      #expect(abs(found / result - 1) < 1e-14, "\(a) / \(b) = \(found)")
    }
  }

  @Test("A date that is not a number is compared and described like any value")
  func dateThatIsNotANumber() throws {
    let object = ["n": 5, "date": Date(timeIntervalSinceReferenceDate: .nan)] as [String: Any]
    #expect(throws: EvaluationError.self) {
      try PredicateEvaluator().evaluate(PredicateParser.parse("n < date"), with: object)
    }
    let text = try PredicateParser.parseExpression("CAST(date, 'NSString')")
    #expect(try PredicateEvaluator().value(text, with: object) as? String == "nan")
  }

  @Test("A set keeps strings that are only canonically equivalent, as rows and comparisons do")
  func equivalentStrings() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    for order in [[composed, decomposed], [decomposed, composed]] {
      let set = ValueSet.make(order + ["e"])
      #expect(set.count == 3)
      for text in order {
        #expect(Array((set.member(text) as? String ?? "").utf8) == Array(text.utf8))
        let left = NSExpression(forConstantValue: text)
        let predicate = NSComparisonPredicate(
          leftExpression: left, rightExpression: NSExpression(forConstantValue: set), modifier: .direct, type: .in)
        #expect(predicate.evaluate(with: nil))
      }
    }
    #expect(ValueSet.make([composed]).member(decomposed) == nil)
  }
}
