// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A value as the key of a group. Values are equal if predicates consider them equal: numbers by value, strings by
/// their scalars.
///
/// In Foundation on Linux, decimal numbers have no usable hash, and strings are compared by canonical equivalence.
enum ValueKey: Hashable {
  case missing
  case text([UInt8])
  case integer(Int64)
  case real(UInt64)
  case decimal(Decimal)
  case other(AnyHashable)
  /// A composite attribute, or a dictionary in a transformable one.
  case parts([AnyHashable: ValueKey])
  case list([ValueKey])
  /// An object that cannot be compared by value.
  case identity(ObjectIdentifier)

  init(_ given: Any?) {
    guard let value = Operand.unwrapped(given) else {
      self = .missing
      return
    }
    if let text = value as? String {
      self = .text(Array(text.utf8))
    } else if let number = Number(value) {
      self.init(number)
    } else if let parts = value as? NSDictionary {
      // Foundation returns nested collections as Swift collections, which are not hashable.
      self = .parts(
        Dictionary(parts.compactMap { key, value in (key as? AnyHashable).map { ($0, ValueKey(value)) } }) { $1 })
    } else if let list = value as? NSArray {
      self = .list(list.map { ValueKey($0) })
    } else if let value = value as? AnyHashable {
      self = .other(value)
    } else if let set = value as? NSSet {
      self = .other(set)
    } else {
      self = .identity(ObjectIdentifier(value as AnyObject))
    }
  }

  private init(_ number: Number) {
    switch number {
    case .integer(let value): self = .integer(value)
    case .real(let value): self = Int64(exactly: value).map { .integer($0) } ?? .real(value.bitPattern)
    case .decimal(let value):
      self = DecimalConversion.exactInteger(value).map { .integer($0) } ?? .decimal(value)
    }
  }
}
