// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads attributes out of keyed archives.
enum ArchivedAttributes {
  /// The bits of `NSFlagsKey`.
  enum Flags {
    static let externalStorage: Int64 = 4
    static let preserveInHistory: Int64 = 16
  }

  /// No file at hand has such a property: the names of these keys are by analogy.
  static let spotlightKey = "NSIsIndexedBySpotlight"
  static let encryptionKey = "NSAllowsCloudEncryption"

  /// The memory that a property takes, as visits of objects.
  static let cost = 5

  static func attribute(_ object: ArchivedObject, depth: Int = 0) throws -> AttributeDocument {
    guard depth < 16 else { throw ArchiveFailure.broken("Composite attributes are nested too deep.") }
    try object.archive.charge(Self.cost)
    let name = try required("NSPropertyName", of: object)
    let type = try object.integer("NSAttributeType") ?? 0
    guard let code = UInt32(exactly: type), let kind = AttributeKind(rawValue: code) else {
      throw ArchiveFailure(
        kind: .unknownAttributeType, found: "The type \(type) of the attribute \(name) is unknown.")
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
      // No file at hand shows this key, so any key of that meaning is taken.
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

extension AttributeKind {
  /// The class of the values of a type, as archives name it.
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
