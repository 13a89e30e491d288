// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

extension NSManagedObjectModel {
  /// Creates a model from a document.
  ///
  /// - Throws: `NSCoreDataError`, with entity and property, if the document is inconsistent: a missing or circular
  ///   superentity, a missing destination or inverse, a duplicate name, an index over an unknown property.
  package convenience init(document: ModelDocument) throws {
    do {
      try document.validate()
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error)
    }
    self.init()
    let list = document.entities.map { NSEntityDescription($0) }
    let byName = Dictionary(uniqueKeysWithValues: zip(document.entities.map(\.name), list))
    let index = EntityIndex(document)
    for (source, entity) in zip(document.entities, list) {
      entity.subentities = index.subentities(of: source.name).compactMap { byName[$0.name] }
    }
    entities = list
    for source in document.entities {
      for relationship in source.relationships { Self.connect(relationship, of: source.name, byName) }
    }
    for (source, entity) in zip(document.entities, list) { try entity.addIndexes(source) }
    for configuration in document.configurations {
      setEntities(configuration.entityNames.compactMap { byName[$0] }, forConfigurationName: configuration.name)
    }
    for template in document.fetchRequestTemplates { templates[template.name] = template }
    versionIdentifiers = Set(document.versionIdentifiers)
  }

  /// The model as a document.
  package var document: ModelDocument {
    ModelDocument(
      entities: entities.map(\.document),
      configurations: configurations.map { name in
        let members = configurationMembers[name] ?? []
        return ConfigurationDocument(name: name, entityNames: members.compactMap(\.name))
      },
      fetchRequestTemplates: templates.values.map(\.document).sorted { $0.name < $1.name },
      versionIdentifiers: versionIdentifiers.map { $0.base as? String ?? String(describing: $0.base) }.sorted())
  }

  private static func connect(
    _ document: RelationshipDocument, of entityName: String, _ byName: [String: NSEntityDescription]
  ) {
    let relationship = byName[entityName]?.relationshipsByName[document.name]
    let destination = document.destinationEntityName.flatMap { byName[$0] }
    let inverse = document.inverseName.flatMap { destination?.relationshipsByName[$0] }
    relationship?.destinationEntity = destination
    relationship?.inverseRelationship = inverse?.inheritedFrom as? NSRelationshipDescription ?? inverse
  }
}

extension ModelDocument {
  /// Returns whether both have the same content, in any order.
  func isEquivalent(to other: ModelDocument) -> Bool { sorted == other.sorted }

  private var sorted: ModelDocument {
    var copy = self
    copy.entities = entities.map(\.sorted).sorted { $0.name < $1.name }
    copy.configurations = configurations.map { configuration in
      ConfigurationDocument(name: configuration.name, entityNames: configuration.entityNames.sorted())
    }
    copy.configurations.sort { $0.name < $1.name }
    copy.fetchRequestTemplates.sort { $0.name < $1.name }
    copy.versionIdentifiers.sort()
    return copy
  }
}

extension EntityDocument {
  /// The entity with its properties sorted by name.
  var sorted: EntityDocument {
    var copy = self
    copy.attributes.sort { $0.name < $1.name }
    copy.relationships.sort { $0.name < $1.name }
    copy.fetchedProperties.sort { $0.name < $1.name }
    copy.indexes.sort { $0.name < $1.name }
    return copy
  }
}

extension NSEntityDescription {
  /// The entity as a document, without inherited properties.
  package var document: EntityDocument {
    var document = EntityDocument(
      name: name ?? "", parentName: parent?.name, isAbstract: isAbstract, className: declaredClassName)
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.codeGeneration = codeGeneration
    document.userInfo = PlainValue.userInfo(userInfo)
    document.attributes = ownProperties.compactMap { ($0 as? NSAttributeDescription)?.document }
    document.relationships = ownProperties.compactMap { ($0 as? NSRelationshipDescription)?.document }
    document.fetchedProperties = ownProperties.compactMap { ($0 as? NSFetchedPropertyDescription)?.document }
    document.indexes = ownIndexes.map(\.document)
    document.compoundIndexes = Self.names(in: ownCompoundIndexes)
    document.uniquenessConstraints = Self.names(in: uniquenessConstraints)
    return document
  }

  /// Creates an entity from a document, without its hierarchy, the ends of relationships, and indexes, which require
  /// the whole model.
  convenience init(_ document: EntityDocument) {
    self.init()
    name = document.name
    isAbstract = document.isAbstract
    declaredClassName = document.className
    declaredRenamingIdentifier = document.renamingIdentifier
    versionHashModifier = document.versionHashModifier
    codeGeneration = document.codeGeneration
    userInfo = PlainValue.foundationUserInfo(document.userInfo)
    var list: [NSPropertyDescription] = document.attributes.map(NSAttributeDescription.make)
    list += document.relationships.map(NSRelationshipDescription.make)
    list += document.fetchedProperties.map(NSFetchedPropertyDescription.make)
    properties = list
    uniquenessConstraints = document.uniquenessConstraints
    ownCompoundIndexes = document.compoundIndexes
  }

  /// Adds the indexes of a document, whose elements refer to properties by name.
  func addIndexes(_ document: EntityDocument) throws {
    indexes = try document.indexes.map { index in
      guard Set(index.elements.map(\.isRTree)).count < 2 else {
        throw ModelErrors.mixedIndex(index.name, entity: document.name)
      }
      let elements = try index.elements.map { try indexElement($0, index: index.name) }
      let description = NSFetchIndexDescription(name: index.name, elements: elements)
      description.partialIndexSyntax = index.partialIndexPredicate
      return description
    }
  }

  private func indexElement(
    _ document: FetchIndexElementDocument, index: String
  ) throws -> NSFetchIndexElementDescription {
    let property: NSPropertyDescription
    if let syntax = document.expression {
      let expression = NSExpressionDescription()
      expression.name = document.propertyName
      expression.syntax = syntax
      property = expression
    } else if let known = propertiesByName[document.propertyName] {
      property = known
    } else {
      throw ModelErrors.unknownIndexProperty(document.propertyName, index: index, entity: name ?? "")
    }
    let element = NSFetchIndexElementDescription(
      property: property, collationType: document.isRTree ? .rTree : .binary)
    element.isAscending = document.isAscending
    return element
  }
}

extension NSAttributeDescription {
  static func make(from document: AttributeDocument) -> NSAttributeDescription {
    let attribute: NSAttributeDescription
    if let derivation = document.derivation {
      let derived = NSDerivedAttributeDescription()
      derived.derivation = derivation
      attribute = derived
    } else if document.kind == .composite {
      let composite = NSCompositeAttributeDescription()
      composite.compositeName = document.compositeName
      composite.elements = document.elements.map(make)
      attribute = composite
    } else {
      attribute = NSAttributeDescription()
    }
    attribute.name = document.name
    attribute.attributeType = NSAttributeType(document.kind)
    attribute.isOptional = document.isOptional
    attribute.isTransient = document.isTransient
    attribute.setDefault(document.defaultValue)
    attribute.declaredValueClassName = document.valueClassName
    attribute.valueTransformerName = document.valueTransformerName
    attribute.allowsExternalBinaryDataStorage = document.allowsExternalBinaryDataStorage
    attribute.preservesValueInHistoryOnDeletion = document.preservesValueInHistoryOnDeletion
    attribute.allowsCloudEncryption = document.allowsCloudEncryption
    attribute.hasIndexFlag = document.isIndexed
    attribute.isIndexedBySpotlight = document.isIndexedBySpotlight
    attribute.usesScalarValueType = document.usesScalarValueType
    attribute.declaredRenamingIdentifier = document.renamingIdentifier
    attribute.versionHashModifier = document.versionHashModifier
    attribute.userInfo = PlainValue.foundationUserInfo(document.userInfo)
    attribute.validations = document.validations
    return attribute
  }

  var document: AttributeDocument {
    var document = AttributeDocument(name: name, kind: attributeType.kind, isOptional: isOptional)
    document.isTransient = isTransient
    document.defaultValue =
      archivedDefault.map { .object(OpaqueObject($0)) }
      ?? defaultValue.map { PlainValue($0, kind: attributeType.kind) }
    document.valueClassName = declaredValueClassName
    document.valueTransformerName = valueTransformerName
    document.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    document.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
    document.allowsCloudEncryption = allowsCloudEncryption
    document.isIndexed = hasIndexFlag
    document.isIndexedBySpotlight = isIndexedBySpotlight
    document.usesScalarValueType = usesScalarValueType
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.userInfo = PlainValue.userInfo(userInfo)
    document.validations = validations
    document.derivation = (self as? NSDerivedAttributeDescription)?.derivation
    if let composite = self as? NSCompositeAttributeDescription {
      document.compositeName = composite.compositeName
      document.elements = composite.elements.map(\.document)
    }
    return document
  }
}

extension NSRelationshipDescription {
  /// Creates a relationship from a document, without its destination and inverse.
  static func make(from document: RelationshipDocument) -> NSRelationshipDescription {
    let relationship = NSRelationshipDescription()
    relationship.name = document.name
    relationship.isOptional = document.isOptional
    relationship.isTransient = document.isTransient
    relationship.maxCount = document.maxCount
    relationship.minCount = document.minCount
    relationship.isOrdered = document.isOrdered
    relationship.deleteRule = NSDeleteRule(rawValue: document.deleteRule.rawValue) ?? .nullifyDeleteRule
    relationship.isIndexedBySpotlight = document.isIndexedBySpotlight
    relationship.declaredRenamingIdentifier = document.renamingIdentifier
    relationship.versionHashModifier = document.versionHashModifier
    relationship.userInfo = PlainValue.foundationUserInfo(document.userInfo)
    relationship.validations = document.validations
    return relationship
  }

  var document: RelationshipDocument {
    var document = RelationshipDocument(
      name: name, destinationEntityName: destinationEntity?.name, inverseName: inverseRelationship?.name)
    document.isOptional = isOptional
    document.isTransient = isTransient
    document.maxCount = maxCount
    document.minCount = minCount
    document.isOrdered = isOrdered
    document.deleteRule = DeleteRuleKind(rawValue: deleteRule.rawValue) ?? .nullify
    document.isIndexedBySpotlight = isIndexedBySpotlight
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.userInfo = PlainValue.userInfo(userInfo)
    document.validations = validations
    return document
  }
}

extension NSFetchedPropertyDescription {
  static func make(from document: FetchedPropertyDocument) -> NSFetchedPropertyDescription {
    let property = NSFetchedPropertyDescription()
    property.name = document.name
    property.isOptional = document.isOptional
    property.isTransient = true
    property.request = document.request
    property.declaredRenamingIdentifier = document.renamingIdentifier
    property.versionHashModifier = document.versionHashModifier
    property.userInfo = PlainValue.foundationUserInfo(document.userInfo)
    return property
  }

  var document: FetchedPropertyDocument {
    var document = FetchedPropertyDocument(name: name, request: request?.document, isOptional: isOptional)
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.userInfo = PlainValue.userInfo(userInfo)
    return document
  }
}

/// A fetch request in a model, which names its entity.
///
/// Its document contains what model files can store. A request set in code also keeps everything else, such as an
/// offset.
protocol StoredRequest {
  var document: FetchRequestDocument { get }
}

extension FetchRequestDocument: StoredRequest {
  var document: FetchRequestDocument { self }
}

/// Conversions between the plain values of documents and the objects of Apple's API.
extension PlainValue {
  /// Creates the plain form of a value. A value without one is wrapped.
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
    case .integer16, .integer32, .integer64: return .integer(Number(number)?.integer ?? number.int64Value)
    case .double: return .real(Number(number)?.real ?? number.doubleValue)
    case .float: return .real(Double(number.floatValue))
    case .decimal: return .decimal(Number(number)?.decimal ?? number.decimalValue)
    default:
      if number is NSDecimalNumber { return .decimal(number.decimalValue) }
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "c"), UInt8(ascii: "B"): return .boolean(number.boolValue)
      case UInt8(ascii: "d"), UInt8(ascii: "f"): return .real(number.doubleValue)
      default: return .integer(number.int64Value)
      }
    }
  }

  /// Returns the value in the form of Apple's API: numbers and Booleans as `NSNumber`.
  package func foundationValue(kind: AttributeKind = .undefined) -> Any {
    switch (self, kind) {
    case (.integer(let value), .double), (.integer(let value), .float): return NSNumber(value: Double(value))
    case (.integer(let value), .boolean): return NSNumber(value: value != 0)
    case (.integer(let value), .decimal): return NSDecimalNumber(decimal: Decimal(value))
    case (.real(let value), .float): return NSNumber(value: Float(value))
    case (.real(let value), .decimal):
      return DecimalConversion.decimal(value).map { NSDecimalNumber(decimal: $0) } ?? NSDecimalNumber.notANumber
    case (.boolean(let value), .integer16), (.boolean(let value), .integer32), (.boolean(let value), .integer64):
      return NSNumber(value: value ? 1 : 0)
    case (.decimal(let value), .double), (.decimal(let value), .float):
      return NSNumber(value: DecimalConversion.double(value))
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
    case .set(let values): return ValueSet.make(values.map { $0.foundationValue() })
    case .dictionary(let values): return values.mapValues { $0.foundationValue() }
    case .object(let object): return (object.value.base as? ValueBox)?.value ?? object.value.base
    }
  }

  /// Returns the plain form of user info. Keys other than strings are replaced with their descriptions.
  static func userInfo(_ dictionary: [AnyHashable: Any]?) -> [String: PlainValue] {
    var plain: [String: PlainValue] = [:]
    for (key, value) in dictionary ?? [:] {
      plain[key.base as? String ?? String(describing: key.base)] = PlainValue(value)
    }
    return plain
  }

  /// Returns user info in the form of Apple's API.
  static func foundationUserInfo(_ plain: [String: PlainValue]) -> [AnyHashable: Any] {
    plain.reduce(into: [:]) { $0[$1.key] = $1.value.foundationValue() }
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
