// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension StoreReader {
  /// Calls a body with every object, sorted by entity and key.
  ///
  /// - Parameters:
  ///   - names: the entities whose objects are wanted, without their sub-entities; nil for all.
  ///   - limit: how many objects at most; nil for all.
  ///   - didMissValue: called for a value whose file cannot be read, which is then null; nil to throw an error.
  ///   - body: called with each object.
  /// - Throws: `StoreProblem`, or what `body` or `didMissValue` throws.
  package func forEachObject(
    of names: [String]? = nil, limit: Int? = nil, didMissValue: ((StoreProblem) throws -> Void)? = nil,
    _ body: (ExportedObject) throws -> Void
  ) throws {
    var left = limit ?? Int.max
    for name in names ?? [] where !entities.contains(where: { $0.name == name }) {
      throw StoreProblem(
        .unknownEntity, "The store has no entity \(name). It has \(entityNames.joined(separator: ", ")).")
    }
    try checkTables(of: entities.filter { names?.contains($0.name) ?? true })
    // Entities that are asked for by name can be read even from a damaged store.
    if names == nil { try checkEntityNumbers() }
    let references = ObjectReferences(reader: self, didMissValue: didMissValue)
    for entity in entities where names?.contains(entity.name) ?? true {
      guard left > 0, let table = entity.table else { continue }
      let plan = rowPlan(of: entity, table: table)
      let columns = (["Z_PK"] + plan.columns).map { SQLName.quoted($0) }.joined(separator: ", ")
      let sql =
        "SELECT \(columns) FROM \(SQLName.quoted(table)) WHERE \(entity.condition) ORDER BY Z_PK LIMIT ?1"
      let statement = try explaining { () -> SQLiteStatement in
        let statement = try connection.prepare(sql)
        try statement.bind([.integer(Int64(left))])
        return statement
      }
      while try explaining({ try statement.step() }) {
        let key = statement.int64(at: 0)
        let values = try explaining {
          try plan.steps.map { step in (step.name, try step.value(statement, key, references)) }
        }
        try body(
          ExportedObject(entity: entity.name, id: references.id(entity.name, key), values: values))
        left -= 1
      }
    }
    try StoreProblem.translating(url, file.checkUnchanged)
  }

  /// The entity and all its sub-entities by name; nil where the store has no such entity.
  package func family(of name: String) -> [String]? {
    guard entities.contains(where: { $0.name == name }) else { return nil }
    guard let layout = schema?[name] else { return [name] }
    return entities.filter { layout.numbers.contains($0.number) }.map(\.name)
  }

  private func rowPlan(of entity: ReadableEntity, table: String) -> ExportPlan {
    var plan = ExportPlan(entity: entity.name)
    guard let layout = entity.layout else {
      plan.addDeclared(catalog.table(named: table)?.columns ?? [])
      return plan
    }
    for (name, attribute) in layout.attributes { plan.add(attribute, name: name) }
    for (name, relationship) in layout.relationships { plan.add(relationship, name: name) }
    plan.sort()
    return plan
  }
}
