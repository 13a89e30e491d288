// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The value of one property of one object, with unboxed numbers, dates and strings.
enum Slot: @unchecked Sendable {
  case null
  /// Integer 16, 32 and 64.
  case integer(Int64)
  case boolean(Bool)
  case double(Double)
  case float(Float)
  /// Seconds since the reference date, 2001-01-01 00:00 UTC.
  case date(Double)
  case string(String)
  case data(Data)
  case uuid(UUID)
  /// A decimal number, a URL, a composite's dictionary, or the value of a transformable attribute.
  case object(NSObject)
  /// The stored form of a transformable attribute, not decoded yet.
  case archived(Data)
  /// The value of a transformable attribute, decoded from its stored form and not changed since.
  case unarchived(UnarchivedValue)
  case toOne(NSManagedObjectID)
  case toMany(ToMany)
  /// A relationship that has not been read from the store.
  case unread

  /// Whether there is no value.
  var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  /// Whether both have the same value. Ordered relationships are compared with their order, others without.
  func isSame(as other: Slot) -> Bool {
    switch (self, other) {
    case (.null, .null), (.unread, .unread): true
    case (.integer(let a), .integer(let b)): a == b
    case (.boolean(let a), .boolean(let b)): a == b
    case (.double(let a), .double(let b)): a == b || (a.isNaN && b.isNaN)
    case (.float(let a), .float(let b)): a == b || (a.isNaN && b.isNaN)
    case (.date(let a), .date(let b)): a == b
    // Swift compares canonically equivalent strings as equal, but a store keeps their bytes.
    case (.string(let a), .string(let b)): a == b && a.utf8.elementsEqual(b.utf8)
    case (.data(let a), .data(let b)), (.archived(let a), .archived(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.unarchived(let a), .unarchived(let b)): a === b || a.data == b.data
    case (.archived(let a), .unarchived(let b)), (.unarchived(let b), .archived(let a)): a == b.data
    case (.unarchived(let a), .object(let b)), (.object(let b), .unarchived(let a)): a.isSame(as: b)
    case (.object(let a), .object(let b)): a.isEqual(b)
    case (.toOne(let a), .toOne(let b)): a.current.key == b.current.key
    case (.toMany(let a), .toMany(let b)): a.hasSameMembers(as: b)
    default: false
    }
  }
}

/// The value of a transformable attribute, with the stored form that it was decoded from.
///
/// Until another value is set, the attribute counts as unchanged, and its row keeps its bytes.
final class UnarchivedValue: @unchecked Sendable {
  let value: NSObject
  let data: Data

  init(_ value: NSObject, from data: Data) {
    self.value = value
    self.data = data
  }

  /// Whether a newly set value equals this one. A mutable object that is set again may have changed in the meantime.
  func isSame(as other: NSObject) -> Bool {
    if value === other { return !Self.isMutable(other) }
    return value.isEqual(other)
  }

  private static func isMutable(_ object: NSObject) -> Bool {
    switch object {
    case is NSMutableArray, is NSMutableDictionary, is NSMutableSet, is NSMutableOrderedSet, is NSMutableString,
      is NSMutableData, is NSMutableAttributedString:
      true
    case is NSArray, is NSDictionary, is NSSet, is NSOrderedSet, is NSString, is NSData, is NSAttributedString,
      is NSNumber, is NSDate, is NSURL, is NSUUID, is NSNull, is SwiftValueBox:
      false
    // An object of one of the program's classes.
    default: true
    }
  }
}
