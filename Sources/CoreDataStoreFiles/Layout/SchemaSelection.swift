// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The entities of a model that are in one store, with the checks that the layout relies on.
package struct SchemaSelection {
  package let index: EntityIndex
  private let properties: PropertyIndex
  /// The entities in the document's order. They include ancestors that a configuration leaves out, since sub-entities
  /// share their properties and tables.
  package let entities: [EntityDocument]
  private let names: Set<String>

  /// - Parameter stored: the entities that an existing store has. Sub-entities of the configuration's entities are
  ///   included, since their rows are in the same table.
  package init(document: ModelDocument, configuration: String?, stored: Set<String> = []) throws {
    // Model sources may repeat inherited properties in a sub-entity. The model that a store carries cannot tell the
    // difference, so the layout must not depend on it.
    var document = document
    document.removeRepeatedProperties()
    properties = PropertyIndex(document)
    index = properties.entities
    for entity in document.entities {
      try Self.checkLineage(of: entity, in: index)
    }
    guard let configuration else {
      entities = document.entities
      names = Set(document.entities.map(\.name))
      return
    }
    guard let chosen = document.configurations.first(where: { $0.name == configuration }) else {
      throw SchemaProblem.unknownConfiguration(configuration, known: document.configurations.map(\.name))
    }
    var names: Set<String> = []
    for name in chosen.entityNames {
      guard index[name] != nil else { throw SchemaProblem.unknownEntity(name, configuration: configuration) }
      names.formUnion(index.lineageNames(of: name))
    }
    let included = Set(chosen.entityNames)
    for name in stored where index.lineageNames(of: name).contains(where: included.contains) {
      names.formUnion(index.lineageNames(of: name))
    }
    self.names = names
    entities = document.entities.filter { names.contains($0.name) }
  }

  private static func checkLineage(of entity: EntityDocument, in index: EntityIndex) throws {
    guard let top = index.root(of: entity.name), let parent = top.parentName else { return }
    if index[parent] == nil { throw SchemaProblem.missingParent(entity: top.name, parent: parent) }
    throw SchemaProblem.inheritanceCycle(entity: entity.name)
  }

  package func contains(_ name: String) -> Bool { names.contains(name) }

  package func subentities(of name: String) -> [EntityDocument] {
    index.subentities(of: name).filter { names.contains($0.name) }
  }

  /// Returns entity numbers that keep those of an existing store. New entities get the next ones.
  package func numbers(after source: StoreSchema, _ mapping: some EarlierNames) -> [String: Int] {
    var numbers: [String: Int] = [:]
    for entity in entities {
      numbers[entity.name] = mapping.sourceEntity(of: entity.name).flatMap { source[$0]?.number }
    }
    var last = source.entities.map(\.number).max() ?? 0
    for (name, _) in freshNumbers().sorted(by: { $0.value < $1.value }) where numbers[name] == nil {
      last += 1
      numbers[name] = last
    }
    return numbers
  }

  /// Returns entity numbers as Core Data assigns them in a new store: from 1, parents before children, siblings sorted
  /// ignoring case.
  package func freshNumbers() -> [String: Int] {
    var numbers: [String: Int] = [:]
    func number(_ siblings: [EntityDocument]) {
      let ordered = siblings.sorted {
        let (left, right) = ($0.name.lowercased(), $1.name.lowercased())
        return left == right ? $0.name < $1.name : left < right
      }
      for entity in ordered {
        numbers[entity.name] = numbers.count + 1
        number(subentities(of: entity.name))
      }
    }
    number(entities.filter { $0.parentName == nil })
    return numbers
  }

  /// Returns a relationship and the entity that declares it, given any entity that has it.
  package func relationship(_ name: String, of entity: String) -> DeclaredRelationship? {
    properties.relationship(name, of: entity).map {
      DeclaredRelationship(entity: $0.entity, document: $0.relationship)
    }
  }

  /// Returns the inverse of a relationship, if it has a stored one.
  package func inverse(of relationship: DeclaredRelationship) -> DeclaredRelationship? {
    guard let destination = relationship.document.destinationEntityName,
      let name = relationship.document.inverseName,
      let inverse = self.relationship(name, of: destination), !inverse.document.isTransient
    else { return nil }
    return inverse
  }

  /// Returns the relationships declared by an entity that a store can hold: not transient, and with a destination in
  /// the store.
  package func storedRelationships(of entity: EntityDocument) throws -> [DeclaredRelationship] {
    try entity.relationships.filter { !$0.isTransient }.sorted { $0.name < $1.name }.compactMap { relationship in
      let destination = relationship.destinationEntityName
      guard let destination, index[destination] != nil else {
        throw SchemaProblem.missingDestination(
          entity: entity.name, relationship: relationship.name, destination: destination)
      }
      return contains(destination) ? DeclaredRelationship(entity: entity.name, document: relationship) : nil
    }
  }
}

extension SchemaProblem {
  package static func inverseOfAnother(_ relationship: DeclaredRelationship) -> SchemaProblem {
    .inverseOfAnother(
      entity: relationship.entity, relationship: relationship.name,
      inverse: [relationship.document.destinationEntityName, relationship.document.inverseName].compactMap { $0 }
        .joined(separator: "."))
  }
}

/// A relationship together with the entity that declares it.
package struct DeclaredRelationship: Hashable {
  package let entity: String
  package let document: RelationshipDocument

  package var name: String { document.name }

  package static func == (left: DeclaredRelationship, right: DeclaredRelationship) -> Bool {
    left.entity == right.entity && left.name == right.name
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(entity)
    hasher.combine(name)
  }
}

/// The reason a model does not fit a store's tables.
package enum SchemaProblem: Error, Hashable, Sendable {
  case unknownConfiguration(String, known: [String])
  case unknownEntity(String, configuration: String)
  case missingParent(entity: String, parent: String)
  case inheritanceCycle(entity: String)
  case missingDestination(entity: String, relationship: String, destination: String?)
  /// The inverse of a relationship is already the inverse of another relationship.
  case inverseOfAnother(entity: String, relationship: String, inverse: String)
  case unstorableAttribute(entity: String, attribute: String, kind: String)
  /// The store's `Z_PRIMARYKEY` has no row for an entity of the model.
  case entityNotInStore(entity: String)
  /// The store's `Z_PRIMARYKEY` gives an entity a number that is out of range.
  case unusableNumber(entity: String, number: Int)
  case tableNotInStore(entity: String, table: String)
  /// SQLite does not guarantee that the primary keys of the table are unique integers.
  case keyNotPrimary(entity: String, table: String)
  case columnNotInStore(entity: String, property: String, table: String, column: String)
  case joinTableNotInStore(entity: String, relationship: String, table: String)
  /// A column of a table on a server has been changed to another type.
  case columnOfOtherType(entity: String, property: String, column: String, found: String, expected: String)
  /// The store's table has a definition that Core Data never creates, and that could remove or compute rows.
  case foreignTable(String, found: String)

  /// Whether the cause is the model, whatever the store contains.
  package var isOfModel: Bool {
    switch self {
    case .unknownEntity, .missingParent, .inheritanceCycle, .missingDestination, .inverseOfAnother,
      .unstorableAttribute:
      true
    default: false
    }
  }

  /// Whether the store lacks a part of the model.
  package var isMissing: Bool {
    switch self {
    case .entityNotInStore, .tableNotInStore, .columnNotInStore, .joinTableNotInStore: true
    default: false
    }
  }
}

extension SchemaProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownConfiguration(let name, let known):
      "The model has no configuration “\(name)”; it has \(known.isEmpty ? "none" : known.joined(separator: ", "))."
    case .unknownEntity(let name, let configuration):
      "The configuration “\(configuration)” names the entity “\(name)”, which the model does not have."
    case .missingParent(let entity, let parent):
      "The entity “\(entity)” inherits from “\(parent)”, which the model does not have."
    case .inheritanceCycle(let entity):
      "The entity “\(entity)” inherits from itself, through its parents."
    case .missingDestination(let entity, let relationship, nil):
      "The relationship “\(relationship)” of “\(entity)” has no destination entity."
    case .missingDestination(let entity, let relationship, let destination?):
      "The relationship “\(relationship)” of “\(entity)” leads to “\(destination)”, which the model does not have."
    case .inverseOfAnother(let entity, let relationship, let inverse):
      "The relationship “\(relationship)” of “\(entity)” has the inverse “\(inverse)”, which is the inverse of another "
        + "relationship."
    case .unstorableAttribute(let entity, let attribute, let kind):
      "The attribute “\(attribute)” of “\(entity)” is of type \(kind), which a SQLite store cannot hold; make it transient "
        + "or give it another type."
    case .entityNotInStore(let entity):
      "The store has no entity “\(entity)”: its table Z_PRIMARYKEY does not list it."
    case .unusableNumber(let entity, let number):
      "The store's table Z_PRIMARYKEY gives the entity “\(entity)” the number \(number); it must be from 1 to "
        + "\(PrimaryKeyRow.maxEntityNumber)."
    case .keyNotPrimary(let entity, let table):
      "The store's table \(table), which holds the entity “\(entity)”, does not have Z_PK as its INTEGER PRIMARY KEY, so that "
        + "its rows cannot be told apart."
    case .tableNotInStore(let entity, let table):
      "The store has no table \(table), which the entity “\(entity)” needs."
    case .columnNotInStore(let entity, let property, let table, let column):
      "The store's table \(table) has no column \(column), which the property “\(property)” of “\(entity)” needs."
    case .joinTableNotInStore(let entity, let relationship, let table):
      "The store has no join table \(table) or the like, which the relationship “\(relationship)” of “\(entity)” needs."
    case .columnOfOtherType(let entity, let property, let column, let found, let expected):
      "The store's column \(column) has the type \(found); the property “\(property)” of “\(entity)” needs \(expected)."
    case .foreignTable(let table, let found):
      "The store's table \(table) is not one that Core Data creates: \(found)."
    }
  }
}
