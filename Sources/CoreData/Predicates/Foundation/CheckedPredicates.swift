// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

// Predicates, expressions and sort descriptors whose format or keys come from outside the program: a search field, a
// file, a request. `NSPredicate(format:)`, `evaluate(with:)` and their relatives stop the program where these throw.
// They are additions to Apple's API.

extension NSPredicate {
  /// Parses a predicate, or throws.
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

  /// Returns whether an object satisfies the predicate, or throws.
  ///
  /// - Parameters:
  ///   - object: the evaluated object.
  ///   - variables: values of variables by name, without the dollar sign.
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
  /// Parses an expression, or throws.
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

  /// Returns the value of the expression for an object, or throws.
  ///
  /// - Parameters:
  ///   - object: the evaluated object.
  ///   - variables: values of variables by name, without the dollar sign.
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
  /// Returns the order of two objects, or throws.
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

/// Errors of predicates, expressions and sort descriptors.
private enum PredicateErrors {
  static func unreadable(_ kind: String, _ cause: any Error) -> NSError {
    .cocoa(
      NSCoreDataError, "The \(kind) cannot be parsed.", reason: "\(cause)",
      suggestion: "Correct the format, and pass an argument for each %@ and %K.")
  }

  static func unevaluable(_ kind: String, _ format: String, _ cause: any Error) -> NSError {
    .cocoa(
      NSCoreDataError, "The \(kind) cannot be evaluated.", reason: "\(format): \(cause)",
      suggestion: "Use keys that the object has, and pass values for all variables.")
  }
}
