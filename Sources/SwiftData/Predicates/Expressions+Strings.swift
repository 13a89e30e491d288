// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateTranslator {
  func text(_ function: PredicateNode.TextFunction, _ whole: PredicateNode.Part, _ other: PredicateNode.Part) throws
    -> Term
  {
    let left = try scalar(term(of: whole), function.rawValue, as: .string)
    let right = try scalar(term(of: other), function.rawValue, as: .string)
    guard left.kind == .string, right.kind == .string else {
      throw NotInStore("\(function.rawValue) looks into the values of an attribute")
    }
    func compare(
      _ op: NSComparisonPredicate.Operator, _ options: NSComparisonPredicate.Options = .characters
    ) -> Condition { Self.compare(left.expression, op, right.expression, options) }
    switch function {
    case .contains: return .condition(compare(.contains))
    case .localizedStandardContains:
      return .condition(
        compare(.contains, [.characters, .caseInsensitive, .diacriticInsensitive, .localeSensitive]))
    case .startsWith:
      let starts = compare(.beginsWith)
      guard right.isPlainText, right.text?.isEmpty == false else { return .condition(starts) }
      // An index finds the strings that begin with the same Unicode scalars.
      return .condition(.and(compare(.beginsWith, []), starts))
    case .caseInsensitiveCompare: return comparisonResult { compare($0, [.characters, .caseInsensitive]) }
    case .localizedCompare: return comparisonResult { compare($0, [.characters, .localeSensitive]) }
    }
  }

  /// Returns the result of comparing two strings: a number as in `ComparisonResult`.
  private func comparisonResult(_ compare: (NSComparisonPredicate.Operator) -> Condition) -> Term {
    func number(_ result: ComparisonResult) -> NSExpression { NSExpression(forConstantValue: result.rawValue) }
    func test(_ op: NSComparisonPredicate.Operator) -> NSPredicate { compare(op).necessary.predicate }
    let descending = NSExpression(
      forConditional: test(.greaterThan), trueExpression: number(.orderedDescending),
      falseExpression: number(.orderedSame))
    let expression = NSExpression(
      forConditional: test(.lessThan), trueExpression: number(.orderedAscending), falseExpression: descending)
    return .scalar(
      Scalar(expression, .raw(String(reflecting: ComparisonResult.self), .integer), mayBeNil: false))
  }
}

extension NSComparisonPredicate.Options {
  /// Compares strings as the user's language orders them: `[l]`.
  static let localeSensitive = NSComparisonPredicate.Options(rawValue: 8)
}
