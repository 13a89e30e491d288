// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads the copies of the two models that Xcode's mapping editor keeps in an `.xcmappingmodel`.
///
/// They are archives of the editor's own classes. Only the parts needed for version hashes and mappings are read:
/// entities, attributes and relationships with their flags, but not default values, indexes and user info.
struct EditorModelReader {
  let archive: KeyedArchive

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

  func parentName(of object: ArchivedObject) throws -> String? {
    guard let generalization = try object.elements("XDBucketForGeneralizationsstorage").first else { return nil }
    return try archive.object(generalization)?.object("_general")?.string("_name")
  }

  func constraints(_ value: ArchiveValue?) throws -> [[String]] {
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
      throw ArchiveFailure(kind: .unknownAttributeType, found: "The type \(code) of the attribute \(name) is unknown.")
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
  func facts(of object: ArchivedObject) throws -> [String: ArchiveValue] {
    var facts: [String: ArchiveValue] = [:]
    for (_, value) in try object.entries("XDBucketForStereotypesstorage") {
      for (name, property) in try archive.object(value)?.entries("XDBucketForOwnedAttributesstorage") ?? [] {
        facts[name] = try archive.object(property)?.fields["_default"]
      }
    }
    return facts
  }

  /// Returns a string, or nil if it is missing or empty.
  func text(_ key: String, _ facts: [String: ArchiveValue]) throws -> String? {
    try facts[key].flatMap { try ArchivedValues.string($0, in: archive) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  func integer(_ key: String, _ facts: [String: ArchiveValue]) throws -> Int64? {
    switch try archive.resolved(facts[key]) {
    case .integer(let number)?: return number
    case .boolean(let flag)?: return flag ? 1 : 0
    case nil: return nil
    default: throw ArchiveFailure.broken("\(key) is not a number.")
    }
  }

  func flag(_ key: String, _ facts: [String: ArchiveValue]) throws -> Bool {
    try integer(key, facts).map { $0 != 0 } ?? false
  }
}

/// Writes the copy of a model that Xcode's mapping editor keeps in an `.xcmappingmodel`, for `EditorModelReader`.
/// Follows the structure of 32 mapping models made by Xcode.
struct EditorModelWriter {
  private var builder = KeyedArchiveBuilder()
  private let document: ModelDocument
  private let index: EntityIndex
  private var entities: [String: ArchiveValue] = [:]
  private var relationships: [[String]: ArchiveValue] = [:]
  private var lastIdentifier = 1_000_000_000

  static func archive(of document: ModelDocument) -> Data {
    var writer = EditorModelWriter(document)
    return writer.write()
  }

  private init(_ document: ModelDocument) {
    self.document = document
    index = EntityIndex(document)
  }

  private mutating func write() -> Data {
    let (model, package) = (builder.reserve(), builder.reserve())
    // Entities and relationships refer to one another, so places for all are reserved before any is written.
    for entity in document.entities {
      entities[entity.name] = builder.reserve()
      for relationship in entity.relationships { relationships[[entity.name, relationship.name]] = builder.reserve() }
    }
    for entity in document.entities { fill(entity, in: package) }
    let yes = builder.string("YES")
    let classes = builder.dictionary(
      document.entities.compactMap { entity in entities[entity.name].map { (entity.name, $0) } })
    var fields: [String: ArchiveValue] = [
      "_name": builder.string(""), "_owner": KeyedArchiveBuilder.null, "_visibility": .integer(0),
      "_uniqueElementID": KeyedArchiveBuilder.null, "_xd_owningModel": model, "XDBucketForClassesstorage": classes,
    ]
    for bucket in ["Interfaces", "DataTypes", "Packages"] {
      fields["XDBucketFor\(bucket)storage"] = builder.dictionary([])
    }
    for bucket in ["Classes", "Interfaces", "DataTypes", "Packages"] { fields["XDBucketFor\(bucket)wasEncoded"] = yes }
    builder.fill(package, "XDModelPackage", fields)
    builder.fill(
      model, "XDPMModel",
      [
        "_xd_rootPackage": package, "_xd_comments": builder.collection([], "NSMutableArray"),
        "_xd_modelManager": KeyedArchiveBuilder.null, "_xd_modelName": KeyedArchiveBuilder.null,
        "_configurationsByName": builder.dictionary([]),
        "_modelVersionIdentifier": builder.string(document.versionIdentifiers.first ?? ""),
      ])
    return builder.data(root: model)
  }

  private mutating func identifier() -> ArchiveValue {
    lastIdentifier += 1
    return builder.string("\(lastIdentifier)")
  }

  // MARK: Entities

  private mutating func fill(_ entity: EntityDocument, in package: ArchiveValue) {
    guard let uid = entities[entity.name] else { return }
    let (yes, ordered) = (builder.string("YES"), builder.string("ordered"))
    var fields: [String: ArchiveValue] = [
      "_name": builder.string(entity.name), "_owner": package, "_visibility": .integer(0),
      "_isAbstract": .boolean(false), "_uniqueElementID": identifier(),
    ]
    let children = index.subentities(of: entity.name)
    var buckets = ["OwnedAttributes", "Stereotypes", "Generalizations"]
    if !children.isEmpty { buckets.append("Specializations") }
    for bucket in buckets {
      fields["XDBucketFor\(bucket)wasEncoded"] = yes
      fields["XDBucketFor\(bucket)ordered"] = ordered
    }
    let parents = entity.parentName.map { [generalization(of: uid, to: $0)] } ?? []
    fields["XDBucketForGeneralizationsstorage"] = builder.collection(parents, "NSMutableArray")
    fields["XDBucketForGeneralizationsduplicates"] = builder.string("duplicates")
    if !children.isEmpty {
      let lines = children.compactMap { child in entities[child.name].map { generalization(of: $0, to: entity.name) } }
      fields["XDBucketForSpecializationsstorage"] = builder.collection(lines, "NSMutableArray")
      fields["XDBucketForSpecializationsduplicates"] = builder.string("duplicates")
    }
    let record = builder.add(
      "XDUMLClassImp",
      [
        "_name": builder.string("XDGenericRecordClass"), "_uniqueElementID": KeyedArchiveBuilder.null,
        "_isAbstract": .boolean(false), "_owner": KeyedArchiveBuilder.null, "_visibility": .integer(0),
      ])
    let facts: [(String, ArchiveValue)] = [
      ("XDPMCompoundIndexes", lists(entity.compoundIndexes)),
      ("XD_PSK_elementID", builder.string(entity.renamingIdentifier)),
      ("XDPMUniquenessConstraints", lists(entity.uniquenessConstraints)),
      ("XD_PSK_versionHashModifier", builder.string(entity.versionHashModifier)),
      ("XD_PSK_fetchRequestsArray", builder.collection([], "NSMutableArray")),
      ("XD_PSK_isAbstract", flag(entity.isAbstract)), ("XD_PSK_userInfo", builder.dictionary([])),
      ("XD_PSK_classMapping", record), ("XD_PSK_entityClassName", builder.string(entity.className)),
    ]
    fields["XDBucketForStereotypesstorage"] = builder.dictionary([
      ("XD_PStereotype", stereotype("XD_PStereotype", of: uid, facts))
    ])
    fields["XDBucketForOwnedAttributesstorage"] = builder.dictionary(properties(of: entity, in: uid))
    builder.fill(uid, "XDPMEntity", fields)
  }

  private mutating func generalization(of entity: ArchiveValue, to parent: String) -> ArchiveValue {
    builder.add(
      "XDUMLGeneralizationImp",
      [
        "_name": KeyedArchiveBuilder.null, "_specific": entity, "_owner": entity,
        "_general": entities[parent] ?? KeyedArchiveBuilder.null, "_uniqueElementID": identifier(),
        "_visibility": .integer(0),
      ])
  }

  private mutating func lists(_ lists: [[String]]) -> ArchiveValue {
    let archived = lists.map { names in
      let texts = names.map { builder.string($0) }
      return builder.collection(texts, "NSMutableArray")
    }
    return builder.collection(archived, "NSMutableArray")
  }

  // MARK: Properties

  private mutating func properties(
    of entity: EntityDocument, in uid: ArchiveValue
  ) -> [(key: String, value: ArchiveValue)] {
    var result: [(key: String, value: ArchiveValue)] = []
    for attribute in entity.attributes {
      let property = builder.reserve()
      let own: [(String, ArchiveValue)] = [
        ("XD_PAttK_defaultValueAsString", builder.string(XCDataModelWriter.defaultText(of: attribute))),
        ("XD_PAttK_allowsExternalBinaryDataStorage", flag(attribute.allowsExternalBinaryDataStorage)),
        ("XD_PAttK_preserveAfterDeletion", flag(attribute.preservesValueInHistoryOnDeletion)),
        ("XD_PAttK_minValueString", KeyedArchiveBuilder.null),
        ("XD_PAttK_attributeType", builder.scalar(.integer(Int64(attribute.kind.rawValue)))),
        ("XD_PAttK_maxValueString", KeyedArchiveBuilder.null),
        ("XD_PAttK_valueTransformerName", builder.string(attribute.valueTransformerName)),
        ("XD_PAttK_regularExpressionString", KeyedArchiveBuilder.null),
      ]
      let shared = sharedFacts(
        isOptional: attribute.isOptional, isTransient: attribute.isTransient, isIndexed: attribute.isIndexed,
        isIndexedBySpotlight: attribute.isIndexedBySpotlight, attribute.renamingIdentifier,
        attribute.versionHashModifier)
      fill(property, "XDPMAttribute", attribute.name, of: uid, shared, ("XD_PAtt_Stereotype", own))
      result.append((attribute.name, property))
    }
    for relationship in entity.relationships {
      guard let property = relationships[[entity.name, relationship.name]] else { continue }
      let destination = relationship.destinationEntityName ?? ""
      let inverse = relationship.inverseName.flatMap { name in
        index.lineage(of: destination).compactMap { relationships[[$0.name, name]] }.first
      }
      let own: [(String, ArchiveValue)] = [
        ("XD_PRK_minCount", count(relationship.minCount)),
        ("XD_PRK_deleteRule", builder.scalar(.integer(Int64(relationship.deleteRule.rawValue)))),
        ("XD_PRK_maxCount", count(relationship.maxCount)),
        ("XD_PRK_destination", entities[destination] ?? KeyedArchiveBuilder.null),
        ("XD_PRK_isToMany", flag(relationship.isToMany)), ("XD_PRK_ordered", flag(relationship.isOrdered)),
        ("XD_PRK_inverseRelationship", inverse ?? KeyedArchiveBuilder.null),
      ]
      let shared = sharedFacts(
        isOptional: relationship.isOptional, isTransient: relationship.isTransient, isIndexed: false,
        isIndexedBySpotlight: relationship.isIndexedBySpotlight, relationship.renamingIdentifier,
        relationship.versionHashModifier)
      fill(property, "XDPMRelationship", relationship.name, of: uid, shared, ("XD_PR_Stereotype", own))
      result.append((relationship.name, property))
    }
    return result
  }

  private mutating func sharedFacts(
    isOptional: Bool, isTransient: Bool, isIndexed: Bool, isIndexedBySpotlight: Bool, _ identifier: String?,
    _ modifier: String?
  ) -> [(String, ArchiveValue)] {
    [
      ("XD_PPSK_isStoredInTruthFile", flag(false)), ("XD_PPSK_versionHashModifier", builder.string(modifier)),
      ("XD_PPSK_userInfo", builder.dictionary([])), ("XD_PPSK_isIndexed", flag(isIndexed)),
      ("XD_PPSK_isOptional", flag(isOptional)), ("XD_PPSK_isSpotlightIndexed", flag(isIndexedBySpotlight)),
      ("XD_PPSK_elementID", builder.string(identifier)), ("XD_PPSK_isTransient", flag(isTransient)),
    ]
  }

  private mutating func fill(
    _ uid: ArchiveValue, _ className: String, _ name: String, of entity: ArchiveValue,
    _ shared: [(String, ArchiveValue)], _ own: (name: String, facts: [(String, ArchiveValue)])
  ) {
    var fields = propertyFields(name, of: entity)
    fields["_uniqueElementID"] = identifier()
    fields["XDBucketForStereotypeswasEncoded"] = builder.string("YES")
    fields["XDBucketForStereotypesordered"] = builder.string("ordered")
    fields["XDBucketForStereotypesstorage"] = builder.dictionary([
      ("XD_PPropStereotype", stereotype("XD_PPropStereotype", of: uid, shared)),
      (own.name, stereotype(own.name, of: uid, own.facts)),
    ])
    builder.fill(uid, className, fields)
  }

  private mutating func propertyFields(_ name: String, of owner: ArchiveValue) -> [String: ArchiveValue] {
    var fields: [String: ArchiveValue] = [
      "_name": builder.string(name), "_owner": owner, "_type": KeyedArchiveBuilder.null,
      "_default": KeyedArchiveBuilder.null, "_association": KeyedArchiveBuilder.null,
      "_uniqueElementID": KeyedArchiveBuilder.null, "_visibility": .integer(0),
    ]
    for flag in ["_isReadOnly", "_isStatic", "_isUnique", "_isDerived", "_isOrdered", "_isComposite", "_isLeaf"] {
      fields[flag] = .boolean(false)
    }
    return fields
  }

  // MARK: Facts

  /// Adds the values that the editor stores for an element, with one object for each.
  private mutating func stereotype(
    _ name: String, of owner: ArchiveValue, _ facts: [(String, ArchiveValue)]
  ) -> ArchiveValue {
    let uid = builder.reserve()
    let properties = facts.map { name, value in
      var fields = propertyFields(name, of: uid)
      fields["_default"] = value
      return (key: name, value: builder.add("XDUMLPropertyImp", fields))
    }
    builder.fill(
      uid, "XDUMLStereotypeImp",
      [
        "_owner": owner, "_name": builder.string(name), "_uniqueElementID": KeyedArchiveBuilder.null,
        "_visibility": .integer(0), "_isAbstract": .boolean(false),
        "XDBucketForOwnedAttributesordered": builder.string("ordered"),
        "XDBucketForOwnedAttributeswasEncoded": builder.string("YES"),
        "XDBucketForOwnedAttributesstorage": builder.dictionary(properties),
      ])
    return uid
  }

  private mutating func flag(_ value: Bool) -> ArchiveValue { builder.scalar(.boolean(value)) }

  /// Adds a count; null for 0.
  private mutating func count(_ value: Int) -> ArchiveValue {
    value == 0 ? KeyedArchiveBuilder.null : builder.scalar(.integer(Int64(value)))
  }
}
