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
