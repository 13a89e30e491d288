// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A set of values that Foundation's sets on Linux handle incorrectly. The `hash` of a decimal number recurses
/// infinitely, and strings, including those within collections, are equal if they are canonically equivalent, unlike in
/// predicates.
final class ValueSet: NSSet {
  private let decimals: [Decimal: NSDecimalNumber]
  /// The strings that are not ASCII, by their bytes.
  private let strings: [[UInt8]: String]
  /// The collections, by the number of their elements.
  private let collections: [Int: [Any]]
  private let others: NSSet

  /// Returns a set of values of any type; one of Foundation's own sets if that handles all of them as predicates do.
  static func make(_ values: [Any]) -> NSSet {
    let isOdd = values.contains { value in
      value is NSDecimalNumber || value is NSSet || value is NSOrderedSet || value is [Any] || bytes(of: value) != nil
    }
    return isOdd ? ValueSet(values) : NSSet(array: values)
  }

  /// Returns the bytes of a string that may be equivalent to others; nil for other values.
  private static func bytes(of value: Any) -> [UInt8]? {
    guard let text = value as? String, !text.utf8.allSatisfy({ $0 < 128 }) else { return nil }
    return Array(text.utf8)
  }

  private init(_ values: [Any]) {
    var decimals: [Decimal: NSDecimalNumber] = [:]
    var strings: [[UInt8]: String] = [:]
    var collections: [Int: [Any]] = [:]
    var others: [Any] = []
    for value in values {
      if let number = value as? NSDecimalNumber {
        decimals[number.decimalValue] = decimals[number.decimalValue] ?? number
      } else if let bytes = Self.bytes(of: value) {
        strings[bytes] = value as? String
      } else if let elements = Operand.elements(value) {
        let known = collections[elements.count] ?? []
        if !known.contains(where: { Operand.areEqual($0, value) }) { collections[elements.count] = known + [value] }
      } else {
        others.append(value)
      }
    }
    self.decimals = decimals
    self.strings = strings
    self.collections = collections
    self.others = NSSet(array: others)
    super.init(objects: [], count: 0)
  }

  required init?(coder: NSCoder) {
    trap("A set of decimal numbers, strings or collections cannot be decoded on Linux.")
  }

  override var count: Int { allObjects.count }

  override func member(_ object: Any) -> Any? {
    if let number = object as? NSDecimalNumber { return decimals[number.decimalValue] }
    if let bytes = Self.bytes(of: object) { return strings[bytes] }
    guard let elements = Operand.elements(object) else { return others.member(object) }
    return collections[elements.count]?.first { Operand.areEqual($0, object) }
  }

  override func objectEnumerator() -> NSEnumerator { NSArray(array: allObjects).objectEnumerator() }

  override var allObjects: [Any] {
    Array(decimals.values) + Array(strings.values) + collections.values.flatMap { $0 } + others.allObjects
  }

  // Foundation's implementation reads its own storage, and traps.
  override var description: String { NSArray(array: allObjects).description }

  override func copy(with zone: NSZone? = nil) -> Any { self }
}
