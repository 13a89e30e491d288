// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataPredicates
import Foundation

/// The type of a fetch request expression.
public let NSFetchRequestExpressionType = NSExpression.ExpressionType.fetchRequest

/// An expression whose value is the result of a fetch: an array, or a number for a count.
///
/// In a predicate of another fetch, the nested fetch runs once. Its objects, its identifiers, or the values of
/// dictionaries with one property can be the right side of `IN`.
open class NSFetchRequestExpression: NSExpression, @unchecked Sendable {
  /// Returns an expression for the results of a fetch.
  ///
  /// - Parameters:
  ///   - fetch: an expression for an `NSFetchRequest`.
  ///   - context: an expression for the `NSManagedObjectContext` to fetch in.
  ///   - countFlag: whether the value is the number of results.
  open class func expression(
    forFetch fetch: NSExpression, context: NSExpression, countOnly countFlag: Bool
  ) -> NSExpression {
    NSFetchRequestExpression(
      syntax: .fetch(request: fetch.syntax, context: context.syntax, countOnly: countFlag))
  }

  /// The expression for the request.
  open var requestExpression: NSExpression { NSExpression(syntax: parts.request) }

  /// The expression for the context.
  open var contextExpression: NSExpression { NSExpression(syntax: parts.context) }

  /// Whether the value is the number of results.
  open var isCountOnlyRequest: Bool { parts.countOnly }

  private var parts: (request: ExpressionSyntax, context: ExpressionSyntax, countOnly: Bool) {
    guard case .fetch(let request, let context, let countOnly) = syntax else {
      trap("\(self) is not a fetch: make it with expression(forFetch:context:countOnly:).")
    }
    return (request, context, countOnly)
  }
}

extension NSExpression {
  /// Creates the expression for a syntax tree, with the class that it has on Apple's systems.
  static func make(_ syntax: ExpressionSyntax) -> NSExpression {
    if case .fetch = syntax { return NSFetchRequestExpression(syntax: syntax) }
    return NSExpression(syntax: syntax)
  }
}
