// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTestSupport
import Foundation
import Testing

@testable import SwiftData

@Suite("Stores of Apple's SwiftData, with classes for their schemas", .enabled(if: Fixtures.isPresent, "no fixtures"))
struct FixtureTests {
  init() {
    let name = NSValueTransformerName("ColorTransformer")
    if ValueTransformer(forName: name) == nil {
      ValueTransformer.setValueTransformer(ColorTransformer(), forName: name)
    }
  }

  @Test("Every store has classes, and every schema a store")
  func complete() {
    #expect(StoreFixture.all.count == Fixtures.swiftDataStores.count)
    #expect(Set(StoreFixture.all.map(\.project.path)) == Set(StoreFixture.projects.map(\.path)))
  }

  @Test("The model of the classes has the version hashes of the store", arguments: StoreFixture.all)
  func hashes(_ fixture: StoreFixture) throws {
    let copy = try Fixtures.copy(ofStore: fixture.url)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: copy.url)
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: fixture.project.models))
    #expect(model.entityVersionHashesByName == metadata[NSStoreModelVersionHashesKey] as? [String: Data])
    #expect(model.versionChecksum == metadata[NSPersistentStoreModelVersionChecksumKey] as? String)
  }

  @Test("Models have the values that Core Data reads with the model of the store", arguments: StoreFixture.all)
  func values(_ fixture: StoreFixture) throws {
    let copy = try Fixtures.copy(ofStore: fixture.url)
    let expected = try coreDataRows(copy)
    let before = try metadata(copy)
    let context = try open(copy, fixture)
    #expect(try metadata(copy) == before)
    expectEqual(try RowTexts(context, fixture.project.models), expected)
  }

  @Test("Changed, inserted and deleted models are saved, and other rows stay", arguments: StoreFixture.all)
  func changes(_ fixture: StoreFixture) throws {
    let copy = try Fixtures.copy(ofStore: fixture.url)
    var context = try open(copy, fixture)
    var expected = try coreDataRows(copy)
    let inserted = (0..<2).reduce(0) { $0 + fixture.project.insert(context, $1) }
    #expect(inserted == context.insertedModelsArray.count)
    try context.save()
    let withNew = try coreDataRows(copy)
    #expect(withNew.rows.count == expected.rows.count + inserted)
    expectEqual(RowTexts(withNew.rows.filter { expected.rows[$0.key] != nil }), expected)

    expected = withNew
    context = try open(copy, fixture)
    let changed = try #require(try change(context, fixture.project.models))
    let deleted = try #require(try delete(context, fixture.project.models, keeping: changed.key))
    let cascade = try cascade(of: deleted, copy)
    try context.save()
    expected.rows[changed.key]?[changed.property] = "\"\(changed.value)\""
    for key in cascade { expected.rows[key] = nil }
    expected.forget(cascade)
    expectEqual(try coreDataRows(copy), expected)
    expectEqual(try RowTexts(try open(copy, fixture), fixture.project.models), expected)
    let verdict = try StoreVerifier(StoreReader(url: copy.url)).run()
    #expect(verdict.defects.map { "\($0)" } == [])
    #expect(verdict.gaps == [])
  }

  // MARK: Reading

  private func open(_ copy: TemporaryStore, _ fixture: StoreFixture) throws -> ModelContext {
    ModelContext(
      try ModelContainer(for: Schema(fixture.project.models), configurations: ModelConfiguration(url: copy.url)))
  }

  private func metadata(_ copy: TemporaryStore) throws -> NSDictionary {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: copy.url) as NSDictionary
  }

  /// Opens the store with Core Data and the model in the store.
  private func withCoreData<Result>(
    _ copy: TemporaryStore, _ work: (NSManagedObjectContext, NSManagedObjectModel) throws -> Result
  ) throws -> Result {
    let model = try NSManagedObjectModel.load(contentsOf: copy.url)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options = [NSPersistentHistoryTrackingKey: true]
    try coordinator.addPersistentStore(type: .sqlite, at: copy.url, options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return try work(context, model)
  }

  private func coreDataRows(_ copy: TemporaryStore) throws -> RowTexts {
    try withCoreData(copy) { try RowTexts($0, $1) }
  }

  /// Returns an object with those that its delete rules delete.
  private func cascade(of key: String, _ copy: TemporaryStore) throws -> Set<String> {
    try withCoreData(copy) { context, model in
      var pending: [NSManagedObject] = []
      for entity in model.entities {
        pending += try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")).filter {
          RowTexts.key($0) == key
        }
      }
      var found: Set<String> = []
      while let object = pending.popLast() {
        guard found.insert(RowTexts.key(object)).inserted else { continue }
        for (name, relationship) in object.entity.relationshipsByName
        where relationship.deleteRule == .cascadeDeleteRule {
          let value = object.value(forKey: name)
          pending += (value as? Set<NSManagedObject>) ?? (value as? NSManagedObject).map { [$0] } ?? []
        }
      }
      return found
    }
  }

  private func expectEqual(
    _ found: RowTexts, _ expected: RowTexts, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let different = Set(found.rows.keys).union(expected.rows.keys).filter { found.rows[$0] != expected.rows[$0] }
    for key in different.sorted().prefix(3) {
      let (one, other) = (found.rows[key], expected.rows[key])
      let names = Set(one?.keys.map { $0 } ?? []).union(other?.keys.map { $0 } ?? []).filter { one?[$0] != other?[$0] }
      for name in names.sorted() {
        Issue.record(
          "\(key).\(name) is \(one?[name] ?? "missing") instead of \(other?[name] ?? "missing")",
          sourceLocation: sourceLocation)
      }
    }
    #expect(different.count == 0, sourceLocation: sourceLocation)
  }

  // MARK: Changing

  /// Changes a text of the first model that has one which need not be unique.
  private func change(
    _ context: ModelContext, _ types: [any PersistentModel.Type]
  ) throws -> (key: String, property: String, value: String)? {
    for type in types {
      if let change = try Self.change(type, context) { return change }
    }
    return nil
  }

  private static func change<Model: PersistentModel>(
    _ type: Model.Type, _ context: ModelContext
  ) throws -> (key: String, property: String, value: String)? {
    let model = try context.fetch(FetchDescriptor<Model>()).min { $0.persistentModelID < $1.persistentModelID }
    guard let model else { return nil }
    for property in Model.schemaMetadata {
      guard let keyPath = property.keypath as? ReferenceWritableKeyPath<Model, String>,
        property.metadata?.isUnique != true
      else { continue }
      model[keyPath: keyPath] += " changed"
      return (
        "\(model.persistentModelID.entityName)/\(model.persistentModelID.id.primaryKey)", property.name,
        model[keyPath: keyPath]
      )
    }
    return nil
  }

  /// Deletes the last model of the last type that has two, and to which no one-way relationship leads.
  private func delete(
    _ context: ModelContext, _ types: [any PersistentModel.Type], keeping key: String
  ) throws -> String? {
    let relationships = Schema(types).entities.flatMap(\.relationships)
    let kept = Set(relationships.filter { $0.inverseName == nil }.map(\.destination))
    for type in types.reversed() where !kept.contains(String(describing: type)) {
      if let deleted = try Self.delete(type, context), deleted != key { return deleted }
    }
    return nil
  }

  private static func delete<Model: PersistentModel>(_ type: Model.Type, _ context: ModelContext) throws -> String? {
    let models = try context.fetch(FetchDescriptor<Model>()).sorted { $0.persistentModelID < $1.persistentModelID }
    guard models.count > 1, let last = models.last else { return nil }
    let key = "\(last.persistentModelID.entityName)/\(last.persistentModelID.id.primaryKey)"
    context.delete(last)
    return key
  }
}
