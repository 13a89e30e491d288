// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Functions over collections.
internal enum Aggregates {
  internal static func sum(_ values: [Any]) throws -> Any {
    try values.reduce(Number.integer(0)) { sum, value in
      Number.calculate("add:to:", sum, try Number(value, for: "sum:")) ?? sum
    }.value
  }

  internal static func average(_ values: [Any]) throws -> Any? {
    guard !values.isEmpty else { return nil }
    let sum = try Number(try sum(values), for: "average:")
    if case .decimal(let total) = sum { return NSDecimalNumber(decimal: total / Decimal(values.count)) }
    return NSNumber(value: sum.real / Double(values.count))
  }

  /// The value before (`orderedAscending`) or after all others; nil of nothing.
  internal static func extreme(_ values: [Any], _ order: ComparisonResult) throws -> Any? {
    guard var result = values.first else { return nil }
    for value in values.dropFirst() where try Operand.order(value, result) == order { result = value }
    return result
  }

  internal static func distinct(_ values: [Any]) -> [Any] {
    values.reduce(into: []) { result, value in
      if !result.contains(where: { Operand.areEqual($0, value) }) { result.append(value) }
    }
  }

  internal static func median(_ values: [Any]) throws -> Any? {
    let sorted = try reals(values, "median:").sorted()
    guard !sorted.isEmpty else { return nil }
    let middle = sorted.count / 2
    return NSNumber(value: sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle])
  }

  /// The values that occur most often.
  internal static func mode(_ values: [Any]) -> [Any] {
    let counts = distinct(values).map { value in (value, values.count { Operand.areEqual($0, value) }) }
    let most = counts.map(\.1).max()
    return counts.filter { $0.1 == most }.map(\.0)
  }

  /// The standard deviation of the whole population.
  internal static func deviation(_ values: [Any]) throws -> Any? {
    let numbers = try reals(values, "stddev:")
    guard !numbers.isEmpty else { return nil }
    let mean = numbers.reduce(0, +) / Double(numbers.count)
    return NSNumber(
      value: (numbers.map { ($0 - mean) * ($0 - mean) }.reduce(0, +) / Double(numbers.count)).squareRoot())
  }

  private static func reals(_ values: [Any], _ name: String) throws -> [Double] {
    try values.map { try Number($0, for: name).real }
  }
}
