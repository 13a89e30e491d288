// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension ModelContext {
  /// Refuses a request for what follows a token if a part of that has been deleted.
  ///
  /// - Throws: `SwiftDataError.historyTokenExpired`, and Core Data's errors.
  func checkThatHistoryIsWhole<T: HistoryTransaction>(_ predicate: Predicate<T>?) throws {
    guard let predicate else { return }
    for token in LaterThan.tokens(in: predicate.expression) {
      let numbers = token.tokenValue ?? [:]
      let stores = container.coreDataStores.filter { numbers[$0.identifier] != nil }
      if stores.isEmpty { continue }
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: NSPersistentHistoryToken(numbers))
      request.affectedStores = stores
      request.resultType = .count
      do {
        _ = try managed.execute(request)
      } catch let error as NSError where error.code == NSPersistentHistoryTokenExpiredError {
        throw SwiftDataError(
          .historyTokenExpired,
          "Read the models again, and go on from the token of the newest transaction.",
          cause: error, isAdvised: true)
      }
    }
  }
}

/// The tokens that a predicate wants later transactions than.
private enum LaterThan {
  /// Returns the tokens of all comparisons in an expression, also of those that `||` makes optional: what was deleted might
  /// have matched.
  static func tokens(in expression: any PredicateExpression) -> [DefaultHistoryToken] {
    let parts = parts(of: expression)
    let comparisons = parts.compactMap { $0 as? any TokenComparison }
    let known = comparisons.compactMap(\.earlierToken)
    // `if let` and `flatMap` give the value of an optional another name.
    guard comparisons.contains(where: \.isOfBoundToken) else { return known }
    return known + parts.compactMap { ($0 as? PredicateExpressions.Value<DefaultHistoryToken?>)?.value }
  }

  private static func parts(of expression: any PredicateExpression) -> [any PredicateExpression] {
    [expression]
      + Mirror(reflecting: expression).children.compactMap { $0.value as? any PredicateExpression }.flatMap(parts)
  }
}

private protocol TokenComparison {
  /// The token at the earlier side; nil if that is not known without a transaction.
  var earlierToken: DefaultHistoryToken? { get }
  /// Whether the earlier side is a token that the predicate has unwrapped.
  var isOfBoundToken: Bool { get }
}

extension PredicateExpressions.Comparison: TokenComparison {
  fileprivate var isOfBoundToken: Bool {
    lhs is PredicateExpressions.Variable<DefaultHistoryToken>
      || rhs is PredicateExpressions.Variable<DefaultHistoryToken>
  }

  fileprivate var earlierToken: DefaultHistoryToken? {
    func value(_ side: some PredicateExpression) -> DefaultHistoryToken? {
      // A side that needs the transaction has no value without it.
      (try? side.evaluate(PredicateBindings())) as? DefaultHistoryToken
    }
    switch op {
    case .greaterThan, .greaterThanOrEqual: return value(rhs)
    case .lessThan, .lessThanOrEqual: return value(lhs)
    @unknown default: return nil
    }
  }
}
