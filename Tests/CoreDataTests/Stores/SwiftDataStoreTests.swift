// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Stores that SwiftData made", .serialized)
struct SwiftDataStoreTests {
  /// Stores whose statements differ from those of a new store, with how many do, and why.
  private static let exceptions: [(path: String, differences: Int, reason: String)] = [
    (
      "/MyStereoviews.store", 4,
      "two join tables of one entity have a column for the same side, and are numbered the other way round"
    )
  ]

  @Test(
    "A new store of the carried model has the same tables, columns and indexes",
    .enabled(if: Fixtures.isPresent, "the fixtures are not there"))
  func statementsEqual() throws {
    var (tables, elements) = (0, 0)
    for url in Fixtures.swiftDataStores {
      let store = try FixtureStore(url)
      #expect(!store.wasMigratedInPlace, "\(store.name)")
      let model = try #require(try store.models().last?.document, "\(store.name)")
      let ours = try StoreSchema(document: model)
      let expected = Dictionary(uniqueKeysWithValues: ours.creationStatements.map { ($0.name, $0.sql) })
      let found = Dictionary(uniqueKeysWithValues: store.statements.map { ($0.name, $0.sql) })
      let different = Set(expected.keys).union(found.keys).sorted().filter { expected[$0] != found[$0] }
      let exception = Self.exceptions.first { store.name.contains($0.path) }
      #expect(different.count == exception?.differences ?? 0, "\(store.name) \(different)")
      for table in ours.tables { #expect(!different.contains(table.name), "\(store.name)") }
      tables += ours.tables.count
      for entity in ours.entities {
        elements += entity.attributes.values.reduce(0) { $0 + $1.elements.count }
      }
    }
    print("SwiftData: \(Fixtures.swiftDataStores.count) stores, \(tables) tables, \(elements) elements")
    #expect(Fixtures.swiftDataStores.count == 17)
    #expect(elements > 100)
  }

  @Test(
    "Every store opens with the model that it carries, is changed and saved, and read by a second stack",
    .enabled(if: Fixtures.isPresent, "the fixtures are not there"))
  func changed() throws {
    var changes: [String: Int] = [:]
    for url in Fixtures.swiftDataStores {
      let name = Fixtures.name(of: url)
      let temporary = try Fixtures.copy(ofStore: url)
      let copy = temporary.url
      let store = try TemporaryStore()
      func open() throws -> NSManagedObjectContext {
        try store.context(
          try NSManagedObjectModel.load(contentsOf: copy), options: PersistentHistoryTests.tracked, at: copy)
      }
      let context = try open()
      var expected: [URL: [String: NSObject]] = [:]
      for entity in try #require(context.persistentStoreCoordinator).managedObjectModel.entities {
        for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")) {
          var values: [String: NSObject] = [:]
          for (key, attribute) in entity.attributesByName {
            guard let composite = attribute as? NSCompositeAttributeDescription else { continue }
            let changed = Self.changed(object[key] as? [String: Any] ?? [:], composite)
            object[key] = changed
            values[key] = changed as NSDictionary
            changes["\(entity.name ?? "").\(key)", default: 0] += 1
          }
          if values.isEmpty, let own = entity.attributesByName.values.first(where: { Self.mayChange($0, entity) }) {
            values[own.name] = "changed" as NSString
            object[own.name] = "changed"
          }
          if !values.isEmpty { expected[object.objectID.uriRepresentation()] = values }
        }
      }
      if expected.isEmpty {
        let object = try Self.insert(into: context)
        try context.save()
        expected[object.objectID.uriRepresentation()] = [:]
      } else {
        try context.save()
      }
      try store.close()

      let second = try open()
      let coordinator = try #require(second.persistentStoreCoordinator)
      for (id, values) in expected {
        let object = try second.existingObject(
          with: #require(coordinator.managedObjectID(forURIRepresentation: id), "\(name)"))
        for (key, value) in values { #expect(object[key] as? NSObject == value, "\(name) \(id) \(key)") }
      }
      let last = try #require(try PersistentHistoryTests.history(second).last, "\(name)")
      #expect(last.changes?.count == expected.count, "\(name)")
      for change in last.changes ?? [] where change.changeType == .update {
        let values = expected[change.changedObjectID.uriRepresentation()] ?? [:]
        #expect(Set(change.updatedProperties?.map(\.name) ?? []) == Set(values.keys), "\(name)")
      }
      try store.close()
    }
    #expect(changes.count >= 8, "\(changes)")
  }

  /// An object with all required values, in a store without objects.
  private static func insert(into context: NSManagedObjectContext) throws -> NSManagedObject {
    let entities = try #require(context.persistentStoreCoordinator).managedObjectModel.entities
    let free = entities.filter { entity in
      entity.relationshipsByName.values.allSatisfy { $0.isOptional || $0.isToMany }
    }
    let entity = try #require(free.min { ($0.name ?? "") < ($1.name ?? "") })
    let object = NSManagedObject(entity: entity, insertInto: context)
    for (key, attribute) in entity.attributesByName where !attribute.isOptional && object[key] == nil {
      switch attribute.attributeType {
      case .stringAttributeType: object[key] = "new"
      case .UUIDAttributeType: object[key] = UUID()
      case .dateAttributeType: object[key] = Date()
      case .booleanAttributeType: object[key] = true
      case .binaryDataAttributeType: object[key] = Data()
      case .compositeAttributeType:
        let composite = try #require(attribute as? NSCompositeAttributeDescription)
        object[key] = changed([:], composite)
      default: object[key] = 1
      }
    }
    return object
  }

  private static func mayChange(_ attribute: NSAttributeDescription, _ entity: NSEntityDescription) -> Bool {
    attribute.attributeType == .stringAttributeType && !attribute.isTransient
      && !entity.uniquenessConstraints.joined().contains { $0 as? String == attribute.name }
  }

  /// Another value for each element of a simple type.
  private static func changed(
    _ value: [String: Any], _ composite: NSCompositeAttributeDescription
  ) -> [String: Any] {
    var value = value
    for element in composite.elements {
      switch element.attributeType {
      case .stringAttributeType: value[element.name] = "changed \(element.name)"
      case .doubleAttributeType, .floatAttributeType: value[element.name] = 0.25
      case .UUIDAttributeType: value[element.name] = UUID()
      case .binaryDataAttributeType: value[element.name] = Data(element.name.utf8)
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: value[element.name] = 7
      default: continue
      }
    }
    return value
  }
}
