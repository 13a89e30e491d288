// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads the copies of the two models that Xcode's mapping editor keeps in an `.xcmappingmodel`.
///
/// They are archives of the editor's own classes. Only what matters for version hashes and mappings is read: entities,
/// attributes and relationships with their flags, but not default values, indexes and user info.
struct EditorModelReader {
  private let archive: KeyedArchive

  /// Reads a keyed archive.
  static func document(of data: Data, allowance: ReadingAllowance? = nil) throws -> ModelDocument {
    try EditorModelReader(archive: KeyedArchive(data, allowance: allowance)).model()
  }

  private func model() throws -> ModelDocument {
    let root = try archive.root()
    guard root.className == "XDPMModel" else { throw ArchiveFailure.unknownClass(root.className, "an editor's model") }
    var document = ModelDocument()
    document.versionIdentifiers = [try root.string("_modelVersionIdentifier") ?? ""]
    let classes = try root.object("_xd_rootPackage")?.entries("XDBucketForClassesstorage") ?? []
    document.entities = try classes.sorted { $0.key < $1.key }.map { try entity($0.value, name: $0.key) }
    try document.checkDepthOfInheritance()
    return document
  }

  private func entity(_ value: ArchiveValue, name: String) throws -> EntityDocument {
    guard let object = try archive.object(value) else { throw ArchiveFailure.broken("The entity \(name) is missing.") }
    let facts = try facts(of: object)
    var entity = EntityDocument(
      name: name, parentName: try parentName(of: object), isAbstract: try flag("XD_PSK_isAbstract", facts),
      className: try text("XD_PSK_entityClassName", facts))
    entity.renamingIdentifier = try text("XD_PSK_elementID", facts)
    entity.versionHashModifier = try text("XD_PSK_versionHashModifier", facts)
    entity.uniquenessConstraints = try constraints(facts["XDPMUniquenessConstraints"])
    let properties = try object.entries("XDBucketForOwnedAttributesstorage").sorted { $0.key < $1.key }
    for (name, value) in properties {
      guard let property = try archive.object(value) else {
        throw ArchiveFailure.broken("The property \(name) is missing.")
      }
      switch property.className {
      case "XDPMAttribute": entity.attributes.append(try attribute(property, name: name))
      case "XDPMRelationship": entity.relationships.append(try relationship(property, name: name))
      // Fetched properties are not part of mappings or hashes.
      default: continue
      }
    }
    return entity
  }

  private func parentName(of object: ArchivedObject) throws -> String? {
    guard let generalization = try object.elements("XDBucketForGeneralizationsstorage").first else { return nil }
    return try archive.object(generalization)?.object("_general")?.string("_name")
  }

  private func constraints(_ value: ArchiveValue?) throws -> [[String]] {
    guard let value, let list = try archive.object(value) else { return [] }
    return try ArchivedValues.elements(of: list).map { constraint in
      try (archive.object(constraint).map { try ArchivedValues.elements(of: $0) } ?? []).map {
        guard let name = try ArchivedValues.string($0, in: archive) else {
          throw ArchiveFailure.broken("A name in a uniqueness constraint is missing.")
        }
        return name
      }
    }
  }

  private func attribute(_ object: ArchivedObject, name: String) throws -> AttributeDocument {
    try archive.charge(ArchivedProperties.cost)
    let facts = try facts(of: object)
    let code = try integer("XD_PAttK_attributeType", facts) ?? 0
    guard let kind = UInt32(exactly: code).flatMap(AttributeKind.init(rawValue:)) else {
      throw ArchiveFailure(
        kind: .unknownAttributeType, found: "The type \(code) of the attribute \(name) is unknown.")
    }
    var attribute = AttributeDocument(name: name, kind: kind, isOptional: try flag("XD_PPSK_isOptional", facts))
    attribute.isTransient = try flag("XD_PPSK_isTransient", facts)
    attribute.allowsExternalBinaryDataStorage = try flag("XD_PAttK_allowsExternalBinaryDataStorage", facts)
    attribute.preservesValueInHistoryOnDeletion = try flag("XD_PAttK_preserveAfterDeletion", facts)
    attribute.valueTransformerName = try text("XD_PAttK_valueTransformerName", facts)
    attribute.renamingIdentifier = try text("XD_PPSK_elementID", facts)
    attribute.versionHashModifier = try text("XD_PPSK_versionHashModifier", facts)
    return attribute
  }

  private func relationship(_ object: ArchivedObject, name: String) throws -> RelationshipDocument {
    try archive.charge(ArchivedProperties.cost)
    let facts = try facts(of: object)
    var relationship = RelationshipDocument(
      name: name,
      destinationEntityName: try facts["XD_PRK_destination"].flatMap { try archive.object($0) }?.string("_name"),
      inverseName: try facts["XD_PRK_inverseRelationship"].flatMap { try archive.object($0) }?.string("_name"),
      isToMany: try flag("XD_PRK_isToMany", facts), isOptional: try flag("XD_PPSK_isOptional", facts))
    relationship.isTransient = try flag("XD_PPSK_isTransient", facts)
    if let count = try integer("XD_PRK_maxCount", facts) { relationship.maxCount = Int(clamping: count) }
    relationship.minCount = Int(clamping: try integer("XD_PRK_minCount", facts) ?? 0)
    relationship.isOrdered = try flag("XD_PRK_ordered", facts)
    relationship.renamingIdentifier = try text("XD_PPSK_elementID", facts)
    relationship.versionHashModifier = try text("XD_PPSK_versionHashModifier", facts)
    return relationship
  }

  /// Returns the values that the editor stores for an element, by name.
  private func facts(of object: ArchivedObject) throws -> [String: ArchiveValue] {
    var facts: [String: ArchiveValue] = [:]
    for (_, value) in try object.entries("XDBucketForStereotypesstorage") {
      for (name, property) in try archive.object(value)?.entries("XDBucketForOwnedAttributesstorage") ?? [] {
        facts[name] = try archive.object(property)?.fields["_default"]
      }
    }
    return facts
  }

  /// Returns a text, or nil if it is missing or empty.
  private func text(_ key: String, _ facts: [String: ArchiveValue]) throws -> String? {
    try facts[key].flatMap { try ArchivedValues.string($0, in: archive) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  private func integer(_ key: String, _ facts: [String: ArchiveValue]) throws -> Int64? {
    switch try archive.resolved(facts[key]) {
    case .integer(let number)?: return number
    case .boolean(let flag)?: return flag ? 1 : 0
    case nil: return nil
    default: throw ArchiveFailure.broken("\(key) is not a number.")
    }
  }

  private func flag(_ key: String, _ facts: [String: ArchiveValue]) throws -> Bool {
    try integer(key, facts).map { $0 != 0 } ?? false
  }
}
