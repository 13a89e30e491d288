// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An expression of a `#Predicate` without its generic types, for those who translate it.
///
/// What its parts mean, such as the key paths of a kind of model, is up to the translator.
package enum PredicateNode {
  package typealias Part = any PredicateExpression

  case variable(PredicateExpressions.VariableID)
  case value(Any?)
  case property(AnyKeyPath, of: Part)
  /// An optional that is taken to have a value: `!`.
  case unwrapped(Part)
  /// The rest of an optional chain, in which the variable is the value of the optional.
  case chain(Part, any PredicateVariable, rest: Part)
  case coalesced(Part, otherwise: Part)
  case conditional(test: Part, Part, otherwise: Part)
  /// A calculation with numbers of one type. Divisions are those of integers.
  case calculation(Calculation, [Part])
  case floatDivision(Part, Part)
  case and(Part, Part)
  case or(Part, Part)
  case not(Part)
  case comparison(Part, NSComparisonPredicate.Operator, Part)
  /// Membership in a sequence, or of a character in a string.
  case contains(Part, Part)
  case containsWhere(Part, any PredicateVariable, test: Part)
  case allSatisfy(Part, any PredicateVariable, test: Part)
  case filter(Part, any PredicateVariable, test: Part)
  case range(lower: Part, upper: Part, includesUpper: Bool)
  case rangeContains(Part, Part)
  case text(TextFunction, Part, Part)
  case typeCheck(Part, Any.Type)
  /// What only Swift evaluates, with a sentence without its full stop that says what it needs.
  case inMemory(reason: String)
  case unknownOperator(String)

  /// A calculation, by the name of the function for `NSExpression`.
  package enum Calculation: String {
    case add = "add:to:"
    case subtract = "from:subtract:"
    case multiply = "multiply:by:"
    case divide = "divide:by:"
    case remainder = "modulus:by:"
    case negate = "chs:"
  }

  /// A function of two collections, which most often are strings.
  package enum TextFunction: String {
    case startsWith = "starts(with:)"
    case contains
    case localizedStandardContains
    case caseInsensitiveCompare
    case localizedCompare
  }

  /// Creates the node of an expression; nil for a type that is not one of Foundation's.
  package init?(_ part: Part) {
    guard let part = part as? any PredicateNodeConvertible else { return nil }
    self = part.node
  }
}

/// An expression of a `#Predicate` that has a node.
package protocol PredicateNodeConvertible {
  var node: PredicateNode { get }
}

/// A variable of a `#Predicate` without its type.
package protocol PredicateVariable {
  var key: PredicateExpressions.VariableID { get }
  /// Binds the variable to a value, if that has its type.
  func bind(_ value: Any, in bindings: inout PredicateBindings)
}

/// A range of constants.
package protocol ConstantRange {
  var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { get }
}

extension Range: ConstantRange {
  package var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, upperBound, false) }
}

extension ClosedRange: ConstantRange {
  package var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, upperBound, true) }
}

extension PartialRangeFrom: ConstantRange {
  package var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, nil, false) }
}

extension PartialRangeUpTo: ConstantRange {
  package var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (nil, upperBound, false) }
}

extension PartialRangeThrough: ConstantRange {
  package var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (nil, upperBound, true) }
}
