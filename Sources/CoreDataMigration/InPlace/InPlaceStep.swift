// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// One step of an in-place migration: from one version of the model to the next.
///
/// The step is planned from the two models, the layouts of their stores, and the inferred mapping between the versions.
/// `StatementBuilder` translates it to SQL, which `InPlaceStepRun` executes in its caller's transaction.
package struct InPlaceStep {
  package let source: IndexedModel
  package let destination: IndexedModel
  /// The layout of the file before the step.
  package let sourceSchema: StoreSchema
  /// The layout of a new store of the destination version, except for names of join tables that are not predictable.
  package let destinationSchema: StoreSchema
  package let mapping: StepMapping
  /// The source of values that only the program can compute.
  package let values: any ProgramValues
  /// The columns of source tables that no property of the source version uses, by table.
  package var extraColumns: [String: Set<String>] = [:]
  package var cleanup = ColumnCleanup.necessary
  private let found = FoundLayouts()

  /// A cache of relationship layouts. In a hierarchy, every sub-entity requests the layouts of all relationships it
  /// inherits.
  private final class FoundLayouts {
    var source: [[String]: [RelationshipLayout]] = [:]
  }

  /// A model with an index of its entities.
  package struct IndexedModel {
    package let document: ModelDocument
    private let index: PropertyIndex

    package init(_ document: ModelDocument) {
      self.document = document
      index = PropertyIndex(document)
    }

    /// Returns an attribute that an entity declares or inherits.
    package func attribute(_ name: String, of entity: String) -> AttributeDocument? {
      index.attribute(name, of: entity)
    }
  }

  /// An entity's number before and after the step.
  package struct Renumbering: Hashable {
    package let old: Int
    package let new: Int
  }

  /// Returns the layouts that a destination entity's relationship has in the source; none for a new relationship.
  ///
  /// A relationship that has moved to a parent entity may have one layout for each sub-entity.
  package func sourceRelationshipLayouts(of name: String, in entity: String) -> [RelationshipLayout] {
    if let known = self.found.source[[entity, name]] { return known }
    var found: [RelationshipLayout] = []
    for candidate in [entity] + subentities(of: entity) {
      guard let sourceEntity = mapping.sourceEntity(of: candidate),
        let sourceName = mapping.sourceRelationship(of: name, in: candidate),
        let layout = sourceSchema[sourceEntity]?.relationships[sourceName]
      else { continue }
      if !found.contains(where: { $0.name == layout.name && $0.declaringEntity == layout.declaringEntity }) {
        found.append(layout)
      }
    }
    self.found.source[[entity, name]] = found
    return found
  }

  /// Returns the layouts that a destination relationship and its inverse have in the source, except layouts of the
  /// inverse that describe the same pairs.
  package func sourceLayouts(
    of name: String, in entity: String, inverse: String?, in inverseEntity: String
  ) -> (own: [RelationshipLayout], inverse: [RelationshipLayout]) {
    let own = sourceRelationshipLayouts(of: name, in: entity)
    guard let inverse, destinationSchema[inverseEntity]?.relationships[inverse]?.inverseName == name else {
      return (own, [])
    }
    let others = sourceRelationshipLayouts(of: inverse, in: inverseEntity).filter { other in
      !own.contains { layout in
        layout.inverseName == other.name && other.inverseName == layout.name
          && isRelated(other.declaringEntity, layout.destinationEntity)
      }
    }
    return (own, others)
  }

  /// Returns whether two source entities are the same or one inherits from the other.
  private func isRelated(_ one: String, _ other: String) -> Bool {
    guard let left = sourceSchema[one], let right = sourceSchema[other] else { return false }
    return left.numbers.contains(right.number) || right.numbers.contains(left.number)
  }

  /// Returns whether objects of a source entity or its sub-entities are removed, or do not become objects of the
  /// destination entity.
  package func losesObjects(from sourceEntity: String, to destination: String) -> Bool {
    let kept = destinationSchema[destination]?.numbers ?? []
    return (sourceSchema[sourceEntity]?.numbers ?? []).contains { number in
      guard let name = sourceSchema.entity(number: number)?.name, let new = mapping.destinationEntity(of: name),
        let layout = destinationSchema[new]
      else { return true }
      return !kept.contains(layout.number)
    }
  }

  /// Returns a query for the keys of all objects of a destination entity after the step.
  package func keys(of destination: String) -> String {
    guard let entity = destinationSchema[destination] else { return "(NULL)" }
    let list = entity.numbers.map(String.init).joined(separator: ", ")
    let hierarchy = destinationSchema.entity(number: entity.rootNumber)?.numbers ?? []
    let condition = hierarchy == entity.numbers ? "" : " WHERE Z_ENT IN (\(list))"
    return "(SELECT Z_PK FROM \(SQLName.quoted(entity.table))\(condition))"
  }

  /// Returns the condition that a key is not NULL and not the key of an object of the destination entity after the
  /// step.
  ///
  /// - Parameter column: A column of a table whose name is not `k`.
  package func isMissing(_ column: String, from destination: String) -> String {
    guard destinationSchema.dialect == .postgreSQL, let entity = destinationSchema[destination] else {
      return "\(column) NOT IN \(keys(of: destination))"
    }
    // PostgreSQL executes this form as a join, whatever the number of keys.
    let hierarchy = destinationSchema.entity(number: entity.rootNumber)?.numbers ?? []
    let list = entity.numbers.map(String.init).joined(separator: ", ")
    let condition = hierarchy == entity.numbers ? "" : " AND k.Z_ENT IN (\(list))"
    return "\(column) IS NOT NULL AND NOT EXISTS "
      + "(SELECT 1 FROM \(SQLName.quoted(entity.table)) k WHERE k.Z_PK = \(column)\(condition))"
  }

  /// The SQL type of keys and order keys.
  package var keyType: String { destinationSchema.dialect == .sqlite ? "INTEGER" : "bigint" }

  /// Returns the beginning of a statement that creates a table for the duration of the step.
  package func creatingTemporaryTable(_ name: String) -> String {
    // Dropping a table of the file frees its space, which other tables can then reuse.
    destinationSchema.dialect == .sqlite ? "CREATE TABLE \(name)" : "CREATE TEMP TABLE \(name)"
  }

  /// Returns the numbers of a source entity and its sub-entities, except removed entities.
  package func renumbering(of sourceEntity: String) -> [Renumbering] {
    guard let layout = sourceSchema[sourceEntity] else { return [] }
    return layout.numbers.compactMap { old in
      guard let name = sourceSchema.entity(number: old)?.name, let new = mapping.destinationEntity(of: name),
        let number = destinationSchema[new]?.number
      else { return nil }
      return Renumbering(old: old, new: number)
    }
  }

  /// Returns the branches of a CASE expression that maps old entity numbers to new ones.
  package static func cases(_ renumbering: [Renumbering]) -> String {
    renumbering.map { "WHEN \($0.old) THEN \($0.new)" }.joined(separator: " ")
  }

  /// Returns the entities whose rows go into a destination table, each with its source entity.
  package func pairs(in table: TableLayout) -> [(source: EntityLayout, destination: EntityLayout)] {
    destinationSchema.entities(inTable: table.name).compactMap { destination in
      guard let name = mapping.sourceEntity(of: destination.name), let source = sourceSchema[name] else { return nil }
      return (source, destination)
    }
  }

  /// Returns the condition that selects the rows of a source entity in its table; nil for the only entity of a table,
  /// whose rows may have any entity number.
  package func condition(_ entity: EntityLayout) -> String? {
    let hierarchy = sourceSchema.entity(number: entity.rootNumber)?.numbers ?? []
    return hierarchy.count == 1 ? nil : "Z_ENT = \(entity.number)"
  }

  /// Returns a WHERE clause with a leading space for the conditions that are not nil; empty if all are nil.
  package static func whereClause(_ conditions: String?...) -> String {
    let conditions = conditions.compactMap { $0 }
    return conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
  }

  /// The source entities whose rows are dropped.
  package var removedEntities: [EntityLayout] {
    sourceSchema.entities.filter { mapping.destinationEntity(of: $0.name) == nil }
  }

  /// Returns the source entities of one table whose rows are dropped.
  package func removedEntities(inTable name: String) -> [EntityLayout] {
    sourceSchema.entities(inTable: name).filter { mapping.destinationEntity(of: $0.name) == nil }
  }

  private func subentities(of entity: String) -> [String] {
    (destinationSchema[entity]?.numbers ?? []).compactMap { destinationSchema.entity(number: $0)?.name }
      .filter { $0 != entity }
  }
}

extension InPlaceStep {
  /// Creates a step from two models and the layout of the store before it.
  ///
  /// - Parameters:
  ///   - schema: The layout of the store before the step.
  ///   - mapping: The mapping between the two versions; nil to infer it.
  /// - Throws: `SchemaProblem`; `InferenceFailure`.
  init(
    from source: ModelDocument, schema: StoreSchema, to destination: ModelDocument, configuration: String?,
    mapping: InferredMapping?, values: some ProgramValues
  ) throws {
    let names = StepMapping(try mapping ?? InferredMapping(source: source, destination: destination))
    self.init(
      source: .init(source), destination: .init(destination), sourceSchema: schema,
      destinationSchema: try StoreSchema(
        document: destination, configuration: destination.configuration(configuration), after: schema, mapping: names),
      mapping: names, values: values)
  }
}

/// An inferred mapping with lookups by name in either direction.
package struct StepMapping: EarlierNames {
  private struct Names {
    let source: String
    var attributes: [String: String] = [:]
    var relationships: [String: String] = [:]
  }

  private var byDestination: [String: Names] = [:]
  private var destinations: [String: String] = [:]

  package init(_ mapping: InferredMapping) {
    for match in mapping.matched {
      var names = Names(source: match.source)
      for attribute in match.attributes { names.attributes[attribute.destination] = attribute.source }
      for relationship in match.relationships { names.relationships[relationship.destination] = relationship.source }
      byDestination[match.destination] = names
      destinations[match.source] = match.destination
    }
  }

  /// Returns the earlier name of a destination entity, or nil if it is new.
  package func sourceEntity(of destination: String) -> String? { byDestination[destination]?.source }

  /// Returns the new name of a source entity, or nil if it is removed.
  package func destinationEntity(of source: String) -> String? { destinations[source] }

  /// Returns the earlier name of an attribute of a destination entity, or nil if it is new.
  package func sourceAttribute(of name: String, in destination: String) -> String? {
    byDestination[destination]?.attributes[name]
  }

  /// Returns the earlier name of a relationship of a destination entity, or nil if it is new.
  package func sourceRelationship(of name: String, in destination: String) -> String? {
    byDestination[destination]?.relationships[name]
  }
}

/// Specifies which unused columns a step removes.
package enum ColumnCleanup: Hashable {
  /// The columns of properties that the step removes. Columns left by earlier migrations stay unless the table is
  /// rebuilt.
  case necessary
  /// No columns, unless the table is rebuilt.
  case deferred
  case all
  /// The unused columns of one table.
  case table(String)

  /// Returns whether a table may keep unused columns left by earlier migrations.
  package func spares(_ table: String, _ extraColumns: Set<String>) -> Bool {
    switch self {
    case .necessary, .deferred: true
    case .all: extraColumns.isEmpty
    case .table(let name): name != table
    }
  }
}

extension StoreSchema {
  /// Returns the columns of the file that no property uses, by table. Omits tables without such columns.
  package func extraColumns(in catalog: DatabaseCatalog) -> [String: Set<String>] {
    var found: [String: Set<String>] = [:]
    for table in tables {
      let known = Set(table.columns.map { $0.name.uppercased() })
      let columns = catalog.table(named: table.name)?.columns.map(\.name) ?? []
      let extra = Set(columns.filter { !known.contains($0.uppercased()) })
      if !extra.isEmpty { found[table.name] = extra }
    }
    return found
  }
}

/// A change that cannot be made in place, or data that prevents it.
package struct InPlaceProblem: Error, Hashable {
  /// The kind of error that is reported to the caller.
  package enum Kind: Hashable {
    /// 134110
    case unsupported
    /// 134110, with Core Data's own description.
    case missingValues
    /// 134110: the store has another version than the migration was planned for, or is another file.
    case outdatedPlan
    /// 134111
    case notUnique(properties: [String])
  }

  package var kind: Kind
  package var entity: String?
  package var property: String?
  package var reason: String
  package var suggestion: String

  package init(
    kind: Kind = .unsupported, entity: String? = nil, property: String? = nil, reason: String, suggestion: String
  ) {
    self.kind = kind
    self.entity = entity
    self.property = property
    self.reason = reason
    self.suggestion = suggestion
  }
}
