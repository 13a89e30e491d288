// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

/// Code written for Apple's framework that needs names or conversions which exist there by Objective-C.
@Suite("What moved code uses")
struct MovedCodeTests {
  private final class Subclass: NSPersistentStoreCoordinator, @unchecked Sendable {}

  private func model() -> NSManagedObjectModel {
    let id = NSAttributeDescription()
    (id.name, id.attributeType, id.isOptional) = ("id", .UUIDAttributeType, true)
    let at = NSAttributeDescription()
    (at.name, at.attributeType, at.isOptional) = ("at", .dateAttributeType, true)
    let note = NSEntityDescription()
    (note.name, note.properties) = ("Note", [id, at])
    let model = NSManagedObjectModel()
    model.entities = [note]
    return model
  }

  @Test("Identifiers and dates are variable arguments: of predicates by value, of texts by description")
  func variableArguments() throws {
    let store = try TemporaryStore("Notes.sqlite")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model())
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
      options: [NSPersistentStoreFileProtectionKey: "NSFileProtectionComplete" as NSString])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let (id, at) = (UUID(), Date(timeIntervalSinceReferenceDate: 1000))
      for (id, at) in [(id, at), (UUID(), at), (id, at + 1)] {
        let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
        note.setValue(id, forKey: "id")
        note.setValue(at, forKey: "at")
      }
      try context.save()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
      request.predicate = NSPredicate(format: "id == %@ AND at <= %@", id as CVarArg, at as CVarArg)
      #expect(try context.fetch(request).count == 1)
      request.predicate = NSPredicate(format: "id IN %@ AND at IN %@", [id] as CVarArg, Set([at]) as CVarArg)
      #expect(try context.fetch(request).count == 1)
      let (url, data) = (URL(fileURLWithPath: "/a"), Data([1]))
      #expect(
        String(format: "%@ %@", url as CVarArg, [1] as CVarArg) == "file:///a [1]"
          && String(format: "%@", data as CVarArg) == data.description)
      #expect(String(format: "%@ at %@", id as CVarArg, at as CVarArg) == "\(id.uuidString) at \(at.description)")
    }
  }

  @Test("Self.init makes a coordinator of a subclass")
  func dynamicInitializer() {
    func make<C: NSPersistentStoreCoordinator>(_ type: C.Type) -> C { type.init(managedObjectModel: model()) }
    #expect(type(of: make(Subclass.self)) == Subclass.self)
  }

  @Test("A conflict can be made without objects")
  func emptyConflict() {
    let conflict = NSConstraintConflict()
    #expect(conflict.constraint.isEmpty && conflict.conflictingObjects.isEmpty && conflict.databaseObject == nil)
  }

  @Test("Mapping models with the same content are equal, and others are not")
  func equalMappings() throws {
    func mapping(_ change: (NSEntityMapping) -> Void = { _ in }) -> NSMappingModel {
      let property = NSPropertyMapping()
      property.name = "id"
      property.valueExpression = NSExpression(format: "FUNCTION($source, \"valueForKey:\", \"id\")")
      let entity = NSEntityMapping()
      (entity.name, entity.sourceEntityName, entity.destinationEntityName) = ("Notes", "Note", "Note")
      entity.attributeMappings = [property]
      entity.userInfo = ["tags": ["a", "b"] as Set]
      change(entity)
      let model = NSMappingModel()
      model.entityMappings = [entity]
      return model
    }
    let one = mapping()
    #expect(one == mapping() && one.hash == mapping().hash && one.entityMappings == mapping().entityMappings)
    #expect(Set(one.entityMappings + mapping().entityMappings).count == 1)
    #expect(one != mapping { $0.mappingType = .copyEntityMappingType })
    #expect(one != mapping { $0.attributeMappings?[0].name = "at" })
    #expect(one != mapping { $0.attributeMappings?[0].valueExpression = nil })
    #expect(one != mapping { $0.userInfo = ["tags": ["a"] as Set] })
    #expect(one != mapping { $0.sourceExpression = NSExpression(forConstantValue: 1) })
    #expect(one != NSMappingModel() && NSMappingModel() == NSMappingModel())
  }
}

@Suite("Observers by method")
struct MethodObserverTests {
  // Swift 6.0 takes a method as a sendable function only from a sendable class.
  private final class Observer: @unchecked Sendable {
    var calls: [String] = []
    func note(_ notification: Notification) { calls.append(notification.name.rawValue) }
    func object(_ notification: NSNotification) { calls.append("object \(notification.name.rawValue)") }
    func plain() { calls.append("plain") }
  }

  private let center = NotificationCenter()
  private let one = NSNotification.Name("One")
  private let two = NSNotification.Name("Two")

  @Test("A method is called for its notifications, until the observer is removed")
  func calls() {
    let (observer, poster) = (Observer(), NSObject())
    center.addObserver(observer, selector: Observer.note(_:), name: one, object: nil)
    center.addObserver(observer, selector: Observer.object(_:), name: nil, object: poster)
    center.addObserver(observer, selector: Observer.plain, name: two, object: nil)
    center.post(name: one, object: nil)
    center.post(name: two, object: nil)
    #expect(observer.calls == ["One", "plain"])
    observer.calls = []
    center.post(name: one, object: poster)
    #expect(observer.calls.sorted() == ["One", "object One"])
    observer.calls = []
    center.removeObserver(observer, name: two, object: nil)
    center.post(name: two, object: nil)
    #expect(observer.calls == [])
    center.removeObserver(observer, name: nil, object: poster)
    center.post(name: one, object: poster)
    #expect(observer.calls == ["One"])
    center.removeObserver(observer)
    center.post(name: one, object: poster)
    #expect(observer.calls == ["One"])
  }

  @Test("An observer is not retained, and one that is gone is not called, nor one at its address")
  func lifetime() {
    for _ in 0..<300 {
      weak var gone: Observer?
      do {
        let observer = Observer()
        gone = observer
        center.addObserver(observer, selector: Observer.plain, name: one, object: nil)
        center.post(name: one, object: nil)
        #expect(observer.calls == ["plain"])
      }
      #expect(gone == nil)
    }
    let last = Observer()
    center.post(name: one, object: nil)
    #expect(last.calls == [])
  }

  @Test("What adding a block returns is removed as before")
  func blocks() {
    nonisolated(unsafe) var count = 0
    let token = center.addObserver(forName: one, object: nil, queue: nil) { _ in count += 1 }
    center.post(name: one, object: nil)
    center.removeObserver(token)
    center.post(name: one, object: nil)
    #expect(count == 1)
  }
}
