// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// What lets `NSPredicate` have initializers that give a tree: initializers of a protocol may choose the instance.
public protocol FormattedPredicate {}

extension NSPredicate: FormattedPredicate {}

extension FormattedPredicate where Self: NSPredicate {
  /// Makes a predicate from the format language; a format that cannot be read is a mistake in the program and traps.
  ///
  /// - Parameters:
  ///   - predicateFormat: The predicate, as in Apple's Predicate Format String Syntax.
  ///   - arguments: What stands for `%@`, `%K`, `%d` … in order.
  ///
  /// Differs from Apple: arguments may be of any type, also nil, since `String` is no `CVarArg` on every platform.
  public init(format predicateFormat: String, _ arguments: Any?...) {
    self.init(format: predicateFormat, argumentArray: arguments.map { $0 ?? NSNull() })
  }

  /// Makes a predicate from the format language and an array of arguments.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    let syntax = Misuse.stop {
      try PredicateParser.parse(predicateFormat, arguments: (arguments ?? []).map(PredicateArgument.init(checked:)))
    }
    // `Self` is `NSPredicate` at every call that compiles to this initializer; its subclasses have their own.
    self = unsafeDowncast(NSPredicate.make(syntax), to: Self.self)
  }
}

extension PredicateArgument {
  /// An argument of a format: an expression, a predicate, or a value.
  ///
  /// - Throws: `OpaqueCriterion` for a predicate made from a block.
  internal init(checked any: Any) throws {
    switch Operand.unwrapped(any) {
    case nil: self = .value(.null)
    case let expression as NSExpression: self = .expression(expression.syntax)
    case let predicate as NSPredicate: self = .predicate(try PredicateSyntax(predicate))
    case let value?: self = .value(PlainValue(value))
    }
  }
}

extension NSPredicate {
  /// The predicate with values for its variables.
  ///
  /// - Parameter variables: The values by name, without the dollar sign.
  public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
    let values = variables.mapValues { value in (value as? NSExpression)?.syntax ?? .constant(PlainValue(value)) }
    switch self {
    case let compound as NSCompoundPredicate:
      return FormatCompoundPredicate(
        type: compound.compoundPredicateType,
        subpredicates: compound.subpredicates.map { $0.withSubstitutionVariables(variables) })
    case let comparison as NSComparisonPredicate:
      return .make(PredicateSyntax.comparison(comparison.syntax).substituting(values))
    default:
      return self
    }
  }
}
