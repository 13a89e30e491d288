// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateTranslator {
  func comparison(_ left: Term, _ op: NSComparisonPredicate.Operator, _ right: Term) throws -> Condition {
    switch op {
    case .equalTo: try equality(left, right)
    case .notEqualTo: try equality(left, right).negated
    default: try order(left, op, right)
    }
  }

  /// Returns the condition that two terms are equal, as optionals are: nil equals nil alone.
  func equality(_ left: Term, _ right: Term) throws -> Condition {
    switch (left, right) {
    case (let term, .constant(nil)), (.constant(nil), let term): return try isNil(term)
    case (.characterCount(let text), .constant(let count as Int)),
      (.constant(let count as Int), .characterCount(let text)):
      return try compareCount(of: text, .equalTo, count)
    case (.condition, _), (.optionalCondition, _), (_, .condition), (_, .optionalCondition):
      return try equalityOfConditions(left, right)
    case (.object(let object), .constant(let value?)), (.constant(let value?), .object(let object)):
      return try equality(object, value)
    case (.object(let one), .object(let other)):
      return Self.compare(one.row.expression(), .equalTo, other.row.expression())
    case (.composite(let composite), .constant(let value?)), (.constant(let value?), .composite(let composite)):
      return try equality(composite, value)
    case (.scalar(let scalar), .constant(let value?)), (.constant(let value?), .scalar(let scalar)):
      return compare(scalar, .equalTo, try self.scalar(.constant(value), "An equality", as: scalar.kind))
    case (.scalar(let one), .scalar(let other)) where one.kind == other.kind: return compare(one, .equalTo, other)
    default: throw NotInStore("An equality compares values that a store does not have in the same form")
    }
  }

  private func equality(_ object: ObjectPath, _ value: Any) throws -> Condition {
    guard value is PersistentIdentifier || value is any PersistentModel else {
      throw NotInStore("An equality compares a model with a \(type(of: value))")
    }
    // A model without a row is none of the store's.
    guard let id = objectID(value) else { return .constant(false) }
    return Self.compare(object.row.expression(), .equalTo, NSExpression(forConstantValue: id))
  }

  /// Returns the condition that an enum without raw values has a value.
  private func equality(_ composite: CompositePath, _ value: Any) throws -> Condition {
    guard type(of: value) == composite.type, let cases = EnumCases(of: composite.type), cases.payloads == 0 else {
      throw NotInStore("An equality compares whole values of the type \(composite.type)")
    }
    return Self.compare(
      composite.row.expression(String(describing: value)), .notEqualTo, NSExpression(forConstantValue: nil))
  }

  private func equalityOfConditions(_ left: Term, _ right: Term) throws -> Condition {
    func parts(_ term: Term) throws -> (isNil: Condition, holds: Condition) {
      switch term {
      case .optionalCondition(let isNil, let holds): return (isNil, holds)
      case .scalar(let scalar) where scalar.mayBeNil:
        var present = scalar
        present.mayBeNil = false
        return (try isNil(term), try condition(.scalar(present)))
      default: return (.constant(false), try condition(term))
      }
    }
    let (one, other) = (try parts(left), try parts(right))
    let same = Condition.or(.and(one.holds, other.holds), .and(one.holds.negated, other.holds.negated))
    return .or(.and(one.isNil, other.isNil), .and(one.isNil.negated, other.isNil.negated, same))
  }

  /// Returns the condition that two terms, which are not nil, are in an order.
  func order(_ left: Term, _ op: NSComparisonPredicate.Operator, _ right: Term) throws -> Condition {
    let place = "An order comparison"
    switch (left, right) {
    case (.characterCount(let text), .constant(let count as Int)): return try compareCount(of: text, op, count)
    case (.constant(let count as Int), .characterCount(let text)):
      return try compareCount(of: text, op.reversed, count)
    case (.scalar(let scalar), let other):
      return try order(scalar, op, self.scalar(other, place, as: scalar.kind))
    case (let other, .scalar(let scalar)):
      return try order(self.scalar(other, place, as: scalar.kind), op, scalar)
    default: throw NotInStore("\(place) compares values that are not attributes")
    }
  }

  private func order(_ left: Scalar, _ op: NSComparisonPredicate.Operator, _ right: Scalar) throws -> Condition {
    guard left.kind == right.kind, left.kind.isOrdered else {
      throw NotInStore("An order comparison compares values that a store orders in another way")
    }
    return compare(left, op, right)
  }

  // MARK: Lengths

  private static let longestCount = 500

  /// Compares the number of characters of a string with a constant, by patterns whose question marks match a character
  /// each.
  private func compareCount(
    of text: Scalar, _ op: NSComparisonPredicate.Operator, _ count: Int
  ) throws -> Condition {
    func isLike(_ count: Int, orLonger: Bool) throws -> Condition {
      if count < 0 { return .constant(orLonger) }
      guard count <= Self.longestCount else {
        throw NotInStore("The number of a string's characters is compared with more than \(Self.longestCount)")
      }
      let pattern = String(repeating: "?", count: count) + (orLonger ? "*" : "")
      let matches = Self.compare(text.expression, .like, NSExpression(forConstantValue: pattern))
      return text.mayBeNil ? .and(try isNil(.scalar(text)).negated, matches) : matches
    }
    switch op {
    case .equalTo: return try isLike(count, orLonger: false)
    case .greaterThanOrEqualTo: return try isLike(count, orLonger: true)
    case .greaterThan: return count == .max ? .constant(false) : try isLike(count + 1, orLonger: true)
    case .lessThan: return try isLike(count, orLonger: true).negated
    case .lessThanOrEqualTo: return count == .max ? .constant(true) : try isLike(count + 1, orLonger: true).negated
    default: throw NotInStore("The number of a string's characters")
    }
  }
}

extension NSComparisonPredicate.Operator {
  fileprivate var reversed: NSComparisonPredicate.Operator {
    switch self {
    case .lessThan: .greaterThan
    case .lessThanOrEqualTo: .greaterThanOrEqualTo
    case .greaterThan: .lessThan
    case .greaterThanOrEqualTo: .lessThanOrEqualTo
    default: self
    }
  }
}
