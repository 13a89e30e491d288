// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Reports of migrations by mapping models")
struct MappingExecutionTests {
  private final class NotingPolicy: NSEntityMigrationPolicy {}

  private func model() -> ModelBuilder {
    var builder = ModelBuilder()
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Dog", [.make("name", .stringAttributeType)])
    builder.relate(.init("Person", "dogs", toMany: true), .init("Dog", "owner"))
    return builder
  }

  private func sample(_ name: String = "$source.name") throws -> CopySteps {
    let steps = try CopySteps(model(), model())
    try steps.fill { context in
      let person = context.make("Person", ["name": "p"])
      for _ in 0..<2 { context.make("Dog", ["name": "d", "owner": person]) }
    }
    steps.map("Person", "Person", ["name": "$source.name"])
    steps.map("Dog", "Dog", ["name": name], links: ["owner": CopySteps.made(of: "owner")])
    return steps
  }

  private func manager(_ steps: CopySteps) -> NSMigrationManager {
    NSMigrationManager(sourceModel: steps.old, destinationModel: steps.new)
  }

  private func migrate(_ steps: CopySteps, by manager: NSMigrationManager, _ options: [String: Any]? = nil) throws {
    try manager.migrateStore(
      from: steps.store.url, type: .sqlite, options: nil, mapping: steps.mappingModel, to: steps.target, type: .sqlite,
      options: options)
  }

  @Test("Name the executor of each mapping, and why it was not SQL")
  func executors() throws {
    MigrationPolicyClasses.register(NotingPolicy.self, as: "MappingExecutionNotingPolicy")
    let steps = try sample()
    let manager = manager(steps)
    try migrate(steps, by: manager)
    #expect(manager.executions.map(\.mapping) == ["PersonToPerson", "DogToDog"])
    #expect(manager.executions.allSatisfy { $0.rows == .sql && $0.relationships == .sql && $0.reason == nil })

    steps.mappings[0].entityMigrationPolicyClassName = "MappingExecutionNotingPolicy"
    steps.mappings[1].relationshipMappings?[0].valueExpression = NSExpression(format: "nil")
    try migrate(steps, by: manager)
    #expect(manager.executions.map(\.rows) == [.objects, .sql])
    #expect(manager.executions.map(\.relationships) == [.objects, .objects])
    #expect(manager.executions[0].reason == "has a policy class")
    #expect(
      manager.executions[1].reason == "has an expression for the relationship 'owner' that takes objects")

    manager.usesStoreSpecificMigrationManager = false
    try migrate(steps, by: manager)
    #expect(manager.executions.allSatisfy { $0.rows == .objects && $0.reason?.contains("may not use SQL") == true })
  }

  @Test("Keep what SQL failed with where objects can do it")
  func keptFailure() throws {
    let steps = try sample()
    let manager = manager(steps)
    try migrate(steps, by: manager)
    // Objects get their relationships after they were made, SQL makes rows with theirs.
    let connection = try SQLiteConnection(url: steps.target, mode: .readWrite)
    try connection.run("UPDATE ZDOG SET Z_OPT = 2")
    try connection.run("CREATE UNIQUE INDEX ODD ON ZDOG (Z_OPT) WHERE ZOWNER IS NOT NULL AND Z_OPT = 1")
    try connection.close()
    let other = self.manager(steps)
    try migrate(steps, by: other)
    #expect(other.executions.map(\.rows) == [.sql, .objects])
    #expect((other.executions[1].sqlFailure as? SQLiteError)?.isConstraint == true)
    #expect(other.executions[1].reason?.contains("failed in SQL") == true)
    #expect(try steps.dump(steps.target).values("Dog", "name") == ["d", "d", "d", "d"])
  }

  @Test("Have what SQL failed with beneath the error where objects fail too")
  func underlyingFailure() throws {
    let steps = try sample(
      "FUNCTION(FUNCTION($source.name, 'componentsSeparatedByString:', ' '), 'objectAtIndex:', 7)")
    let manager = manager(steps)
    let error = try #require(throws: NSError.self) { try migrate(steps, by: manager) }
    #expect(error.code == NSMigrationError && error.localizedFailureReason?.contains("objectAtIndex:") == true)
    #expect(manager.executions[1].sqlFailure != nil)
    #expect((error.userInfo[NSError.multipleUnderlyingErrorsKey] as? [any Error])?.isEmpty == false)
  }

  @Test("A full disk is told at once, and objects are not tried")
  func fullDisk() throws {
    let steps = try CopySteps(model(), model())
    try steps.fill { context in
      for number in 0..<2_000 { context.make("Person", ["name": "\(number)" + String(repeating: "x", count: 200)]) }
    }
    steps.map("Person", "Person", ["name": "$source.name"])
    let manager = manager(steps)
    let error = try #require(throws: NSError.self) {
      try migrate(steps, by: manager, [NSSQLitePragmasOption: ["max_page_count": "60"]])
    }
    #expect(error.code == NSFileWriteOutOfSpaceError || error.code == NSSQLiteError, "\(error)")
    #expect(manager.executions[0].sqlFailure == nil && manager.executions[0].reason == nil)
    #expect(try steps.store.files().filter { $0.contains("Target") } == [])
  }

  @Test("Are part of what a migration reports, step by step")
  func report() throws {
    let store = try TemporaryStore()
    try RecoverySample.fill(store.url, rows: 4, photos: 1)
    let migration = try RecoverySample.migration(store.url, [(2, .inferred), (3, .mapping)])
    let report = try migration.run()
    #expect(report.mappings.map(\.step) == [2, 2])
    #expect(report.mappings.allSatisfy { $0.rows == .sql })
  }
}
