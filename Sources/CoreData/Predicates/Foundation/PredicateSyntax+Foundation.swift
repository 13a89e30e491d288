// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A predicate or sort descriptor made from code, which no store can look into.
internal struct OpaqueCriterion: Error, CustomStringConvertible {
  internal enum Kind: Equatable {
    case blockPredicate
    case swiftKeyPath
    case comparator
  }

  internal let kind: Kind

  internal var description: String {
    switch kind {
    case .blockPredicate: "A predicate made from a block can only be evaluated in memory. Use a format instead."
    case .swiftKeyPath: "A sort descriptor made from a Swift key path can only be evaluated in memory."
    case .comparator:
      "A sort descriptor with a comparator can only be evaluated in memory. Use a key without comparator."
    }
  }
}

extension PredicateSyntax {
  /// The tree of any predicate.
  ///
  /// - Throws: `OpaqueCriterion` if the predicate, or one within it, is made from a block.
  internal init(_ predicate: NSPredicate) throws {
    switch predicate {
    case let predicate as NSComparisonPredicate: self = .comparison(predicate.syntax)
    case let predicate as NSCompoundPredicate:
      let operands = try predicate.subpredicates.map(PredicateSyntax.init)
      switch predicate.compoundPredicateType {
      case .and: self = .and(operands)
      case .or: self = .or(operands)
      case .not: self = .not(operands.first ?? .constant(true))
      }
    default:
      // Foundation does not tell what its predicates are, but it compares those that are constant.
      if predicate.isEqual(NSPredicate(value: true)) {
        self = .constant(true)
      } else if predicate.isEqual(NSPredicate(value: false)) {
        self = .constant(false)
      } else {
        throw OpaqueCriterion(kind: .blockPredicate)
      }
    }
  }
}

extension NSPredicate {
  /// A predicate for a tree, of the class that Apple's parser would give it.
  internal static func make(_ syntax: PredicateSyntax) -> NSPredicate {
    switch syntax {
    case .constant(let value): NSPredicate(value: value)
    case .comparison(let comparison): NSComparisonPredicate(syntax: comparison)
    case .and(let operands): FormatCompoundPredicate(type: .and, subpredicates: operands.map(make))
    case .or(let operands): FormatCompoundPredicate(type: .or, subpredicates: operands.map(make))
    case .not(let operand): FormatCompoundPredicate(type: .not, subpredicates: [make(operand)])
    }
  }

  /// The predicate in the format language, for messages and files. Foundation's compound predicates cannot be taught
  /// to print themselves, so their own `predicateFormat` is not what this gives.
  internal var format: String {
    do {
      return PredicatePrinter().format(try PredicateSyntax(self))
    } catch {
      return "BLOCKPREDICATE"
    }
  }

  /// Whether the predicate holds for an object, with every failure as an error.
  internal func holds(for object: Any?, variables: [String: Any] = [:]) throws -> Bool {
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

extension DefaultStringInterpolation {
  /// Writes a predicate in the format language: Foundation's own description on Linux is its address.
  public mutating func appendInterpolation(_ predicate: NSPredicate) {
    appendLiteral(predicate.format)
  }
}
