// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

#if compiler(>=6.2)
@MainActor @Model private final class Setting {
  var name: String
  var children: [Setting] = []
  @Relationship(inverse: \Setting.children) var parent: Setting?

  init(name: String) { self.name = name }
}

@MainActor
@Suite("Models of an actor")
struct IsolationTests {
  @Test("A model of the main actor is stored, fetched and observed")
  func mainActor() throws {
    let container = try ModelContainer(
      for: Setting.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = container.mainContext
    let parent = Setting(name: "a")
    context.insert(parent)
    parent.children.append(Setting(name: "b"))
    try context.save()

    // `#Predicate` needs key paths that any thread may use, which those of the main actor are not.
    let found = try context.fetch(FetchDescriptor<Setting>()).filter { $0.parent != nil }
    #expect(found.map(\.name) == ["b"])
    nonisolated(unsafe) var changes = 0
    withObservationTracking {
      _ = found.first?.name
    } onChange: {
      changes += 1
    }
    found.first?.name = "c"
    #expect(changes == 1)
    context.delete(parent)
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Setting>()).map(\.parent?.name) == [nil])
  }
}
#endif

@Suite("Stages as constants")
struct StageConstantTests {
  private enum Old: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [] }
  }
  private enum New: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [] }
  }
  private enum Plan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Old.self, New.self] }
    static var stages: [MigrationStage] { [toNew] }
    static let toNew = MigrationStage.custom(
      fromVersion: Old.self, toVersion: New.self, willMigrate: { try $0.save() }, didMigrate: nil)
  }

  @Test("A plan may have its stages in constants")
  func constants() { #expect(Plan.stages.count == 1) }
}
