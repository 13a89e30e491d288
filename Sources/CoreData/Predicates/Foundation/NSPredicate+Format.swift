// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A protocol that gives `NSPredicate` initializers which return another class. Only initializers of a protocol can
/// assign `self`.
public protocol FormattedPredicate {}

extension NSPredicate: FormattedPredicate {}

extension FormattedPredicate where Self: NSPredicate {
  /// Creates a predicate from a format string. Traps if the format cannot be parsed.
  ///
  /// - Parameters:
  ///   - predicateFormat: the predicate, in Apple's Predicate Format String Syntax.
  ///   - arguments: the values of `%@`, `%K`, `%d` … in order.
  ///
  /// Differs from Apple: arguments may be of any type, or nil, because `String` is not a `CVarArg` on Linux.
  public init(format predicateFormat: String, _ arguments: Any?...) {
    self.init(format: predicateFormat, argumentArray: arguments.map { $0 ?? NSNull() })
  }

  /// Creates a predicate from a format string and an array of arguments.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    let syntax = Misuse.stop {
      try PredicateParser.parse(predicateFormat, arguments: (arguments ?? []).map(PredicateArgument.init(checked:)))
    }
    // `Self` is always `NSPredicate`, because its subclasses have initializers of their own.
    self = unsafeDowncast(NSPredicate.make(syntax), to: Self.self)
  }
}

extension PredicateArgument {
  /// Creates an argument of a format from an expression, a predicate or a value.
  ///
  /// - Throws: `OpaqueCriterion` for a predicate created from a block.
  init(checked any: Any) throws {
    switch Operand.unwrapped(any) {
    case nil: self = .value(.null)
    case let expression as NSExpression: self = .expression(expression.syntax)
    case let predicate as NSPredicate: self = .predicate(try PredicateSyntax(predicate))
    case let value?: self = .value(PlainValue(value))
    }
  }
}

extension NSPredicate {
  /// Returns the predicate with its variables replaced with values.
  ///
  /// - Parameter variables: the values by name, without the dollar sign.
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

  /// Creates the predicate for a syntax tree, with the class that Apple's parser uses.
  static func make(_ syntax: PredicateSyntax) -> NSPredicate {
    switch syntax {
    case .constant(let value): NSPredicate(value: value)
    case .comparison(let comparison): NSComparisonPredicate(syntax: comparison)
    case .and(let operands): FormatCompoundPredicate(type: .and, subpredicates: operands.map(make))
    case .or(let operands): FormatCompoundPredicate(type: .or, subpredicates: operands.map(make))
    case .not(let operand): FormatCompoundPredicate(type: .not, subpredicates: [make(operand)])
    }
  }

  /// The predicate in the format language, for messages and files. The `predicateFormat` of Foundation's compound
  /// predicates is not usable.
  var format: String {
    do {
      return PredicatePrinter().format(try PredicateSyntax(self))
    } catch {
      return "BLOCKPREDICATE"
    }
  }

  /// Returns whether an object satisfies the predicate, and throws errors of the evaluation.
  func holds(for object: Any?, variables: [String: Any] = [:]) throws -> Bool {
    switch self {
    case is NSComparisonPredicate:
      return try PredicateEvaluator(variables: variables).evaluate(PredicateSyntax(self), with: object)
    case let compound as NSCompoundPredicate:
      switch compound.compoundPredicateType {
      case .and: return try compound.subpredicates.allSatisfy { try $0.holds(for: object, variables: variables) }
      case .or: return try compound.subpredicates.contains { try $0.holds(for: object, variables: variables) }
      case .not:
        return try compound.subpredicates.first.map { try !$0.holds(for: object, variables: variables) } ?? false
      }
    default:
      return evaluate(with: object, substitutionVariables: variables)
    }
  }
}

/// An error for a predicate or sort descriptor that consists of code, which a store cannot translate.
struct OpaqueCriterion: Error, CustomStringConvertible {
  enum Kind: Equatable {
    case blockPredicate
    case swiftKeyPath
    case comparator
  }

  let kind: Kind

  var description: String {
    switch kind {
    case .blockPredicate: "A predicate made from a block can only be evaluated in memory. Use a format instead."
    case .swiftKeyPath: "A sort descriptor made from a Swift key path can only be evaluated in memory."
    case .comparator:
      "A sort descriptor with a comparator can only be evaluated in memory. Use a key without comparator."
    }
  }
}

extension PredicateSyntax {
  /// Creates the syntax tree of a predicate.
  ///
  /// - Throws: `OpaqueCriterion` if the predicate contains a block.
  init(_ predicate: NSPredicate) throws {
    switch predicate {
    case let predicate as NSComparisonPredicate: self = .comparison(predicate.syntax)
    case let predicate as NSCompoundPredicate:
      let operands = try predicate.subpredicates.map { try PredicateSyntax($0) }
      switch predicate.compoundPredicateType {
      case .and: self = .and(operands)
      case .or: self = .or(operands)
      case .not: self = .not(operands.first ?? .constant(true))
      }
    default:
      // Foundation does not reveal the kind of its predicates, but can compare constant ones.
      if predicate.isEqual(NSPredicate(value: true)) {
        self = .constant(true)
      } else if predicate.isEqual(NSPredicate(value: false)) {
        self = .constant(false)
      } else {
        throw OpaqueCriterion(kind: .blockPredicate)
      }
    }
  }

  /// Creates the conjunction of a conjunction's parts that contain no blocks; nil if there are none.
  init?(partsOf predicate: NSPredicate) {
    guard let compound = predicate as? NSCompoundPredicate, compound.compoundPredicateType == .and else { return nil }
    let parts = compound.subpredicates.compactMap { part in
      // A part that contains a block is left out.
      (try? PredicateSyntax(part)) ?? PredicateSyntax(partsOf: part)
    }
    if parts.isEmpty { return nil }
    self = .and(parts)
  }
}

extension DefaultStringInterpolation {
  /// Prints a predicate in the format language. Foundation's description on Linux is its address.
  public mutating func appendInterpolation(_ predicate: NSPredicate) { appendLiteral(predicate.format) }
}

/// A compound predicate that prints itself and supports equality, unlike Foundation's class on Linux.
final class FormatCompoundPredicate: NSCompoundPredicate {
  override var predicateFormat: String { format }
  override var description: String { format }

  override func copy(with zone: NSZone? = nil) -> Any { self }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSCompoundPredicate else { return false }
    return compoundPredicateType == other.compoundPredicateType && subpredicates == other.subpredicates
  }

  override var hash: Int { subpredicates.hashValue }
}

// Predicates, expressions and sort descriptors whose format or keys come from outside the program: a search field, a
// file, a request. `NSPredicate(format:)`, `evaluate(with:)` and related methods trap where these throw. They are
// additions to Apple's API.

extension NSPredicate {
  /// Parses a predicate, and throws if that fails.
  ///
  /// - Parameters:
  ///   - format: the predicate, in Apple's Predicate Format String Syntax.
  ///   - arguments: the values of `%@`, `%K`, `%d` … in order.
  /// - Throws: 134060 with the position of the error, what was found and what was expected.
  public static func checked(format: String, argumentArray arguments: [Any] = []) throws -> NSPredicate {
    do {
      return .make(try PredicateParser.parse(format, arguments: try arguments.map(PredicateArgument.init(checked:))))
    } catch {
      throw PredicateErrors.unreadable("predicate", error)
    }
  }

  /// Returns whether an object satisfies the predicate, and throws if that cannot be evaluated.
  ///
  /// - Parameters:
  ///   - object: the evaluated object.
  ///   - variables: the values of variables by name, without the dollar sign.
  /// - Throws: 134060 for unknown keys, variables without a value, and values that cannot be compared.
  public func checkedEvaluate(with object: Any?, substitutionVariables variables: [String: Any] = [:]) throws -> Bool {
    do {
      return try holds(for: object, variables: variables)
    } catch let failure as EvaluationError {
      throw PredicateErrors.unevaluable("predicate", format, failure)
    }
  }
}

extension NSExpression {
  /// Parses an expression, and throws if that fails.
  ///
  /// - Parameters:
  ///   - format: the expression.
  ///   - arguments: the values of `%@`, `%K`, `%d` … in order.
  /// - Throws: 134060 with the position of the error, what was found and what was expected.
  public static func checked(format: String, argumentArray arguments: [Any] = []) throws -> NSExpression {
    do {
      let arguments = try arguments.map(PredicateArgument.init(checked:))
      return NSExpression(syntax: try PredicateParser.parseExpression(format, arguments: arguments))
    } catch {
      throw PredicateErrors.unreadable("expression", error)
    }
  }

  /// Returns the value of the expression for an object, and throws if that cannot be evaluated.
  ///
  /// - Parameters:
  ///   - object: the evaluated object.
  ///   - variables: the values of variables by name, without the dollar sign.
  /// - Throws: 134060 for unknown keys, variables without a value, unknown functions, and values of the wrong type.
  public func checkedExpressionValue(
    with object: Any?, substitutionVariables variables: [String: Any] = [:]
  ) throws -> Any? {
    do {
      return try PredicateEvaluator(variables: variables).value(syntax, with: object)
    } catch let failure as EvaluationError {
      throw PredicateErrors.unevaluable("expression", description, failure)
    }
  }
}

extension NSSortDescriptor {
  /// Returns the order of two objects, and throws if they cannot be compared.
  ///
  /// - Throws: 134060 for an unknown key, and for values that cannot be compared.
  public func checkedCompare(_ object1: Any, to object2: Any) throws -> ComparisonResult {
    guard let descriptor = self as? KeySortDescriptor else { return compare(object1, to: object2) }
    do {
      return try descriptor.order(object1, object2)
    } catch let failure as EvaluationError {
      throw PredicateErrors.unevaluable("sort descriptor", descriptor.description, failure)
    }
  }
}
