// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Conversions between the plain values of documents and the objects of Apple's API.
extension PlainValue {
  /// Makes the plain form of a value. A value without one is wrapped.
  ///
  /// - Parameter kind: the type of the value's attribute, which determines the type of a number.
  init(_ any: Any, kind: AttributeKind = .undefined) {
    switch any {
    case is NSNull: self = .null
    case let value as String: self = .string(value)
    case let value as Data: self = .data(value)
    case let value as Date: self = .date(value)
    case let value as UUID: self = .uuid(value)
    case let value as URL: self = .url(value)
    case let value as Bool where type(of: any) == Bool.self: self = .boolean(value)
    case let value as Decimal where !(any is NSNumber) || any is NSDecimalNumber:
      self = Self.number(value as NSDecimalNumber, kind: kind)
    case let value as NSNumber: self = Self.number(value, kind: kind)
    case let value as [Any]: self = .array(value.map { PlainValue($0) })
    case let value as [AnyHashable: Any]: self = .dictionary(Self.userInfo(value))
    case let value as NSSet: self = .set(value.allObjects.map { PlainValue($0) })
    case let value as Set<AnyHashable>: self = .set(value.map { PlainValue($0.base) })
    case let value as AnyHashable: self = .object(OpaqueObject(value))
    default: self = .object(OpaqueObject(ValueBox(any)))
    }
  }

  private static func number(_ number: NSNumber, kind: AttributeKind) -> PlainValue {
    switch kind {
    case .boolean: return .boolean(number.boolValue)
    case .integer16, .integer32, .integer64: return .integer(number.int64Value)
    case .double: return .real(number.doubleValue)
    case .float: return .real(Double(number.floatValue))
    case .decimal: return .decimal(number.decimalValue)
    default:
      if number is NSDecimalNumber { return .decimal(number.decimalValue) }
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "c"), UInt8(ascii: "B"): return .boolean(number.boolValue)
      case UInt8(ascii: "d"), UInt8(ascii: "f"): return .real(number.doubleValue)
      default: return .integer(number.int64Value)
      }
    }
  }

  /// Returns the value as Apple's API has it: numbers and booleans as `NSNumber`.
  func foundationValue(kind: AttributeKind = .undefined) -> Any {
    switch (self, kind) {
    case (.integer(let value), .double), (.integer(let value), .float): return NSNumber(value: Double(value))
    case (.integer(let value), .boolean): return NSNumber(value: value != 0)
    case (.integer(let value), .decimal): return NSDecimalNumber(decimal: Decimal(value))
    case (.real(let value), .float): return NSNumber(value: Float(value))
    case (.real(let value), .decimal):
      // Foundation traps on infinity.
      return value.isFinite ? NSDecimalNumber(decimal: Decimal(value)) : NSDecimalNumber.notANumber
    case (.boolean(let value), .integer16), (.boolean(let value), .integer32), (.boolean(let value), .integer64):
      return NSNumber(value: value ? 1 : 0)
    case (.decimal(let value), .double), (.decimal(let value), .float):
      return NSNumber(value: NSDecimalNumber(decimal: value).doubleValue)
    default: return plainFoundationValue
    }
  }

  private var plainFoundationValue: Any {
    switch self {
    case .null: return NSNull()
    case .boolean(let value): return NSNumber(value: value)
    case .integer(let value): return NSNumber(value: value)
    case .real(let value): return NSNumber(value: value)
    case .decimal(let value): return NSDecimalNumber(decimal: value)
    case .string(let value): return value
    case .date(let value): return value
    case .data(let value): return value
    case .uuid(let value): return value
    case .url(let value): return value
    case .array(let values): return values.map { $0.foundationValue() }
    case .set(let values): return NSSet(array: values.map { $0.foundationValue() })
    case .dictionary(let values): return values.mapValues { $0.foundationValue() }
    case .object(let object): return (object.value.base as? ValueBox)?.value ?? object.value.base
    }
  }

  /// Returns the plain form of user info. Keys other than strings are replaced by their descriptions.
  static func userInfo(_ dictionary: [AnyHashable: Any]?) -> [String: PlainValue] {
    var plain: [String: PlainValue] = [:]
    for (key, value) in dictionary ?? [:] {
      plain[key.base as? String ?? String(describing: key.base)] = PlainValue(value)
    }
    return plain
  }

  /// Returns user info as Apple's API has it; nil if it is empty.
  static func foundationUserInfo(_ plain: [String: PlainValue]) -> [AnyHashable: Any]? {
    guard !plain.isEmpty else { return nil }
    return plain.reduce(into: [:]) { $0[$1.key] = $1.value.foundationValue() }
  }
}

/// Wraps a value that is not hashable. Boxes are equal if they are identical.
private final class ValueBox: Hashable {
  let value: Any

  init(_ value: Any) {
    self.value = value
  }

  static func == (left: ValueBox, right: ValueBox) -> Bool { left === right }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
