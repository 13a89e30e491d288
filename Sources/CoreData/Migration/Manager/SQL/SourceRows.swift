// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles

/// The rows of the source that an entity mapping is about.
///
/// They are those of the entity itself. A mapping model has a mapping for each sub-entity too, both the inferred ones and
/// those that Xcode begins with, and objects come out of such a migration once.
struct SourceRows {
  let entity: EntityLayout
  let filter: PredicateSyntax?
  /// Holds the keys of the rows that meet a filter which SQL cannot express; filled before the copy.
  let keyTable: String?

  /// - Returns: nil for a mapping without source rows.
  /// - Throws: `SQLObstacle` for source objects that SQL cannot find.
  init?(of mapping: ResolvedMapping, in store: MappedStore) throws {
    let found: (entity: String, filter: String?)
    switch mapping.sources {
    case .none: return nil
    case .all:
      guard let entity = mapping.mapping.sourceEntityName else { return nil }
      found = (entity, nil)
    case .request(
      .function(.variable(NSMigrationManagerKey), ManagerFunction.sourceRequest.rawValue, let arguments),
      context: .keyPathOf(.variable(NSMigrationManagerKey), "sourceContext")):
      guard arguments.count == 2, case .constant(.string(let entity)) = arguments[0],
        case .constant(let text) = arguments[1]
      else { throw SQLObstacle("computes what it fetches") }
      if case .string(let filter) = text { found = (entity, filter) } else { found = (entity, nil) }
    case .request, .collection:
      throw SQLObstacle("has a source expression that is not a fetch request for an entity")
    }
    guard let entity = store.schema[found.entity] else {
      throw SQLObstacle("fetches the unknown entity '\(found.entity)'")
    }
    self.entity = entity
    do {
      let predicate = try found.filter.map { try PredicateParser.parse($0) } ?? .constant(true)
      filter = predicate == .constant(true) ? nil : predicate
    } catch {
      throw SQLObstacle("has a filter predicate that cannot be read")
    }
    guard let filter else {
      keyTable = nil
      return
    }
    let properties = store.description(of: entity)?.propertiesByName ?? [:]
    for path in filter.keyPaths {
      let key = path.split(separator: ".").first.map(String.init) ?? path
      guard properties[key] != nil || key.hasPrefix("@") || ["self", "SELF", "objectID"].contains(key) else {
        throw SQLObstacle("has a filter predicate with the unknown key '\(key)'")
      }
    }
    let builder = store.predicates()
    do {
      _ = try builder.condition(filter, SQLNames(evaluated: SQLScope(entity: entity, names: builder.aliases)))
      keyTable = nil
    } catch is NotExpressibleInSQL {
      keyTable = "temp.CDCOPYKEYS\(mapping.position)"
    }
  }

  /// What a row has to meet; nothing where the table holds no others.
  func conditions(_ scope: SQLScope, _ builder: PredicateSQL, in store: MappedStore) throws -> [BoundSQL] {
    var conditions: [BoundSQL] = []
    if store.sharesTable(entity) {
      conditions.append("\(raw: scope.alias).Z_ENT = \(value: .integer(Int64(entity.number)))")
    }
    if let keyTable {
      conditions.append("\(raw: scope.alias).Z_PK IN (SELECT K FROM \(raw: keyTable))")
    } else if let filter {
      conditions.append(try builder.condition(filter, SQLNames(evaluated: scope)))
    }
    return conditions
  }

  /// Fills the table of keys where SQL cannot express the filter.
  func writeKeys(of mapping: SQLMapping, _ connection: SQLiteConnection) throws {
    guard let keyTable, let filter else { return }
    try connection.run("DROP TABLE IF EXISTS \(keyTable)")
    try connection.run("CREATE TABLE \(keyTable) (K INTEGER PRIMARY KEY)")
    let condition = mapping.source.sharesTable(entity) ? " WHERE Z_ENT = \(entity.number)" : ""
    let statement = try connection.prepare("SELECT Z_PK FROM \(mapping.source.table(entity.table))\(condition)")
    try statement.forEachRow { row in
      let key = row.int64(at: 0)
      let object = try mapping.objects.object(entity, key)
      if try PredicateEvaluator().evaluate(filter, with: object) {
        try connection.run("INSERT INTO \(keyTable) (K) VALUES (?)", [.integer(key)])
      }
    }
  }
}
