// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension PostgreSQLStore: PartialCopyDestination {
  func reserveNumbers(of entity: NSEntityDescription, through number: Int64) throws {
    try withState { state in
      let table = try state.plans.plan(for: entity).layout.table
      let sequence = SQLName.quoted(TableLayout.sequenceName(ofTable: table))
      _ = try state.connection.query(
        "SELECT setval($1::text::regclass, GREATEST($2 + 1, last_value + CASE WHEN is_called THEN \(Self.block) ELSE 0 END), "
          + "false) FROM \(sequence)", [.text(sequence), .integer(number)])
      keys.removeAll()
    }
  }

  private static let block = PostgreSQLDefinitions.keyBlockSize

  /// Drops indexes, which would slow down inserts, and foreign keys, which would reject references to later rows.
  func prepareForCopies(recordsHistory: Bool) throws {
    recordsCopies = recordsHistory
    try withState { state in
      guard try SchemaInDatabase(state.connection, address(), url: url).lockForCopy() else {
        throw StoreErrors.operationFailed(url: url, reason: "Another process is copying rows into the store.")
      }
      let schema = try newSchema()
      // Rows of files may lack a required value.
      for (table, columns) in requiredColumns(of: schema) {
        for column in columns { try alter(table, column, "DROP", state) }
      }
      let definitions = PostgreSQLDefinitions(schema)
      for key in definitions.foreignKeys {
        try state.connection.execute(
          "ALTER TABLE \(SQLName.quoted(key.table)) DROP CONSTRAINT IF EXISTS \(SQLName.quoted(key.name))")
      }
      for index in schema.indexes where !index.isUnique {
        try state.connection.execute("DROP INDEX IF EXISTS \(SQLName.quoted(index.name))")
      }
    }
  }

  /// Returns the layout of a new store of the model. The destination of a copy has this layout, but the catalog of an
  /// interrupted copy is incomplete.
  private func newSchema() throws -> StoreSchema {
    guard let model = persistentStoreCoordinator?.managedObjectModel else {
      throw StoreErrors.cannotOpen(url: url, reason: "The store has no coordinator and therefore no model.")
    }
    return try StoreSchema(document: model.document, configuration: customConfigurationName, dialect: .postgreSQL)
  }

  func finishCopies() throws {
    recordsCopies = true
    try withState { state in
      let schema = try newSchema()
      let definitions = PostgreSQLDefinitions(schema)
      for index in schema.indexes where !index.isUnique {
        try state.connection.execute(definitions.statement(of: index).sql)
      }
      try requireValues(schema, state)
      for key in definitions.foreignKeys { try state.connection.execute(key.statement.sql) }
      for table in schema.tables { try state.connection.execute("ANALYZE \(SQLName.quoted(table.name))") }
      try SchemaInDatabase(state.connection, address(), url: url).unlockAfterCopy()
    }
  }

  /// Returns the columns of a new store that must have a value, by table.
  private func requiredColumns(of schema: StoreSchema) -> [(table: String, columns: [String])] {
    guard let model = persistentStoreCoordinator?.managedObjectModel else { return [] }
    return ServerDefaults.all(model.document, schema, values: FrameworkValues()).sorted { $0.key < $1.key }
      .map { table, columns in (table, columns.filter(\.value.isRequired).keys.sorted()) }
      .filter { !$0.1.isEmpty }
  }

  /// Makes the columns required that have a value in all rows.
  private func requireValues(_ schema: StoreSchema, _ state: OpenedSchema) throws {
    for (table, columns) in requiredColumns(of: schema) {
      let lacks = columns.map { "coalesce(bool_or(\(SQLName.quoted($0)) IS NULL), false)" }.joined(separator: ", ")
      let rows = try state.connection.query("SELECT \(lacks) FROM \(SQLName.quoted(table))")
      for (position, column) in columns.enumerated() where !rows.bool(0, position) {
        try alter(table, column, "SET", state)
      }
    }
  }

  private func alter(_ table: String, _ column: String, _ verb: String, _ state: OpenedSchema) throws {
    try state.connection.execute(
      "ALTER TABLE \(SQLName.quoted(table)) ALTER COLUMN \(SQLName.quoted(column)) \(verb) NOT NULL")
  }

  func insertCopies(_ rows: [RowChange]) throws {
    guard let entity = rows.first?.id.entityDescription else { return }
    try copying { state in
      if recordsCopies { try recordHistory(rows, state) }
      try PostgreSQLRowWriter(state: state).insertCopies(rows, state.plans.plan(for: entity))
    }
  }

  func connectCopies(_ rows: [RowChange]) throws {
    try copying { try CopiedPairs(state: $0).connect(rows) }
  }

  func willReceiveCopy(of source: any RowStore) -> Bool {
    setOwnMetadata(StoreMetadata.Key.unfinishedCopy, CopyProgress.mark(source: source.identifier ?? ""))
    return true
  }

  func recordCopy(_ progress: CopyProgress?) throws {
    try copying { state in
      setOwnMetadata(StoreMetadata.Key.unfinishedCopy, progress?.propertyList)
      try SchemaInDatabase(state.connection, address(), url: url).setMetadata(metadata ?? [:])
    }
  }

  /// Runs a body that writes within the transaction of the current part.
  func copying(_ body: (OpenedSchema) throws -> Void) throws {
    let state = try writableState()
    try ErrorTranslation.translating(url: url, during: .use) {
      try body(state)
      try state.database.flush()
    }
  }
}

/// Writes the relationships of newly copied rows, with COPY for the pairs of join tables.
private struct CopiedPairs {
  let state: OpenedSchema

  func connect(_ rows: [RowChange]) throws {
    guard let entity = rows.first?.id.entityDescription else { return }
    let plan = try state.plans.plan(for: entity)
    var others = SlotSet()
    for (position, relationship) in plan.outside {
      if case .joinTable(let end) = relationship.storage, !end.isReflexive, end.inverseOrderColumn == nil {
        try copy(rows, position, end)
      } else {
        others.insert(position)
      }
    }
    if others.isEmpty { return }
    let rest = rows.compactMap { row -> RowChange? in
      let changed = SlotSet(others.filter { row.changed.contains($0) })
      if changed.isEmpty { return nil }
      return RowChange(kind: row.kind, id: row.id, old: row.old, slots: row.slots, changed: changed)
    }
    try state.relationships.writeRelationships(rest, positionsFollow: true)
  }

  private func copy(_ rows: [RowChange], _ position: Int, _ end: JoinEnd) throws {
    let columns = [end.sourceColumn, end.destinationColumn] + [end.orderColumn].compactMap { $0 }
    try state.connection.copyIn(end.table, columns: columns) { writer in
      for row in rows where row.changed.contains(position) {
        guard case .toMany(let members) = row.slots[position] else { continue }
        let ids = members.ids
        let places = end.orderColumn == nil ? [] : OrderKeys.arranged(Array(repeating: nil, count: ids.count))
        for (number, member) in ids.enumerated() {
          writer.beginRow(fieldCount: columns.count)
          writer.field(int64: row.id.key.number)
          writer.field(int64: member.key.number)
          if !places.isEmpty { writer.field(int64: places[number]) }
        }
      }
    }
  }
}
