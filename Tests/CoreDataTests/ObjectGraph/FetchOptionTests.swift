// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Options of fetch requests")
struct FetchOptionTests {
  final class Chore: NSManagedObject {
    var title: String? { value(forKey: "title") as? String }
    var length: Int { title?.count ?? 0 }
  }

  private static func model() -> NSManagedObjectModel {
    let model = CompanyModel.make()
    model.entitiesByName["Task"]?.managedObjectClassName = "Chore"
    return model
  }

  private func saved(_ count: Int) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for number in 0..<count { context.make("Task", ["title": String(format: "%03d", number)]) }
    try context.save()
    try store.close()
    return store
  }

  /// Parts of a plan: the entity's class, and those of its sub-entities.
  class Part: NSManagedObject {}
  final class Wheel: Part {}
  final class Screw: NSManagedObject {}

  private static func parts() -> NSManagedObjectModel {
    func entity(_ name: String) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      entity.managedObjectClassName = name
      return entity
    }
    let (part, wheel, screw) = (entity("Part"), entity("Wheel"), entity("Screw"))
    let name = NSAttributeDescription()
    (name.name, name.attributeType) = ("name", .stringAttributeType)
    part.properties = [name]
    part.subentities = [wheel, screw]
    let model = NSManagedObjectModel()
    model.entities = [part, wheel, screw]
    return model
  }

  @Test("Results have the class of the request, or a subclass; for others, the error names both classes")
  func classes() throws {
    ManagedObjectClasses.register(Part.self)
    ManagedObjectClasses.register(Wheel.self)
    ManagedObjectClasses.register(Screw.self)
    let store = try TemporaryStore()
    let writer = try store.context(Self.parts())
    for (entity, name) in [("Part", "a"), ("Wheel", "b"), ("Part", "c"), ("Wheel", "d")] {
      writer.make(entity, ["name": name])
    }
    try writer.save()
    func fetch<T: NSManagedObject>(_ type: T.Type, _ context: NSManagedObjectContext) throws -> [T] {
      let request = NSFetchRequest<T>(entityName: "Part")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      return try context.fetch(request)
    }
    for context in [writer, try store.context(Self.parts())] {
      let parts = try fetch(Part.self, context)
      #expect(parts.map { $0["name"] as? String } == ["a", "b", "c", "d"])
      #expect(parts.map { type(of: $0) == Wheel.self } == [false, true, false, true])
      #expect(try fetch(NSManagedObject.self, context).elementsEqual(parts) { $0 === $1 })
      let error = #expect(throws: NSError.self) { _ = try fetch(Wheel.self, context) }
      #expect(error?.localizedFailureReason?.contains("Wheel") == true)
      #expect(error?.localizedFailureReason?.contains("Part") == true)
    }
    // The class of one entity does not derive from that of its parent entity.
    writer.make("Screw", ["name": "e"])
    try writer.save()
    #expect(throws: NSError.self) { _ = try fetch(Part.self, writer) }
    #expect(try fetch(NSManagedObject.self, writer).count == 5)
  }

  @Test("An aggregate of an attribute is one dictionary of all objects that match, whatever the limit")
  func aggregates() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    for (name, age) in [("a", 30), ("b", 40), ("c", 50), ("d", 20)] {
      context.make("Employee", ["name": name, "age": age])
    }
    context.make("Employee", ["name": "e"]).setValue(nil, forKey: "age")
    try context.save()
    func fetch(_ expressions: [(String, CoreData.NSExpression)], _ format: String) throws -> [NSDictionary] {
      let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
      request.resultType = .dictionaryResultType
      request.predicate = NSPredicate(format: format)
      request.fetchLimit = 1
      request.propertiesToFetch = expressions.map { name, expression in
        let description = NSExpressionDescription()
        description.name = name
        description.expression = expression
        description.expressionResultType = .integer32AttributeType
        return description
      }
      return try context.fetch(request)
    }
    let age = NSExpression(forKeyPath: "age")
    let functions = ["max", "min", "sum", "count", "average"].map {
      ($0, NSExpression(forFunction: $0 + ":", arguments: [age]))
    }
    #expect(
      try fetch(functions, "name < 'd' OR name = 'e'")
        == [["max": 50, "min": 30, "sum": 120, "count": 3, "average": 40] as NSDictionary])
    #expect(try fetch([("most", NSExpression(forKeyPath: "@max.age"))], "age < 45") == [["most": 40] as NSDictionary])
    #expect(
      try fetch(Array(functions[2...3]), "name = 'nobody'") == [["sum": 0, "count": 0] as NSDictionary])
  }

  @Test("Dictionaries hold the object's identifier, by its name and by an expression")
  func identifiers() throws {
    let context = try saved(1).context(CompanyModel.make())
    let id = try #require(try context.all("Task", by: "title").first?.objectID)
    let description = NSExpressionDescription()
    description.name = "id"
    description.expression = NSExpression.expressionForEvaluatedObject()
    description.expressionResultType = .objectIDAttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: "Task")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["title", "objectID", description]
    #expect(try context.fetch(request) == [["title": "000", "objectID": id, "id": id] as NSDictionary])
  }

  @Test("A Swift key path sorts, also to an optional value, in both directions and with limits")
  func keyPaths() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    for title in ["bb", "a", "cccc", "ddd"] { Chore(context: context).setValue(title, forKey: "title") }
    _ = Chore(context: context)
    try context.save()
    func titles(_ descriptors: [NSSortDescriptor], limit: Int = 0, offset: Int = 0) throws -> [String?] {
      let request = NSFetchRequest<Chore>(entityName: "Task")
      request.sortDescriptors = descriptors
      (request.fetchLimit, request.fetchOffset) = (limit, offset)
      return try context.fetch(request).map(\.title)
    }
    #expect(try titles([NSSortDescriptor(keyPath: \Chore.title, ascending: true)]) == [nil, "a", "bb", "cccc", "ddd"])
    #expect(
      try titles([NSSortDescriptor(keyPath: \Chore.length, ascending: false)]) == ["cccc", "ddd", "bb", "a", nil])
    #expect(
      try titles([NSSortDescriptor(keyPath: \Chore.length, ascending: false)], limit: 2, offset: 1) == ["ddd", "bb"])
    #expect(
      try titles([
        NSSortDescriptor(keyPath: \Chore.entity.isAbstract, ascending: true),
        NSSortDescriptor(key: "title", ascending: false),
      ]) == ["ddd", "cccc", "bb", "a", nil])
    #expect(
      try titles([NSSortDescriptor(keyPath: \Chore.objectID, ascending: true)]) == ["bb", "a", "cccc", "ddd", nil])
    #expect(throws: NSError.self) {
      try titles([
        NSSortDescriptor(keyPath: \Chore.length, ascending: true), NSSortDescriptor(key: "absent", ascending: true),
      ])
    }
  }

  @Test("A batch size has the rows of a batch read together, and no others")
  func batches() throws {
    let store = try saved(25)
    let context = try store.context(CompanyModel.make())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    request.fetchBatchSize = 10
    let tasks = try context.fetch(request)
    #expect(tasks.count == 25 && tasks.allSatisfy { $0.isFault && $0.snapshot == nil })
    #expect(tasks[13]["title"] as? String == "013")
    #expect(tasks.indices.filter { tasks[$0].snapshot != nil } == Array(10..<20))
    #expect(tasks[24]["title"] as? String == "024")
    #expect(tasks.indices.filter { tasks[$0].snapshot != nil } == Array(10..<25))
    #expect(tasks.map { $0["title"] as? String } == (0..<25).map { String(format: "%03d", $0) })
    // Changes in between count.
    context.refreshAllObjects()
    tasks[3]["title"] = "x"
    #expect(try context.fetch(request).last?["title"] as? String == "x")
  }

  @Test("A request without property values reads identifiers, and each object its own row")
  func withoutValues() throws {
    let context = try saved(3).context(CompanyModel.make())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.includesPropertyValues = false
    let tasks = try context.fetch(request)
    #expect(tasks.count == 3 && tasks.allSatisfy { $0.snapshot == nil })
    #expect(tasks[1]["title"] as? String == "001")
    #expect(tasks.map { $0.snapshot == nil } == [true, false, true])
  }

  @Test("The predicate of a fetched property reads what the property carries")
  func fetchedProperty() throws {
    let property = NSFetchedPropertyDescription()
    property.name = "great"
    property.userInfo = ["search": "great"]
    var builder = ModelBuilder()
    let author = builder.entity("Author", [.make("name", .stringAttributeType)])
    let feedback = builder.entity("Feedback", [.make("comment", .stringAttributeType)])
    let model = builder.model()
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Feedback")
    request.entity = feedback
    request.predicate = NSPredicate(
      format: "comment CONTAINS[c] $FETCHED_PROPERTY.userInfo.search AND comment CONTAINS $FETCH_SOURCE.name")
    property.fetchRequest = request
    author.properties.append(property)
    let context = try TemporaryStore().context(model)
    let ada = context.make("Author", ["name": "Ada"])
    for comment in ["Great, Ada", "Ada", "great"] { context.make("Feedback", ["comment": comment]) }
    try context.save()
    let found = try #require(ada.value(forKey: "great") as? [NSManagedObject])
    #expect(found.map { $0["comment"] as? String } == ["Great, Ada"])
    #expect(try (ada.checkedValue(forKeyPath: "great") as? [Any])?.count == 1)
  }

  @Test("A predicate in a text is in the format language")
  func texts() {
    #expect("\(NSPredicate(value: true))" == "TRUEPREDICATE")
    let both = NSCompoundPredicate(andPredicateWithSubpredicates: [
      NSPredicate(format: "a == 1"), NSPredicate(format: "b == 2"),
    ])
    #expect("\(both)" == "a == 1 AND b == 2")
  }
}
