// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// One step, carried out in a server and in a SQLite file with the same rows.
struct ServerStepCheck {
  let old: ModelDocument
  let new: ModelDocument
  let database: PsqlDatabase

  struct NoValues: ProgramValues {
    func archivedDefault(of attribute: AttributeDocument) throws -> Data? { throw UnwritableDefault(reason: "") }

    func text(_ function: String, of text: String) throws -> String? { text }
  }

  enum Outcome {
    case done(differences: [String], ServerStep)
    /// Both engines refuse it.
    case refused(InPlaceProblem.Kind)
    case obstacle(ServerStepObstacle)
  }

  /// The rows of `Z_PRIMARYKEY` of a new store.
  static func primaryKeys(of schema: StoreSchema) -> [PrimaryKeyRow] {
    schema.entities.map { PrimaryKeyRow(number: $0.number, name: $0.name, parentNumber: $0.parentNumber) }
  }

  /// Plans a step for a new store of a version.
  static func plan(_ old: ModelDocument, _ new: ModelDocument) throws -> ServerStep {
    let schema = try StoreSchema(document: old, dialect: .postgreSQL)
    return try ServerStep(
      from: old, schema: schema, primaryKeys: primaryKeys(of: schema), to: new, configuration: nil,
      values: NoValues())
  }

  /// Makes a new store without rows in a schema of its own.
  private func make(_ schema: StoreSchema, in name: String) throws {
    try database.run("DROP SCHEMA IF EXISTS \(name) CASCADE")
    try database.run("CREATE SCHEMA \(name)")
    try database.run("SET search_path TO \(name)")
    for statement in PostgreSQLDefinitions(schema).creationStatements { try database.run(statement.sql) }
    for entity in schema.entities {
      try database.run(
        "INSERT INTO z_primarykey VALUES (?, ?, ?, 0)",
        [.integer(Int64(entity.number)), .text(entity.name), .integer(Int64(entity.parentNumber))])
    }
  }

  /// - Throws: what neither engine should throw.
  func run(withRows: Bool) throws -> Outcome {
    let source = try StoreSchema(document: old, dialect: .postgreSQL)
    let planned: ServerStep
    do {
      planned = try Self.plan(old, new)
    } catch let obstacle as ServerStepObstacle {
      return .obstacle(obstacle)
    }
    let file = try StoreFile.createInMemory(
      URL(fileURLWithPath: "/dev/null"), document: old, configuration: nil, metadata: [:], pragmas: [:])
    var differences: [String] = []
    try database.transaction { try make(source, in: "old") }
    if withRows {
      let fileSchema = try StoreSchema(document: old)
      let rows = MadeUpRows(old, fileSchema)
      try file.connection.transaction { try rows.insert(into: file.connection, fileSchema) }
      try database.transaction { try rows.insert(into: database, source) }
      differences += try images(file, fileSchema, source).map { "before: \($0)" }
    }
    let inFile = problem { try migrate(file) }
    let inServer = problem {
      try database.transaction { try ServerStepRun(planned, on: database).run() }
    }
    switch (inFile, inServer) {
    case (nil, nil): break
    case (let first as InPlaceProblem, let second as InPlaceProblem)
    where (first.kind, first.entity, first.property) == (second.kind, second.entity, second.property):
      return .refused(first.kind)
    default:
      return .done(
        differences: ["in a file: \(inFile.map { "\($0)" } ?? "-"); in the server: \(inServer.map { "\($0)" } ?? "-")"],
        planned)
    }
    differences += try images(file, try StoreSchema(document: new), planned.schema)
    differences += try catalogueDifferences(planned)
    return .done(differences: differences, planned)
  }

  private func problem(_ body: () throws -> Void) -> (any Error)? {
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }

  private func migrate(_ file: StoreFile) throws {
    let connection = file.connection
    try DerivedColumns.register(in: connection, NoValues())
    _ = try connection.transaction(.immediate) {
      try InPlaceStepRun(from: old, to: new, mapping: nil, configuration: nil, file: file, values: NoValues()).carryOut(
        DroppedFiles(connection: connection), IntegrityGuard(connection, url: file.url, policy: .never)
      ) { _, _, _, _ in }
    }
  }

  private func images(_ file: StoreFile, _ inFile: StoreSchema, _ inServer: StoreSchema) throws -> [String] {
    let expected = try RowImage(file.connection, inFile) { sql in
      try file.connection.rows(sql).map { row in
        row.values.map { value in
          switch value {
          case .null: nil
          case .integer(let number): "\(number)"
          case .real(let number): "\(number)"
          case .text(let text): text
          case .blob(let bytes): bytes.map { String($0, radix: 16) }.joined()
          }
        }
      }
    }
    return try RowImage(database, inServer, texts: database.texts).differences(from: expected)
  }

  /// What the catalogue has that a new store with the same entity numbers has not, and the other way round.
  private func catalogueDifferences(_ planned: ServerStep) throws -> [String] {
    let migrated = try ServerImage(database)
    let rows = try database.texts("SELECT z_ent, z_name, z_super FROM z_primarykey ORDER BY 1")
    let catalog = try database.catalog()
    try database.transaction { try make(planned.schema, in: "fresh") }
    let fresh = try ServerImage(database)
    var differences = migrated.differences(from: fresh).map { "catalogue: \($0)" }
    let wanted = planned.primaryKeys.map { ["\($0.number)", $0.name, "\($0.parentNumber)"] }
    if rows != wanted { differences.append("z_primarykey: \(rows) instead of \(wanted)") }
    let found = try StoreSchema(document: new, catalog: catalog, primaryKeys: planned.primaryKeys)
    differences += Self.differences(found, planned.schema)
    return differences
  }

  /// What opening the store finds otherwise than the plan says.
  private static func differences(_ found: StoreSchema, _ planned: StoreSchema) -> [String] {
    var result: [String] = []
    for (one, other) in zip(found.entities, planned.entities) where one != other {
      result.append("layout of \(one.name): \(one) instead of \(other)")
    }
    if found.entities.count != planned.entities.count { result.append("other entities") }
    for table in found.tables where Set(table.columns) != Set(planned.table(named: table.name)?.columns ?? []) {
      result.append("columns of \(table.name)")
    }
    if found.joinTables != planned.joinTables { result.append("join tables \(found.joinTables), \(planned.joinTables)") }
    if Set(found.indexes) != Set(planned.indexes) { result.append("indexes") }
    return result
  }
}
