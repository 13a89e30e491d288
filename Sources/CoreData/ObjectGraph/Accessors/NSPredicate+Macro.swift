// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension FormattedPredicate where Self: NSPredicate {
  /// Creates a predicate from Foundation's `#Predicate`: `NSPredicate(#Predicate<Person> { $0.age > 30 })`.
  ///
  /// Supports properties of managed objects with accessors over `ManagedProperty`, including through relationships and
  /// `?`, captured values, comparisons, `&&`, `||`, `!`, `+`, `-`, `*`, `??`, conditions, ranges, `contains`,
  /// `contains(where:)`, `allSatisfy`, `filter`, and `starts(with:)` and `contains` of strings.
  ///
  /// - Parameter predicate: the predicate. If it contains anything else, the result is nil.
  public init?<Input: NSManagedObject>(_ predicate: Predicate<Input>) {
    var translation = PredicateTranslation()
    translation.names[predicate.variable.key] = .evaluatedObject
    guard let expression = predicate.expression as? any TranslatableExpression else { return nil }
    do {
      let syntax = try expression.condition(&translation)
      self = unsafeDowncast(NSPredicate.make(syntax), to: Self.self)
    } catch {
      // Apple's initializer gives no reason either.
      return nil
    }
  }
}

/// The translation of a `#Predicate`, with its variables.
private struct PredicateTranslation {
  struct Unsupported: Error {}

  var names: [PredicateExpressions.VariableID: ExpressionSyntax] = [:]
  private var count = 0

  /// Returns the syntax of an expression, or throws for one that has none.
  mutating func value(_ expression: Any) throws -> ExpressionSyntax {
    guard let expression = expression as? any TranslatableExpression else { throw Unsupported() }
    return try expression.value(&self)
  }

  mutating func condition(_ expression: Any) throws -> PredicateSyntax {
    guard let expression = expression as? any TranslatableExpression else { throw Unsupported() }
    return try expression.condition(&self)
  }

  /// Names a variable for the members of a collection.
  mutating func name(_ variable: PredicateExpressions.VariableID) -> String {
    count += 1
    names[variable] = .variable("element\(count)")
    return "element\(count)"
  }

  static func path(_ base: ExpressionSyntax, _ key: String) -> ExpressionSyntax {
    switch base {
    case _ where key == "self": base
    case .evaluatedObject: .keyPath(key)
    case .keyPath(let path): .keyPath("\(path).\(key)")
    case .keyPathOf(let operand, let path): .keyPathOf(operand, "\(path).\(key)")
    default: .keyPathOf(base, key)
    }
  }

  /// Returns an expression for the number of elements of a collection that satisfy a condition.
  static func count(_ collection: ExpressionSyntax, _ variable: String, _ test: PredicateSyntax) -> ExpressionSyntax {
    .keyPathOf(.subquery(collection: collection, variable: variable, predicate: test), "@count")
  }
}

/// An expression of a `#Predicate` that can be translated to the format language.
private protocol TranslatableExpression {
  func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax
  func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax
}

extension TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    .conditional(try condition(&translation), .constant(.boolean(true)), .constant(.boolean(false)))
  }

  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    .comparison(ComparisonSyntax(try value(&translation), .equalTo, .constant(.boolean(true))))
  }
}

// MARK: Values

extension PredicateExpressions.Variable: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    guard let name = translation.names[key] else { throw PredicateTranslation.Unsupported() }
    return name
  }
}

extension PredicateExpressions.KeyPath: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    PredicateTranslation.path(try translation.value(root), try KeyPathRecorder.key(for: keyPath))
  }
}

extension PredicateExpressions.Value: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    .constant(Operand.unwrapped(value).map { PlainValue($0) } ?? .null)
  }

  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    guard let value = value as? Bool else { throw PredicateTranslation.Unsupported() }
    return .constant(value)
  }
}

extension PredicateExpressions.NilLiteral: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax { .constant(.null) }
}

extension PredicateExpressions.ForcedUnwrap: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    try translation.value(inner)
  }
}

extension PredicateExpressions.OptionalFlatMap: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    translation.names[variable.key] = try translation.value(wrapped)
    return try translation.value(transform)
  }
}

extension PredicateExpressions.NilCoalesce: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    let left = try translation.value(lhs)
    let isMissing = PredicateSyntax.comparison(ComparisonSyntax(left, .equalTo, .constant(.null)))
    return .conditional(isMissing, try translation.value(rhs), left)
  }
}

extension PredicateExpressions.Conditional: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    .conditional(
      try translation.condition(test), try translation.value(trueBranch), try translation.value(falseBranch))
  }
}

extension PredicateExpressions.Arithmetic: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    let name =
      switch op {
      case .add: "add:to:"
      case .subtract: "from:subtract:"
      case .multiply: "multiply:by:"
      @unknown default: throw PredicateTranslation.Unsupported()
      }
    return .function(operand: nil, name: name, arguments: [try translation.value(lhs), try translation.value(rhs)])
  }
}

// MARK: Conditions

extension PredicateExpressions.Conjunction: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    .and([try translation.condition(lhs), try translation.condition(rhs)])
  }
}

extension PredicateExpressions.Disjunction: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    .or([try translation.condition(lhs), try translation.condition(rhs)])
  }
}

extension PredicateExpressions.Negation: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    .not(try translation.condition(wrapped))
  }
}

extension PredicateExpressions.Equal: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    .comparison(ComparisonSyntax(try translation.value(lhs), .equalTo, try translation.value(rhs)))
  }
}

extension PredicateExpressions.NotEqual: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    .comparison(ComparisonSyntax(try translation.value(lhs), .notEqualTo, try translation.value(rhs)))
  }
}

extension PredicateExpressions.Comparison: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    let name: ComparisonSyntax.Operator =
      switch op {
      case .lessThan: .lessThan
      case .lessThanOrEqual: .lessThanOrEqualTo
      case .greaterThan: .greaterThan
      case .greaterThanOrEqual: .greaterThanOrEqualTo
      @unknown default: throw PredicateTranslation.Unsupported()
      }
    return .comparison(ComparisonSyntax(try translation.value(lhs), name, try translation.value(rhs)))
  }
}

// MARK: Collections and strings

extension PredicateExpressions.SequenceContains: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    .comparison(ComparisonSyntax(try translation.value(element), .in, try translation.value(sequence)))
  }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    let collection = try translation.value(sequence)
    let name = translation.name(variable.key)
    let count = PredicateTranslation.count(collection, name, try translation.condition(test))
    return .comparison(ComparisonSyntax(count, .greaterThan, .constant(.integer(0))))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    let collection = try translation.value(sequence)
    let name = translation.name(variable.key)
    let count = PredicateTranslation.count(collection, name, .not(try translation.condition(test)))
    return .comparison(ComparisonSyntax(count, .equalTo, .constant(.integer(0))))
  }
}

extension PredicateExpressions.Filter: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    let collection = try translation.value(sequence)
    let name = translation.name(variable.key)
    return .subquery(collection: collection, variable: name, predicate: try translation.condition(filter))
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    guard Base.Output.self is any StringProtocol.Type else { throw PredicateTranslation.Unsupported() }
    return .comparison(ComparisonSyntax(try translation.value(base), .beginsWith, try translation.value(prefix)))
  }
}

extension PredicateExpressions.CollectionContainsCollection: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    guard Base.Output.self is any StringProtocol.Type else { throw PredicateTranslation.Unsupported() }
    return .comparison(ComparisonSyntax(try translation.value(base), .contains, try translation.value(other)))
  }
}

extension PredicateExpressions.ClosedRange: TranslatableExpression {
  fileprivate func value(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    .aggregate([try translation.value(lower), try translation.value(upper)])
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableExpression {
  fileprivate func condition(_ translation: inout PredicateTranslation) throws -> PredicateSyntax {
    guard let bounds = range as? any ClosedBounds else { throw PredicateTranslation.Unsupported() }
    return .comparison(ComparisonSyntax(try translation.value(element), .between, try bounds.aggregate(&translation)))
  }
}

/// A range with both its ends.
private protocol ClosedBounds {
  func aggregate(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax
}

extension PredicateExpressions.ClosedRange: ClosedBounds {
  fileprivate func aggregate(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    try value(&translation)
  }
}

extension PredicateExpressions.Value: ClosedBounds {
  fileprivate func aggregate(_ translation: inout PredicateTranslation) throws -> ExpressionSyntax {
    guard let range = value as? any ConstantRange else { throw PredicateTranslation.Unsupported() }
    return .aggregate(range.ends.map { .constant(PlainValue($0)) })
  }
}

private protocol ConstantRange {
  var ends: [Any] { get }
}

extension ClosedRange: ConstantRange {
  fileprivate var ends: [Any] { [lowerBound, upperBound] }
}
