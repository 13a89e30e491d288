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

  init?(of mapping: NSEntityMapping, position: Int, in side: CopySide) throws {
    let name = mapping.name ?? ""
    let found: (entity: String, filter: String?)
    switch mapping.sourceSyntax {
    case nil:
      guard mapping.mappingType != .addEntityMappingType, let entity = mapping.sourceEntityName else { return nil }
      found = (entity, nil)
    case .fetch(
      .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments),
      .keyPathOf(.variable("manager"), "sourceContext"), false)?:
      guard arguments.count == 2, case .constant(.string(let entity)) = arguments[0],
        case .constant(let text) = arguments[1]
      else { throw CopyBarrier(mapping: name, reason: "computes what it fetches") }
      if case .string(let filter) = text { found = (entity, filter) } else { found = (entity, nil) }
    case _?:
      throw CopyBarrier(mapping: name, reason: "has a source expression that is not a fetch request for an entity")
    }
    guard let entity = side.schema[found.entity] else {
      throw CopyProblem(
        mapping: name, entity: found.entity, reason: "The source has no entity '\(found.entity)'.",
        suggestion: "Name an entity of the source model in the mapping.")
    }
    self.entity = entity
    do {
      let predicate = try found.filter.map { try PredicateParser.parse($0) } ?? .constant(true)
      filter = predicate == .constant(true) ? nil : predicate
    } catch {
      throw CopyProblem(
        mapping: name, entity: found.entity,
        reason: "Its filter predicate \"\(found.filter ?? "")\" cannot be read: \(error)",
        suggestion: "Correct the filter predicate in the mapping model.")
    }
    guard let filter else {
      keyTable = nil
      return
    }
    let properties = side.description(of: entity)?.propertiesByName ?? [:]
    for path in filter.keyPaths {
      // A mistake in the mapping model, whether or not there is a row to try it on.
      let key = path.split(separator: ".").first.map(String.init) ?? path
      guard properties[key] != nil || key.hasPrefix("@") || ["self", "SELF", "objectID"].contains(key) else {
        throw CopyProblem(
          mapping: name, entity: found.entity, property: key,
          reason: "Its filter predicate asks for '\(key)', which '\(found.entity)' does not have.",
          suggestion: "Correct the filter predicate in the mapping model.")
      }
    }
    let builder = side.predicates()
    do {
      _ = try builder.condition(filter, SQLNames(evaluated: SQLScope(entity: entity, names: builder.aliases)))
      keyTable = nil
    } catch is NotExpressibleInSQL {
      keyTable = "temp.CDCOPYKEYS\(position)"
    }
  }

  /// What a row has to meet; nothing where the table holds no others.
  func conditions(_ scope: SQLScope, _ builder: PredicateSQL, in side: CopySide) throws -> [BoundSQL] {
    var conditions: [BoundSQL] = []
    if side.sharesTable(entity) {
      conditions.append("\(raw: scope.alias).Z_ENT = \(value: .integer(Int64(entity.number)))")
    }
    if let keyTable {
      conditions.append("\(raw: scope.alias).Z_PK IN (SELECT K FROM \(raw: keyTable))")
    } else if let filter {
      conditions.append(try builder.condition(filter, SQLNames(evaluated: scope)))
    }
    return conditions
  }

  /// Writes down the keys of rows whose filter SQL cannot express.
  func writeKeys(of plan: CopyPlan, _ connection: SQLiteConnection) throws {
    guard let keyTable, let filter else { return }
    try connection.run("DROP TABLE IF EXISTS \(keyTable)")
    try connection.run("CREATE TABLE \(keyTable) (K INTEGER PRIMARY KEY)")
    let condition = plan.source.sharesTable(entity) ? " WHERE Z_ENT = \(entity.number)" : ""
    let statement = try connection.prepare("SELECT Z_PK FROM \(plan.source.table(entity.table))\(condition)")
    try statement.forEachRow { row in
      let key = row.int64(at: 0)
      let object = try plan.objects.object(entity, key)
      if try PredicateEvaluator().evaluate(filter, with: object) {
        try connection.run("INSERT INTO \(keyTable) (K) VALUES (?)", [.integer(key)])
      }
    }
  }

  /// Whether all objects that a relationship can lead to are among these rows.
  func cover(_ destination: String, in side: CopySide) -> Bool {
    guard filter == nil, let layout = side.schema[destination] else { return false }
    return layout.numbers.allSatisfy { number in
      number == entity.number || side.schema.entity(number: number)?.isAbstract == true
    }
  }

  /// Whether a relationship can lead to any of these rows.
  func isReachable(_ destination: String, in side: CopySide) -> Bool {
    side.schema[destination]?.numbers.contains(entity.number) ?? false
  }
}
