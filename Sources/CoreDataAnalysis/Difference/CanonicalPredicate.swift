// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

extension PredicateSyntax {
  /// The same predicate in the one form that all its spellings share: parentheses that change nothing, `NOT NOT` and
  /// `SELF.` left out, lists of constants as constants.
  var canonical: PredicateSyntax {
    switch self {
    case .constant: return self
    case .comparison(var comparison):
      comparison.left = comparison.left.canonical
      comparison.right = comparison.right.canonical
      return .comparison(comparison)
    case .and(let parts):
      let flat = parts.map(\.canonical).flatMap { if case .and(let inner) = $0 { inner } else { [$0] } }
      return flat.count == 1 ? flat[0] : .and(flat)
    case .or(let parts):
      let flat = parts.map(\.canonical).flatMap { if case .or(let inner) = $0 { inner } else { [$0] } }
      return flat.count == 1 ? flat[0] : .or(flat)
    case .not(let inner):
      let inner = inner.canonical
      if case .not(let twice) = inner { return twice }
      return .not(inner)
    }
  }
}

extension ExpressionSyntax {
  /// As `PredicateSyntax.canonical`.
  fileprivate var canonical: ExpressionSyntax {
    switch self {
    case .constant, .evaluatedObject, .variable, .keyPath, .anyKey: return self
    case .keyPathOf(let object, let path):
      let object = object.canonical
      return object == .evaluatedObject ? .keyPath(path) : .keyPathOf(object, path)
    case .function(let operand, let name, let arguments):
      return .function(operand: operand?.canonical, name: name, arguments: arguments.map(\.canonical))
    case .aggregate(let elements):
      let elements = elements.map(\.canonical)
      let constants = elements.compactMap { if case .constant(let value) = $0 { value } else { nil } }
      return constants.count == elements.count ? .constant(.array(constants)) : .aggregate(elements)
    case .union(let left, let right): return .union(left.canonical, right.canonical)
    case .intersect(let left, let right): return .intersect(left.canonical, right.canonical)
    case .minus(let left, let right): return .minus(left.canonical, right.canonical)
    case .subquery(let collection, let variable, let predicate):
      return .subquery(collection: collection.canonical, variable: variable, predicate: predicate.canonical)
    case .conditional(let predicate, let left, let right):
      return .conditional(predicate.canonical, left.canonical, right.canonical)
    case .fetch(let request, let context, let countOnly):
      return .fetch(request: request.canonical, context: context.canonical, countOnly: countOnly)
    }
  }
}
