// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import SwiftData

/// Makes predicates as `#Predicate` would write them, from a seed.
struct PredicateGenerator {
  typealias Build = PredicateExpressions
  typealias Model = PredicateExpressions.Variable<Sample>

  private var random: SeededGenerator
  /// Identifiers of models, for comparisons.
  let identifiers: [PersistentIdentifier]

  /// Whether conditions lead through relationships.
  private let usesRelationships: Bool

  init(seed: UInt64, identifiers: [PersistentIdentifier], usesRelationships: Bool = true) {
    random = SeededGenerator(seed: seed)
    self.identifiers = identifiers
    self.usesRelationships = usesRelationships
  }

  mutating func predicate() -> Predicate<Sample> {
    Predicate<Sample> { variable in condition(variable, 3) }
  }

  mutating func chance(_ number: UInt64) -> Bool { random.next() % number == 0 }
  mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }
  mutating func maybe<Value>(_ values: [Value]) -> Value? { chance(4) ? nil : pick(values) }

  mutating func condition(_ model: Model, _ depth: Int) -> Erased<Bool> {
    if depth > 0, !chance(3) {
      let (one, other) = (condition(model, depth - 1), condition(model, depth - 1))
      switch random.next() % 9 {
      case 0, 1: return Build.build_Conjunction(lhs: one, rhs: other).erased
      case 2, 3: return Build.build_Disjunction(lhs: one, rhs: other).erased
      case 4: return Build.build_Negation(one).erased
      case 5: return Build.build_Conditional(condition(model, depth - 1), one, other).erased
      case 6: return Build.build_Equal(lhs: one, rhs: other).erased
      case 7 where usesRelationships: return children(model, depth - 1)
      case 8 where usesRelationships: return parent(model, depth - 1)
      default: return one
      }
    }
    switch random.next() % 12 {
    case 0, 1: return texts(model)
    case 2: return optionalTexts(model)
    case 3, 4: return compare(integer(model, 2), integer(model, 1))
    case 5: return optionalNumbers(model)
    case 6: return compare(real(model, 2), real(model, 1))
    case 7: return truths(model)
    case 8: return dates(model)
    case 9: return enums(model)
    case 10: return parts(model)
    default: return others(model)
    }
  }

  // MARK: Comparisons

  mutating func equal<Value: Equatable>(_ one: Erased<Value>, _ other: Erased<Value>) -> Erased<Bool> {
    chance(2) ? Build.build_Equal(lhs: one, rhs: other).erased : Build.build_NotEqual(lhs: one, rhs: other).erased
  }

  mutating func compare<Value: Comparable>(_ one: Erased<Value>, _ other: Erased<Value>) -> Erased<Bool> {
    if chance(3) { return equal(one, other) }
    let op = pick([
      PredicateExpressions.ComparisonOperator.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
    ])
    return Build.build_Comparison(lhs: one, rhs: other, op: op).erased
  }

  func constant<Value: Codable & Sendable>(_ value: Value) -> Erased<Value> { Build.build_Arg(value).erased }

  func property<Value>(_ model: Model, _ keyPath: KeyPath<Sample, Value> & Sendable) -> Erased<Value> {
    Build.build_KeyPath(root: model, keyPath: keyPath).erased
  }

  // MARK: Relationships

  private mutating func children(_ model: Model, _ depth: Int) -> Erased<Bool> {
    let children = property(model, \.children)
    switch random.next() % 5 {
    case 0, 1: return Build.build_contains(children) { condition(of: $0, model, depth) }.erased
    case 2: return Build.build_allSatisfy(children) { condition(of: $0, model, depth) }.erased
    case 3:
      let filter = Build.build_filter(children) { condition(of: $0, model, 0) }.erased
      return compare(Build.build_KeyPath(root: filter, keyPath: \.count).erased, constant(pick([0, 1, 2])))
    default:
      if chance(2) { return Build.build_KeyPath(root: children, keyPath: \.isEmpty).erased }
      return compare(Build.build_KeyPath(root: children, keyPath: \.count).erased, integer(model, 0))
    }
  }

  /// Returns a condition of a child, or of it and the model that it belongs to.
  private mutating func condition(of child: Model, _ outer: Model, _ depth: Int) -> Erased<Bool> {
    if chance(3) { return compare(integer(child, 0), integer(outer, 0)) }
    return chance(4) ? equal(condition(child, depth), condition(outer, 0)) : condition(child, depth)
  }

  private mutating func parent(_ model: Model, _ depth: Int) -> Erased<Bool> {
    let parent = property(model, \.parent)
    switch random.next() % 7 {
    case 0:
      let id = Build.build_flatMap(parent) { property($0, \.persistentModelID) }.erased
      return equal(id, constant(maybe(identifiers)))
    case 1:
      let name = Build.build_flatMap(parent) { property($0, \.name) }.erased
      return equal(name, constant(maybe(SampleValues.texts)))
    case 2:
      let count = Build.build_flatMap(parent) { property($0, \.count) }.erased
      return equal(count, property(model, \.count))
    case 3:
      let count = Build.build_flatMap(parent) { parent in
        Build.build_KeyPath(root: property(parent, \.children), keyPath: \.count)
      }.erased
      return compare(
        Build.build_NilCoalesce(lhs: count, rhs: constant(pick([0, 1, 5]))).erased, constant(pick([0, 1, 2])))
    case 4:
      let name = Build.build_flatMap(parent) { parent in
        Build.build_flatMap(property(parent, \.parent)) { property($0, \.note) }
      }.erased
      return equal(name, property(model, \.note))
    default:
      let chain = Build.build_flatMap(parent) { condition($0, depth) }.erased
      if chance(2) { return Build.build_NilCoalesce(lhs: chain, rhs: constant(chance(2))).erased }
      return equal(chain, chance(3) ? property(model, \.isKnown) : constant(maybe([true, false])))
    }
  }
}
