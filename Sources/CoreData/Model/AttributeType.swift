// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The type of an attribute's values.
public enum NSAttributeType: UInt, Sendable {
  /// No type; allowed for transient attributes only.
  case undefinedAttributeType = 0
  /// A signed integer of 16 bits.
  case integer16AttributeType = 100
  /// A signed integer of 32 bits.
  case integer32AttributeType = 200
  /// A signed integer of 64 bits.
  case integer64AttributeType = 300
  /// A decimal number.
  case decimalAttributeType = 400
  /// A floating-point number of 64 bits.
  case doubleAttributeType = 500
  /// A floating-point number of 32 bits.
  case floatAttributeType = 600
  /// Text.
  case stringAttributeType = 700
  /// True or false.
  case booleanAttributeType = 800
  /// A point in time.
  case dateAttributeType = 900
  /// Bytes.
  case binaryDataAttributeType = 1000
  /// A universally unique identifier.
  case UUIDAttributeType = 1100
  /// A URI.
  case URIAttributeType = 1200
  /// Any value that a value transformer turns into bytes.
  case transformableAttributeType = 1800
  /// The identifier of a managed object; allowed for results of fetches only.
  case objectIDAttributeType = 2000
  /// A group of attributes.
  case compositeAttributeType = 2100
}

extension NSAttributeDescription {
  /// The type of an attribute's values, as Swift spells it.
  public struct AttributeType: RawRepresentable, Hashable, Sendable {
    /// The value of the corresponding `NSAttributeType`.
    public let rawValue: NSAttributeType

    /// Wraps an `NSAttributeType`.
    public init(rawValue: NSAttributeType) {
      self.rawValue = rawValue
    }

    /// No type; allowed for transient attributes only.
    public static let undefined = AttributeType(rawValue: .undefinedAttributeType)
    /// A signed integer of 16 bits.
    public static let integer16 = AttributeType(rawValue: .integer16AttributeType)
    /// A signed integer of 32 bits.
    public static let integer32 = AttributeType(rawValue: .integer32AttributeType)
    /// A signed integer of 64 bits.
    public static let integer64 = AttributeType(rawValue: .integer64AttributeType)
    /// A decimal number.
    public static let decimal = AttributeType(rawValue: .decimalAttributeType)
    /// A floating-point number of 64 bits.
    public static let double = AttributeType(rawValue: .doubleAttributeType)
    /// A floating-point number of 32 bits.
    public static let float = AttributeType(rawValue: .floatAttributeType)
    /// Text.
    public static let string = AttributeType(rawValue: .stringAttributeType)
    /// True or false.
    public static let boolean = AttributeType(rawValue: .booleanAttributeType)
    /// A point in time.
    public static let date = AttributeType(rawValue: .dateAttributeType)
    /// Bytes.
    public static let binaryData = AttributeType(rawValue: .binaryDataAttributeType)
    /// A universally unique identifier.
    public static let uuid = AttributeType(rawValue: .UUIDAttributeType)
    /// A URI.
    public static let uri = AttributeType(rawValue: .URIAttributeType)
    /// Any value that a value transformer turns into bytes.
    public static let transformable = AttributeType(rawValue: .transformableAttributeType)
    /// The identifier of a managed object; allowed for results of fetches only.
    public static let objectID = AttributeType(rawValue: .objectIDAttributeType)
    /// A group of attributes.
    public static let composite = AttributeType(rawValue: .compositeAttributeType)
  }
}

extension NSAttributeType {
  internal init(_ kind: AttributeKind) {
    self = NSAttributeType(rawValue: UInt(kind.rawValue)) ?? .undefinedAttributeType
  }

  internal var kind: AttributeKind {
    AttributeKind(rawValue: UInt32(rawValue)) ?? .undefined
  }

  /// The name of the class of values where the attribute names none.
  internal var valueClassName: String? {
    switch self {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType,
      .floatAttributeType, .booleanAttributeType:
      return "NSNumber"
    case .decimalAttributeType: return "NSDecimalNumber"
    case .stringAttributeType: return "NSString"
    case .dateAttributeType: return "NSDate"
    case .binaryDataAttributeType: return "NSData"
    case .UUIDAttributeType: return "NSUUID"
    case .URIAttributeType: return "NSURL"
    case .objectIDAttributeType: return "NSManagedObjectID"
    case .compositeAttributeType: return "NSDictionary"
    case .undefinedAttributeType, .transformableAttributeType: return nil
    }
  }
}
