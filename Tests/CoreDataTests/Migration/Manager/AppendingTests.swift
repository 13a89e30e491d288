// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Mapping models without policies into a store that exists", .serialized)
struct AppendingTests {
  /// Whether objects carried out a mapping of the last migration.
  private final class Watch {
    var sawObjects = false
  }

  private func sample(usesSQL: Bool) throws -> (sample: ManagerSample, watch: Watch) {
    let sample = try ManagerSample(folders: 3, notes: 12)
    sample.manager.usesStoreSpecificMigrationManager = usesSQL
    return (sample, Watch())
  }

  /// Migrates, and notes whether any mapping was carried out object by object.
  private func migrate(_ sample: ManagerSample, _ watch: Watch) throws {
    try sample.migrate()
    watch.sawObjects = sample.manager.executions.contains { $0.rows == .objects }
  }

  private static func notes(_ filter: String, links: [String: String] = [:]) -> NSEntityMapping {
    ManagerSample.entity(
      "NoteToNote", "Note", "Note",
      ["title": "FUNCTION($source.title, 'lowercaseString')", "rank": "$source.rank"], links, filter: filter)
  }

  @Test("A whole mapping model twice makes every object twice, each with its own links", arguments: [false, true])
  func twice(_ usesSQL: Bool) throws {
    let (sample, watch) = try sample(usesSQL: usesSQL)
    for _ in 0..<2 {
      try migrate(sample, watch)
      #expect(watch.sawObjects != usesSQL)
      // Without it the second pass would also know of what the first has made.
      sample.manager.reset()
    }
    try sample.result { (context) throws in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.count == 24 && Set(notes.map(\.objectID)).count == 24)
      #expect(notes.map { $0.value(forKeyPath: "box.label") as? String } == (0..<24).map { "F\($0 / 2 % 3 + 1)" })
      #expect(notes.map { $0.names("tags").count } == (0..<24).map { $0 / 2 % 4 })
      #expect(notes.map { $0.names("favourites") }.allSatisfy { $0 == $0.sorted(by: >) })
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.names("notes", "title").count } == Array(repeating: 4, count: 6))
    }
  }

  @Test("In passes by parts: each by SQL, later ones led to what earlier ones have made", arguments: [false, true])
  func passes(_ usesSQL: Bool) throws {
    let (sample, watch) = try sample(usesSQL: usesSQL)
    let all = sample.mapping.entityMappings ?? []
    let box = try #require(all.first)
    box.relationshipMappings = []
    sample.mapping.entityMappings = [box]
    try migrate(sample, watch)
    #expect(watch.sawObjects != usesSQL)
    // Without relationships nothing of earlier passes is needed.
    sample.mapping.entityMappings = [Self.notes("rank <= 4")]
    try migrate(sample, watch)
    #expect(watch.sawObjects != usesSQL)
    // A pass that fails leaves what the manager knows of those before it.
    let wrong = Self.notes("rank > 4", links: ["box": ManagerSample.of("FolderToBox", "folder")])
    wrong.attributeMappings = ManagerSample.properties(["rank": "$source.title"])
    sample.mapping.entityMappings = [wrong]
    #expect(throws: NSError.self) { try sample.migrate() }
    #expect(sample.manager.associations.tables(named: "NoteToNote")?.count == 1)
    // Associations of the first pass are the manager's.
    for filter in ["rank BETWEEN {5, 8}", "rank > 8"] {
      sample.mapping.entityMappings = [
        Self.notes(filter, links: ["box": ManagerSample.of("FolderToBox", "folder")])
      ]
      try migrate(sample, watch)
      #expect(watch.sawObjects != usesSQL)
    }
    try sample.result { (context) throws in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == (1...12).map { "n\($0)" })
      let labels = notes.map { $0.value(forKeyPath: "box.label") as? String }
      #expect(labels == (0..<12).map { $0 < 4 ? nil : "F\($0 % 3 + 1)" })
      #expect(try context.all("Box", by: "label").count == 3)
    }
    #expect(sample.manager.associations.tables(named: "NoteToNote")?.count == 3)
  }

  @Test("A value of an earlier pass: 134111 with it, and the destination as it was", arguments: [false, true])
  func uniqueness(_ usesSQL: Bool) throws {
    func model(_ isUnique: Bool) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      let entity = builder.entity("Note", [.make("title", .stringAttributeType)])
      if isUnique { entity.uniquenessConstraints = [["title"]] }
      return builder.model()
    }
    let store = try TemporaryStore()
    let context = try store.context(model(false))
    for title in ["a", "b", "c"] { context.make("Note", ["title": title]) }
    try context.save()
    try store.close()
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: model(false), destinationModel: model(true))
    manager.usesStoreSpecificMigrationManager = usesSQL
    func migrate(_ filter: String) throws {
      let mapping = NSMappingModel()
      let title = ["title": "FUNCTION($source.title, 'uppercaseString')"]
      mapping.entityMappings = [ManagerSample.entity("Notes", "Note", "Note", title, filter: filter)]
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    }
    try migrate("title != 'c'")
    let (before, source) = (try FileContent(target), try FileContent(store.url))
    let error = try #require(throws: NSError.self) { try migrate("title != 'a'") }
    #expect(error.code == NSMigrationConstraintViolationError)
    #expect(error.localizedFailureReason?.contains("'B'") == true, "\(error)")
    #expect(try FileContent(target) == before && FileContent(store.url) == source)
    try migrate("title == 'c'")
    try StoreChecks.check(target, model(true))
    try store.open(target, model(true)) { (context) throws in
      #expect(try context.all("Note", by: "title").map { $0.text("title") } == ["A", "B", "C"])
    }
  }

  @Test("Another new store knows nothing of what the same source has become elsewhere", arguments: [false, true])
  func elsewhere(_ usesSQL: Bool) throws {
    let (sample, watch) = try sample(usesSQL: usesSQL)
    try migrate(sample, watch)
    let other = sample.store.folder.appendingPathComponent("Other.sqlite")
    let mapping = NSMappingModel()
    mapping.entityMappings = [Self.notes("rank > 4")]
    try sample.manager.migrateStore(from: sample.store.url, type: .sqlite, mapping: mapping, to: other, type: .sqlite)
    #expect(sample.manager.associations.knownNames == ["NoteToNote"])
  }
}
