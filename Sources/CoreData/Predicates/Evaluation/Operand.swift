// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Operations on values of any type in an evaluation.
enum Operand {
  /// Returns a value without layers of optionals; nil for `NSNull`.
  static func unwrapped(_ value: Any?) -> Any? {
    guard let value, !(value is NSNull) else { return nil }
    if let optional = value as? any OptionalValue { return unwrapped(optional.wrappedValue) }
    return value
  }

  /// Returns the elements of an array or set; nil for anything else.
  static func elements(_ value: Any) -> [Any]? {
    switch value {
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
    return value is String ? "\"\(value)\"" : "\(value) (\(type(of: value)))"
  }

  /// Whether two values are equal: numbers by value, strings by their scalars, collections by their elements.
  static func areEqual(_ left: Any?, _ right: Any?, _ options: TextComparison = .init()) -> Bool {
    guard let left = unwrapped(left), let right = unwrapped(right) else {
      return unwrapped(left) == nil && unwrapped(right) == nil
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
    if let left = identifier(left), let right = identifier(right) { return left == right }
    if let left = left as? AnyHashable, let right = right as? AnyHashable { return left == right }
    return (left as AnyObject) === (right as AnyObject)
  }

  /// Returns the order of two values; nil if either is nil or NaN.
  static func order(
    _ left: Any?, _ right: Any?, _ options: TextComparison = .init()
  ) throws -> ComparisonResult? {
    guard let left = unwrapped(left), let right = unwrapped(right) else { return nil }
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

  /// Returns the identifier of an object, which may be compared with an object or an identifier.
  private static func identifier(_ value: Any) -> NSManagedObjectID? {
    (value as? any ObjectIdentified)?.objectID ?? value as? NSManagedObjectID
  }

  static func text(_ value: Any) -> String? {
    value as? String
  }
}

private protocol OptionalValue {
  var wrappedValue: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrappedValue: Any? { self }
}
