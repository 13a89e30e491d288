// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

// Predicates, expressions and sort descriptors whose text or keys come from outside the program: a search field, a file, a
// request. `NSPredicate(format:)`, `evaluate(with:)` and their like stop the program where these throw. They are additions to
// Apple's interface.

extension NSPredicate {
  /// A predicate from the format language.
  ///
  /// - Parameters:
  ///   - format: the predicate, as in Apple's Predicate Format String Syntax.
  ///   - arguments: what stands for `%@`, `%K`, `%d` … in order.
  /// - Throws: 134060 with the place in the text, what is there, and what was expected.
  public static func checked(format: String, argumentArray arguments: [Any] = []) throws -> NSPredicate {
    do {
      return .make(try PredicateParser.parse(format, arguments: try arguments.map(PredicateArgument.init(checked:))))
    } catch {
      throw PredicateErrors.unreadable("predicate", error)
    }
  }

  /// Whether the predicate holds for an object.
  ///
  /// - Parameters:
  ///   - object: the evaluated object.
  ///   - variables: values of variables by name, without the dollar sign.
  /// - Throws: 134060 for keys that the object does not have, variables without value, and comparisons that the values do not
  ///   allow.
  public func checkedEvaluate(with object: Any?, substitutionVariables variables: [String: Any] = [:]) throws -> Bool {
    do {
      return try holds(for: object, variables: variables)
    } catch let failure as EvaluationError {
      throw PredicateErrors.unevaluable("predicate", format, failure)
    }
  }
}

extension NSExpression {
  /// An expression from the format language.
  ///
  /// - Parameters:
  ///   - format: the expression.
  ///   - arguments: what stands for `%@`, `%K`, `%d` … in order.
  /// - Throws: 134060 with the place in the text, what is there, and what was expected.
  public static func checked(format: String, argumentArray arguments: [Any] = []) throws -> NSExpression {
    do {
      let arguments = try arguments.map(PredicateArgument.init(checked:))
      return NSExpression(syntax: try PredicateParser.parseExpression(format, arguments: arguments))
    } catch {
      throw PredicateErrors.unreadable("expression", error)
    }
  }

  /// The value of the expression for an object.
  ///
  /// - Parameters:
  ///   - object: the evaluated object.
  ///   - variables: values of variables by name, without the dollar sign.
  /// - Throws: 134060 for keys that the object does not have, variables without value, unknown functions, and values that a
  ///   function does not take.
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
  /// The order of two objects.
  ///
  /// - Throws: 134060 for a key that one of them does not have, and for values without a common order.
  public func checkedCompare(_ object1: Any, to object2: Any) throws -> ComparisonResult {
    guard let descriptor = self as? KeySortDescriptor else { return compare(object1, to: object2) }
    do {
      return try descriptor.order(object1, object2)
    } catch let failure as EvaluationError {
      throw PredicateErrors.unevaluable("sort descriptor", descriptor.description, failure)
    }
  }
}
