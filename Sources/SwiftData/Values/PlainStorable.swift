// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A Swift type whose values are stored as they are, in an attribute of one of Core Data's types.
protocol PlainStorable: Codable, Hashable, Sendable {
  static var attributeType: NSAttributeType { get }
  /// A value for probing types that contain this one.
  static var sample: Self { get }
  /// Creates the value from what Core Data returns; nil for a value of another type, or out of range.
  init?(stored: Any)
  /// The value for Core Data.
  var stored: Any { get }
  /// The value that databases store as NULL: NaN; nil for types without it.
  static var storedAsNull: Self? { get }
  /// Reads a property; nil if it has no value.
  static func value(of property: ManagedProperty<Self?>, in row: NSManagedObject) -> Self?
  /// Writes a property.
  static func set(_ value: Self?, of property: ManagedProperty<Self?>, in row: NSManagedObject)
  /// Returns the access to an attribute that must have a value.
  ///
  /// A requirement, like the next, so that there is a function compiled for each type.
  static func access(to name: String) -> AnyAttributeAccess
  /// Returns the access to an attribute that may lack a value.
  static func optionalAccess(to name: String) -> AnyAttributeAccess
}

extension PlainStorable {
  static var storedAsNull: Self? { nil }

  static func value(of property: ManagedProperty<Self?>, in row: NSManagedObject) -> Self? {
    row.value(forKey: property.name).flatMap { Self(stored: $0) }
  }

  static func set(_ value: Self?, of property: ManagedProperty<Self?>, in row: NSManagedObject) {
    row.setValue(value?.stored, forKey: property.name)
  }

  static func access(to name: String) -> AnyAttributeAccess {
    let property = ManagedProperty<Self?>(name)
    return AttributeAccess<Self>(
      read: { row in
        if let value = value(of: property, in: row) { return value }
        if let other = row.value(forKey: name) { throw unreadable(other) }
        // A deleted row has no values at all.
        if let value = storedAsNull, !row.isDeleted, row.managedObjectContext != nil { return value }
        throw UnreadableAttribute(reason: "has no value")
      },
      write: { value, row in set(value, of: property, in: row) })
  }

  static func optionalAccess(to name: String) -> AnyAttributeAccess {
    let property = ManagedProperty<Self?>(name)
    return AttributeAccess<Self?>(
      read: { row in
        if let value = value(of: property, in: row) { return value }
        guard let other = row.value(forKey: name) else { return nil }
        throw unreadable(other)
      },
      write: { value, row in set(value, of: property, in: row) })
  }

  private static func unreadable(_ value: Any) -> UnreadableAttribute {
    UnreadableAttribute(reason: "has the value \(value), which is not a \(Self.self)")
  }
}

extension PlainStorable where Self: FixedWidthInteger {
  static var sample: Self { 0 }
  init?(stored: Any) {
    guard let number = stored as? NSNumber else { return nil }
    if let value = Self(exactly: number.int64Value) { self = value } else { return nil }
  }
  var stored: Any { NSNumber(value: Int64(truncatingIfNeeded: self)) }
}

extension Int: PlainStorable {
  static var attributeType: NSAttributeType { .integer64AttributeType }
  static func value(of property: ManagedProperty<Int?>, in row: NSManagedObject) -> Int? { property[row] }
  static func set(_ value: Int?, of property: ManagedProperty<Int?>, in row: NSManagedObject) { property[row] = value }
}
extension Int64: PlainStorable {
  static var attributeType: NSAttributeType { .integer64AttributeType }
  static func value(of property: ManagedProperty<Int64?>, in row: NSManagedObject) -> Int64? { property[row] }
  static func set(_ value: Int64?, of property: ManagedProperty<Int64?>, in row: NSManagedObject) {
    property[row] = value
  }
}
extension Int32: PlainStorable {
  static var attributeType: NSAttributeType { .integer32AttributeType }
  static func value(of property: ManagedProperty<Int32?>, in row: NSManagedObject) -> Int32? { property[row] }
  static func set(_ value: Int32?, of property: ManagedProperty<Int32?>, in row: NSManagedObject) {
    property[row] = value
  }
}
extension Int16: PlainStorable {
  static var attributeType: NSAttributeType { .integer16AttributeType }
  static func value(of property: ManagedProperty<Int16?>, in row: NSManagedObject) -> Int16? { property[row] }
  static func set(_ value: Int16?, of property: ManagedProperty<Int16?>, in row: NSManagedObject) {
    property[row] = value
  }
}
extension Int8: PlainStorable {
  static var attributeType: NSAttributeType { .integer16AttributeType }
}
extension UInt8: PlainStorable {
  static var attributeType: NSAttributeType { .integer16AttributeType }
}
extension UInt16: PlainStorable {
  static var attributeType: NSAttributeType { .integer32AttributeType }
}
extension UInt32: PlainStorable {
  static var attributeType: NSAttributeType { .integer64AttributeType }
}

// The column has 64 bits with a sign, which hold all values.
extension UInt64: PlainStorable {
  static var attributeType: NSAttributeType { .integer64AttributeType }
  init?(stored: Any) {
    guard let number = stored as? NSNumber else { return nil }
    self = UInt64(bitPattern: number.int64Value)
  }
}
extension UInt: PlainStorable {
  static var attributeType: NSAttributeType { .integer64AttributeType }
  init?(stored: Any) {
    guard let number = stored as? NSNumber else { return nil }
    self = UInt(truncatingIfNeeded: number.int64Value)
  }
}

extension Bool: PlainStorable {
  static var attributeType: NSAttributeType { .booleanAttributeType }
  static var sample: Bool { false }
  init?(stored: Any) {
    guard let number = stored as? NSNumber else { return nil }
    self = number.boolValue
  }
  var stored: Any { NSNumber(value: self) }
  static func value(of property: ManagedProperty<Bool?>, in row: NSManagedObject) -> Bool? { property[row] }
  static func set(_ value: Bool?, of property: ManagedProperty<Bool?>, in row: NSManagedObject) {
    property[row] = value
  }
}

extension Double: PlainStorable {
  static var attributeType: NSAttributeType { .doubleAttributeType }
  static var sample: Double { 0 }
  static var storedAsNull: Double? { .nan }
  init?(stored: Any) {
    guard let number = stored as? NSNumber else { return nil }
    self = number.doubleValue
  }
  var stored: Any { NSNumber(value: self) }
  static func value(of property: ManagedProperty<Double?>, in row: NSManagedObject) -> Double? { property[row] }
  static func set(_ value: Double?, of property: ManagedProperty<Double?>, in row: NSManagedObject) {
    property[row] = value
  }
}

extension Float: PlainStorable {
  static var attributeType: NSAttributeType { .floatAttributeType }
  static var sample: Float { 0 }
  static var storedAsNull: Float? { .nan }
  init?(stored: Any) {
    guard let number = stored as? NSNumber else { return nil }
    self = number.floatValue
  }
  var stored: Any { NSNumber(value: self) }
  static func value(of property: ManagedProperty<Float?>, in row: NSManagedObject) -> Float? { property[row] }
  static func set(_ value: Float?, of property: ManagedProperty<Float?>, in row: NSManagedObject) {
    property[row] = value
  }
}

extension Decimal: PlainStorable {
  static var attributeType: NSAttributeType { .decimalAttributeType }
  static var sample: Decimal { 0 }
  init?(stored: Any) {
    guard let number = stored as? NSNumber else { return nil }
    self = number.decimalValue
  }
  var stored: Any { NSDecimalNumber(decimal: self) }
}

extension String: PlainStorable {
  static var attributeType: NSAttributeType { .stringAttributeType }
  static var sample: String { "" }
  init?(stored: Any) {
    guard let value = stored as? String else { return nil }
    self = value
  }
  var stored: Any { self }
  static func value(of property: ManagedProperty<String?>, in row: NSManagedObject) -> String? { property[row] }
  static func set(_ value: String?, of property: ManagedProperty<String?>, in row: NSManagedObject) {
    property[row] = value
  }
}

extension Date: PlainStorable {
  static var attributeType: NSAttributeType { .dateAttributeType }
  static var sample: Date { Date(timeIntervalSinceReferenceDate: 0) }
  init?(stored: Any) {
    guard let value = stored as? Date else { return nil }
    self = value
  }
  var stored: Any { self }
  static func value(of property: ManagedProperty<Date?>, in row: NSManagedObject) -> Date? { property[row] }
  static func set(_ value: Date?, of property: ManagedProperty<Date?>, in row: NSManagedObject) {
    property[row] = value
  }
}

extension Data: PlainStorable {
  static var attributeType: NSAttributeType { .binaryDataAttributeType }
  static var sample: Data { Data() }
  init?(stored: Any) {
    guard let value = stored as? Data else { return nil }
    self = value
  }
  var stored: Any { self }
  static func value(of property: ManagedProperty<Data?>, in row: NSManagedObject) -> Data? { property[row] }
  static func set(_ value: Data?, of property: ManagedProperty<Data?>, in row: NSManagedObject) {
    property[row] = value
  }
}

extension UUID: PlainStorable {
  static var attributeType: NSAttributeType { .UUIDAttributeType }
  static var sample: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  init?(stored: Any) {
    guard let value = stored as? UUID else { return nil }
    self = value
  }
  var stored: Any { self }
  static func value(of property: ManagedProperty<UUID?>, in row: NSManagedObject) -> UUID? { property[row] }
  static func set(_ value: UUID?, of property: ManagedProperty<UUID?>, in row: NSManagedObject) {
    property[row] = value
  }
}

extension URL: PlainStorable {
  static var attributeType: NSAttributeType { .URIAttributeType }
  static var sample: URL { URL(fileURLWithPath: "/") }
  init?(stored: Any) {
    guard let value = stored as? URL else { return nil }
    self = value
  }
  var stored: Any { self }
}
