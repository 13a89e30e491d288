// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Where evaluations that throw meet interfaces that do not.
internal enum EvaluationFace {
  internal static func evaluate(_ syntax: PredicateSyntax, with object: Any?, _ bindings: [String: Any]?) -> Bool {
    do {
      return try PredicateEvaluator(variables: bindings ?? [:]).evaluate(syntax, with: object)
    } catch EvaluationError.wrongType {
      // Values that cannot be compared are data, not a mistake in the program: they do not match.
      return false
    } catch {
      preconditionFailure("The predicate \(PredicatePrinter().format(syntax)) cannot be evaluated: \(error)")
    }
  }

  internal static func value(_ syntax: ExpressionSyntax, with object: Any?, _ bindings: [String: Any]) -> Any? {
    do {
      return try PredicateEvaluator(variables: bindings).value(syntax, with: object)
    } catch EvaluationError.wrongType {
      return nil
    } catch {
      preconditionFailure("The expression \(PredicatePrinter().format(syntax)) cannot be evaluated: \(error)")
    }
  }
}
