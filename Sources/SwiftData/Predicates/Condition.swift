// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// A condition on rows, as exact as a store can evaluate it.
///
/// What a store cannot evaluate makes the two predicates differ: every row that satisfies the Swift condition satisfies
/// `necessary`, and every row that satisfies `sufficient` satisfies the Swift condition.
struct Condition {
  let necessary: Truth
  let sufficient: Truth
  /// Whether both are the Swift condition itself.
  let isExact: Bool

  /// A predicate that may be constant.
  enum Truth {
    case constant(Bool)
    case predicate(NSPredicate)

    var predicate: NSPredicate {
      switch self {
      case .constant(let value): NSPredicate(value: value)
      case .predicate(let predicate): predicate
      }
    }

    var negated: Truth {
      switch self {
      case .constant(let value): .constant(!value)
      case .predicate(let predicate): .predicate(predicate.negated)
      }
    }

    /// Combines truths by AND (`neutral` is true) or OR (`neutral` is false).
    static func combined(_ parts: [Truth], neutral: Bool) -> Truth {
      var predicates: [NSPredicate] = []
      for part in parts {
        switch part {
        case .constant(neutral): continue
        case .constant: return .constant(!neutral)
        case .predicate(let predicate): predicates.append(predicate)
        }
      }
      if predicates.isEmpty { return .constant(neutral) }
      if predicates.count == 1 { return .predicate(predicates[0]) }
      return .predicate(
        neutral
          ? NSCompoundPredicate(andPredicateWithSubpredicates: predicates)
          : NSCompoundPredicate(orPredicateWithSubpredicates: predicates))
    }
  }

  private init(necessary: Truth, sufficient: Truth, isExact: Bool) {
    (self.necessary, self.sufficient, self.isExact) = (necessary, sufficient, isExact)
  }

  /// Creates a condition that a store evaluates exactly.
  init(_ predicate: NSPredicate) {
    self.init(necessary: .predicate(predicate), sufficient: .predicate(predicate), isExact: true)
  }

  static func constant(_ value: Bool) -> Condition {
    Condition(necessary: .constant(value), sufficient: .constant(value), isExact: true)
  }

  /// A condition of which a store can evaluate nothing.
  static var unknown: Condition { Condition(necessary: .constant(true), sufficient: .constant(false), isExact: false) }

  /// Whether the condition is this constant.
  func isConstant(_ value: Bool) -> Bool {
    if isExact, case .constant(value) = necessary { true } else { false }
  }

  var negated: Condition {
    Condition(necessary: sufficient.negated, sufficient: necessary.negated, isExact: isExact)
  }

  static func and(_ parts: Condition...) -> Condition { combined(parts, neutral: true) }
  static func or(_ parts: Condition...) -> Condition { combined(parts, neutral: false) }
  static func or(_ parts: [Condition]) -> Condition { combined(parts, neutral: false) }

  private static func combined(_ parts: [Condition], neutral: Bool) -> Condition {
    if parts.contains(where: { $0.isConstant(!neutral) }) { return .constant(!neutral) }
    return Condition(
      necessary: .combined(parts.map(\.necessary), neutral: neutral),
      sufficient: .combined(parts.map(\.sufficient), neutral: neutral), isExact: parts.allSatisfy(\.isExact))
  }

  /// Returns the condition that a function makes of this one, where more rows in lead to more rows out.
  func map(_ transform: (NSPredicate) -> NSPredicate) -> Condition {
    let necessary = Truth.predicate(transform(necessary.predicate))
    let sufficient = isExact ? necessary : Truth.predicate(transform(sufficient.predicate))
    return Condition(necessary: necessary, sufficient: sufficient, isExact: isExact)
  }

  /// Returns the predicate if a store can evaluate it exactly.
  ///
  /// - Throws: `NotInStore` otherwise.
  func exactly(_ place: @autoclosure () -> String) throws -> NSPredicate {
    guard isExact else { throw NotInStore("\(place()) depends on a condition that a store cannot evaluate") }
    return necessary.predicate
  }
}

extension NSPredicate {
  /// The negation, in the form that SQL evaluates best.
  fileprivate var negated: NSPredicate {
    if let comparison = self as? NSComparisonPredicate, comparison.comparisonPredicateModifier == .direct {
      let opposites: [NSComparisonPredicate.Operator: NSComparisonPredicate.Operator] = [
        .equalTo: .notEqualTo, .notEqualTo: .equalTo,
      ]
      if let opposite = opposites[comparison.predicateOperatorType] {
        return NSComparisonPredicate(
          leftExpression: comparison.leftExpression, rightExpression: comparison.rightExpression, modifier: .direct,
          type: opposite, options: comparison.options)
      }
    }
    if let compound = self as? NSCompoundPredicate, compound.compoundPredicateType == .not,
      let inner = compound.subpredicates.first
    {
      return inner
    }
    return NSCompoundPredicate(notPredicateWithSubpredicate: self)
  }
}

/// An error for a part of a predicate that a store cannot evaluate. The models are then filtered in memory.
struct NotInStore: Error {
  /// A sentence without its full stop, which names the part.
  let reason: String
  init(_ reason: String) { self.reason = reason }
}
