// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Compares the statements that we compute for a model with those in the files that Core Data made for it.
@Suite("Layout of stores that Apple's tools made")
struct SchemaProofTests {
  /// What a comparison has found.
  struct Outcome {
    var store: String
    var equal = 0
    var differences: [String] = []
    var isOrderEqual = false
  }

  /// Stores whose statements differ from ours, with how many do, and why.
  static let exceptions: [(path: String, differences: Int, reason: String)] = [
    (
      "XcodeServer_1.0.0_empty.sqlite", 15,
      "the source beside the store has since got fetch indexes, which are not part of version hashes"
    ),
    (
      "XcodeServer_1.0.0_full.sqlite", 15,
      "the source beside the store has since got fetch indexes, which are not part of version hashes"
    ),
  ]

  /// Stores with equal statements that do not stand in our order.
  static let orderExceptions: [(path: String, reason: String)] = [
    ("XcodeServer_1.0.0", "two join tables of one entity, whose order follows no known rule"),
    ("Bookmarks_V2", "two indexes that attributes imply, whose order follows no known rule"),
  ]

  /// The framework that made the index after each table, named indexes of attributes after columns, and had neither a
  /// model cache nor a second index of join tables.
  static let firstFrameworkOfToday = 637

  @Test(
    "Statements equal those of every store whose model is known and which was not migrated",
    .enabled(if: Fixtures.isPresent, "the fixtures are not there"))
  func statementsEqual() throws {
    var proven = 0
    var statements = 0
    var unknown: [String] = []
    var migrated: [String] = []
    for store in try FixtureStore.all() {
      if store.wasMigratedInPlace {
        migrated.append(store.name)
        continue
      }
      let models = try store.models()
      guard !models.isEmpty else {
        unknown.append(store.name)
        continue
      }
      let outcomes = try models.map { try compare($0.document, with: store) }
      guard let best = outcomes.min(by: { $0.differences.count < $1.differences.count }) else { continue }
      let exception = Self.exceptions.first { store.name.hasSuffix($0.path) }
      #expect(
        best.differences.count == exception?.differences ?? 0,
        "\(store.name): \(best.differences.joined(separator: "\n"))")
      if store.frameworkVersion >= Self.firstFrameworkOfToday {
        let mayDiffer = Self.orderExceptions.contains { store.name.contains($0.path) }
        #expect(best.isOrderEqual != mayDiffer, "\(store.name) has its statements in another order")
      }
      proven += best.differences.isEmpty ? 1 : 0
      statements += best.equal
    }
    print("Layout: \(proven) stores and \(statements) statements equal; migrated: \(migrated); no model: \(unknown)")
    #expect(proven == 29)
    #expect(migrated.count == 1)
    #expect(unknown.count == 9)
  }

  @Test(
    "Every store is found again in its file, also a migrated one",
    .enabled(if: Fixtures.isPresent, "the fixtures are not there"))
  func reconciliation() throws {
    var reconciled = 0
    for store in try FixtureStore.all() {
      let models = try store.models()
      for model in models {
        let schema = try StoreSchema(
          document: model.document, catalog: store.catalog, primaryKeys: store.primaryKeys)
        for table in schema.tables {
          let columns = table.columns.map { SQLName.quoted($0.name) }.joined(separator: ", ")
          _ = try store.connection.rows("SELECT \(columns) FROM \(SQLName.quoted(table.name)) LIMIT 1")
        }
        for join in schema.joinTables {
          let columns = [join.ownerColumn, join.destinationColumn, join.orderColumn, join.inverseOrderColumn]
          let list = columns.compactMap { $0 }.map(SQLName.quoted).joined(separator: ", ")
          _ = try store.connection.rows("SELECT \(list) FROM \(SQLName.quoted(join.name)) LIMIT 1")
        }
        for entity in schema.entities {
          #expect(store.primaryKeys.contains { $0.number == entity.number })
        }
        reconciled += 1
      }
    }
    #expect(reconciled > 0)
  }

  private func compare(_ document: ModelDocument, with store: FixtureStore) throws -> Outcome {
    let schema = try StoreSchema(document: document)
    let ours =
      store.frameworkVersion >= Self.firstFrameworkOfToday ? schema.creationStatements : older(schema)
    let expected = Dictionary(uniqueKeysWithValues: ours.map { ($0.name, $0.sql) })
    let found = Dictionary(uniqueKeysWithValues: store.statements.map { ($0.name, $0.sql) })
    var outcome = Outcome(store: store.name)
    for name in Set(expected.keys).union(found.keys).sorted() {
      if expected[name] == found[name] {
        outcome.equal += 1
      } else {
        outcome.differences.append("\(name): ours \(expected[name] ?? "none"), file \(found[name] ?? "none")")
      }
    }
    let common = Set(expected.keys).intersection(found.keys)
    outcome.isOrderEqual =
      ours.map(\.name).filter(common.contains) == store.statements.map(\.name).filter(common.contains)
    return outcome
  }

  /// The statements as a framework before 637 would make them.
  private func older(_ schema: StoreSchema) -> [SchemaStatement] {
    let indexes = schema.indexes.compactMap { index -> SchemaStatement? in
      switch index.purpose {
      case .joinTable: return nil
      case .fetch where index.elements.count == 1:
        let column = index.elements[0].column
        let name = "\(index.table)_\(column)_INDEX"
        return SchemaStatement(name: name, sql: "CREATE INDEX \(name) ON \(index.table) (\(column))")
      default: return index.statement
      }
    }
    return schema.tableStatements + indexes
      + StoreSchema.housekeepingStatements.filter { $0.name != "Z_MODELCACHE" }
  }
}
