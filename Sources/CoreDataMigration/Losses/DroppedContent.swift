// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// An entity or property that a migration drops or reduces.
package struct DroppedContent: Hashable, Sendable {
  /// The extent of the loss.
  package enum Extent: Hashable, Sendable {
    /// The entity with its rows, or the property with its values.
    case all
    /// The order of a relationship.
    case order
    /// Parts of numbers that another numeric type cannot hold.
    case precision(from: AttributeKind, to: AttributeKind)
  }

  /// The name of the entity in the store.
  package let entity: String
  /// The name of the property in the store; nil if the entity is dropped with its rows.
  package let property: String?
  package let isRelationship: Bool
  package let extent: Extent
  /// The number of its rows, values or links in the store.
  package var count: Int
  /// Its names in intermediate versions and in parents of the entity.
  package var aliases: Set<Place>

  package init(
    entity: String, property: String?, isRelationship: Bool, extent: Extent = .all, count: Int = 0,
    aliases: Set<Place> = []
  ) {
    self.extent = extent
    self.count = count
    self.entity = entity
    self.property = property
    self.isRelationship = isRelationship
    self.aliases = aliases
  }

  /// The names of an entity and, optionally, one of its properties.
  package struct Place: Hashable, Sendable {
    package let entity: String
    package let property: String?

    package init(entity: String, property: String?) {
      self.entity = entity
      self.property = property
    }
  }

  package var places: Set<Place> { aliases.union([Place(entity: entity, property: property)]) }

  /// The content in words, such as `50 rows of 'Recipe'` or `3 values of 'Tag.name'`.
  package var text: String {
    let noun = property == nil ? "row" : isRelationship ? "link" : "value"
    return "\(extent == .order ? "the order of " : "")\(count) \(noun)\(count == 1 ? "" : "s") of \(name)"
  }

  private var name: String { "'\(property.map { "\(entity).\($0)" } ?? entity)'" }

  /// The reduction in words without a count: `'Recipe'`, `'Tag.size' (Double becomes Float)` or
  /// `the order of 'List.songs'`.
  package var reduction: String {
    switch extent {
    case .all: name
    case .order: "the order of \(name)"
    case .precision(let old, let new): "\(name) (\(old.title) becomes \(new.title))"
    }
  }

  /// Returns the reductions of a list in the form of `text(_:)`.
  package static func reductions(_ items: [DroppedContent]) -> String {
    let shown = items.prefix(8).map(\.reduction).joined(separator: ", ")
    return shown + (items.count > 8 ? " and \(items.count - 8) more" : "")
  }

  /// Returns a list in words, such as `50 rows of 'Recipe', 3 values of 'Tag.name' and 4 more`.
  package static func text(_ items: [DroppedContent]) -> String {
    let shown = items.sorted { ($0.property == nil ? 0 : 1, -$0.count) < ($1.property == nil ? 0 : 1, -$1.count) }
      .prefix(6).map(\.text)
    let rest = items.count - shown.count
    return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }

  /// A step with an inferred mapping.
  package struct InferredLeg {
    package let source: ModelDocument
    package let mapping: InferredMapping
    fileprivate let index: PropertyIndex
    fileprivate let destination: PropertyIndex

    package init(source: ModelDocument, destination: ModelDocument, mapping: InferredMapping) {
      self.source = source
      self.mapping = mapping
      index = PropertyIndex(source)
      self.destination = PropertyIndex(destination)
    }
  }

  /// Returns the entities and properties of the first model that consecutive inferred steps drop or reduce.
  ///
  /// A relationship counts as dropped only if its inverse is dropped too, because otherwise the inverse keeps the
  /// links.
  ///
  /// - Parameter entities: The names of the store's entities.
  package static func dropped(by legs: [InferredLeg], of entities: Set<String>) -> [DroppedContent] {
    guard let first = legs.first else { return [] }
    return first.source.entities.filter { !$0.isAbstract && entities.contains($0.name) }.flatMap { entity in
      dropped(by: legs, of: entity.name)
    }
  }

  private static func dropped(by legs: [InferredLeg], of entity: String) -> [DroppedContent] {
    var name = entity
    // The current names of the properties, by their names in the store.
    var properties: [String: String]?
    var dropped: [DroppedContent] = []
    for leg in legs {
      guard let match = leg.mapping.match(ofSource: name) else {
        var content = DroppedContent(entity: entity, property: nil, isRelationship: false)
        content.aliases = [.init(entity: name, property: nil)]
        return [content]
      }
      let pairs = (match.attributes + match.relationships).map { ($0.source, $0.destination) }
      let kept = Dictionary(pairs) { first, _ in first }
      let relationships = Set(match.relationships.map(\.source) + match.removedRelationships)
      let known =
        properties
        ?? Dictionary(
          (pairs.map(\.0) + match.removedAttributes + match.removedRelationships).map { ($0, $0) }
        ) { first, _ in first }
      var next: [String: String] = [:]
      for (original, current) in known {
        if let destination = kept[current] {
          next[original] = destination
          guard let extent = extent(of: current, in: name, destination, in: match.destination, leg) else { continue }
          var content = DroppedContent(
            entity: entity, property: original, isRelationship: relationships.contains(current), extent: extent)
          content.aliases = aliases(of: current, in: name, leg)
          dropped.append(content)
        } else if !isComputed(current, in: name, leg), !livesOnInInverse(current, in: name, leg) {
          var content = DroppedContent(
            entity: entity, property: original, isRelationship: relationships.contains(current))
          content.aliases = aliases(of: current, in: name, leg)
          dropped.append(content)
        }
      }
      properties = next
      name = match.destination
    }
    return dropped.sorted { ($0.property ?? "") < ($1.property ?? "") }
  }

  /// Returns the names that findings may use for a property: they name the entity that declares it before or after the
  /// step.
  private static func aliases(of property: String, in entity: String, _ leg: InferredLeg) -> Set<Place> {
    var places: Set<Place> = []
    for owner in leg.index.entities.lineageNames(of: entity) + [entity] {
      let names = [owner, leg.mapping.match(ofSource: owner)?.destination].compactMap { $0 }
      places.formUnion(names.map { .init(entity: $0, property: property) })
    }
    return places
  }

  /// Returns the extent of the loss in a property that a step keeps, or nil if nothing is lost.
  private static func extent(
    of old: String, in oldEntity: String, _ new: String, in newEntity: String, _ leg: InferredLeg
  ) -> Extent? {
    if let one = leg.index.attribute(old, of: oldEntity), let other = leg.destination.attribute(new, of: newEntity) {
      if one.derivation != nil || other.derivation != nil { return nil }
      return one.kind.narrows(to: other.kind) ? .precision(from: one.kind, to: other.kind) : nil
    }
    guard let one = leg.index.relationship(old, of: oldEntity)?.relationship,
      let other = leg.destination.relationship(new, of: newEntity)?.relationship
    else { return nil }
    return one.isOrdered && !other.isOrdered ? .order : nil
  }

  private static func isComputed(_ name: String, in entity: String, _ leg: InferredLeg) -> Bool {
    guard let attribute = leg.index.attribute(name, of: entity) else { return false }
    return attribute.derivation != nil || attribute.isTransient
  }

  private static func livesOnInInverse(_ name: String, in entity: String, _ leg: InferredLeg) -> Bool {
    guard let relationship = leg.index.relationship(name, of: entity)?.relationship,
      let inverse = relationship.inverseName, let destination = relationship.destinationEntityName,
      let match = leg.mapping.match(ofSource: destination)
    else { return false }
    return match.relationships.contains { $0.source == inverse }
  }
}

/// Counts the rows, values and links of an open store.
package struct StoreContents {
  private let database: any SQLDatabase
  private let schema: StoreSchema

  /// Creates a counter.
  ///
  /// - Parameter schema: The layout of the store, for the store's own model.
  package init(_ database: any SQLDatabase, schema: StoreSchema) {
    self.database = database
    self.schema = schema
  }

  /// A clause that makes SQLite read the table, which contains all values, rather than an index.
  private var reading: String { database.dialect == .sqlite ? " NOT INDEXED" : "" }

  /// Counts the contents of the store for each item.
  ///
  /// - Returns: The items with a count above zero.
  /// - Throws: The errors of the database.
  package func counted(_ items: [DroppedContent]) throws -> [DroppedContent] {
    try items.compactMap { item in
      var item = item
      item.count = try count(item)
      return item.count > 0 ? item : nil
    }
  }

  private func count(_ item: DroppedContent) throws -> Int {
    guard let property = item.property else { return try rowCount(of: item.entity) }
    switch item.extent {
    case .all: return try valueCount(of: property, in: item.entity)
    case .order: return try orderedLinkCount(of: property, in: item.entity)
    // The step converts the values.
    case .precision: return 0
    }
  }

  /// Returns the number of links of an ordered relationship in rows of exactly one entity.
  private func orderedLinkCount(of property: String, in entity: String) throws -> Int {
    guard let layout = schema[entity], let relationship = layout.relationships[property] else { return 0 }
    return try count(RelationshipPairs(of: relationship, in: schema).count(ofOwnersIn: layout.table), layout)
  }

  /// Returns the number of rows of exactly one entity.
  private func rowCount(of entity: String) throws -> Int {
    guard let layout = schema[entity] else { return 0 }
    return try count("SELECT COUNT(*) FROM \(SQLName.quoted(layout.table)) o\(reading)", layout)
  }

  /// Returns the number of values of an attribute, or links of a relationship, in rows of exactly one entity.
  ///
  /// A to-many relationship that is stored in its inverse has no links of its own.
  private func valueCount(of property: String, in entity: String) throws -> Int {
    guard let layout = schema[entity] else { return 0 }
    let table = SQLName.quoted(layout.table)
    if let attribute = layout.attributes[property] {
      let columns = attribute.columns.map { "o.\(SQLName.quoted($0))" }
      if columns.isEmpty { return 0 }
      // The columns may have different types.
      let value =
        columns.count == 1
        ? columns[0] : "CASE WHEN \(columns.map { "\($0) IS NOT NULL" }.joined(separator: " OR ")) THEN 1 END"
      return try count("SELECT COUNT(\(value)) FROM \(table) o\(reading)", layout)
    }
    guard let relationship = layout.relationships[property] else { return 0 }
    switch relationship.storage {
    case .foreignKey(let key):
      return try count("SELECT COUNT(o.\(SQLName.quoted(key.column))) FROM \(table) o\(reading)", layout)
    case .joinTable:
      return try count(RelationshipPairs(of: relationship, in: schema).count(ofOwnersIn: layout.table), layout)
    case .inverseForeignKey: return 0
    }
  }

  private func count(_ query: String, _ layout: EntityLayout) throws -> Int {
    let sharesTable = schema.entities(inTable: layout.table).contains { $0.name != layout.name }
    let condition = sharesTable ? " WHERE o.Z_ENT = \(layout.number)" : ""
    return Int(try database.scalar(query + condition)?.integer ?? 0)
  }
}
