// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Operations on values of any type during an evaluation.
enum Operand {
  /// Returns a value without layers of optionals; nil for `NSNull`.
  static func unwrapped(_ value: Any?) -> Any? {
    guard let value else { return nil }
    if isSingle(value) { return value }
    if value is NSNull { return nil }
    if let optional = value as? any OptionalValue { return unwrapped(optional.wrappedValue) }
    return value
  }

  /// Returns whether a value has one of the common types of single values. Failed casts take a hundred times as long.
  private static func isSingle(_ value: Any) -> Bool {
    let type = Swift.type(of: value)
    return type == String.self || type == NSNumber.self || type == Date.self || type == NSDecimalNumber.self
      || type == Int.self || type == Bool.self || type == Double.self || type == UUID.self
  }

  /// Returns the elements of an array or set; nil for anything else.
  static func elements(_ value: Any) -> [Any]? {
    if isSingle(value) { return nil }
    return switch value {
    case is String, is Data: nil
    case let set as NSOrderedSet: set.array
    case let set as NSSet: set.allObjects
    case let array as [Any]: array
    case let array as NSArray: array.map { $0 }
    case let set as Set<AnyHashable>: set.map(\.base)
    default: nil
    }
  }

  static func isSet(_ value: Any) -> Bool {
    !(value is NSOrderedSet) && (value is NSSet || value is Set<AnyHashable>)
  }

  /// Returns the elements of nested collections in one array.
  static func flattened(_ values: [Any]) -> [Any] {
    values.flatMap { value in elements(value).map(flattened) ?? [value] }
  }

  static func description(_ value: Any?) -> String {
    guard let value = unwrapped(value) else { return "nil" }
    return value is String ? "\"\(value)\"" : "\(described(value)) (\(type(of: value)))"
  }

  /// Returns the description of a value. Foundation on Linux traps for the description of a NaN date.
  static func described(_ value: Any) -> String {
    if let date = value as? Date, date.timeIntervalSinceReferenceDate.isNaN { return "nan" }
    return String(describing: value)
  }

  /// Returns whether two values are equal: numbers by value, strings by their scalars, collections by their elements.
  static func areEqual(_ left: Any?, _ right: Any?, _ options: TextComparison = .init()) -> Bool {
    guard let left = unwrapped(left), let right = unwrapped(right) else {
      return unwrapped(left) == nil && unwrapped(right) == nil
    }
    if let left = Number(exactly: left), let right = Number(exactly: right) {
      return Number.compare(left, right) == .orderedSame
    }
    if let left = text(left), let right = text(right) { return options.areEqual(left, right) }
    if let left = Number(left), let right = Number(right) { return Number.compare(left, right) == .orderedSame }
    let isUnordered = isSet(left) || isSet(right)
    if let left = elements(left), let right = elements(right) {
      return left.count == right.count
        && (isUnordered
          ? left.allSatisfy { element in right.contains { areEqual(element, $0, options) } }
          : zip(left, right).allSatisfy { areEqual($0, $1, options) })
    }
    if let left = left as? any ComparedByIdentity, let right = right as? any ComparedByIdentity {
      return left.identity == right.identity
    }
    if let left = left as? AnyHashable, let right = right as? AnyHashable { return left == right }
    return (left as AnyObject) === (right as AnyObject)
  }

  /// Returns the order of two values; nil if either is nil or NaN.
  static func order(
    _ left: Any?, _ right: Any?, _ options: TextComparison = .init()
  ) throws -> ComparisonResult? {
    guard let left = unwrapped(left), let right = unwrapped(right) else { return nil }
    if let left = Number(exactly: left), let right = Number(exactly: right) { return Number.compare(left, right) }
    if let left = text(left), let right = text(right) { return options.order(left, right) }
    if let left = Number(left), let right = Number(right) { return Number.compare(left, right) }
    switch (left, right) {
    case (let left as Date, let right as Date): return left.compare(right)
    case (let left as UUID, let right as UUID): return options.order(left.uuidString, right.uuidString)
    case (let left as URL, let right as URL): return options.order(left.absoluteString, right.absoluteString)
    case (let left as Data, let right as Data):
      if left == right { return .orderedSame }
      return left.lexicographicallyPrecedes(right) ? .orderedAscending : .orderedDescending
    default:
      throw EvaluationError.wrongType(
        "An order comparison", value: "\(description(left)) and \(description(right))",
        expected: "two values of the same type")
    }
  }

  static func isNotANumber(_ value: Any) -> Bool {
    if case .real(let number)? = Number(value) { number.isNaN } else { false }
  }

  /// Returns the order of two values of which one may be NaN, which sorts after all numbers, as in the databases.
  static func orderOfNotANumber(_ left: Any, _ right: Any) -> ComparisonResult {
    switch (isNotANumber(left), isNotANumber(right)) {
    case (true, false): .orderedDescending
    case (false, true): .orderedAscending
    default: .orderedSame
    }
  }

  static func text(_ value: Any) -> String? { value as? String }
}

private protocol OptionalValue {
  var wrappedValue: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrappedValue: Any? { self }
}

extension Number {
  /// Creates a number from a value whose type is exactly `NSNumber`. Failed casts to other types take a hundred times
  /// as long.
  init?(exactly value: Any) {
    guard let number = exactly(NSNumber.self, value) else { return nil }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .real(number.doubleValue)
    case UInt8(ascii: "Q"): return nil
    default: self = .integer(number.int64Value)
    }
  }

  init(_ value: Any?, for operation: String) throws {
    guard let unwrapped = Operand.unwrapped(value), let number = Number(unwrapped) else {
      throw EvaluationError.wrongType(operation, value: Operand.description(value), expected: "a number")
    }
    self = number
  }

  var value: Any {
    switch self {
    case .integer(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .decimal(let value): NSDecimalNumber(decimal: value)
    }
  }

  /// Returns the order of two numbers; nil if either is NaN.
  static func compare(_ left: Number, _ right: Number) -> ComparisonResult? {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): return order(left, right)
    case (.integer(let left), .real(let right)): return order(left, right)
    case (.real(let left), .integer(let right)):
      return order(right, left).flatMap { ComparisonResult(rawValue: -$0.rawValue) }
    case (.decimal(let left), .decimal(let right)): return order(left, right)
    case (.decimal(let left), .integer(let right)): return order(left, Decimal(right))
    case (.integer(let left), .decimal(let right)): return order(Decimal(left), right)
    default:
      let (left, right) = (left.real, right.real)
      return left.isNaN || right.isNaN ? nil : order(left, right)
    }
  }

  private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> ComparisonResult {
    left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
  }

  /// Compares without converting the integer to a double, which is inexact beyond 53 bits.
  private static func order(_ left: Int64, _ right: Double) -> ComparisonResult? {
    if right.isNaN { return nil }
    guard let whole = Int64(exactly: right.rounded(.down)) else {
      return right > 0 ? .orderedAscending : .orderedDescending
    }
    if left != whole { return order(left, whole) }
    return right == right.rounded(.down) ? .orderedSame : .orderedAscending
  }

  /// Applies an arithmetic function. An integer result that overflows becomes a double.
  static func calculate(_ name: String, _ left: Number, _ right: Number) -> Number? {
    switch (left, right) {
    case (.integer(let a), .integer(let b)):
      if let exact = integer(name, a, b) { return .integer(exact) }
      return real(name, Double(a), Double(b)).map { .real($0) }
    case (.real, _), (_, .real): return real(name, left.real, right.real).map { .real($0) }
    case (.decimal(let a), .decimal(let b)): return decimal(name, a, b)
    case (.decimal(let a), .integer(let b)): return decimal(name, a, Decimal(b))
    case (.integer(let a), .decimal(let b)): return decimal(name, Decimal(a), b)
    }
  }

  private static func integer(_ name: String, _ a: Int64, _ b: Int64) -> Int64? {
    func exact(_ result: (partialValue: Int64, overflow: Bool)) -> Int64? {
      result.overflow ? nil : result.partialValue
    }
    switch name {
    case "add:to:": return exact(a.addingReportingOverflow(b))
    case "from:subtract:": return exact(a.subtractingReportingOverflow(b))
    case "multiply:by:": return exact(a.multipliedReportingOverflow(by: b))
    case "divide:by:": return exact(a.dividedReportingOverflow(by: b))
    case "modulus:by:": return exact(a.remainderReportingOverflow(dividingBy: b))
    case "bitwiseAnd:with:": return a & b
    case "bitwiseOr:with:": return a | b
    case "bitwiseXor:with:": return a ^ b
    case "leftshift:by:": return a << b
    case "rightshift:by:": return a >> b
    case "raise:toThePower:", "raise:toPower:", "raise:to:":
      return Int64(exactly: pow(Double(a), Double(b))).flatMap { abs($0) < 1 << 53 ? $0 : nil }
    default: return nil
    }
  }

  private static func real(_ name: String, _ left: Double, _ right: Double) -> Double? {
    // SQLite does not keep the sign of a zero, which would affect the result of a division by it.
    let (a, b) = (left + 0, right + 0)
    return switch name {
    case "add:to:": a + b
    case "from:subtract:": a - b
    case "multiply:by:": a * b
    case "divide:by:": a / b
    case "modulus:by:": fmod(a, b)
    case "raise:toThePower:", "raise:toPower:", "raise:to:": pow(a, b)
    default: nil
    }
  }

  private static let exponents = -128...127
  /// The significand from which on a quotient has lost no more digits in Foundation than a double would.
  private static let sufficientSignificand = Decimal(100_000_000_000_000_000)
  private static let digits = 38

  /// Returns the result, as a double if it cannot be represented as a decimal.
  private static func decimal(_ name: String, _ a: Decimal, _ b: Decimal) -> Number? {
    let result: Decimal? =
      switch name {
      case "add:to:": a + b
      case "from:subtract:": a - b
      case "multiply:by:": product(a, b)
      case "divide:by:" where b != 0: quotient(a, b)
      default: nil
      }
    if let result, !result.isNaN { return .decimal(result) }
    return real(name, Number.decimal(a).real, Number.decimal(b).real).map { .real($0) }
  }

  /// Multiplies two decimals. Foundation on Linux traps if the exponent of the product is too small.
  private static func product(_ a: Decimal, _ b: Decimal) -> Decimal? {
    a.exponent + b.exponent >= exponents.lowerBound ? a * b : nil
  }

  /// Divides two decimals. Foundation divides the dividend's digits extended by 38 zeros. That leaves few or no digits
  /// of a quotient by a number with as many digits. It also fails if the exponent would be too small before trailing
  /// zeros are dropped.
  private static func quotient(_ a: Decimal, _ b: Decimal) -> Decimal? {
    let short = a / b
    if !short.isNaN, short.significand >= sufficientSignificand || product(short, b) == a { return short }
    let text = "\(a.significand)"
    let zeros = max(0, digits - text.count)
    guard let dividend = Decimal(string: text + String(repeating: "0", count: zeros)) else { return nil }
    let long = dividend / b.significand
    let exponent = long.exponent - zeros + a.exponent - b.exponent
    guard exponents.contains(exponent) else { return nil }
    return Decimal(sign: a.sign == b.sign ? .plus : .minus, exponent: exponent, significand: long.significand)
  }
}
