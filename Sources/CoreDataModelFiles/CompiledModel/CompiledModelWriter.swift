// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Writes a document as the keyed archive of a `.mom` file or a store's model cache.
///
/// The two forms differ as in Core Data. In a cache, subentities repeat inherited properties, the entities are in a
/// known-keys dictionary, and every indexed attribute has an index. A file contains everything once, where it was
/// declared. Both repeat indexes in the older notations.
struct CompiledModelWriter {
  /// The purpose of the archive.
  enum Form {
    case file
    case cache
  }

  /// The string in unused slots of known-keys dictionaries, the same in all caches.
  private static let emptyToken = "__empty_slot_token_4c24_98dc_ac1e_b773__"

  private let document: ModelDocument
  private let form: Form
  private let index: EntityIndex
  private var builder = KeyedArchiveBuilder()
  private var modelUID = KeyedArchiveBuilder.null
  private var entityUIDs: [String: ArchiveValue] = [:]
  private var relationshipPlaces: [String: [String: ArchiveValue]] = [:]
  private var emptyInfo = KeyedArchiveBuilder.null

  /// Returns the archive of a document.
  /// - Throws: `ModelFileError` if the document contains a value that cannot be archived.
  static func archive(of document: ModelDocument, form: Form) throws -> Data {
    var writer = CompiledModelWriter(document, form)
    return try writer.write()
  }

  private init(_ document: ModelDocument, _ form: Form) {
    self.document = document
    self.form = form
    index = EntityIndex(document)
  }

  private mutating func write() throws -> Data {
    modelUID = builder.reserve()
    emptyInfo = builder.dictionary([], "NSDictionary")
    let entities = document.entities.sorted { $0.name < $1.name }
    // Entities and relationships refer to one another, so places for all are reserved before any is written.
    for entity in entities {
      entityUIDs[entity.name] = builder.reserve()
      for relationship in members(of: entity).flatMap(\.relationships) {
        relationshipPlaces[entity.name, default: [:]][relationship.name] = builder.reserve()
      }
    }
    for entity in entities { try fill(entity) }

    let entries = entities.map { (key: $0.name, value: entityUIDs[$0.name] ?? KeyedArchiveBuilder.null) }
    var fields: [String: ArchiveValue] = [
      "NSEntities": form == .cache ? knownKeys(entries) : builder.dictionary(entries),
      "NSVersionIdentifiers": strings(document.versionIdentifiers, "NSSet"),
      "NSFetchRequestTemplates": KeyedArchiveBuilder.null,
    ]
    if !document.fetchRequestTemplates.isEmpty {
      let templates = try document.fetchRequestTemplates.map { (key: $0.name, value: try builder.request($0)) }
      fields["NSFetchRequestTemplates"] = builder.dictionary(templates)
    }
    if !document.configurations.isEmpty {
      let configurations = document.configurations.map { configuration in
        let members = configuration.entityNames.compactMap { entityUIDs[$0] }
        return (key: configuration.name, value: builder.collection(members, "NSSet"))
      }
      fields["NSConfigurations"] = builder.dictionary(configurations)
    }
    builder.fill(modelUID, "NSManagedObjectModel", fields)
    return builder.data(root: modelUID)
  }

  /// Returns the entities whose properties are written with an entity, from the root down.
  private func members(of entity: EntityDocument) -> [EntityDocument] {
    form == .cache ? index.lineage(of: entity.name).reversed() : [entity]
  }

  private mutating func knownKeys(_ entries: [(key: String, value: ArchiveValue)]) -> ArchiveValue {
    let mapping = builder.add(
      "NSKnownKeysMappingStrategy1",
      [
        "keys": strings(entries.map(\.key), "NSArray"), "length": .integer(Int64(entries.count)),
        "version": .integer(1),
      ])
    return builder.add(
      "NSKnownKeysDictionary1",
      [
        "searchMapping": mapping, "values": builder.collection(entries.map(\.value)),
        "emptyToken": builder.string(Self.emptyToken), "version": .integer(1),
      ])
  }

  private mutating func fill(_ entity: EntityDocument) throws {
    guard let uid = entityUIDs[entity.name] else { return }
    let subentities = index.subentities(of: entity.name).map {
      (key: $0.name, value: entityUIDs[$0.name] ?? KeyedArchiveBuilder.null)
    }
    var fields: [String: ArchiveValue] = [
      "NSEntityName": builder.string(entity.name),
      "NSClassNameForEntity": builder.string(entity.className),
      "NSManagedObjectModel": modelUID,
      "NSSuperentity": entity.parentName.flatMap { entityUIDs[$0] } ?? KeyedArchiveBuilder.null,
      "NSSubentities": builder.dictionary(subentities),
      "NSProperties": builder.dictionary(try properties(of: entity, at: uid)),
      "NSRenamingIdentifier": builder.string(entity.renamingIdentifier ?? entity.name),
      "NSVersionHashModifier": builder.string(entity.versionHashModifier),
      "NSUserInfo": try userInfo(entity.userInfo),
    ]
    if entity.isAbstract { fields["NSIsAbstract"] = .boolean(true) }
    if !entity.uniquenessConstraints.isEmpty {
      fields["NSUniqueTuples"] = lists(entity.uniquenessConstraints)
    }
    let indexes = form == .cache ? entity.effectiveIndexes : entity.indexes
    if !indexes.isEmpty || !entity.compoundIndexes.isEmpty {
      let archived = try indexes.map { try fetchIndex($0, of: uid) }
      fields["NSFetchIndexDescriptions"] = builder.collection(archived, "NSMutableArray")
      fields["NSCompoundIndexes"] = lists(entity.effectiveCompoundIndexes)
    }
    builder.fill(uid, "NSEntityDescription", fields)
  }

  private mutating func properties(
    of entity: EntityDocument, at uid: ArchiveValue
  ) throws -> [(key: String, value: ArchiveValue)] {
    var result: [(key: String, value: ArchiveValue)] = []
    for member in members(of: entity) {
      let indexed = Set(member.indexedAttributeNames)
      for attribute in member.attributes {
        do {
          let value = try builder.attribute(attribute, isIndexed: indexed.contains(attribute.name), of: uid)
          result.append((attribute.name, value))
        } catch var error as ModelFileError {
          (error.entity, error.property) = (member.name, attribute.name)
          throw error
        }
      }
      for relationship in member.relationships {
        guard let value = relationshipPlaces[entity.name]?[relationship.name] else { continue }
        try fill(relationship, at: value, of: uid)
        result.append((relationship.name, value))
      }
      for fetched in member.fetchedProperties {
        var fields = try builder.propertyFields(
          name: fetched.name, isOptional: fetched.isOptional, isTransient: true,
          renamingIdentifier: fetched.renamingIdentifier, modifier: fetched.versionHashModifier,
          userInfo: fetched.userInfo, validations: [], of: uid)
        fields["NSFetchRequest"] = try fetched.request.map { try builder.request($0) } ?? KeyedArchiveBuilder.null
        result.append((fetched.name, builder.add("NSFetchedPropertyDescription", fields)))
      }
    }
    return result
  }

  private mutating func fill(
    _ relationship: RelationshipDocument, at uid: ArchiveValue, of entity: ArchiveValue
  ) throws {
    var fields = try builder.propertyFields(
      name: relationship.name, isOptional: relationship.isOptional, isTransient: relationship.isTransient,
      isOrdered: relationship.isOrdered, renamingIdentifier: relationship.renamingIdentifier,
      modifier: relationship.versionHashModifier, userInfo: relationship.userInfo,
      validations: relationship.validations, of: entity)
    let destination = relationship.destinationEntityName
    let inverse = relationship.inverseName.flatMap { name in
      index.lineage(of: destination ?? "").compactMap { relationshipPlaces[$0.name]?[name] }.first
    }
    fields["NSDestinationEntity"] = destination.flatMap { entityUIDs[$0] } ?? KeyedArchiveBuilder.null
    fields["_NSDestinationEntityName"] = builder.string(destination)
    fields["NSInverseRelationship"] = inverse ?? KeyedArchiveBuilder.null
    fields["_NSInverseRelationshipName"] = builder.string(relationship.inverseName)
    fields["NSDeleteRule"] = .integer(Int64(relationship.deleteRule.rawValue))
    fields["NSMaxCount"] = .integer(Int64(relationship.maxCount))
    fields["NSMinCount"] = .integer(Int64(relationship.minCount))
    if relationship.isOrdered { fields["NSIsOrdered"] = .boolean(true) }
    if relationship.isIndexedBySpotlight { fields[ArchivedProperties.spotlightKey] = .boolean(true) }
    builder.fill(uid, "NSRelationshipDescription", fields)
  }

  private mutating func fetchIndex(_ index: FetchIndexDocument, of entity: ArchiveValue) throws -> ArchiveValue {
    let uid = builder.reserve()
    let elements = try index.elements.map { element in
      var fields: [String: ArchiveValue] = [
        "NSPropertyName": builder.string(element.propertyName), "NSFetchIndexDescription": uid,
        "NSFetchIndexElementType": .integer(element.isRTree ? 1 : 0), "NSAscending": .boolean(element.isAscending),
      ]
      if let expression = element.expression { fields["NSExpression"] = try builder.expression(expression) }
      return builder.add("NSFetchIndexElementDescription", fields)
    }
    let predicate = try index.partialIndexPredicate.map { try builder.predicate($0) }
    builder.fill(
      uid, "NSFetchIndexDescription",
      [
        "NSIndexName": builder.string(index.name), "NSIndexElements": builder.collection(elements),
        "NSPartialIndexPredicate": predicate ?? KeyedArchiveBuilder.null, "NSEntity": entity,
      ])
    return uid
  }

  private mutating func userInfo(_ info: [String: PlainValue]) throws -> ArchiveValue {
    info.isEmpty ? emptyInfo : try builder.plain(.dictionary(info))
  }

  private mutating func strings(_ texts: [String], _ className: String) -> ArchiveValue {
    let references = texts.map { builder.string($0) }
    return builder.collection(references, className)
  }

  private mutating func lists(_ lists: [[String]]) -> ArchiveValue {
    let archived = lists.map { strings($0, "NSMutableArray") }
    return builder.collection(archived, "NSMutableArray")
  }
}

extension KeyedArchiveBuilder {
  /// Adds a plain value under the class name that Foundation would use.
  mutating func plain(_ value: PlainValue) throws -> ArchiveValue {
    switch value {
    case .null: return add("NSNull", [:])
    case .boolean(let flag): return scalar(.boolean(flag))
    case .integer(let number): return scalar(.integer(number))
    case .real(let number): return scalar(.real(number))
    case .decimal(let number): return add("NSDecimalNumberPlaceholder", ArchivedDecimal.fields(of: number))
    case .string(let text): return string(text)
    case .date(let date): return add("NSDate", ["NS.time": .real(date.timeIntervalSinceReferenceDate)])
    case .data(let data): return scalar(.data(data))
    case .uuid(let uuid):
      return add("NSUUID", ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })])
    case .url(let url): return add("NSURL", ["NS.base": Self.null, "NS.relative": string(url.absoluteString)])
    case .array(let elements): return collection(try elements.map { try plain($0) })
    case .set(let elements): return collection(try elements.map { try plain($0) }, "NSSet")
    case .dictionary(let entries):
      let sorted = try entries.sorted { $0.key < $1.key }.map { (key: $0.key, value: try plain($0.value)) }
      return dictionary(sorted, "NSDictionary")
    case .object(let object): return try instance(object.value.base)
    }
  }

  /// Adds an object of a class other than Foundation's plain ones, either as it was read or as it archives itself.
  private mutating func instance(_ object: Any) throws -> ArchiveValue {
    let data: Data
    if let kept = object as? ArchivedInstance {
      data = kept.archive
    } else {
      do {
        data = try ObjectArchiveWriter.data(of: object) { name in
          guard let object = object as? any NSSecureCoding, String(reflecting: type(of: object)) == name else {
            return nil
          }
          return type(of: object)
        }
      } catch let problem as ObjectArchiveWriter.Problem {
        throw ModelFileError(
          .unreadableValue, found: "A value cannot be written: \(problem.description).",
          advice: "Make its class conform to NSSecureCoding, or use numbers, strings, dates and the like in models.")
      }
    }
    do {
      let archive = try KeyedArchive(data)
      return try archive.graft(archive.rootReference, into: &self)
    } catch let failure as ArchiveFailure {
      throw failure.error(file: nil)
    }
  }
}
