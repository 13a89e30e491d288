// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation
import Testing

@testable import CoreData

@Suite("Expressions of texts")
struct TextExpressionTests {
  private static let parts = "FUNCTION($a, 'componentsSeparatedByString:', "

  private static let known = [
    "$a", "'constant'", "FUNCTION(\(parts)' '), 'firstObject')", "FUNCTION(\(parts)' '), 'lastObject')",
    "FUNCTION(\(parts)' '), 'objectAtIndex:', 1)", "FUNCTION(\(parts)'aa'), 'firstObject')",
    "FUNCTION(\(parts)'aa'), 'lastObject')", "FUNCTION(\(parts)'é'), 'lastObject')",
    "FUNCTION(\(parts)''), 'lastObject')", "FUNCTION(\(parts)''), 'objectAtIndex:', 0)",
    "FUNCTION(FUNCTION(FUNCTION(\(parts)','), 'lastObject'), 'componentsSeparatedByString:', ' '), 'firstObject')",
    "FUNCTION($a, 'uppercaseString')", "FUNCTION($a, 'lowercaseString')", "FUNCTION($a, 'capitalizedString')",
    "FUNCTION($a, 'stringByTrimmingWhitespace')", "FUNCTION($a, 'stringByAppendingString:', $b)",
    "FUNCTION(FUNCTION($a, 'stringByAppendingString:', ' '), 'stringByAppendingString:', $b)",
    "FUNCTION(FUNCTION(\(parts)' '), 'lastObject'), 'uppercaseString')",
    "FUNCTION('x-', 'stringByAppendingString:', FUNCTION(\(parts)' '), 'firstObject'))",
  ]

  /// As SQL: texts of all kinds, nothing, bytes that are no UTF-8, and what does not belong into a column of texts.
  private static let values =
    [
      "", " ", "Ada Lovelace", "Madonna", " leading", "trailing ", "two  spaces", "a b c d", "aa", "aaa", "aaaa",
      "baab",
      "last, first middle", "José García", "e\u{301}é", "日本 語", "👩‍👩‍👧 family", "ß ǆ İ", "\u{FEFF}mark",
      "line\nbreak", String(repeating: "long ", count: 60),
    ].map { SQLiteValue.text($0).literal }
    + ["NULL", "CAST(x'ff20fe' AS TEXT)", "CAST(x'41e220c3' AS TEXT)", "CAST(x'410042' AS TEXT)"]

  @Test("Have the values that the evaluator gives them", arguments: known)
  func values(of format: String) throws {
    let expression = try PredicateParser.parseExpression(format)
    let texts = try #require(TextExpression(expression, inputs: ["a", "b"]))
    let connection = try SQLiteConnection.inMemory()
    var (isAnswered, given) = (false, [SQLiteValue]())
    try connection.register(directFunction: "texts", argumentCount: 2) { call in
      given = [call.value(0), call.value(1)]
      isAnswered = texts.answer(call)
    }
    var answers = 0
    for first in Self.values {
      for second in ["'end'", "NULL", "'ü'"] {
        let found = try connection.scalar("SELECT texts(\(first), \(second))") ?? .null
        guard isAnswered else { continue }
        answers += 1
        let evaluator = PredicateEvaluator(variables: ["a": given[0].text, "b": given[1].text])
        let expected = try evaluator.value(expression, with: nil) as? String
        #expect(
          found.text.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "\(format) of \(first), \(second)")
      }
    }
    // The evaluator is left what has no second part, and what it gives an error for.
    #expect(answers > Self.values.count)
  }

  @Test("Leave to the evaluator what is no text", arguments: ["1", "1.5", "x'41'"])
  func others(value: String) throws {
    let expression = try PredicateParser.parseExpression("FUNCTION(\(Self.parts)' '), 'firstObject')")
    let texts = try #require(TextExpression(expression, inputs: ["a"]))
    let connection = try SQLiteConnection.inMemory()
    try connection.register(directFunction: "texts", argumentCount: 1) { call in
      if !texts.answer(call) { call.setResult("evaluator") }
    }
    #expect(try connection.scalar("SELECT texts(\(value))") == "evaluator")
    #expect(try connection.scalar("SELECT texts('A b')") == "A")
  }

  // In the test's attribute, Swift 6.0.3 cannot compile the interpolations.
  private static let otherExpressions = [
    "$c", "1", "NULL", "FUNCTION($a, 'length')", "\(parts)' ')", "FUNCTION(\(parts)$b), 'firstObject')",
    "FUNCTION(\(parts)' '), 'count')", "FUNCTION($a, 'uppercaseString', 1)",
    "FUNCTION(\(parts)' '), 'objectAtIndex:', -1)", "FUNCTION($a, 'stringByAppendingString:', 1)",
  ]

  @Test("Are not made of other expressions", arguments: otherExpressions)
  func unknown(format: String) throws {
    let expression = try PredicateParser.parseExpression(format)
    #expect(TextExpression(expression, inputs: ["a", "b"]) == nil)
  }
}
