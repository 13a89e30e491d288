// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Key-value coding beyond the properties of the model.
@Suite("Key-value coding")
struct KeyValueTests {
  private final class Person: NSManagedObject {
    var extra: [String: Any] = [:]

    override func value(forUndefinedKey key: String) -> Any? {
      key == "shout" ? (value(forKey: "name") as? String)?.uppercased() : super.value(forUndefinedKey: key)
    }
    override func setValue(_ value: Any?, forUndefinedKey key: String) {
      if key == "extra" { extra[key] = value } else { super.setValue(value, forUndefinedKey: key) }
    }
    override func setNilValueForKey(_ key: String) {
      if key == "age" { setValue(-1, forKey: key) } else { super.setNilValueForKey(key) }
    }
  }

  private let context: NSManagedObjectContext
  private let store: TemporaryStore

  init() throws {
    var builder = ModelBuilder()
    builder.entity(
      "Person",
      [
        .make("name", .stringAttributeType), .make("age", .integer16AttributeType), .make("size", .doubleAttributeType),
        .make("price", .decimalAttributeType),
      ]
    ).managedObjectClassName = "KeyValuePerson"
    ManagedObjectClasses.register(Person.self, as: "KeyValuePerson")
    builder.entity("Group", [.make("name", .stringAttributeType)])
    builder.relate(.init("Group", "people", toMany: true, ordered: true), .init("Person", "group"))
    builder.relate(.init("Group", "guests", toMany: true), .init("Person", "groups", toMany: true))
    store = try TemporaryStore()
    context = try store.context(builder.model())
  }

  private func person(_ name: String, _ values: [String: Any] = [:]) throws -> Person {
    try #require(context.make("Person", values.merging(["name": name]) { $1 }) as? Person)
  }

  @Test("The object's own keys have values, which read no row and serve in predicates")
  func ownKeys() throws {
    let ada = try person("Ada")
    #expect(ada.value(forKey: "isInserted") as? Bool == true && ada.value(forKey: "hasChanges") as? Bool == true)
    try context.save()
    #expect(ada.value(forKey: "objectID") as? NSManagedObjectID == ada.objectID)
    #expect(ada.value(forKey: "self") as? NSManagedObject === ada)
    #expect(ada.value(forKey: "managedObjectContext") as? NSManagedObjectContext === context)
    #expect(ada.value(forKey: "entity") as? NSEntityDescription === ada.entity)
    for key in ["isDeleted", "deleted", "isInserted", "isUpdated", "updated", "isFault", "hasChanges"] {
      #expect(ada.value(forKey: key) as? Bool == false, "\(key)")
    }
    context.refresh(ada, mergeChanges: false)
    #expect(ada.value(forKey: "isFault") as? Bool == true && ada.isFault)
    #expect(ada.value(forKeyPath: "self.name") as? String == "Ada")
    let ben = try person("Ben")
    let all: [NSManagedObject] = [ada, ben]
    func names(_ format: String, _ arguments: Any...) -> [String?] {
      let predicate = NSPredicate(format: format, argumentArray: arguments)
      return all.filter { predicate.evaluate(with: $0) }.map { $0.value(forKey: "name") as? String }
    }
    #expect(names("isInserted == YES") == ["Ben"])
    #expect(names("hasChanges == NO AND isDeleted == NO") == ["Ada"])
    #expect(names("objectID == %@", ada.objectID) == ["Ada"])
    #expect(names("self == %@", ben) == ["Ben"])
    #expect((all as NSArray).filtered(using: NSPredicate(format: "managedObjectContext != nil")).count == 2)
    // A store has no such column.
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSPredicate(format: "nothing == YES")
    #expect(throws: NSError.self) { try context.fetch(request) }
  }

  @Test("Undefined keys go to the class, also those of key paths and predicates")
  func undefinedKeys() throws {
    let ada = try person("Ada")
    let group = context.make("Group", ["people": NSOrderedSet(object: ada)])
    #expect(ada.value(forKey: "shout") as? String == "ADA")
    #expect(ada.value(forKeyPath: "group.people.shout") as? NSOrderedSet == ["ADA"])
    #expect(group.value(forKeyPath: "people.shout") as? NSOrderedSet == ["ADA"])
    #expect(NSPredicate(format: "shout == 'ADA'").evaluate(with: ada))
    #expect(try ada.checkedValue(forKeyPath: "shout") as? String == "ADA")
    ada.setValue(5, forKey: "extra")
    #expect(ada.extra["extra"] as? Int == 5)
    group.setValue(6, forKeyPath: "people.extra")
    #expect(ada.extra["extra"] as? Int == 6)
    try ada.setCheckedValue(7, forKeyPath: "extra")
    #expect(ada.extra["extra"] as? Int == 7)
    try group.setCheckedValue(8, forKeyPath: "people.extra")
    try ada.setCheckedValues(["extra": NSNull(), "name": "Ada L."])
    #expect(ada.extra["extra"] == nil && ada.value(forKey: "name") as? String == "Ada L.")
    let unknown = #expect(throws: NSError.self) { try group.setCheckedValue(9, forKeyPath: "extra") }
    #expect(unknown?.code == NSCoreDataError && unknown?.localizedFailureReason?.contains("extra") == true)
    #expect(throws: NSError.self) { try group.setCheckedValues(["extra": 9]) }
    let error = #expect(throws: NSError.self) { try ada.checkedValue(forKeyPath: "whisper") }
    #expect(error?.code == NSCoreDataError && error?.localizedFailureReason?.contains("whisper") == true)
    #expect(throws: NSError.self) { try group.checkedValue(forKeyPath: "people.whisper") }
    #expect(throws: NSError.self) { try ada.setCheckedValue(1, forKeyPath: "whisper.name") }
  }

  @Test("Undefined keys that the class refuses stop the program")
  func refusedKeys() async {
    await #expect(processExitsWith: .failure) { _ = try KeyValueTests().person("a").value(forKey: "whisper") }
    await #expect(processExitsWith: .failure) { try KeyValueTests().person("a").setValue(1, forKey: "whisper") }
    await #expect(processExitsWith: .failure) { try KeyValueTests().person("a").setNilValueForKey("whisper") }
  }

  @Test("Nil for a number goes to the class; by default there is no value then")
  func nilValues() throws {
    let ada = try person("Ada", ["age": 36, "size": 1.5, "price": NSDecimalNumber(value: 2)])
    for key in ["age", "size", "price", "name"] { ada.setValue(nil, forKey: key) }
    #expect(ada.value(forKey: "age") as? Int == -1)
    #expect(ada.value(forKey: "size") == nil && ada.value(forKey: "price") == nil && ada.value(forKey: "name") == nil)
    ada.setValuesForKeys(["age": NSNull()])
    #expect(ada.value(forKey: "age") as? Int == -1)
  }

  @Test("Live sets are found by key paths")
  func liveSets() throws {
    let (ada, ben) = (try person("Ada"), try person("Ben"))
    let group = context.make("Group", ["people": NSOrderedSet(object: ada)])
    ada.mutableOrderedSetValue(forKeyPath: "group.people").add(ben)
    ada.mutableSetValue(forKeyPath: "group.guests").add(ben)
    group.mutableSetValue(forKeyPath: "guests").add(ada)
    #expect(group.value(forKey: "people") as? NSOrderedSet == [ada, ben])
    #expect(group.value(forKey: "guests") as? Set<NSManagedObject> == [ada, ben])
    #expect((ben.value(forKey: "group") as? NSManagedObject) === group)
  }

  @Test("Live sets of no object stop the program")
  func missingOwner() async {
    await #expect(processExitsWith: .failure) {
      _ = try KeyValueTests().person("a").mutableSetValue(forKeyPath: "group.guests")
    }
  }

  @Test("Values of an ordered relationship are an ordered set, those of a set a set, each value once")
  func collections() throws {
    let people = try ["b", "a", "b"].map {
      try person($0, ["age": $0 == "a" ? 1 : 2, "price": NSDecimalNumber(value: 3)])
    }
    let group = context.make("Group", ["name": "g", "people": NSOrderedSet(array: people)])
    group.setValue(NSSet(array: people), forKey: "guests")
    #expect(group.value(forKeyPath: "people.name") as? NSOrderedSet == ["b", "a"])
    #expect(group.value(forKeyPath: "guests.name") as? NSSet == NSSet(array: ["a", "b"]))
    #expect(group.value(forKeyPath: "people.@count") as? Int == 3)
    #expect(group.value(forKeyPath: "people.age.@sum") as? Int == 5)
    #expect(group.value(forKeyPath: "people.@distinctUnionOfObjects.name") as? NSOrderedSet == ["b", "a"])
    #expect(group.value(forKeyPath: "guests.@distinctUnionOfObjects.name") as? NSSet == NSSet(array: ["a", "b"]))
    #expect((group.value(forKeyPath: "people.@unionOfObjects.name") as? [String]) == ["b", "a", "b"])
    #expect(people[0].value(forKeyPath: "groups.@distinctUnionOfSets.guests") as? NSSet == NSSet(array: people))
    #expect(
      people[0].value(forKeyPath: "groups.@distinctUnionOfSets.guests.name") as? NSSet == NSSet(array: ["a", "b"]))
    #expect((group.value(forKeyPath: "people.price") as? [NSDecimalNumber])?.count == 1)
    let nested = try #require(group.value(forKeyPath: "guests.groups.name") as? NSSet)
    #expect("\(nested)".contains("g"))
  }

  @Test("Functions by the names that Apple documents")
  func functions() throws {
    let power = NSExpression(
      forFunction: "raise:toPower:",
      arguments: [
        NSExpression(forConstantValue: 2), NSExpression(forConstantValue: 10),
      ])
    #expect(power.expressionValue(with: nil, context: nil) as? Int == 1024)
    let random = NSExpression(forFunction: "random:", arguments: [NSExpression(forConstantValue: 3)])
    for _ in 0..<20 { #expect((0..<3).contains(try #require(random.expressionValue(with: nil, context: nil) as? Int))) }
    _ = try person("Ada", ["age": 3])
    try context.save()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSComparisonPredicate(
      leftExpression: NSExpression(
        forFunction: "raise:toPower:", arguments: [NSExpression(forKeyPath: "age"), NSExpression(forConstantValue: 2)]),
      rightExpression: NSExpression(forConstantValue: 9), modifier: .direct, type: .equalTo, options: [])
    #expect(try context.count(for: request) == 1)
  }

  @Test("Deeply nested formats and long chains of operators are parsed, printed and evaluated")
  func depth() throws {
    for age in [0, 1] { _ = try person("p", ["age": age]) }
    try context.save()
    func count(_ format: String) throws -> Int {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
      request.predicate = NSPredicate(format: format)
      return try context.count(for: request)
    }
    #expect(try count(String(repeating: "(", count: 900) + "age == 1" + String(repeating: ")", count: 900)) == 1)
    for length in [201, 900] {
      let sum = "age == " + Array(repeating: "0", count: length).joined(separator: " + ")
      #expect(try count(sum) == 1)
      #expect(NSPredicate(format: sum).evaluate(with: ["age": 0]))
      #expect(NSPredicate(format: "\(NSPredicate(format: sum))").evaluate(with: ["age": 0]))
    }
    let nested = String(repeating: "(age == 5 OR ", count: 300) + "age == 1" + String(repeating: ")", count: 300)
    #expect(try count(nested) == 1)
  }
}
