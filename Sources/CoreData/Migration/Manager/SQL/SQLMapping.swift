// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A resolved mapping that SQL can run: its source rows, and the statement that creates destination rows from them.
///
/// The primary key of a new row is its source's key plus the mapping's offset.
final class SQLMapping {
  let resolved: ResolvedMapping
  let rows: SourceRows
  let destination: EntityLayout
  let sourceEntity: NSEntityDescription
  let destinationEntity: NSEntityDescription
  let source: MappedStore
  let target: MappedStore
  let objects: SourceRowObjects
  /// The functions that the statements call.
  private(set) var functions: [SQLFunction] = []
  private var fileFunction: String?
  private let scope: SQLScope
  private var columns: [AttributeColumns.Column] = []
  private var conditions: [BoundSQL] = []
  /// The statements that compute the derived attributes of the rows.
  private(set) var derivations: [BoundSQL] = []

  private var offset: Int64 { resolved.offset ?? 0 }

  /// - Throws: `SQLObstacle` for a mapping that requires objects, or that is invalid, which object migration reports.
  init(_ resolved: ResolvedMapping, from source: MappedStore, to target: MappedStore, objects: SourceRowObjects) throws
  {
    guard resolved.isPlain else { throw SQLObstacle("has a policy class") }
    guard let rows = try SourceRows(of: resolved, in: source),
      rows.entity.number == resolved.sourceNumber.map(Int.init),
      let sourceEntity = resolved.sourceEntity
    else { throw SQLObstacle("has source objects of an entity other than its own") }
    guard let destinationEntity = resolved.destinationEntity,
      let destination = resolved.destinationNumber.flatMap({ target.schema.entity(number: Int($0)) })
    else { throw SQLObstacle("has no destination entity") }
    if destination.isAbstract { throw SQLObstacle("creates objects of an abstract entity") }
    self.resolved = resolved
    self.rows = rows
    (self.sourceEntity, self.destinationEntity, self.destination) = (sourceEntity, destinationEntity, destination)
    (self.source, self.target, self.objects) = (source, target, objects)
    let builder = source.predicates()
    scope = SQLScope(entity: rows.entity, names: builder.aliases)
    columns = try AttributeColumns(mapping: self, scope: scope).columns()
    conditions = try rows.conditions(scope, builder, in: source)
    derivations = try DerivationStatements(mapping: self).statements()
  }

  /// Whether every row of the source's table becomes one row.
  var takesWholeTable: Bool { rows.filter == nil && !source.sharesTable(rows.entity) }

  /// Returns the condition for the rows that this mapping has created.
  func madeRows(_ alias: String) -> String {
    guard let keys = resolved.sourceKeys else { return "0" }
    return "\(alias).Z_PK BETWEEN \(offset + keys.lowerBound) AND \(offset + keys.upperBound) "
      + "AND \(alias).Z_ENT = \(destination.number)"
  }

  /// Adds a function for the statements.
  ///
  /// - Parameter texts: computes the same value for the arguments it supports.
  func addFunction(
    argumentCount: Int, texts: TextExpression? = nil, _ body: @escaping ([SQLiteValue]) throws -> SQLiteValue
  ) -> String {
    let name = "CDCOPY\(resolved.position)_\(functions.count)"
    functions.append(SQLFunction(name: name, argumentCount: argumentCount, texts: texts, body: body))
    return name
  }

  /// Returns a value that may be stored in a file. The destination gets a hard link to the file.
  func adoptedFile(_ value: BoundSQL) -> BoundSQL {
    let (old, new) = (source.external, target.external)
    let name =
      fileFunction
      ?? addFunction(argumentCount: 1) { arguments in
        .blob(try new.adopted(arguments[0].blob ?? Data(), from: old))
      }
    fileFunction = name
    // A file reference is 38 bytes long. Other values stay within SQLite.
    return "CASE WHEN LENGTH(\(value)) = 38 THEN \(raw: name)(\(value)) ELSE \(value) END"
  }

  /// Returns the statement that creates the rows. Its last two parameters are the bounds of the source's keys.
  ///
  /// - Parameter relationships: returns relationship columns, given the alias of the source row.
  func insertion(_ relationships: (_ alias: String) -> [AttributeColumns.Column]) -> BoundSQL {
    let columns = columns + relationships(scope.alias)
    let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns.map { SQLName.quoted($0.name) }
    let values: [BoundSQL] =
      ["\(raw: scope.alias).Z_PK + \(raw: String(offset))", "\(raw: String(destination.number))", "1"]
      + columns.map(\.value)
    let conditions = conditions + ["\(raw: scope.alias).Z_PK BETWEEN ? AND ?"]
    return """
      INSERT INTO \(raw: target.table(destination.table)) (\(raw: names.joined(separator: ", "))) \
      SELECT \(values.joined(", ")) FROM \(raw: source.table(rows.entity.table)) \(raw: scope.alias)\(raw: scope.joins) \
      WHERE \(conditions.joined(" AND "))
      """
  }
}

/// The source rows of an entity mapping.
///
/// They are the rows of the entity itself, without those of sub-entities. Mapping models, both inferred ones and those
/// created by Xcode, also have a mapping for each sub-entity, so each object is migrated once.
struct SourceRows {
  let entity: EntityLayout
  let filter: PredicateSyntax?
  /// The table with the keys of the rows that match a filter which SQL cannot express; filled before the rows are
  /// created.
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
      else { throw SQLObstacle("computes its fetch request") }
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

  /// Returns the conditions for a row; empty if the table has no other rows.
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

  /// Fills the table of keys if SQL cannot express the filter.
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

/// Provides the objects of source rows to expressions that need more than columns, and turns them into faults in
/// batches.
final class SourceRowObjects {
  private static let batch = 500

  private let stack: MigrationStack
  private var handedOut = 0

  init(_ stack: MigrationStack) {
    self.stack = stack
  }

  func object(_ entity: EntityLayout, _ key: Int64) throws -> NSManagedObject {
    if handedOut >= Self.batch {
      stack.releaseValues()
      handedOut = 0
    }
    handedOut += 1
    guard let object = stack.object(of: RowKey(entity: Int32(entity.number), number: key)) else {
      throw RowProblem(
        kind: .unknownEntity(number: Int64(entity.number)), table: entity.table, primaryKey: key, property: "")
    }
    return object
  }
}

/// The source or destination store, as accessed by statements on the destination's connection.
struct MappedStore {
  let model: NSManagedObjectModel
  /// The schema name of the store on the connection.
  let database: String
  let entities: StoredEntities
  let external: ExternalData

  var schema: StoreSchema { entities.schema }

  init(_ stack: MigrationStack, database: String) throws {
    let state = try stack.store.state()
    (model, self.database, entities, external) = (stack.model, database, state.entities, state.external)
  }

  /// Returns the name of a table, qualified by its schema name.
  func table(_ name: String) -> String { "\(database).\(SQLName.quoted(name))" }

  func description(of entity: EntityLayout) -> NSEntityDescription? { entities.description(number: entity.number) }

  /// Returns a compiler of predicates over the store's tables.
  func predicates() -> PredicateSQL {
    PredicateSQL(schema: schema, objects: entities, aliases: AliasNames(database: database))
  }

  /// Returns whether the table of an entity also contains rows of other entities.
  func sharesTable(_ entity: EntityLayout) -> Bool {
    schema.entity(number: entity.rootNumber)?.hasSubentities ?? false
  }
}

/// The reason why SQL cannot run an entity mapping or set its relationships. Objects then run the mapping, or report
/// the error.
struct SQLObstacle: Error, Hashable {
  /// A predicate whose subject is the mapping, such as "has a policy class".
  let reason: String
  let property: String?

  init(_ reason: String, property: String? = nil) {
    (self.reason, self.property) = (reason, property)
  }
}
