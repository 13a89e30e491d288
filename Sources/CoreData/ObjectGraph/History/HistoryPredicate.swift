// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension PredicateSyntax {
  /// Returns a predicate for transactions or changes in which tokens are compared as positions in each store's history,
  /// and entities by their names.
  func comparingHistory() throws -> PredicateSyntax {
    try comparingTokens().replacing { expression in
      guard case .constant(let value) = expression else { return nil }
      return .constant(Self.naming(value))
    }
  }

  /// Returns a constant in which entities are replaced with their names.
  private static func naming(_ value: PlainValue) -> PlainValue {
    switch value {
    case .object(let object): (object.value.base as? NSEntityDescription)?.name.map { .string($0) } ?? value
    case .array(let elements): .array(elements.map(naming))
    case .set(let elements): .set(elements.map(naming))
    default: value
    }
  }

  private func comparingTokens() -> PredicateSyntax {
    switch self {
    case .constant: self
    case .and(let parts): .and(parts.map { $0.comparingTokens() })
    case .or(let parts): .or(parts.map { $0.comparingTokens() })
    case .not(let part): .not(part.comparingTokens())
    case .comparison(let comparison): comparison.comparingTokens ?? self
    }
  }
}

extension ComparisonSyntax {
  /// The comparison of a transaction's token with a constant, rewritten as a comparison of transaction numbers; nil for
  /// any other comparison.
  fileprivate var comparingTokens: PredicateSyntax? {
    guard modifier == .direct else { return nil }
    if let transaction = Self.transaction(left) {
      switch (op, Self.tokens(right)) {
      case (.between, let bounds?) where bounds.count == 2:
        return .and([
          Self.compare(transaction, .greaterThanOrEqualTo, bounds[0]),
          Self.compare(transaction, .lessThanOrEqualTo, bounds[1]),
        ])
      case (_, let tokens?) where tokens.count == 1 && Self.mirrored[op] != nil:
        return Self.compare(transaction, op, tokens[0])
      default: return nil
      }
    }
    guard let transaction = Self.transaction(right), let op = Self.mirrored[op], let tokens = Self.tokens(left),
      tokens.count == 1
    else { return nil }
    return Self.compare(transaction, op, tokens[0])
  }

  /// The ordering operators, with their counterparts for exchanged sides.
  private static let mirrored: [Operator: Operator] = [
    .lessThan: .greaterThan, .lessThanOrEqualTo: .greaterThanOrEqualTo, .greaterThan: .lessThan,
    .greaterThanOrEqualTo: .lessThanOrEqualTo,
  ]

  /// Returns the prefix of the key path to the transaction whose token an expression reads: `transaction.` or an empty
  /// string.
  private static func transaction(_ expression: ExpressionSyntax) -> String? {
    switch expression {
    case .keyPath(let path), .keyPathOf(.evaluatedObject, let path):
      path == "token" || path.hasSuffix(".token") ? String(path.dropLast("token".count)) : nil
    default: nil
    }
  }

  private static func tokens(_ expression: ExpressionSyntax) -> [NSPersistentHistoryToken]? {
    switch expression {
    case .constant(.object(let object)): (object.value.base as? NSPersistentHistoryToken).map { [$0] }
    case .constant(.array(let elements)): tokens(.aggregate(elements.map { .constant($0) }))
    case .aggregate(let elements):
      elements.reduce([]) { list, element in
        guard let list, let token = tokens(element) else { return nil }
        return list + token
      }
    default: nil
    }
  }

  /// Compares a transaction with a position. All transactions of a store that is missing in the token are after it.
  private static func compare(
    _ transaction: String, _ op: Operator, _ token: NSPersistentHistoryToken
  ) -> PredicateSyntax {
    let store = ExpressionSyntax.keyPath(transaction + "storeID")
    var parts = token.numbers.sorted { $0.key < $1.key }.map { identifier, number in
      PredicateSyntax.and([
        .comparison(ComparisonSyntax(store, .equalTo, .constant(.string(identifier)))),
        .comparison(
          ComparisonSyntax(.keyPath(transaction + "transactionNumber"), op, .constant(.integer(number)))),
      ])
    }
    if op == .greaterThan || op == .greaterThanOrEqualTo {
      let known = token.numbers.keys.sorted().map { PlainValue.string($0) }
      parts.append(.not(.comparison(ComparisonSyntax(store, .in, .constant(.array(known))))))
    }
    return .or(parts)
  }
}
