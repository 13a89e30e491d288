// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateExpressions.CollectionContainsCollection: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    .condition(try translator.search(base, .contains, other, .characters, "contains"))
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    let whole = try translator.scalar(translator.term(of: base), "starts(with:)", as: .string)
    let start = try translator.scalar(translator.term(of: prefix), "starts(with:)", as: .string)
    guard whole.kind == .string, start.kind == .string else {
      throw NotInStore("starts(with:) looks into the values of an attribute")
    }
    let starts = PredicateTranslator.compare(whole.expression, .beginsWith, start.expression, .characters)
    guard start.isPlainText, start.text?.isEmpty == false else { return .condition(starts) }
    // An index finds the strings that begin with the same Unicode scalars.
    return .condition(
      .and(PredicateTranslator.compare(whole.expression, .beginsWith, start.expression), starts))
  }
}

extension PredicateExpressions.StringLocalizedStandardContains: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    .condition(
      try translator.search(
        root, .contains, other, [.characters, .caseInsensitive, .diacriticInsensitive, .localeSensitive],
        "localizedStandardContains"))
  }
}

extension PredicateTranslator {
  fileprivate func search<Whole: PredicateExpression, Part: PredicateExpression>(
    _ whole: Whole, _ op: NSComparisonPredicate.Operator, _ part: Part, _ options: NSComparisonPredicate.Options,
    _ place: String
  ) throws -> Condition {
    let whole = try scalar(term(of: whole), place, as: .string)
    let part = try scalar(term(of: part), place, as: .string)
    guard whole.kind == .string, part.kind == .string else {
      throw NotInStore("\(place) looks into the values of an attribute")
    }
    return Self.compare(whole.expression, op, part.expression, options)
  }

  /// Returns the result of comparing two strings: a number as in `ComparisonResult`.
  fileprivate func comparison<Left: PredicateExpression, Right: PredicateExpression>(
    _ left: Left, _ right: Right, _ options: NSComparisonPredicate.Options, _ place: String
  ) throws -> Term {
    let left = try scalar(term(of: left), place, as: .string)
    let right = try scalar(term(of: right), place, as: .string)
    guard left.kind == .string, right.kind == .string else { throw NotInStore("\(place) compares other values") }
    func number(_ result: ComparisonResult) -> NSExpression { NSExpression(forConstantValue: result.rawValue) }
    func test(_ op: NSComparisonPredicate.Operator) -> NSPredicate {
      Self.compare(left.expression, op, right.expression, options.union(.characters)).necessary.predicate
    }
    let descending = NSExpression(
      forConditional: test(.greaterThan), trueExpression: number(.orderedDescending),
      falseExpression: number(.orderedSame))
    let expression = NSExpression(
      forConditional: test(.lessThan), trueExpression: number(.orderedAscending), falseExpression: descending)
    return .scalar(
      Scalar(expression, .raw(String(reflecting: ComparisonResult.self), .integer), mayBeNil: false))
  }
}

extension PredicateExpressions.StringCaseInsensitiveCompare: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    try translator.comparison(root, other, .caseInsensitive, "caseInsensitiveCompare")
  }
}

extension PredicateExpressions.StringLocalizedCompare: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    try translator.comparison(root, other, .localeSensitive, "localizedCompare")
  }
}

extension NSComparisonPredicate.Options {
  /// Compares strings as the user's language orders them: `[l]`.
  static let localeSensitive = NSComparisonPredicate.Options(rawValue: 8)
}
