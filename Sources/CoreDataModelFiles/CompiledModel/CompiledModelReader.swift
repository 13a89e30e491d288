// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads a compiled model from a `.mom` or the model cache of a store.
///
/// A model cache repeats inherited properties in subentities, and both forms repeat indexes in older notations. The
/// document contains each only once, where it was declared. Entities and properties are sorted by name, because
/// archives store them in the order of a hash table.
struct CompiledModelReader {
  private let archive: KeyedArchive
  /// The file, for warnings; nil if the archive is not in a file.
  private let file: URL?
  private let warnings: ModelWarnings

  /// Reads a `.mom` file.
  static func document(at url: URL, warnings: ModelWarnings = ModelWarnings()) throws -> ModelDocument {
    let data = try ModelFile.read(url)
    do {
      return try document(of: data, file: url, warnings: warnings)
    } catch let error as ModelFileError {
      throw error.inFile(url)
    }
  }

  /// Reads a keyed archive.
  /// - Throws: `ModelFileError`.
  static func document(
    of data: Data, file: URL? = nil, warnings: ModelWarnings = ModelWarnings()
  ) throws -> ModelDocument {
    do {
      return try CompiledModelReader(archive: KeyedArchive(data), file: file, warnings: warnings).model()
    } catch let failure as ArchiveFailure {
      throw failure.error(file: nil)
    }
  }

  private func model() throws -> ModelDocument {
    let root = try archive.root()
    guard root.className == "NSManagedObjectModel" else {
      throw ArchiveFailure.unknownClass(root.className, "a model")
    }
    var document = ModelDocument()
    document.versionIdentifiers = try root.elements("NSVersionIdentifiers").map {
      try ArchivedValues.string($0, in: archive) ?? ""
    }.sorted()

    let isCache = try root.object("NSEntities")?.className == "NSKnownKeysDictionary1"
    document.entities = try root.entries("NSEntities").sorted { $0.key < $1.key }
      .map { try entity($0.value, isCache: isCache) }
    try document.checkDepthOfInheritance()
    document.removeRepeatedProperties()
    document.configurations = try root.entries("NSConfigurations").sorted { $0.key < $1.key }.map { name, members in
      let members = try archive.object(members).map { try ArchivedValues.elements(of: $0) } ?? []
      let names = try members.map { try required("NSEntityName", of: archive.object($0)) }
      return ConfigurationDocument(name: name, entityNames: names.sorted())
    }
    document.fetchRequestTemplates = try root.entries("NSFetchRequestTemplates").sorted { $0.key < $1.key }
      .map { try ArchivedRequests.request(archive.object($0.value), name: $0.key) }
    return document
  }

  private func entity(_ value: ArchiveValue, isCache: Bool) throws -> EntityDocument {
    guard let object = try archive.object(value), object.className == "NSEntityDescription" else {
      throw ArchiveFailure.broken("An entity is missing.")
    }
    let name = try required("NSEntityName", of: object)
    var entity = EntityDocument(
      name: name, parentName: try object.object("NSSuperentity").map { try required("NSEntityName", of: $0) },
      isAbstract: try object.flag("NSIsAbstract"), className: try object.string("NSClassNameForEntity"))
    entity.renamingIdentifier = try renamingIdentifier(of: object, name: name)
    entity.versionHashModifier = try object.string("NSVersionHashModifier")
    entity.userInfo = try userInfo(of: object)
    entity.uniquenessConstraints = try names(inListsOf: "NSUniqueTuples", of: object)
    entity.compoundIndexes = try names(inListsOf: "NSCompoundIndexes", of: object)
    entity.indexes = try object.elements("NSFetchIndexDescriptions").map { try index(archive.object($0)) }
    for (_, value) in try object.entries("NSProperties").sorted(by: { $0.key < $1.key }) {
      guard let property = try ArchivedProperties.object(value, in: archive) else {
        throw ArchiveFailure.broken("A property is missing.")
      }
      switch property.className {
      case "NSAttributeDescription", "NSDerivedAttributeDescription", "NSCompositeAttributeDescription":
        entity.attributes.append(try attribute(property, of: name))
      case "NSRelationshipDescription":
        entity.relationships.append(try relationship(property))
      case "NSFetchedPropertyDescription":
        entity.fetchedProperties.append(try fetchedProperty(property))
      default:
        throw ArchiveFailure.unknownClass(property.className, "a property")
      }
    }
    entity.removeImpliedIndexes(hasImplied: isCache)
    return entity
  }

  private func attribute(_ object: ArchivedObject, of entity: String) throws -> AttributeDocument {
    fitted(try ArchivedProperties.attribute(object), name: nil, of: entity)
  }

  /// Converts the default values of an attribute and of its elements to their types, because Core Data accepts any
  /// value.
  ///
  /// - Parameter name: The name, preceded by those of the enclosing composite attributes; nil for an attribute of an
  ///   entity.
  private func fitted(_ attribute: AttributeDocument, name: String?, of entity: String) -> AttributeDocument {
    var attribute = attribute
    let name = name ?? attribute.name
    attribute.elements = attribute.elements.map { fitted($0, name: "\(name).\($0.name)", of: entity) }
    guard let value = attribute.defaultValue, value != .null else {
      attribute.defaultValue = nil
      return attribute
    }
    attribute.defaultValue = DefaultValues.fitted(value, to: attribute)
    if !DefaultValues.isAlike(value, attribute.defaultValue) {
      let taken = attribute.defaultValue == nil ? "It is ignored." : "It is converted."
      warnings.add(
        ModelFileError(
          .unreadableValue, found: "The default value is not of the attribute's type, \(attribute.kind). \(taken)",
          advice: "Correct it in the model.", file: file, entity: entity, property: name))
    }
    return attribute
  }

  private func relationship(_ object: ArchivedObject) throws -> RelationshipDocument {
    try archive.charge(ArchivedProperties.cost)
    let name = try required("NSPropertyName", of: object)
    var relationship = RelationshipDocument(
      name: name,
      destinationEntityName: try object.string("_NSDestinationEntityName")
        ?? object.object("NSDestinationEntity")?.string("NSEntityName"),
      inverseName: try object.string("_NSInverseRelationshipName")
        ?? ArchivedProperties.object(object.fields["NSInverseRelationship"], in: archive)?.string("NSPropertyName"),
      isOptional: try object.flag("NSIsOptional"))
    relationship.isTransient = try object.flag("NSIsTransient")
    relationship.maxCount = Int(clamping: try object.integer("NSMaxCount") ?? 0)
    relationship.minCount = Int(clamping: try object.integer("NSMinCount") ?? 0)
    relationship.isOrdered = try object.flag("NSIsOrdered")
    relationship.isIndexedBySpotlight = try object.flag(ArchivedProperties.spotlightKey)
    let rule = try object.integer("NSDeleteRule") ?? 1
    guard let code = UInt(exactly: rule), let deleteRule = DeleteRuleKind(rawValue: code) else {
      throw ArchiveFailure.broken("The delete rule \(rule) of \(name) is unknown.")
    }
    relationship.deleteRule = deleteRule
    relationship.renamingIdentifier = try renamingIdentifier(of: object, name: name)
    relationship.versionHashModifier = try object.string("NSVersionHashModifier")
    relationship.userInfo = try userInfo(of: object)
    relationship.validations = try ArchivedProperties.validations(of: object)
    return relationship
  }

  private func fetchedProperty(_ object: ArchivedObject) throws -> FetchedPropertyDocument {
    let name = try required("NSPropertyName", of: object)
    let request = try object.object("NSFetchRequest").map { try ArchivedRequests.request($0, name: "") }
    var property = FetchedPropertyDocument(name: name, request: request, isOptional: try object.flag("NSIsOptional"))
    property.renamingIdentifier = try renamingIdentifier(of: object, name: name)
    property.versionHashModifier = try object.string("NSVersionHashModifier")
    property.userInfo = try userInfo(of: object)
    return property
  }

  private func index(_ object: ArchivedObject?) throws -> FetchIndexDocument {
    guard let object, object.className == "NSFetchIndexDescription" else {
      throw ArchiveFailure.broken("An index is missing.")
    }
    let elements = try object.elements("NSIndexElements").map { value in
      guard let element = try archive.object(value) else { throw ArchiveFailure.broken("An index element is missing.") }
      return FetchIndexElementDocument(
        propertyName: try element.string("NSPropertyName") ?? "",
        expression: try element.object("NSExpression").map { try ArchivedExpressions.expression($0) },
        isRTree: try element.integer("NSFetchIndexElementType") == 1,
        isAscending: try element.flag("NSAscending"))
    }
    return FetchIndexDocument(
      name: try required("NSIndexName", of: object), elements: elements,
      partialIndexPredicate: try object.object("NSPartialIndexPredicate").map { try ArchivedPredicates.predicate($0) })
  }

  private func names(inListsOf key: String, of object: ArchivedObject) throws -> [[String]] {
    try object.elements(key).map { list in
      try (archive.object(list).map { try ArchivedValues.elements(of: $0) } ?? []).map {
        guard let name = try ArchivedValues.string($0, in: archive) else {
          throw ArchiveFailure.broken("A name in \(key) is missing.")
        }
        return name
      }
    }
  }
}
