// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore {
  func rows(for query: RowQuery) throws -> [RowSnapshot]? {
    try asking { state in
      if query.criteria.isSearch { try willSearch?(state) }
      let reader = try reader(for: query.entity, includesSubentities: query.includesSubentities)
      return try answer {
        let select = try state.entities.selects.select(
          reader.columns, of: state.entities.layout(of: query.entity), query.criteria)
        return try state.connection.cached(select.sql) { statement in
          try statement.bind(select.values)
          var rows: [RowSnapshot] = []
          while try statement.step() { rows.append(try reader.snapshot(statement)) }
          return rows
        }
      }
    }
  }

  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try asking { state in
      if query.criteria.isSearch { try willSearch?(state) }
      return try answer {
        let layout = try state.entities.layout(of: query.entity)
        let select = try state.entities.selects.select(["Z_PK", "Z_ENT"], of: layout, query.criteria)
        return try state.connection.cached(select.sql) { statement in
          try statement.bind(select.values)
          var ids: [NSManagedObjectID] = []
          while try statement.step() {
            let (key, number) = (statement.int64(at: 0), statement.int64(at: 1))
            guard let entity = state.entities.number(ofRow: number, like: layout),
              let id = state.entities.id(entity: entity, primaryKey: key)
            else {
              throw RowProblem(kind: .unknownEntity(number: number), table: layout.table, primaryKey: key, property: "")
            }
            ids.append(id)
          }
          return ids
        }
      }
    }
  }

  func count(for query: RowQuery) throws -> Int? {
    try asking { state in
      if query.criteria.isSearch { try willSearch?(state) }
      return try answer {
        let select = try state.entities.selects.count(
          of: state.entities.layout(of: query.entity), query.criteria)
        return Int(try state.connection.scalar(select.sql, select.values)?.integer ?? 0)
      }
    }
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    try asking { state in
      guard state.entities.owns(id) else { return nil }
      // The identifier of a to-one relationship's destination may have an ancestor of the row's entity.
      let reader = try reader(for: id.entity, includesSubentities: true)
      let columns = reader.columns.map { "t0.\(SQLName.quoted($0))" }.joined(separator: ", ")
      let table = SQLName.quoted(try state.entities.layout(of: id.entity).table)
      return try state.connection.cached("SELECT \(columns) FROM \(table) t0 WHERE t0.Z_PK = ?") { statement in
        try statement.bind(id.key.number, at: 1)
        return try statement.step() ? try reader.snapshot(statement) : nil
      }
    }
  }

  func members(of relationship: NSRelationshipDescription, for id: NSManagedObjectID) throws -> [NSManagedObjectID] {
    try asking { state in
      guard state.entities.owns(id),
        let layout = try state.entities.layout(of: id.entity).relationships[relationship.name]
      else { return [] }
      try willSearch?(state)
      return try MemberReader(connection: state.connection, entities: state.entities)
        .members(of: layout, primaryKey: id.key.number)
    }
  }

  func identifier(entityName: String, reference: String) -> NSManagedObjectID? {
    guard let entities = opened?.entities, let entity = entities.schema[entityName], reference.hasPrefix("p"),
      let key = Int64(reference.dropFirst()), key > 0
    else { return nil }
    return entities.id(entity: entity.number, primaryKey: key)
  }

  private func reader(for entity: NSEntityDescription, includesSubentities: Bool) throws -> RowReader {
    let state = try state()
    let layout = try state.entities.layout(of: entity)
    let key = "\(layout.number) \(includesSubentities)"
    if let reader = state.readers[key] { return reader }
    let reader = RowReader(
      entity: layout, includesSubentities: includesSubentities, entities: state.entities, external: state.external)
    opened?.readers[key] = reader
    return reader
  }

  /// Runs a query; returns nil if it cannot be expressed in SQL.
  private func answer<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch is NotExpressibleInSQL {
      return nil
    } catch let error as InvalidPattern {
      throw EvaluationError.invalidPattern(error.pattern)
    }
  }
}
