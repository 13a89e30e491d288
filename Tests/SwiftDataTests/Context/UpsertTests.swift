// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

@Model
private final class Town {
  #Unique<Town>([\.country, \.code])
  var country: String
  var code: Int
  var title: String?
  @Attribute(.unique) var slug: String?

  init(_ country: String, _ code: Int, title: String? = nil) {
    (self.country, self.code, self.title) = (country, code, title)
  }
}

@Suite("Models inserted with unique values that a row has")
struct UpsertTests {
  private let container: ModelContainer
  private let context: ModelContext

  init() throws {
    container = try makeContainer()
    context = ModelContext(container)
  }

  @Test("The inserted model takes the row, and the older model shows the new values")
  func identity() throws {
    let first = Trip(name: "Rome")
    first.days = 2
    first.stops = [Stop(title: "Forum")]
    context.insert(first)
    try context.save()
    let identifier = first.persistentModelID

    let second = Trip(name: "Rome")
    second.days = 8
    second.stops = [Stop(title: "Ostia")]
    context.insert(second)
    let temporary = second.persistentModelID
    #expect(temporary.isTemporary)
    try context.save()
    #expect(!second.isDeleted && second.modelContext == context && !context.hasChanges)
    #expect(second.persistentModelID == identifier && second == first)
    #expect(first.days == 8 && first.stops.count == 2 && second.stops.count == 2)
    #expect(second.stops.allSatisfy { $0.trip === first })
    #expect(context.model(for: temporary) === first && context.model(for: identifier) === first)
    #expect(try context.fetch(FetchDescriptor<Trip>()).map { $0 === first } == [true])

    second.days = 9
    #expect(first.days == 9 && first.hasChanges)
    try context.save()
    #expect(try ModelContext(container).fetch(FetchDescriptor<Trip>()).map(\.days) == [9])
    context.delete(second)
    #expect(first.isDeleted && second.isDeleted)
  }

  @Test("The inserted model is the row's model if there is no other, and a fetch returns it")
  func onlyModel() throws {
    let other = ModelContext(container)
    other.insert(Trip(name: "Rome"))
    try other.save()
    let trip = Trip(name: "Rome")
    trip.days = 8
    context.insert(trip)
    try context.save()
    #expect(!trip.isDeleted && !trip.persistentModelID.isTemporary)
    #expect(try context.fetch(FetchDescriptor<Trip>()).map { $0 === trip } == [true])
    trip.days = 5
    try context.save()
    #expect(try ModelContext(container).fetch(FetchDescriptor<Trip>()).map(\.days) == [5])
  }

  @Test("Two inserted models with one unique value become one row")
  func bothInserted() throws {
    let (first, second) = (Trip(name: "Rome"), Trip(name: "Rome"))
    second.days = 8
    context.insert(first)
    context.insert(second)
    try context.save()
    #expect(!first.isDeleted && !second.isDeleted && first.persistentModelID == second.persistentModelID)
    #expect(first.days == 8 && second.days == 8)
    #expect(try context.fetchCount(FetchDescriptor<Trip>()) == 1)
  }

  @Test("A combination of values is unique too, and a save that fails changes no model")
  func combinations() throws {
    let context = ModelContext(
      try ModelContainer(for: Town.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    let (first, other) = (Town("it", 1), Town("it", 2, title: "other"))
    other.slug = "x"
    context.insert(first)
    context.insert(other)
    try context.save()
    let second = Town("it", 1, title: "Rome")
    context.insert(second)
    // Only deleting one of two saved rows would resolve this.
    first.slug = "x"
    #expect(throws: (any Error).self) { try context.save() }
    #expect(second.title == "Rome" && !second.isDeleted && second !== first && second != first)
    first.slug = nil
    try context.save()
    #expect(second.persistentModelID == first.persistentModelID && first.title == "Rome")
    #expect(try context.fetchCount(FetchDescriptor<Town>()) == 2)
  }

  @Test("The notification of a save reports the row of an inserted model as updated")
  func notification() throws {
    context.insert(Trip(name: "Rome"))
    try context.save()
    final class Received: @unchecked Sendable { var info: [AnyHashable: Any] = [:] }
    let received = Received()
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { received.info = $0.userInfo ?? [:] }
    defer { NotificationCenter.default.removeObserver(observer) }
    let second = Trip(name: "Rome")
    context.insert(second)
    try context.save()
    func identifiers(_ key: ModelContext.NotificationKey) -> [PersistentIdentifier]? {
      received.info[key.rawValue] as? [PersistentIdentifier]
    }
    #expect(identifiers(.insertedIdentifiers) == [])
    #expect(identifiers(.updatedIdentifiers) == [second.persistentModelID])
  }
}
