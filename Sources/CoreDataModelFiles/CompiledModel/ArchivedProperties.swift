// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads properties from keyed archives.
enum ArchivedProperties {
  /// The bits of `NSFlagsKey`.
  enum Flags {
    static let externalStorage: Int64 = 4
    static let preserveInHistory: Int64 = 16
  }

  /// No known file contains such a property; the names of these keys are inferred by analogy.
  static let spotlightKey = "NSIsIndexedBySpotlight"
  static let encryptionKey = "NSAllowsCloudEncryption"

  /// The memory used by a property, in units of visited objects.
  static let cost = 5

  /// Returns the property behind a reference.
  ///
  /// In models that were loaded, and therefore in store caches, a subentity may contain proxies for inherited
  /// properties, which refer to the property of the ancestor.
  static func object(_ value: ArchiveValue?, in archive: KeyedArchive) throws -> ArchivedObject? {
    var object = try archive.object(value)
    var seen: Set<Int> = []
    while let proxy = object, proxy.className == "_NSPropertyDescriptionProxy" {
      guard let identity = proxy.identity, seen.insert(identity).inserted else {
        throw ArchiveFailure.broken("A proxy for a property refers to itself.")
      }
      guard let underlying = try proxy.object("NSUnderlyingProperty") else {
        throw ArchiveFailure.broken("A proxy for a property refers to none.")
      }
      object = underlying
    }
    return object
  }

  static func attribute(_ object: ArchivedObject, depth: Int = 0) throws -> AttributeDocument {
    guard depth < 16 else { throw ArchiveFailure.broken("Composite attributes are nested too deeply.") }
    try object.archive.charge(Self.cost)
    let name = try required("NSPropertyName", of: object)
    let type = try object.integer("NSAttributeType") ?? 0
    guard let code = UInt32(exactly: type), let kind = AttributeKind(rawValue: code) else {
      throw ArchiveFailure(kind: .unknownAttributeType, found: "The type \(type) of the attribute \(name) is unknown.")
    }
    var attribute = AttributeDocument(name: name, kind: kind, isOptional: try object.flag("NSIsOptional"))
    attribute.isTransient = try object.flag("NSIsTransient")
    if let value = object.fields["NSDefaultValue"], try object.archive.resolved(value) != nil {
      attribute.defaultValue = try ArchivedValues.plain(value, in: object.archive, keepsObjects: true)
    }
    let className = try object.string("NSAttributeValueClassName")
    attribute.valueClassName = className == kind.valueClassName ? nil : className
    attribute.valueTransformerName = try object.string("NSValueTransformerName")
    let flags = try object.integer("NSFlagsKey") ?? 0
    attribute.allowsExternalBinaryDataStorage = flags & Flags.externalStorage != 0
    attribute.preservesValueInHistoryOnDeletion = flags & Flags.preserveInHistory != 0
    attribute.isIndexed = try object.flag("NSIsIndexed")
    attribute.isIndexedBySpotlight = try object.flag(spotlightKey)
    attribute.allowsCloudEncryption = try object.flag(encryptionKey)
    attribute.renamingIdentifier = try renamingIdentifier(of: object, name: name)
    attribute.versionHashModifier = try object.string("NSVersionHashModifier")
    attribute.userInfo = try userInfo(of: object)
    attribute.validations = try validations(of: object)
    if object.className == "NSDerivedAttributeDescription" {
      // No known file contains this key, so any key whose name ends like this is accepted.
      let key = object.fields.keys.sorted().first { $0.lowercased().hasSuffix("derivationexpression") }
      attribute.derivation = try key.flatMap { try object.object($0) }.map { try ArchivedExpressions.expression($0) }
    }
    if object.className == "NSCompositeAttributeDescription" {
      let key = object.fields.keys.sorted().first { $0.lowercased().hasSuffix("elements") }
      attribute.elements = try (key.map { try object.elements($0) } ?? []).map { value in
        guard let element = try object.archive.object(value) else {
          throw ArchiveFailure.broken("An element of the composite attribute \(name) is missing.")
        }
        return try self.attribute(element, depth: depth + 1)
      }
    }
    return attribute
  }

  static func validations(of object: ArchivedObject) throws -> [ValidationDocument] {
    let predicates = try object.elements("NSValidationPredicates")
    let warnings = try object.elements("NSValidationWarnings")
    guard predicates.count == warnings.count else {
      throw ArchiveFailure.broken("There are \(predicates.count) validation rules and \(warnings.count) warnings.")
    }
    return try zip(predicates, warnings).map { predicate, warning in
      ValidationDocument(
        predicate: try ArchivedPredicates.predicate(object.archive.object(predicate)),
        warning: try ArchivedValues.plain(warning, in: object.archive, keepsObjects: true))
    }
  }
}

/// Returns a required string.
func required(_ key: String, of object: ArchivedObject?) throws -> String {
  guard let text = try object?.string(key) else {
    throw ArchiveFailure.broken("\(key) of \(object?.className ?? "an object") is missing.")
  }
  return text
}

/// Returns the renaming identifier of a property or entity. Core Data archives the name if none was given.
func renamingIdentifier(of object: ArchivedObject, name: String) throws -> String? {
  try object.string("NSRenamingIdentifier").flatMap { $0 == name ? nil : $0 }
}

/// Returns the user info of a property or entity.
func userInfo(of object: ArchivedObject) throws -> [String: PlainValue] {
  var result: [String: PlainValue] = [:]
  for (key, value) in try object.entries("NSUserInfo") {
    result[key] = try ArchivedValues.plain(value, in: object.archive, keepsObjects: true)
  }
  return result
}

extension AttributeKind {
  /// The class of the type's values, as named in archives.
  var valueClassName: String? {
    switch self {
    case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
    case .decimal: "NSDecimalNumber"
    case .string: "NSString"
    case .date: "NSDate"
    case .binaryData: "NSData"
    case .uuid: "NSUUID"
    case .uri: "NSURL"
    case .undefined, .transformable, .objectID, .composite: nil
    }
  }
}

/// The bits of `_P`, which Core Data archives with every property in addition to the keys of the same meaning.
///
/// Derived from 2,646 archived properties: the named bits match the flags without exception, and `hasNoModifier` is
/// clear exactly if a version hash modifier is archived. The three bits below it are set in all these properties, none
/// of which has user info or validation rules; they presumably mean that those keys are absent.
private enum PropertyBits {
  static let always: Int64 = 0x01
  static let isOptional: Int64 = 0x02
  static let isTransient: Int64 = 0x08
  static let hasNoInfoAndRules: Int64 = 0x70
  static let hasNoModifier: Int64 = 0x80
  static let isOrdered: Int64 = 0x400
}

/// Writes properties into keyed archives.
extension KeyedArchiveBuilder {
  /// Returns the fields common to all kinds of properties.
  mutating func propertyFields(
    name: String, isOptional: Bool, isTransient: Bool, isOrdered: Bool = false, renamingIdentifier: String?,
    modifier: String?, userInfo: [String: PlainValue], validations: [ValidationDocument], of entity: ArchiveValue
  ) throws -> [String: ArchiveValue] {
    var fields: [String: ArchiveValue] = [
      "NSPropertyName": string(name), "NSRenamingIdentifier": string(renamingIdentifier ?? name), "NSEntity": entity,
    ]
    var bits = PropertyBits.always
    if isOptional {
      fields["NSIsOptional"] = .boolean(true)
      bits |= PropertyBits.isOptional
    }
    if isTransient {
      fields["NSIsTransient"] = .boolean(true)
      bits |= PropertyBits.isTransient
    }
    if isOrdered { bits |= PropertyBits.isOrdered }
    if let modifier { fields["NSVersionHashModifier"] = string(modifier) } else { bits |= PropertyBits.hasNoModifier }
    if userInfo.isEmpty, validations.isEmpty { bits |= PropertyBits.hasNoInfoAndRules }
    if !userInfo.isEmpty { fields["NSUserInfo"] = try plain(.dictionary(userInfo)) }
    if !validations.isEmpty {
      fields["NSValidationPredicates"] = collection(try validations.map { try predicate($0.predicate) })
      fields["NSValidationWarnings"] = collection(try validations.map { try plain($0.warning) })
    }
    fields["_P"] = .integer(bits)
    return fields
  }

  /// Adds an attribute of any kind.
  mutating func attribute(
    _ attribute: AttributeDocument, isIndexed: Bool, of entity: ArchiveValue
  ) throws -> ArchiveValue {
    var fields = try propertyFields(
      name: attribute.name, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
      renamingIdentifier: attribute.renamingIdentifier, modifier: attribute.versionHashModifier,
      userInfo: attribute.userInfo, validations: attribute.validations, of: entity)
    var flags: Int64 = 0
    if attribute.allowsExternalBinaryDataStorage { flags |= ArchivedProperties.Flags.externalStorage }
    if attribute.preservesValueInHistoryOnDeletion { flags |= ArchivedProperties.Flags.preserveInHistory }
    fields["NSAttributeType"] = .integer(Int64(attribute.kind.rawValue))
    fields["NSAttributeValueClassName"] = string(attribute.valueClassName ?? attribute.kind.valueClassName)
    fields["NSDefaultValue"] = try attribute.defaultValue.map { try plain($0) } ?? Self.null
    fields["NSValueTransformerName"] = string(attribute.valueTransformerName)
    fields["NSFlagsKey"] = .integer(flags)
    if isIndexed { fields["NSIsIndexed"] = .boolean(true) }
    if attribute.isIndexedBySpotlight { fields[ArchivedProperties.spotlightKey] = .boolean(true) }
    if attribute.allowsCloudEncryption { fields[ArchivedProperties.encryptionKey] = .boolean(true) }
    if let derivation = attribute.derivation {
      fields["NSDerivationExpression"] = try expression(derivation)
      return add("NSDerivedAttributeDescription", fields)
    }
    if attribute.kind == .composite {
      let elements = try attribute.elements.map { try self.attribute($0, isIndexed: false, of: Self.null) }
      fields["NSElements"] = collection(elements)
      return add("NSCompositeAttributeDescription", fields)
    }
    return add("NSAttributeDescription", fields)
  }
}

/// Reads fetch requests from keyed archives.
///
/// No known file contains one, so the keys are guessed from Core Data's naming conventions. Missing keys have Core
/// Data's defaults.
enum ArchivedRequests {
  static func request(_ object: ArchivedObject?, name: String) throws -> FetchRequestDocument {
    guard let object, object.className == "NSFetchRequest" else {
      throw ArchiveFailure.broken("A fetch request is missing.")
    }
    let entityName =
      try object.string("NSEntityName") ?? object.object("NSEntity")?.string("NSEntityName") ?? ""
    var request = FetchRequestDocument(
      name: name, entityName: entityName,
      predicate: try object.object("NSPredicate").map { try ArchivedPredicates.predicate($0) })
    request.sortKeys = try object.elements("NSSortDescriptors").map { value in
      let descriptor = try object.archive.object(value)
      return SortKeyDocument(
        keyPath: try required("NSKey", of: descriptor), ascending: try descriptor?.flag("NSAscending") ?? true)
    }
    request.fetchLimit = Int(clamping: try object.integer("NSFetchLimit") ?? 0)
    request.fetchBatchSize = Int(clamping: try object.integer("NSFetchBatchSize") ?? 0)
    request.resultType = UInt(clamping: try object.integer("NSResultType") ?? 0)
    request.includesSubentities = try object.flag("NSIncludesSubentities", default: true)
    request.includesPropertyValues = try object.flag("NSIncludesPropertyValues", default: true)
    request.returnsObjectsAsFaults = try object.flag("NSReturnsObjectsAsFaults", default: true)
    request.returnsDistinctResults = try object.flag("NSReturnsDistinctResults")
    request.includesPendingChanges = try object.flag("NSIncludesPendingChanges", default: true)
    return request
  }
}

/// Writes fetch requests to keyed archives.
extension KeyedArchiveBuilder {
  mutating func request(_ request: FetchRequestDocument) throws -> ArchiveValue {
    let descriptors = request.sortKeys.map { key in
      add(
        "NSSortDescriptor",
        ["NSKey": string(key.keyPath), "NSAscending": .boolean(key.ascending), "NSSelector": string("compare:")])
    }
    return add(
      "NSFetchRequest",
      [
        "NSEntityName": string(request.entityName),
        "NSPredicate": try request.predicate.map { try predicate($0) } ?? Self.null,
        "NSSortDescriptors": descriptors.isEmpty ? Self.null : collection(descriptors),
        "NSFetchLimit": .integer(Int64(request.fetchLimit)),
        "NSFetchBatchSize": .integer(Int64(request.fetchBatchSize)),
        "NSResultType": .integer(Int64(clamping: request.resultType)),
        "NSIncludesSubentities": .boolean(request.includesSubentities),
        "NSIncludesPropertyValues": .boolean(request.includesPropertyValues),
        "NSReturnsObjectsAsFaults": .boolean(request.returnsObjectsAsFaults),
        "NSReturnsDistinctResults": .boolean(request.returnsDistinctResults),
        "NSIncludesPendingChanges": .boolean(request.includesPendingChanges),
      ])
  }
}
