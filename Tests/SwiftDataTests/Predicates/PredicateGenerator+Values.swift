// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import SwiftData

/// Conditions of attributes.
extension PredicateGenerator {
  // MARK: Numbers

  mutating func integer(_ model: Model, _ depth: Int) -> Erased<Int> {
    if depth > 0, chance(2) {
      let (one, other) = (integer(model, depth - 1), integer(model, depth - 1))
      // Larger trees would overflow, which traps in Swift.
      switch pick([0, 1, 2, 3, 4, 5, 6]) {
      case 0: return Build.build_Arithmetic(lhs: one, rhs: other, op: .add).erased
      case 1: return Build.build_Arithmetic(lhs: one, rhs: other, op: .subtract).erased
      case 2: return Build.build_Arithmetic(lhs: one, rhs: other, op: .multiply).erased
      case 3: return Build.build_Division(lhs: one, rhs: constant(pick([-3, -1, 1, 2, 5]))).erased
      case 4: return Build.build_Remainder(lhs: one, rhs: constant(pick([-3, 1, 2, 5]))).erased
      case 5: return Build.build_UnaryMinus(one).erased
      default: return Build.build_Conditional(condition(model, 0), one, other).erased
      }
    }
    switch pick([0, 1, 2, 3]) {
    case 0: return constant(pick(SampleValues.numbers))
    case 1:
      return Build.build_NilCoalesce(lhs: property(model, \.count), rhs: constant(pick(SampleValues.numbers))).erased
    default: return property(model, \.number)
    }
  }

  mutating func optionalNumbers(_ model: Model) -> Erased<Bool> {
    let count = property(model, \.count)
    switch pick([0, 1, 2, 3, 4, 5]) {
    case 0: return equal(count, constant(maybe(SampleValues.numbers)))
    case 1:
      let list = (0..<3).map { _ in maybe(SampleValues.numbers) }
      return Build.build_contains(constant(list), count).erased
    case 2:
      let test = Build.build_flatMap(count) { compare($0.erased, integer(model, 0)) }.erased
      return Build.build_NilCoalesce(lhs: test, rhs: constant(chance(2))).erased
    case 3:
      let sum = Build.build_flatMap(count) { count in
        Build.build_Arithmetic(lhs: count, rhs: integer(model, 1), op: .add)
      }.erased
      return equal(sum, constant(maybe(SampleValues.numbers)))
    case 4:
      let (one, other) = (pick(SampleValues.numbers), pick(SampleValues.numbers))
      let number = integer(model, 1)
      if chance(2) { return Build.build_contains(constant(min(one, other)...max(one, other)), number).erased }
      return Build.build_contains(constant(min(one, other)..<max(one, other)), number).erased
    default: return compare(property(model, \.big), constant(pick(SampleValues.bigNumbers)))
    }
  }

  mutating func real(_ model: Model, _ depth: Int) -> Erased<Double> {
    if depth > 0, chance(2) {
      let (one, other) = (real(model, depth - 1), real(model, depth - 1))
      switch pick([0, 1, 2, 3, 4]) {
      case 0: return Build.build_Arithmetic(lhs: one, rhs: other, op: .add).erased
      case 1: return Build.build_Arithmetic(lhs: one, rhs: other, op: .subtract).erased
      case 2: return Build.build_Arithmetic(lhs: one, rhs: other, op: .multiply).erased
      case 3: return Build.build_Division(lhs: one, rhs: other).erased
      default: return Build.build_UnaryMinus(one).erased
      }
    }
    switch pick([0, 1, 2]) {
    case 0: return constant(pick(SampleValues.reals))
    case 1:
      return Build.build_NilCoalesce(lhs: property(model, \.ratio), rhs: constant(pick(SampleValues.reals))).erased
    default: return property(model, \.real)
    }
  }

  // MARK: Strings

  private mutating func text(_ model: Model) -> Erased<String> {
    switch pick([0, 1, 2, 3, 4]) {
    case 0: return constant(pick(SampleValues.texts))
    case 1: return Build.build_NilCoalesce(lhs: property(model, \.note), rhs: constant(pick(SampleValues.texts))).erased
    case 2: return Build.build_KeyPath(root: property(model, \.spot), keyPath: \.city).erased
    default: return property(model, \.name)
    }
  }

  mutating func texts(_ model: Model) -> Erased<Bool> {
    let (one, other) = (text(model), chance(2) ? text(model) : constant(pick(SampleValues.texts)))
    switch pick([0, 1, 2, 3, 4, 5, 6, 7]) {
    case 0, 1: return compare(one, other)
    case 2: return Build.build_contains(one, other).erased
    case 3: return Build.build_starts(one, with: other).erased
    case 4: return compare(Build.build_KeyPath(root: one, keyPath: \.count).erased, constant(pick([-1, 0, 1, 2, 3])))
    case 5: return Build.build_KeyPath(root: one, keyPath: \.isEmpty).erased
    case 6:
      if chance(2) { return Build.build_localizedStandardContains(one, other).erased }
      let order = pick([ComparisonResult.orderedAscending, .orderedSame, .orderedDescending])
      return chance(2)
        ? Build.build_Equal(lhs: Build.build_caseInsensitiveCompare(one, other), rhs: Build.build_Arg(order)).erased
        : Build.build_Equal(lhs: Build.build_localizedCompare(one, other), rhs: Build.build_Arg(order)).erased
    default:
      let list = (0..<3).map { _ in pick(SampleValues.texts) }
      return chance(2)
        ? Build.build_contains(constant(list), one).erased : Build.build_contains(constant(Set(list)), one).erased
    }
  }

  mutating func optionalTexts(_ model: Model) -> Erased<Bool> {
    let note = property(model, \.note)
    switch pick([0, 1, 2, 3, 4]) {
    case 0, 1: return equal(note, constant(maybe(SampleValues.texts)))
    case 2:
      let list = (0..<3).map { _ in maybe(SampleValues.texts) }
      return Build.build_contains(constant(list), note).erased
    case 3:
      let count = Build.build_flatMap(note) { Build.build_KeyPath(root: $0, keyPath: \.count) }.erased
      return equal(count, constant(maybe([0, 1, 2])))
    default:
      let test = Build.build_flatMap(note) { compare($0.erased, text(model)) }.erased
      return Build.build_NilCoalesce(lhs: test, rhs: constant(chance(2))).erased
    }
  }

  // MARK: Other attributes

  mutating func truths(_ model: Model) -> Erased<Bool> {
    switch pick([0, 1, 2, 3]) {
    case 0: return property(model, \.isOn)
    case 1: return equal(property(model, \.isKnown), constant(maybe([true, false])))
    case 2: return Build.build_NilCoalesce(lhs: property(model, \.isKnown), rhs: property(model, \.isOn)).erased
    default: return equal(property(model, \.isOn), condition(model, 0))
    }
  }

  mutating func dates(_ model: Model) -> Erased<Bool> {
    let date = constant(pick(SampleValues.dates))
    switch pick([0, 1, 2]) {
    case 0: return compare(property(model, \.start), date)
    case 1: return equal(property(model, \.end), constant(maybe(SampleValues.dates)))
    default:
      return compare(Build.build_NilCoalesce(lhs: property(model, \.end), rhs: property(model, \.start)).erased, date)
    }
  }

  mutating func enums(_ model: Model) -> Erased<Bool> {
    let rank = property(model, \.rank)
    switch pick([0, 1, 2, 3, 4, 5, 6]) {
    case 0: return equal(property(model, \.tone), constant(pick(Tone.allCases)))
    case 1: return equal(rank, constant(maybe([.low, .high])))
    case 2:
      let raw = Build.build_flatMap(rank) { Build.build_KeyPath(root: $0, keyPath: \.rawValue) }.erased
      return compare(Build.build_NilCoalesce(lhs: raw, rhs: constant(3)).erased, constant(pick([1, 3, 5])))
    case 3: return equal(property(model, \.size), constant(pick([.small, .large])))
    case 4: return Build.build_contains(constant([Optional(Rank.high), nil]), rank).erased
    case 5:
      return equal(
        Build.build_KeyPath(root: property(model, \.tone), keyPath: \.label).erased, constant(pick(["b", "d"])))
    default: return equal(property(model, \.tone), constant(.dark))
    }
  }

  mutating func parts(_ model: Model) -> Erased<Bool> {
    let other = property(model, \.other)
    switch pick([0, 1, 2, 3]) {
    case 0:
      return compare(
        Build.build_KeyPath(root: property(model, \.spot), keyPath: \.height).erased, constant(pick(SampleValues.reals))
      )
    case 1:
      let city = Build.build_flatMap(other) { Build.build_KeyPath(root: $0, keyPath: \.city) }.erased
      return equal(city, constant(maybe(SampleValues.texts)))
    case 2: return equal(other, constant(nil))
    default: return equal(other, constant(Spot(city: pick(SampleValues.texts), height: 1)))
    }
  }

  mutating func others(_ model: Model) -> Erased<Bool> {
    switch pick([0, 1, 2, 3, 4, 5]) {
    case 0: return compare(property(model, \.code), constant(pick(SampleValues.codes)))
    case 1: return equal(property(model, \.key), constant(maybe(SampleValues.keys)))
    case 2:
      let sum = Build.build_Arithmetic(lhs: property(model, \.price), rhs: property(model, \.price), op: .multiply)
        .erased
      return compare(chance(2) ? sum : property(model, \.price), constant(pick(SampleValues.prices)))
    case 3: return compare(property(model, \.small), constant(pick([-1.5, 0, 0.1, 2])))
    case 4:
      let ids = Set((0..<3).map { _ in pick(identifiers) })
      return Build.build_contains(constant(ids), property(model, \.persistentModelID)).erased
    default: return equal(property(model, \.persistentModelID), constant(pick(identifiers)))
    }
  }

}
