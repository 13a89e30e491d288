// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

extension ExpressionSyntax {
  /// The key paths that the expression reads from the evaluated object.
  var keyPaths: [String] {
    switch self {
    case .keyPath(let path): [path]
    case .keyPathOf(.evaluatedObject, let path): [path]
    case .keyPathOf(let operand, _): operand.keyPaths
    case .function(let operand, _, let arguments): (operand?.keyPaths ?? []) + arguments.flatMap(\.keyPaths)
    case .aggregate(let elements): elements.flatMap(\.keyPaths)
    case .union(let a, let b), .intersect(let a, let b), .minus(let a, let b): a.keyPaths + b.keyPaths
    case .subquery(let collection, _, let predicate): collection.keyPaths + predicate.keyPaths
    case .conditional(let predicate, let a, let b): predicate.keyPaths + a.keyPaths + b.keyPaths
    case .constant, .evaluatedObject, .variable, .anyKey, .fetch: []
    }
  }
}

extension PredicateSyntax {
  /// The key paths that the predicate reads from the evaluated object.
  var keyPaths: [String] {
    switch self {
    case .constant: []
    case .comparison(let comparison): comparison.left.keyPaths + comparison.right.keyPaths
    case .and(let operands), .or(let operands): operands.flatMap(\.keyPaths)
    case .not(let operand): operand.keyPaths
    }
  }
}

extension PredicateSyntax {
  /// The key paths that are compared, without `ANY` and `ALL`, with a constant other than a collection.
  var comparedKeyPaths: [String] {
    switch self {
    case .constant: []
    case .comparison(let comparison): comparison.keyPathWithOneValue.map { [$0] } ?? []
    case .and(let operands), .or(let operands): operands.flatMap(\.comparedKeyPaths)
    case .not(let operand): operand.comparedKeyPaths
    }
  }
}

extension ComparisonSyntax {
  fileprivate var keyPathWithOneValue: String? {
    guard modifier == .direct else { return nil }
    switch (left, op, right) {
    // A collection contains an element; a value is in a list, or between two values.
    case (_, .contains, _), (_, .customSelector, _): return nil
    case (.keyPath(let path), .in, .constant), (.keyPath(let path), .in, .aggregate),
      (.keyPath(let path), .between, _):
      return path
    case (_, .in, _): return nil
    case (.keyPath(let path), _, .constant(let value)), (.constant(let value), _, .keyPath(let path)):
      return value.isSingle ? path : nil
    default: return nil
    }
  }
}

extension PlainValue {
  /// Whether the expression has exactly one value.
  fileprivate var isSingle: Bool {
    switch self {
    case .null, .array, .set, .dictionary: false
    default: true
    }
  }
}
