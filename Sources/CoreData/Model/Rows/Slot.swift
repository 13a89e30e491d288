// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The value of one property of one object, with unboxed numbers, dates and strings.
package enum Slot {
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
  /// A decimal number, a URL, a composite's dictionary, the value of a transformable attribute, or an `UnreadableValue`.
  case object(NSObject)
  /// The stored form of a transformable attribute, not decoded yet.
  case archived(Data)
  /// The value of a transformable attribute, decoded from its stored form and not changed since.
  case unarchived(UnarchivedValue)
  case toOne(NSManagedObjectID)
  case toMany(ToMany)
  /// A relationship that has not been read from the store.
  case unread

  /// Whether the slot has no value.
  package var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  /// Returns whether two slots have the same value. The order matters only for ordered relationships.
  package func isSame(as other: Slot) -> Bool {
    switch (self, other) {
    case (.null, .null), (.unread, .unread): true
    case (.integer(let a), .integer(let b)): a == b
    case (.boolean(let a), .boolean(let b)): a == b
    case (.double(let a), .double(let b)): a == b || (a.isNaN && b.isNaN)
    case (.float(let a), .float(let b)): a == b || (a.isNaN && b.isNaN)
    case (.date(let a), .date(let b)): a == b
    // Swift compares canonically equivalent strings as equal, but a store keeps their bytes.
    case (.string(let a), .string(let b)): Slot.haveSameBytes(a, b)
    case (.data(let a), .data(let b)), (.archived(let a), .archived(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.unarchived(let a), .unarchived(let b)): a === b || a.data == b.data
    case (.archived(let a), .unarchived(let b)), (.unarchived(let b), .archived(let a)): a == b.data
    case (.unarchived(let a), .object(let b)), (.object(let b), .unarchived(let a)): a.isSame(as: b)
    case (.object(let a as NSDictionary), .object(let b as NSDictionary)): Slot.haveSameParts(a, b)
    case (.object(let a), .object(let b)): a.isEqual(b)
    case (.toOne(let a), .toOne(let b)): a.current.key == b.current.key
    case (.toMany(let a), .toMany(let b)): a.hasSameMembers(as: b)
    default: false
    }
  }

  /// Takes the value of another slot, unless it is the same.
  package mutating func replace(by other: Slot) {
    if case .archived = self {
      self = other
    } else if !isSame(as: other) {
      self = other
    }
  }

  /// Compares the elements of composite attributes like attributes, with strings by their bytes.
  private static func haveSameParts(_ a: NSDictionary, _ b: NSDictionary) -> Bool {
    guard a.count == b.count else { return false }
    return a.allKeys.allSatisfy { key in
      switch (a[key], b[key]) {
      case (let a as String, let b as String): haveSameBytes(a, b)
      case (let a as NSDictionary, let b as NSDictionary): haveSameParts(a, b)
      case (let a as NSObject, let b as NSObject): a.isEqual(b)
      default: false
      }
    }
  }

  private static func haveSameBytes(_ a: String, _ b: String) -> Bool {
    guard a.utf8.count == b.utf8.count else { return false }
    let answer = a.utf8.withContiguousStorageIfAvailable { left in
      b.utf8.withContiguousStorageIfAvailable { right -> Bool in
        guard let a = left.baseAddress, let b = right.baseAddress else { return true }
        return memcmp(a, b, left.count) == 0
      }
    }
    if let answer = answer ?? nil { return answer }
    return a.utf8.elementsEqual(b.utf8)
  }

  /// Creates the slot for an attribute's default value.
  package init(defaultOf attribute: NSAttributeDescription) {
    if let archived = attribute.archivedDefault {
      // The stored form of the object, as in a store of Apple's framework.
      self = attribute.attributeType == .transformableAttributeType ? .archived(archived.archive) : .null
      return
    }
    guard let value = attribute.initialValue, let slot = Slot(value, for: attribute) else {
      self = .null
      return
    }
    self = slot
  }

  /// Creates the slot for a value; nil if the value does not have the attribute's type.
  ///
  /// Accepts numbers as `NSNumber` and as any Swift number type, because callers pass either.
  package init?(_ value: Any?, for attribute: NSAttributeDescription) {
    self.init(value, for: attribute, kind: attribute.attributeType)
  }

  /// Creates the slot for a value, if the attribute's type is already known.
  package init?(_ given: Any?, for attribute: NSAttributeDescription, kind: NSAttributeType) {
    guard let given else {
      self = .null
      return
    }
    if let slot = Slot.plain(given, kind) {
      self = slot
      return
    }
    guard let value = Slot.unwrap(given) else {
      self = .null
      return
    }
    let slot: Slot? =
      switch kind {
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
        Slot.integer(value).map { .integer($0) }
      case .booleanAttributeType:
        Slot.real(value).map { .boolean($0 != 0) }
      case .doubleAttributeType: Slot.real(value).map { .double($0) }
      case .floatAttributeType: Slot.real(value).map { .float(Float($0)) }
      case .decimalAttributeType: Slot.decimal(value).map { .object($0) }
      case .stringAttributeType: (value as? String).map { .string($0) }
      case .dateAttributeType: (value as? Date).map { .date($0.timeIntervalSinceReferenceDate) }
      case .binaryDataAttributeType: (value as? Data).map { .data($0) }
      case .UUIDAttributeType: (value as? UUID).map { .uuid($0) }
      case .URIAttributeType: (value as? URL).flatMap { NSURL(string: $0.absoluteString) }.map { .object($0) }
      case .objectIDAttributeType: (value as? NSManagedObjectID).map { .object($0) }
      case .compositeAttributeType: Slot.composite(value, of: attribute)
      case .transformableAttributeType, .undefinedAttributeType: .object(Slot.boxed(value))
      }
    guard let slot else { return nil }
    self = slot
  }

  /// Creates the slot for a value in a migration, which must not change numbers silently.
  ///
  /// Also nil for a number out of the range of the attribute's type, and for a decimal NaN if the type is not Decimal.
  /// In-place migrations reject these values too.
  package init?(migrated value: Any?, for attribute: NSAttributeDescription) {
    self.init(value, for: attribute)
    guard isInRange(of: attribute.attributeType) else { return nil }
    switch self {
    case .float(let number) where number.isInfinite:
      guard let value, Number(value)?.real.isInfinite == true else { return nil }
    case .float(let number) where number.isNaN: if value is NSDecimalNumber { return nil }
    case .double(let number) where number.isNaN: if value is NSDecimalNumber { return nil }
    case .boolean(true): if let number = value as? NSDecimalNumber, number.decimalValue.isNaN { return nil }
    case .object(_ as NSDictionary):
      guard let composite = attribute as? NSCompositeAttributeDescription, let parts = value as? NSDictionary else {
        return
      }
      for element in composite.elements {
        if Slot(migrated: parts[element.name as NSString], for: element) == nil { return nil }
      }
    default: break
    }
  }

  /// The value that `value(forKey:)` returns. The object that owns the slot resolves relationships.
  package var publicValue: Any? {
    switch self {
    case .null, .unread, .toOne, .toMany: nil
    case .integer(let value): CommonNumbers.number(value)
    case .boolean(let value): CommonNumbers.number(value)
    case .double(let value): NSNumber(value: value)
    case .float(let value): NSNumber(value: value)
    case .date(let value): Date(timeIntervalSinceReferenceDate: value)
    case .string(let value): value
    case .data(let value): value
    case .uuid(let value): value
    case .archived(let value): value
    case .unarchived(let value): Slot.unboxed(value.value)
    case .object(let value): Slot.unboxed(value)
    }
  }

  /// Cached objects for common numbers. Creating an `NSNumber` takes as long as the rest of reading a property.
  private enum CommonNumbers {
    private static let range: ClosedRange<Int64> = -1...1023
    private static let integers = range.map { NSNumber(value: $0) }
    private static let (yes, no) = (NSNumber(value: true), NSNumber(value: false))

    static func number(_ value: Int64) -> NSNumber {
      range.contains(value) ? integers[Int(value - range.lowerBound)] : NSNumber(value: value)
    }

    static func number(_ value: Bool) -> NSNumber { value ? yes : no }
  }

  /// Returns the slot for a value of the attribute's own type; nil for others.
  ///
  /// Nearly all values take this fast path. A failed cast costs a hundred times as much as comparing types.
  package static func plain(_ value: Any, _ kind: NSAttributeType) -> Slot? {
    switch kind {
    case .stringAttributeType: return exactly(String.self, value).map { .string($0) }
    case .dateAttributeType: return exactly(Date.self, value).map { .date($0.timeIntervalSinceReferenceDate) }
    case .UUIDAttributeType: return exactly(UUID.self, value).map { .uuid($0) }
    case .binaryDataAttributeType: return exactly(Data.self, value).map { .data($0) }
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      if let number = exactly(Int.self, value) { return .integer(Int64(number)) }
      if let number = exactly(Int64.self, value) { return .integer(number) }
      return exactly(NSNumber.self, value).flatMap { whole($0) }.map { .integer($0) }
    case .booleanAttributeType:
      if let truth = exactly(Bool.self, value) { return .boolean(truth) }
      return exactly(NSNumber.self, value).flatMap { whole($0) }.map { .boolean($0 != 0) }
    case .doubleAttributeType:
      if let number = exactly(Double.self, value) { return .double(number) }
      return exactly(NSNumber.self, value).map { .double($0.doubleValue) }
    default: return nil
    }
  }

  /// Returns the value of a number object created from a signed integer or a Boolean.
  private static func whole(_ number: NSNumber) -> Int64? {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "q"), UInt8(ascii: "l"), UInt8(ascii: "i"), UInt8(ascii: "s"), UInt8(ascii: "c"),
      UInt8(ascii: "B"):
      number.int64Value
    default: nil
    }
  }

  private static func unwrap(_ value: Any?) -> Any? {
    guard let value, !(value is NSNull) else { return nil }
    // An optional passed as `Any` is wrapped twice.
    if case Optional<Any>.none = value { return nil }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.flatMap { unwrap($0.value) } }
    return value
  }

  private static func integer(_ value: Any) -> Int64? {
    Number(value)?.integer ?? (value as? any BinaryInteger).flatMap { Int64(exactly: $0) }
  }

  private static func real(_ value: Any) -> Double? { Number(value)?.real }

  /// Returns a number as a decimal; nil if it is out of range.
  private static func decimal(_ value: Any) -> NSDecimalNumber? {
    if let decimal = value as? NSDecimalNumber { return decimal }
    return Number(value)?.decimal.map { NSDecimalNumber(decimal: $0) }
  }

  /// Creates a separate dictionary, with values as stores return them, because the caller may change its dictionary
  /// later.
  private static func composite(_ value: Any, of attribute: NSAttributeDescription) -> Slot? {
    guard let values = value as? NSDictionary, let composite = attribute as? NSCompositeAttributeDescription else {
      return nil
    }
    let parts = NSMutableDictionary()
    for (key, value) in values {
      guard let element = composite.elements.first(where: { $0.name == key as? String }),
        let slot = Slot(value, for: element)
      else { return nil }
      parts[element.name as NSString] = slot.publicValue
    }
    return Slot(composite: parts)
  }

  /// Creates the slot for a composite attribute from the values of its elements.
  ///
  /// A composite attribute without values equals one whose elements are all null.
  package init(composite parts: NSDictionary) {
    self = parts.count == 0 ? .null : .object(parts.copy() as? NSDictionary ?? parts)
  }

  /// Returns the value for an element in a composite attribute's dictionary.
  package func partValue(of element: NSAttributeDescription?) -> Any? {
    guard case .archived(let data) = self, let element else { return publicValue }
    return Slot.unboxed(TransformableValues.decode(data, of: element))
  }

  package static func boxed(_ value: Any) -> NSObject { (value as? NSObject) ?? SwiftValueBox(value) }

  private static func unboxed(_ value: NSObject) -> Any? {
    switch value {
    case let box as SwiftValueBox: box.value
    case let url as NSURL: url as URL
    case let unreadable as UnreadableValue: unreadable.rest
    default: value
    }
  }

  /// Returns whether an integer is in the range of a type. Saves and migrations reject others instead of truncating
  /// them.
  package func isInRange(of type: NSAttributeType) -> Bool {
    guard case .integer(let number) = self else { return true }
    return switch type {
    case .integer16AttributeType: Int16(exactly: number) != nil
    case .integer32AttributeType: Int32(exactly: number) != nil
    default: true
    }
  }
}

/// The value of a transformable attribute, with the stored form from which it was decoded.
///
/// Until another value is set, the attribute counts as unchanged, and its row keeps its bytes.
package final class UnarchivedValue {
  package let value: NSObject
  package let data: Data

  package init(_ value: NSObject, from data: Data) {
    self.value = value
    self.data = data
  }

  /// Returns whether a newly set value equals this one. A mutable object that is set again may have changed in the
  /// meantime.
  package func isSame(as other: NSObject) -> Bool {
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
    // An object of a custom class.
    default: true
    }
  }
}

/// Wraps a Swift value as an object: the value of a transformable or undefined attribute.
package final class SwiftValueBox: NSObject {
  package let value: Any

  package init(_ value: Any) {
    self.value = value
  }

  package override var hash: Int { (value as? AnyHashable)?.hashValue ?? 0 }

  package override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SwiftValueBox, let a = value as? AnyHashable, let b = other.value as? AnyHashable
    else {
      return false
    }
    return a == b
  }
}

extension NSAttributeType {
  /// Whether the type is an integer type of less than 64 bits.
  package var hasRange: Bool { self == .integer16AttributeType || self == .integer32AttributeType }
}

/// The stored form of transformable attributes, created by a value transformer or a keyed archive.
package enum TransformableValues {
  /// Decodes a stored form.
  ///
  /// A stored form that cannot be decoded, such as an object of a class that is not allowed, is returned as data, so
  /// that nothing is lost.
  package static func decode(_ data: Data, of attribute: NSAttributeDescription) -> NSObject {
    let value =
      switch transformer(of: attribute) {
      // An unarchiving transformer transforms the stored form to the value; any other transforms the value.
      case let unarchiver as NSSecureUnarchiveFromDataTransformer: unarchiver.transformedValue(data)
      case let transformer?: transformer.reverseTransformedValue(data)
      // If there is no object, the data is returned; see above.
      case nil: try? ObjectArchiveReader.object(in: data, programClasses: classes(of: attribute).type)
      }
    return value.map(Slot.boxed) ?? data as NSData
  }

  /// Encodes a value; nil if the attribute's transformer returns nil.
  ///
  /// - Throws: 134060 if neither the attribute's transformer nor secure coding can archive the value.
  package static func encode(_ value: NSObject, of attribute: NSAttributeDescription) throws -> Data? {
    let plain = (value as? SwiftValueBox)?.value ?? value
    switch transformer(of: attribute) {
    case let unarchiver as NSSecureUnarchiveFromDataTransformer:
      if let made = unarchiver.reverseTransformedValue(plain) { return try data(made, of: plain, attribute) }
      // The transformer cannot throw the reason, but archiving does.
      _ = try archive(plain, attribute, type(of: unarchiver).classes)
      throw ValueErrors.notArchivable(plain, attribute, reason: "its transformer returned nil for it")
    case let transformer?:
      guard let made = transformer.transformedValue(plain) else { return nil }
      let data = try data(made, of: plain, attribute)
      // In a statically linked program, Foundation's archiver may return empty data without an error.
      if data.isEmpty, type(of: transformer).allowsReverseTransformation(),
        transformer.reverseTransformedValue(data) == nil
      {
        throw ValueErrors.notArchivable(
          plain, attribute, reason: "its transformer returned empty data for it, which it cannot convert back")
      }
      return data
    case nil:
      if let data = value as? NSData { return data as Data }
      if let name = attribute.valueTransformerName, ValueTransformer(forName: .init(name)) == nil {
        Warnings.printOnce(
          "No value transformer is registered as '\(name)', which '\(attribute.name)' of "
            + "'\(attribute.owningEntity?.name ?? "")' names, so its values are archived by NSSecureCoding. Register it with "
            + "ValueTransformer.setValueTransformer(_:forName:) before the store is opened.")
      }
      return try archive(plain, attribute, classes(of: attribute))
    }
  }

  private static func data(_ made: Any, of value: Any, _ attribute: NSAttributeDescription) throws -> Data {
    if let data = made as? Data { return data }
    throw ValueErrors.notArchivable(
      value, attribute, reason: "its transformer returned a \(type(of: made)) for it instead of Data")
  }

  private static func archive(
    _ value: Any, _ attribute: NSAttributeDescription, _ classes: ArchivableClasses
  ) throws -> Data {
    do {
      return try classes.archive(value)
    } catch ObjectArchiveWriter.Problem.otherClass(let name) {
      throw ValueErrors.notArchivable(value, attribute, reason: classes.refusal(of: name))
    } catch let problem as ObjectArchiveWriter.Problem {
      throw ValueErrors.notArchivable(value, attribute, reason: problem.description)
    }
  }

  private static func transformer(of attribute: NSAttributeDescription) -> ValueTransformer? {
    guard let name = attribute.valueTransformerName, let found = ValueTransformer(forName: .init(name)),
      type(of: found) != NSSecureUnarchiveFromDataTransformer.self, !(found is AnyUnarchiveFromDataTransformer)
    else { return nil }
    return found
  }

  /// Returns the classes that an attribute without a custom transformer allows.
  private static func classes(of attribute: NSAttributeDescription) -> ArchivableClasses {
    switch attribute.valueTransformerName.map({ ValueTransformer.Name($0) }) {
    case .secureUnarchiveFromDataTransformerName?: .listed([])
    case .keyedUnarchiveFromDataTransformerName?, .unarchiveFromDataTransformerName?: .any
    default: .secure
    }
  }
}
