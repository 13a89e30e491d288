// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Evaluates trees in memory.
internal struct PredicateEvaluator {
  internal var variables: [String: Any?]

  internal init(variables: [String: Any?] = [:]) {
    self.variables = variables
  }

  /// Whether a predicate holds for an object.
  internal func evaluate(_ predicate: PredicateSyntax, with object: Any?) throws -> Bool {
    switch predicate {
    case .constant(let value): return value
    case .comparison(let comparison): return try evaluate(comparison, with: object)
    case .and(let operands): return try operands.allSatisfy { try evaluate($0, with: object) }
    case .or(let operands): return try operands.contains { try evaluate($0, with: object) }
    case .not(let operand): return try !evaluate(operand, with: object)
    }
  }

  private func evaluate(_ comparison: ComparisonSyntax, with object: Any?) throws -> Bool {
    let left = try value(comparison.left, with: object)
    let right = try value(comparison.right, with: object)
    guard comparison.modifier != .direct else { return try compare(left, right, comparison) }
    let elements = Operand.unwrapped(left).map { Operand.flattened([$0]) } ?? []
    return comparison.modifier == .any
      ? try elements.contains { try compare($0, right, comparison) }
      : try elements.allSatisfy { try compare($0, right, comparison) }
  }

  private func compare(_ left: Any?, _ right: Any?, _ comparison: ComparisonSyntax) throws -> Bool {
    let text = TextComparison(comparison.options)
    switch comparison.op {
    case .equalTo: return Operand.areEqual(left, right, text)
    case .notEqualTo: return !Operand.areEqual(left, right, text)
    case .lessThan: return try Operand.order(left, right, text) == .orderedAscending
    case .lessThanOrEqualTo: return try Operand.order(left, right, text).map { $0 != .orderedDescending } ?? false
    case .greaterThan: return try Operand.order(left, right, text) == .orderedDescending
    case .greaterThanOrEqualTo: return try Operand.order(left, right, text).map { $0 != .orderedAscending } ?? false
    case .between: return try isBetween(left, right, text)
    case .in: return try contains(right, left, text, "IN")
    case .contains: return try contains(left, right, text, "CONTAINS")
    case .beginsWith: return try compareTexts(left, right, "BEGINSWITH") { text.begins($0, with: $1) }
    case .endsWith: return try compareTexts(left, right, "ENDSWITH") { text.ends($0, with: $1) }
    case .like: return try compareTexts(left, right, "LIKE") { text.isLike($0, $1) }
    case .matches:
      do {
        return try compareTexts(left, right, "MATCHES") { try text.matches($0, pattern: $1) }
      } catch let error as InvalidPattern {
        throw EvaluationError.invalidPattern(error.pattern)
      }
    case .customSelector:
      throw EvaluationError.notEvaluable("A comparison by the selector \(comparison.selector ?? "")")
    }
  }

  private func isBetween(_ value: Any?, _ bounds: Any?, _ text: TextComparison) throws -> Bool {
    guard let bounds = Operand.unwrapped(bounds).flatMap(Operand.elements), bounds.count == 2 else {
      throw EvaluationError.wrongType(
        "BETWEEN", value: Operand.description(bounds), expected: "an array of the lower and the upper bound")
    }
    guard let lower = try Operand.order(bounds[0], value, text), let upper = try Operand.order(value, bounds[1], text)
    else { return false }
    return lower != .orderedDescending && upper != .orderedDescending
  }

  private func contains(_ whole: Any?, _ part: Any?, _ text: TextComparison, _ name: String) throws -> Bool {
    guard let whole = Operand.unwrapped(whole) else { return false }
    if let elements = Operand.elements(whole) { return elements.contains { Operand.areEqual($0, part, text) } }
    if let dictionary = whole as? NSDictionary {
      return dictionary.allValues.contains { Operand.areEqual($0, part, text) }
    }
    return try compareTexts(whole, part, name) { text.contains($0, $1) }
  }

  private func compareTexts(
    _ left: Any?, _ right: Any?, _ name: String, _ compare: (String, String) throws -> Bool
  ) throws -> Bool {
    guard let left = Operand.unwrapped(left), let right = Operand.unwrapped(right) else { return false }
    guard let leftText = Operand.text(left), let rightText = Operand.text(right) else {
      let wrong = left is String ? right : left
      throw EvaluationError.wrongType(name, value: Operand.description(wrong), expected: "texts")
    }
    return try compare(leftText, rightText)
  }
}
