// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Rows are decoded when they are read")
struct PackedRowTests {
  private static let token = UUID()

  /// Values at the edges of each type.
  private static var values: [[String: Any]] {
    [
      [:],
      [
        "age": Int(Int16.min), "badge": Int(Int32.max), "steps": Int.min, "isActive": false, "rating": -0.0,
        "height": Float.leastNonzeroMagnitude, "salary": NSDecimalNumber(string: "-12345.678"),
        "hired": Date(timeIntervalSinceReferenceDate: -1e9), "photo": Data(), "scan": Data([1]), "token": token,
        "site": URL(string: "https://example.org/a%20b") as Any, "tags": ["a", "b"] as NSArray,
      ],
      [
        "age": 0, "steps": Int.max, "rating": Double.infinity, "photo": Data(repeating: 7, count: 3_000_000),
        "scan": Data(repeating: 9, count: 400_000), "tags": NSDictionary(dictionary: ["key": 1]),
        "hired": Date(timeIntervalSinceReferenceDate: 0.1),
      ],
    ]
  }

  private static let names = ["", "e\u{301}\0x", String(repeating: "long ", count: 300_000)]

  private func filled() throws -> (TemporaryStore, NSManagedObjectContext) {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let department = context.make("Department", ["name": "all"])
    for (name, values) in zip(Self.names, Self.values) {
      let employee = context.make("Employee", values.merging(["name": name, "department": department]) { $1 })
      employee["friends"] = NSSet(object: employee)
    }
    try context.save()
    context.reset()
    return (store, context)
  }

  private func expectSame(_ object: NSManagedObject, _ values: [String: Any], _ key: String) {
    let found = object.value(forKey: key)
    guard let wanted = values[key] else {
      #expect(key == "isActive" ? found as? Bool == true : found == nil, "\(key)")
      return
    }
    #expect((found as? NSObject).map { $0.isEqual(wanted) } ?? ("\(found ?? "nil")" == "\(wanted)"), "\(key)")
  }

  @Test("Every value is the same on the first read, when it is read often, and after another one has changed")
  func reads() throws {
    let (store, context) = try filled()
    let all = Self.values
    let attributes = ["age", "badge", "steps", "isActive", "rating", "height", "salary", "hired", "photo", "scan"]
    for round in 0..<3 {
      for (name, values) in zip(Self.names, all) {
        let object = try #require(
          try context.all("Employee", where: NSPredicate(format: "name == %@", name)).first, "round \(round)")
        for _ in 0...(round * 15) {
          for key in attributes { expectSame(object, values, key) }
          #expect(object["name"] as? String == name)
          #expect(object["token"] as? UUID == values["token"] as? UUID)
          #expect(object["site"] as? URL == values["site"] as? URL)
          #expect((object["tags"] as? NSObject) == (values["tags"] as? NSObject))
          #expect((object["department"] as? NSManagedObject)?["name"] as? String == "all")
        }
        #expect(object.changedValues().isEmpty)
        #expect(!object.hasPersistentChangedValues)
        object["age"] = 77
        #expect(Set(object.changedValues().keys) == ["age"])
        for key in attributes where key != "age" { expectSame(object, values, key) }
        #expect((object["friends"] as? Set<NSManagedObject>) == [object])
        context.rollback()
        expectSame(object, values, "age")
      }
      context.reset()
    }
    withExtendedLifetime(store) {}
  }

  @Test("An object that is changed, saved and read again keeps what was not read")
  func saves() throws {
    let (store, context) = try filled()
    for object in try context.all("Employee") { object["badge"] = 5 }
    try context.save()
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    for (name, values) in zip(Self.names, Self.values) {
      let object = try #require(try other.all("Employee", where: NSPredicate(format: "name == %@", name)).first)
      #expect(object["badge"] as? Int == 5)
      for key in ["age", "steps", "rating", "photo", "scan", "hired"] { expectSame(object, values, key) }
    }
    try store.close()
    try StoreChecks.check(store.url, CompanyModel.make())
  }

  @Test("An identifier that is asked for later is equal to the first one, and so is the object that it leads to")
  func identifiers() throws {
    let (store, context) = try filled()
    let objects = try context.all("Employee")
    let department = try #require(objects[0]["department"] as? NSManagedObject)
    let keys = objects.map(\.key)
    let ids = objects.map(\.objectID)
    #expect(ids.map(\.key) == keys)
    #expect(ids == objects.map(\.objectID))
    #expect(ids.map { context.object(with: $0) } == objects)
    #expect(ids.allSatisfy { $0.persistentStore === context.coordinator.persistentStores[0] && !$0.isTemporaryID })
    #expect(try context.existingObject(with: department.objectID) === department)
    context.refreshAllObjects()
    #expect(ids == objects.map(\.objectID))
    #expect(objects.allSatisfy { ($0["department"] as? NSManagedObject) === department })
    withExtendedLifetime(store) {}
  }
}
