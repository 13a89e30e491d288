// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The predefined functions of expressions.
enum FunctionLibrary {
  static func call(_ name: String, _ arguments: [Any?]) throws -> Any? {
    if isAggregate(name) { return try aggregate(name, arguments) }
    switch name {
    case "now": return Date()
    case "random": return NSNumber(value: Double.random(in: 0..<1))
    default: break
    }
    guard PredefinedFunction.argumentCounts[name] ?? nil == arguments.count else {
      throw EvaluationError.unknownFunction(name, operand: "expressions with \(arguments.count) arguments")
    }
    let values = arguments.compactMap(Operand.unwrapped)
    guard values.count == arguments.count else { return nil }
    switch values.count {
    case 1: return try unary(name, values[0])
    case 2: return try binary(name, values[0], values[1])
    default: throw EvaluationError.unknownFunction(name, operand: "expressions")
    }
  }

  /// Returns whether a function aggregates values.
  static func isAggregate(_ name: String) -> Bool {
    ["count:", "sum:", "min:", "max:", "average:", "median:", "mode:", "stddev:", "distinct:"].contains(name)
  }

  private static func aggregate(_ name: String, _ arguments: [Any?]) throws -> Any? {
    let values: [Any]
    if arguments.count == 1 {
      guard let argument = Operand.unwrapped(arguments[0]) else { return name == "count:" ? 0 : nil }
      values = Operand.elements(argument) ?? [argument]
    } else {
      values = arguments.map { $0 ?? NSNull() }
    }
    if name == "count:" { return values.count }
    let present = values.compactMap(Operand.unwrapped)
    switch name {
    case "sum:": return try Aggregates.sum(present)
    case "min:": return try Aggregates.extreme(present, .orderedAscending)
    case "max:": return try Aggregates.extreme(present, .orderedDescending)
    case "average:": return try Aggregates.average(present)
    case "median:": return try Aggregates.median(present)
    case "mode:": return Aggregates.mode(present)
    case "distinct:": return Aggregates.distinct(present)
    default: return try Aggregates.deviation(present)
    }
  }

  private static func unary(_ name: String, _ value: Any) throws -> Any? {
    switch name {
    case "noindex:": return value
    case "uppercase:": return try text(value, name).uppercased()
    case "lowercase:": return try text(value, name).lowercased()
    case "canonical:":
      return try text(value, name).folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    case "length:": return try text(value, name).utf16.count
    default: break
    }
    let number = try Number(value, for: name)
    switch (name, number) {
    case ("abs:", .integer(let integer)) where integer != .min: return NSNumber(value: abs(integer))
    case ("abs:", .decimal(let decimal)): return NSDecimalNumber(decimal: abs(decimal))
    case ("trunc:", .integer), ("floor:", .integer), ("ceiling:", .integer): return number.value
    case ("chs:", _): return Number.calculate("from:subtract:", .integer(0), number)?.value
    case ("onesComplement:", .integer(let integer)): return NSNumber(value: ~integer)
    case ("randomn:", .integer(let limit)) where limit > 0, ("random:", .integer(let limit)) where limit > 0:
      return NSNumber(value: Int64.random(in: 0..<limit))
    default:
      guard let function = realFunctions[name] else {
        throw EvaluationError.wrongType(name, value: Operand.description(value), expected: "a positive integer")
      }
      return NSNumber(value: function(number.real))
    }
  }

  private static let realFunctions: [String: @Sendable (Double) -> Double] = [
    "sqrt:": { $0.squareRoot() }, "log:": { log10($0) }, "ln:": { log($0) }, "exp:": { exp($0) },
    "ceiling:": { $0.rounded(.up) }, "floor:": { $0.rounded(.down) }, "trunc:": { $0.rounded(.towardZero) },
    "abs:": { abs($0) },
  ]

  private static func binary(_ name: String, _ left: Any, _ right: Any) throws -> Any? {
    switch name {
    case PredefinedFunction.cast: return try cast(left, to: try text(right, "CAST"))
    case "distanceToLocation:fromLocation:":
      return try Location(left, for: name).distance(to: Location(right, for: name))
    default:
      if let result = try dates(name, left, right) { return result }
      let (a, b) = (try Number(left, for: name), try Number(right, for: name))
      guard let result = Number.calculate(name, a, b) else {
        throw EvaluationError.wrongType(name, value: Operand.description(left), expected: "integers")
      }
      return result.value
    }
  }

  /// Calculates with dates: a date plus or minus a number of seconds is a date, and the difference of two dates is a
  /// number of seconds.
  private static func dates(_ name: String, _ left: Any, _ right: Any) throws -> Any? {
    switch (name, left, right) {
    case ("from:subtract:", let left as Date, let right as Date):
      return NSNumber(value: left.timeIntervalSinceReferenceDate - right.timeIntervalSinceReferenceDate)
    case ("from:subtract:", let date as Date, _):
      return Date(
        timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate - (try Number(right, for: name).real))
    case ("add:to:", let date as Date, _) where !(right is Date):
      return Date(
        timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate + (try Number(right, for: name).real))
    case ("add:to:", _, is Date) where !(left is Date): return try dates(name, right, left)
    default: return nil
    }
  }

  private static func text(_ value: Any, _ name: String) throws -> String {
    guard let text = Operand.text(value) else {
      throw EvaluationError.wrongType(name, value: Operand.description(value), expected: "a string")
    }
    return text
  }

  private static func cast(_ value: Any, to type: String) throws -> Any? {
    switch type {
    case "NSDate", "Date":
      if value is Date { return value }
      return Date(timeIntervalSinceReferenceDate: try Number(value, for: "CAST to NSDate").real)
    case "NSNumber":
      if let date = value as? Date { return NSNumber(value: date.timeIntervalSinceReferenceDate) }
      if let text = Operand.text(value) {
        return (Int64(text).map(Number.integer) ?? Double(text).map(Number.real))?.value
      }
      return try Number(value, for: "CAST to NSNumber").value
    case "NSDecimalNumber":
      let text = Operand.text(value) ?? Operand.described(value)
      return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).map { NSDecimalNumber(decimal: $0) }
    case "NSString", "String": return Operand.text(value) ?? Operand.described(value)
    case "NSArray": return Operand.elements(value)
    case "NSSet": return Operand.elements(value).map(ValueSet.make)
    default: throw EvaluationError.notEvaluable("A cast to \(type)")
    }
  }
}

/// Aggregate functions over collections.
enum Aggregates {
  static func sum(_ values: [Any]) throws -> Any {
    let numbers = try values.map { try Number($0, for: "sum:") }
    // The order of numbers must not affect their sum, nor whether it overflows.
    var total: Int128 = 0
    for number in numbers {
      guard case .integer(let integer) = number else { return mixedSum(numbers) }
      total += Int128(integer)
    }
    return Int64(exactly: total).map { NSNumber(value: $0) } ?? NSNumber(value: Double(total))
  }

  /// Returns the sum of numbers that are not all integers.
  private static func mixedSum(_ numbers: [Number]) -> Any {
    let hasDecimals = numbers.contains { if case .decimal = $0 { true } else { false } }
    if hasDecimals { return numbers.reduce(Number.integer(0)) { Number.calculate("add:to:", $0, $1) ?? $0 }.value }
    let total = ExactSum.of { sum in
      for number in numbers {
        if case .integer(let integer) = number { sum.add(integer) } else { sum.add(number.real) }
      }
    }
    return NSNumber(value: total)
  }

  static func average(_ values: [Any]) throws -> Any? {
    guard !values.isEmpty else { return nil }
    let sum = try Number(try sum(values), for: "average:")
    if case .decimal(let total) = sum { return NSDecimalNumber(decimal: total / Decimal(values.count)) }
    return NSNumber(value: sum.real / Double(values.count))
  }

  /// Returns the minimum (`orderedAscending`) or the maximum (`orderedDescending`); nil if there are no values. The
  /// result is NaN only if there are no other values.
  static func extreme(_ values: [Any], _ order: ComparisonResult) throws -> Any? {
    guard var result = values.first else { return nil }
    for value in values.dropFirst() {
      if try Operand.order(value, result).map({ $0 == order }) ?? Operand.isNotANumber(result) { result = value }
    }
    return result
  }

  static func distinct(_ values: [Any]) -> [Any] {
    values.reduce(into: []) { result, value in
      if !result.contains(where: { Operand.areEqual($0, value) }) { result.append(value) }
    }
  }

  static func median(_ values: [Any]) throws -> Any? {
    let sorted = try reals(values, "median:").sorted()
    guard !sorted.isEmpty else { return nil }
    let middle = sorted.count / 2
    return NSNumber(value: sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle])
  }

  /// Returns the values that occur most often.
  static func mode(_ values: [Any]) -> [Any] {
    let counts = distinct(values).map { value in (value, values.count { Operand.areEqual($0, value) }) }
    let most = counts.map(\.1).max()
    return counts.filter { $0.1 == most }.map(\.0)
  }

  /// Returns the standard deviation of the population.
  static func deviation(_ values: [Any]) throws -> Any? {
    let numbers = try reals(values, "stddev:")
    guard !numbers.isEmpty else { return nil }
    let mean = ExactSum.of(numbers) / Double(numbers.count)
    let variance = ExactSum.of(numbers.map { ($0 - mean) * ($0 - mean) }) / Double(numbers.count)
    return NSNumber(value: variance.squareRoot())
  }

  private static func reals(_ values: [Any], _ name: String) throws -> [Double] {
    try values.map { try Number($0, for: name).real }
  }
}

/// A location on the Earth, read from an object with the keys `latitude` and `longitude`, or with a `coordinate` that
/// has these keys.
struct Location {
  /// The mean radius of the Earth in metres, as defined by the International Union of Geodesy and Geophysics.
  private static let earthRadius = 6_371_008.8

  private let latitude: Double
  private let longitude: Double

  /// Reads a location, in degrees.
  ///
  /// - Throws: `EvaluationError.wrongType` for a missing key, or a value that is not a valid number of degrees.
  init(_ value: Any, for name: String) throws {
    func degrees(_ key: String, upTo limit: Double) throws -> Double {
      for path in [key, "coordinate.\(key)"] {
        let found: Any?
        do {
          found = try KeyPathReader.value(path, of: value)
        } catch EvaluationError.unknownKey {
          continue
        }
        guard let found else { continue }
        let degrees = try Number(found, for: name).real
        if abs(degrees) <= limit { return degrees }
      }
      throw EvaluationError.wrongType(
        name, value: Operand.description(value), expected: "places with a latitude and a longitude in degrees")
    }
    latitude = try degrees("latitude", upTo: 90)
    longitude = try degrees("longitude", upTo: 360)
  }

  /// Returns the great-circle distance in metres, on a sphere of the Earth's mean radius.
  func distance(to other: Location) -> NSNumber {
    func haversine(_ degrees: Double) -> Double {
      let half = sin(degrees * .pi / 360)
      return half * half
    }
    func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }
    let chord =
      haversine(other.latitude - latitude)
      + cosine(latitude) * cosine(other.latitude) * haversine(other.longitude - longitude)
    return NSNumber(value: 2 * Self.earthRadius * asin(min(1, chord.squareRoot())))
  }
}
