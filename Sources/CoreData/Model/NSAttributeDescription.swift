// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// An attribute: a property that holds a value.
open class NSAttributeDescription: NSPropertyDescription, @unchecked Sendable {
  /// The type of the values; undefined by default.
  open var type = AttributeType.undefined { willSet { willEdit() } }

  /// The initial value of new objects, and of existing rows when a migration adds the attribute.
  ///
  /// In a model that was read, a default value of a custom class is its keyed archive, as `Data`. Writing the model
  /// writes the original object.
  open var defaultValue: Any? {
    willSet { willEdit() }
    didSet { archivedDefault = nil }
  }

  /// The default value in a model that was read, if it is an object of an unknown class.
  private(set) var archivedDefault: ArchivedInstance?

  /// The key path from an object to the value. That of an element begins with its composite attribute.
  var keyPath: String { owningComposite.map { "\($0.keyPath).\(name)" } ?? name }

  /// The value of new objects: the default value. For a composite attribute, it is completed with those of its
  /// elements.
  var initialValue: Any? { defaultValue }

  /// The name of the transformer of a transformable attribute; nil for secure keyed archiving.
  open var valueTransformerName: String? { willSet { willEdit() } }

  /// Whether large values may be stored in files beside the store.
  open var allowsExternalBinaryDataStorage = false { willSet { willEdit() } }

  /// Whether persistent history keeps the value when its object is deleted.
  open var preservesValueInHistoryOnDeletion = false { willSet { willEdit() } }

  /// Whether CloudKit encrypts the value; without effect here.
  open var allowsCloudEncryption = false { willSet { willEdit() } }

  var declaredValueClassName: String? { willSet { willEdit("attributeValueClassName") } }

  /// Whether generated classes use a scalar type; only in model sources.
  var usesScalarValueType = false { willSet { willEdit() } }

  /// The composite attribute that contains this one as an element.
  weak var owningComposite: NSCompositeAttributeDescription?

  /// The type of the values, as an `NSAttributeType`.
  open var attributeType: NSAttributeType {
    get { type.rawValue }
    set { type = AttributeType(rawValue: newValue) }
  }

  /// The name of the class of the values; by default that of the type.
  open var attributeValueClassName: String? {
    get { declaredValueClassName ?? attributeType.valueClassName }
    set { declaredValueClassName = newValue }
  }

  open override var entity: NSEntityDescription { owningComposite?.entity ?? super.entity }

  /// The version hash of the attribute, 32 bytes. Depends on the common members of properties, the type, and whether
  /// values may be stored in separate files or are kept in history; for a derived attribute, also on its expression;
  /// for a composite one, on its elements.
  open override var versionHash: Data { super.versionHash }

  /// Sets the default value from a document.
  func setDefault(_ value: PlainValue?) {
    if case .object(let object)? = value, let archived = object.value.base as? ArchivedInstance {
      defaultValue = archived.archive
      archivedDefault = archived
    } else {
      defaultValue = value?.foundationValue(kind: attributeType.kind)
    }
  }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSAttributeDescription else { return }
    type = source.type
    defaultValue = source.defaultValue
    archivedDefault = source.archivedDefault
    valueTransformerName = source.valueTransformerName
    allowsExternalBinaryDataStorage = source.allowsExternalBinaryDataStorage
    preservesValueInHistoryOnDeletion = source.preservesValueInHistoryOnDeletion
    allowsCloudEncryption = source.allowsCloudEncryption
    declaredValueClassName = source.declaredValueClassName
    usesScalarValueType = source.usesScalarValueType
  }

  override func willEdit(_ member: String = #function) {
    super.willEdit(member)
    owningComposite?.willEdit("\(name).\(member)")
  }

  override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSAttributeDescription else { return false }
    return super.hasContent(of: other) && document == other.document
  }
}

/// The type of an attribute's values.
public enum NSAttributeType: UInt, Sendable {
  /// Undefined; allowed only for transient attributes.
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
  /// Any value that a value transformer converts to data.
  case transformableAttributeType = 1800
  /// The identifier of a managed object; allowed only in fetch results.
  case objectIDAttributeType = 2000
  /// A group of attributes.
  case compositeAttributeType = 2100

  init(_ kind: AttributeKind) {
    self = NSAttributeType(rawValue: UInt(kind.rawValue)) ?? .undefinedAttributeType
  }

  package var kind: AttributeKind { AttributeKind(rawValue: UInt32(rawValue)) ?? .undefined }

  /// The default name of the values' class.
  var valueClassName: String? {
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

extension NSAttributeDescription {
  /// The type of an attribute's values, as a Swift type.
  public struct AttributeType: RawRepresentable, Hashable, Sendable {
    /// The value of the corresponding `NSAttributeType`.
    public let rawValue: NSAttributeType

    /// Wraps an `NSAttributeType`.
    public init(rawValue: NSAttributeType) {
      self.rawValue = rawValue
    }

    /// Undefined; allowed only for transient attributes.
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
    /// Any value that a value transformer converts to data.
    public static let transformable = AttributeType(rawValue: .transformableAttributeType)
    /// The identifier of a managed object; allowed only in fetch results.
    public static let objectID = AttributeType(rawValue: .objectIDAttributeType)
    /// A group of attributes.
    public static let composite = AttributeType(rawValue: .compositeAttributeType)
  }
}

/// An attribute whose value is computed when objects are saved.
open class NSDerivedAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  var derivation: ExpressionSyntax? { willSet { willEdit("derivationExpression") } }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    derivation = (source as? NSDerivedAttributeDescription)?.derivation
  }
}

extension NSDerivedAttributeDescription {
  /// The expression that computes the value.
  public var derivationExpression: NSExpression? {
    get { derivation.map { NSExpression(syntax: $0) } }
    set { derivation = newValue?.syntax }
  }
}

/// An attribute composed of other attributes.
open class NSCompositeAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  private var members: [NSAttributeDescription] = []

  /// The name of the composite type; only in model sources.
  var compositeName: String? { willSet { willEdit() } }

  /// Creates a composite attribute without elements.
  public required init() {
    super.init()
    type = .composite
  }

  /// The attributes that the composite attribute consists of, which may be composite too. Setting it traps for an
  /// element that already belongs elsewhere, and for two with the same name.
  open var elements: [NSAttributeDescription] {
    get { members }
    set {
      willEdit()
      var names: Set<String> = []
      for element in newValue {
        trap(
          unless: names.insert(element.name).inserted, "'\(name)' cannot have two elements named '\(element.name)'.")
        trap(
          unless: element.owningEntity == nil && (element.owningComposite == nil || element.owningComposite === self),
          "'\(element.name)' belongs to another entity or composite attribute: add a copy of it.")
      }
      for element in members { element.owningComposite = nil }
      members = newValue
      for element in members { element.owningComposite = self }
    }
  }

  /// Returns the element with a name.
  package func element(_ name: String) -> NSAttributeDescription? { members.first { $0.name == name } }

  override var initialValue: Any? { initialValue(defaultValue as? NSDictionary) }

  /// Returns the value of new objects, given the attribute's own default value.
  private func initialValue(_ own: NSDictionary?) -> Any? {
    var values: [String: Any] = [:]
    // The default value of an element may be in its stored form, which a dictionary cannot contain.
    for element in members where element.archivedDefault == nil {
      let given = own?[element.name as NSString]
      if let given, let composite = element as? NSCompositeAttributeDescription {
        // A value that is not a dictionary is ignored, as in a migration, which treats each element separately.
        values[element.name] = composite.initialValue(given as? NSDictionary)
      } else {
        values[element.name] = given ?? element.initialValue
      }
    }
    // Default values of some elements must not create a value of an optional attribute that lacks a required element.
    let isComplete = members.allSatisfy { $0.isOptional || values[$0.name] != nil }
    return values.isEmpty || (own == nil && !isComplete) ? nil : values
  }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSCompositeAttributeDescription else { return }
    compositeName = source.compositeName
    elements = source.elements.map { element in
      let copy = Swift.type(of: element).init()
      copy.adopt(element)
      return copy
    }
  }
}
