// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import SwiftData
import Testing

@Suite("Contexts of models")
struct ModelContextTests {
  private let container: ModelContainer
  private let context: ModelContext

  init() throws {
    container = try makeContainer()
    context = ModelContext(container)
  }

  private func trips(_ context: ModelContext) throws -> [Trip] {
    try context.fetch(FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.name)]))
  }

  @Test("Another context reads every kind of value that was saved")
  func values() throws {
    let trip = Trip(name: "Rome")
    trip.days = 9
    trip.tags = ["x", "y"]
    trip.start = Date(timeIntervalSinceReferenceDate: 86_400)
    trip.place = Place(city: "Roma", postcode: nil, latitude: 41.9)
    trip.mood = .bad
    trip.size = .large
    trip.scores = ["a": 1]
    context.insert(trip)
    try context.save()

    let found = try #require(try trips(ModelContext(container)).first)
    #expect(found !== trip && found == trip)
    #expect(found.name == "Rome" && found.days == 9 && found.tags == ["x", "y"])
    #expect(found.start == Date(timeIntervalSinceReferenceDate: 86_400))
    #expect(found.place == Place(city: "Roma", postcode: nil, latitude: 41.9))
    #expect(found.mood == .bad && found.size == .large && found.scores == ["a": 1])
    #expect(found.visits == 0)
  }

  @Test("Values can be removed again")
  func removedValues() throws {
    let trip = Trip(name: "Rome")
    trip.place = Place(city: "Roma", postcode: "00184", latitude: 41.9)
    trip.start = .now
    context.insert(trip)
    try context.save()
    trip.place?.postcode = nil
    #expect(trip.place?.postcode == nil && trip.place?.city == "Roma")
    trip.place = nil
    trip.start = nil
    try context.save()
    let found = try #require(try trips(ModelContext(container)).first)
    #expect(found.place == nil && found.start == nil)
  }

  @Test("Models that a model refers to are inserted with it, and inverses are set")
  func graph() throws {
    let trip = Trip(name: "Rome")
    trip.stops = [Stop(title: "Forum"), Stop(title: "Pantheon")]
    #expect(trip.modelContext == nil && trip.stops.count == 2)
    context.insert(trip)
    #expect(trip.modelContext == context)
    #expect(trip.stops.allSatisfy { $0.trip === trip && $0.modelContext == context })
    let third = Stop(title: "Ostia")
    third.trip = trip
    // The other side is inserted, which inserts this one.
    #expect(third.modelContext == context)
    #expect(trip.stops.map(\.title).sorted() == ["Forum", "Ostia", "Pantheon"])
    trip.stops.removeAll { $0.title == "Forum" }
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Stop>()) == 3)
    #expect(try trips(ModelContext(container)).first?.stops.count == 2)
  }

  @Test("Models of one class refer to each other in a circle")
  func circle() throws {
    let (first, second) = (Folder(name: "first"), Folder(name: "second"))
    first.parent = second
    second.parent = first
    context.insert(first)
    #expect(first.children.first === second && second.children.first === first)
    try context.save()
    let found = try ModelContext(container).fetch(FetchDescriptor<Folder>(sortBy: [SortDescriptor(\.name)]))
    #expect(found.map(\.name) == ["first", "second"] && found[0].parent === found[1])
  }

  @Test("A context has one model for a row, also one with unsaved changes that nothing else holds")
  func identity() throws {
    context.insert(Trip(name: "Rome"))
    try context.save()
    do {
      let trip = try #require(try trips(context).first)
      trip.days = 5
      trip.visits = 7
    }
    let again = try #require(try trips(context).first)
    #expect(again.visits == 7 && again.days == 5 && again.hasChanges)
    #expect(context.changedModelsArray.count == 1 && context.insertedModelsArray.isEmpty)
  }

  @Test("Inserting a model with the unique value of a row changes that row")
  func upsert() throws {
    let first = Trip(name: "Rome")
    first.days = 2
    first.stops = [Stop(title: "Forum")]
    context.insert(first)
    try context.save()
    let other = ModelContext(container)
    let second = Trip(name: "Rome")
    second.days = 8
    other.insert(second)
    try other.save()
    let found = try trips(ModelContext(container))
    #expect(found.count == 1 && found.first?.days == 8)
  }

  @Test("Rolling back discards inserted, changed and deleted models")
  func rollback() throws {
    let kept = Trip(name: "kept")
    let deleted = Trip(name: "deleted")
    context.insert(kept)
    context.insert(deleted)
    try context.save()
    kept.days = 99
    context.delete(deleted)
    context.insert(Trip(name: "new"))
    #expect(deleted.isDeleted && context.deletedModelsArray.count == 1)
    context.rollback()
    #expect(!context.hasChanges && kept.days == 3 && !deleted.isDeleted)
    #expect(try trips(context).map(\.name) == ["deleted", "kept"])
  }

  @Test("A model whose insertion was rolled back has its values, and can be inserted again")
  func insertedAgain() throws {
    let trip = Trip(name: "Rome")
    trip.place = Place(city: "Roma", postcode: nil, latitude: 41.9)
    trip.stops = [Stop(title: "Forum")]
    context.insert(trip)
    trip.days = 8
    context.rollback()
    #expect(trip.modelContext == nil && !trip.isDeleted && trip.days == 8 && trip.stops.map(\.title) == ["Forum"])
    #expect(trip.stops.allSatisfy { $0.trip === trip && $0.modelContext == nil })
    context.insert(trip)
    try context.save()
    let found = try #require(try trips(ModelContext(container)).first)
    #expect(found.days == 8 && found.place?.city == "Roma" && found.stops.map(\.title) == ["Forum"])
  }

  @Test("A deleted model can be inserted again, before and after its deletion is saved")
  func deletedAndInserted() throws {
    let trip = Trip(name: "Rome")
    trip.days = 8
    context.insert(trip)
    context.delete(trip)
    context.insert(trip)
    #expect(!trip.isDeleted && context.insertedModelsArray.count == 1)
    try context.save()
    let identifier = trip.persistentModelID
    context.delete(trip)
    context.insert(trip)
    #expect(!trip.isDeleted && trip.persistentModelID == identifier)
    try context.save()
    #expect(try trips(ModelContext(container)).map(\.days) == [8])
    context.delete(trip)
    try context.save()
    #expect(trip.isDeleted && trip.days == 8)
    context.insert(trip)
    #expect(!trip.isDeleted && trip.persistentModelID != identifier)
    try context.save()
    #expect(try trips(ModelContext(container)).map(\.days) == [8])

    let draft = Trip(name: "Oslo")
    context.insert(draft)
    context.delete(draft)
    context.processPendingChanges()
    context.insert(draft)
    try context.save()
    #expect(try trips(ModelContext(container)).map(\.name) == ["Oslo", "Rome"])
  }

  @Test("A relationship does not lead to a model whose deletion was saved")
  func deletedDestination() throws {
    let (trip, stop) = (Trip(name: "Rome"), Stop(title: "Forum"))
    trip.stops = [stop]
    context.insert(trip)
    try context.save()
    context.delete(stop)
    try context.save()
    trip.stops.append(stop)
    #expect(trip.stops.isEmpty)
    context.delete(trip)
    try context.save()
    let late = Stop(title: "late")
    late.trip = trip
    context.insert(late)
    #expect(late.trip == nil)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Stop>()) == 1)
  }

  @Test("A transaction saves, or discards its changes when it throws")
  func transaction() throws {
    try context.transaction { context.insert(Trip(name: "saved")) }
    #expect(!context.hasChanges)
    #expect(throws: CancellationError.self) {
      try context.transaction {
        context.insert(Trip(name: "discarded"))
        throw CancellationError()
      }
    }
    #expect(try trips(ModelContext(container)).map(\.name) == ["saved"])
  }

  @Test("Deleting a model deletes those to which a relationship cascades")
  func cascade() throws {
    let trip = Trip(name: "Rome")
    trip.stops = [Stop(title: "Forum")]
    context.insert(trip)
    try context.save()
    context.delete(trip)
    try context.save()
    #expect(trip.isDeleted)
    #expect(try context.fetchCount(FetchDescriptor<Stop>()) == 0)
  }

  @Test("An identifier is temporary until the model is saved, and finds it in other contexts then")
  func identifiers() throws {
    let trip = Trip(name: "Rome")
    let temporary = trip.persistentModelID
    #expect(temporary.isTemporary && temporary.storeIdentifier == nil && temporary.entityName == "Trip")
    context.insert(trip)
    #expect(trip.persistentModelID == temporary)
    #expect(context.model(for: temporary) as? Trip === trip)
    try context.save()
    let identifier = trip.persistentModelID
    #expect(!identifier.isTemporary && identifier.storeIdentifier != nil && identifier != temporary)
    // The identifier from before the save still finds the model, in this context.
    #expect(context.model(for: temporary) as? Trip === trip)
    let known: Trip? = context.registeredModel(for: temporary)
    #expect(known === trip)
    let other = ModelContext(container)
    let none: Trip? = other.registeredModel(for: identifier)
    #expect(none == nil)
    let found = other.model(for: identifier) as? Trip
    #expect(found?.name == "Rome" && found == trip)
    let registered: Trip? = other.registeredModel(for: identifier)
    #expect(registered === found)
  }

  @Test("An identifier is encoded in the form of Apple's framework")
  func encodedIdentifier() throws {
    let trip = Trip(name: "Rome")
    context.insert(trip)
    try context.save()
    let identifier = trip.persistentModelID
    let data = try JSONEncoder().encode(identifier)
    let outer = try #require(try JSONSerialization.jsonObject(with: data) as? [String: [String: Any]])
    let parts = try #require(outer["implementation"])
    #expect(parts["primaryKey"] as? String == "p1" && parts["entityName"] as? String == "Trip")
    let store = try #require(parts["storeIdentifier"] as? String)
    #expect(parts["uriRepresentation"] as? String == "x-coredata://\(store)/Trip/p1")
    #expect(try JSONDecoder().decode(PersistentIdentifier.self, from: data) == identifier)
  }

  @Test("Models can be read when the program has released their context")
  func releasedContext() throws {
    context.insert(Trip(name: "Rome"))
    try context.save()
    let trip = try #require(try trips(ModelContext(container)).first)
    #expect(trip.name == "Rome" && trip.stops.isEmpty)
    trip.stops.append(Stop(title: "Forum"))
    try trip.modelContext?.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Stop>()) == 1)
  }

  @Test("Notifications of a save have the identifiers of its models")
  func notifications() throws {
    final class Received: @unchecked Sendable { var info: [AnyHashable: Any] = [:] }
    let received = Received()
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { received.info = $0.userInfo ?? [:] }
    defer { NotificationCenter.default.removeObserver(observer) }
    let trip = Trip(name: "Rome")
    context.insert(trip)
    try context.save()
    let key = ModelContext.NotificationKey.insertedIdentifiers.rawValue
    #expect(received.info[key] as? [PersistentIdentifier] == [trip.persistentModelID])
  }

  @Test("Notifications of a save name the models that delete rules delete and change")
  func notificationsOfDeleteRules() throws {
    final class Received: @unchecked Sendable { var info: [AnyHashable: Any] = [:] }
    let received = Received()
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { received.info = $0.userInfo ?? [:] }
    defer { NotificationCenter.default.removeObserver(observer) }
    func identifiers(_ key: ModelContext.NotificationKey) -> Set<PersistentIdentifier>? {
      (received.info[key.rawValue] as? [PersistentIdentifier]).map(Set.init)
    }
    let trip = Trip(name: "Rome")
    trip.stops = [Stop(title: "Forum"), Stop(title: "Pantheon")]
    let (parent, child) = (Folder(name: "parent"), Folder(name: "child"))
    parent.children = [child]
    context.insert(trip)
    context.insert(parent)
    try context.save()
    let deleted = Set([trip.persistentModelID, parent.persistentModelID] + trip.stops.map(\.persistentModelID))
    context.delete(trip)
    context.delete(parent)
    try context.save()
    #expect(identifiers(.deletedIdentifiers) == deleted)
    #expect(identifiers(.updatedIdentifiers) == [child.persistentModelID])
  }
}
