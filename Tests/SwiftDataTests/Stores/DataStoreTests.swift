// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import SwiftData
import Testing

@Suite("Contexts over a data store of the program's own")
struct DataStoreTests {
  private let fixture: JSONFixture
  private let container: ModelContainer
  private let context: ModelContext

  init() throws {
    fixture = try JSONFixture()
    container = try fixture.container()
    context = ModelContext(container)
  }

  private func byName(_ predicate: Predicate<Trip>? = nil) -> FetchDescriptor<Trip> {
    FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.name)])
  }

  private func insert(_ names: String...) throws {
    for name in names { context.insert(Trip(name: name)) }
    try context.save()
  }

  /// The trips of the file, as another process would read them.
  private func reopened() throws -> [Trip] { try ModelContext(fixture.container()).fetch(byName()) }

  // MARK: Values

  @Test("Another container reads every kind of value from the file")
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
    let found = try #require(try reopened().first)
    #expect(found.name == "Rome" && found.days == 9 && found.tags == ["x", "y"])
    #expect(found.start == Date(timeIntervalSinceReferenceDate: 86_400))
    #expect(found.place == Place(city: "Roma", postcode: nil, latitude: 41.9))
    #expect(found.mood == .bad && found.size == .large && found.scores == ["a": 1])
    found.start = nil
    found.place = nil
    try found.modelContext?.save()
    let again = try #require(try reopened().first)
    #expect(again.start == nil && again.place == nil && again.days == 9)
  }

  @Test("A property that the file lacks has its initial value")
  func addedProperty() throws {
    try insert("Rome")
    let text = try String(contentsOf: fixture.url, encoding: .utf8)
    let lines = text.split(separator: "\n").filter { !$0.contains("\"days\"") && !$0.contains("\"start\"") }
    try lines.joined(separator: "\n").write(to: fixture.url, atomically: true, encoding: .utf8)
    let found = try #require(try reopened().first)
    #expect(found.days == 3 && found.start == nil)
  }

  // MARK: Fetching

  @Test("Predicates and orders that the store leaves to the context select and sort models")
  func fetches() throws {
    try insert("Rome", "Oslo", "Riga", "Bern", "Rhodes")
    let names = try context.fetch(byName(#Predicate { $0.name.starts(with: "R") })).map(\.name)
    #expect(names == ["Rhodes", "Riga", "Rome"])
    var limited = byName(#Predicate { $0.name.starts(with: "R") })
    limited.fetchOffset = 1
    limited.fetchLimit = 1
    #expect(try context.fetch(limited).map(\.name) == ["Riga"])
    #expect(try context.fetchCount(limited) == 1)
    #expect(try context.fetchCount(FetchDescriptor<Trip>()) == 5)
    #expect(try context.fetchIdentifiers(byName()).count == 5)
    let batched = try context.fetch(byName(), batchSize: 2)
    #expect(batched.map(\.name) == ["Bern", "Oslo", "Rhodes", "Riga", "Rome"])
    for name in ["Rome", "Oslo", "Riga", "Bern", "Rhodes"] {
      var one = FetchDescriptor<Trip>(predicate: #Predicate { $0.name == name })
      one.fetchLimit = 1
      #expect(try context.fetch(one).map(\.name) == [name])
    }
    var some = FetchDescriptor<Trip>()
    (some.fetchOffset, some.fetchLimit) = (1, 2)
    #expect(try context.fetch(some).count == 2 && context.fetchCount(some) == 2)
    var seen: [String] = []
    try context.enumerate(byName(), batchSize: 2) { seen.append($0.name) }
    #expect(seen == ["Bern", "Oslo", "Rhodes", "Riga", "Rome"])
  }

  @Test("Unsaved changes appear in fetches, and only there")
  func pending() throws {
    try insert("Rome", "Oslo", "Riga")
    let trips = try context.fetch(byName())
    trips[0].name = "Reims"
    context.delete(trips[1])
    context.insert(Trip(name: "Rabat"))
    let predicate = #Predicate<Trip> { $0.name.starts(with: "R") }
    #expect(try context.fetch(byName(predicate)).map(\.name) == ["Rabat", "Reims", "Rome"])
    #expect(try context.fetchCount(byName(predicate)) == 3)
    #expect(try reopened().map(\.name) == ["Oslo", "Riga", "Rome"])
  }

  @Test("A model is found by its identifier")
  func byIdentifier() throws {
    try insert("Rome", "Oslo")
    let id = try #require(try context.fetch(byName()).first).persistentModelID
    let other = ModelContext(container)
    #expect((other.model(for: id) as? Trip)?.name == "Oslo")
    let found = try other.fetch(FetchDescriptor<Trip>(predicate: #Predicate { $0.persistentModelID == id }))
    #expect(found.map(\.name) == ["Oslo"])
    let registered: Trip? = other.registeredModel(for: id)
    #expect(registered === found.first)
  }

  // MARK: Relationships

  @Test("Both ends of relationships are in the file after each change")
  func relationships() throws {
    let trip = Trip(name: "Rome")
    trip.stops = [Stop(title: "Forum"), Stop(title: "Pantheon")]
    context.insert(trip)
    try context.save()
    var found = try #require(try reopened().first)
    #expect(found.stops.map(\.title).sorted() == ["Forum", "Pantheon"])
    #expect(found.stops.allSatisfy { $0.trip === found })

    let third = Stop(title: "Ostia")
    third.trip = trip
    context.insert(third)
    try context.save()
    found = try #require(try reopened().first)
    #expect(found.stops.count == 3)

    context.delete(third)
    try context.save()
    found = try #require(try reopened().first)
    #expect(found.stops.map(\.title).sorted() == ["Forum", "Pantheon"])

    context.delete(trip)
    try context.save()
    #expect(try reopened().isEmpty)
    #expect(try ModelContext(fixture.container()).fetchCount(FetchDescriptor<Stop>()) == 0)
  }

  @Test("A context that knows only one end of a relationship saves both")
  func inverse() throws {
    let (rome, oslo) = (Trip(name: "Rome"), Trip(name: "Oslo"))
    rome.stops = [Stop(title: "Forum"), Stop(title: "Pantheon")]
    context.insert(rome)
    context.insert(oslo)
    try context.save()
    let other = try ModelContext(fixture.container())
    let stop = try #require(
      try other.fetch(FetchDescriptor<Stop>(predicate: #Predicate { $0.title == "Forum" })).first)
    stop.trip = try other.fetch(byName()).first
    try other.save()
    let found = try reopened()
    #expect(found.map { $0.stops.map(\.title) } == [["Forum"], ["Pantheon"]])
    let deleting = try ModelContext(fixture.container())
    deleting.delete(try #require(try deleting.fetch(FetchDescriptor<Stop>()).first { $0.title == "Forum" }))
    try deleting.save()
    #expect(try reopened().map { $0.stops.map(\.title) } == [[], ["Pantheon"]])
  }

  @Test("Models of one class that refer to each other keep their relationships")
  func tree() throws {
    let root = Folder(name: "root")
    root.children = [Folder(name: "a"), Folder(name: "b")]
    context.insert(root)
    try context.save()
    let folders = try ModelContext(fixture.container()).fetch(FetchDescriptor<Folder>())
    let found = try #require(folders.first { $0.name == "root" })
    #expect(found.children.map(\.name).sorted() == ["a", "b"] && found.parent == nil)
    #expect(found.children.allSatisfy { $0.parent === found })
  }

  @Test("Both ends of a many-to-many relationship are in the file, also after one is deleted without the other")
  func manyToMany() throws {
    func open() throws -> ModelContext {
      ModelContext(try ModelContainer(for: Borrower.self, configurations: JSONStoreConfiguration(url: fixture.url)))
    }
    func borrowed(_ context: ModelContext) throws -> [String: [String]] {
      let borrowers = try context.fetch(FetchDescriptor<Borrower>())
      return Dictionary(uniqueKeysWithValues: borrowers.map { ($0.name, $0.books.map(\.title).sorted()) })
    }
    let context = try open()
    let (ann, bob) = (Borrower(name: "Ann"), Borrower(name: "Bob"))
    let (first, second) = (Volume(title: "first"), Volume(title: "second"))
    ann.books = [first, second]
    context.insert(ann)
    context.insert(bob)
    second.borrowers.append(bob)
    try context.save()
    #expect(try borrowed(open()) == ["Ann": ["first", "second"], "Bob": ["second"]])
    let deleting = try open()
    try deleting.delete(model: Volume.self, where: #Predicate { $0.title == "second" })
    try deleting.save()
    #expect(try borrowed(open()) == ["Ann": ["first"], "Bob": []])
    let last = try open()
    try last.delete(model: Borrower.self, where: #Predicate { $0.name == "Ann" })
    try last.save()
    #expect(try open().fetch(FetchDescriptor<Volume>()).map { $0.borrowers.count } == [0])
  }

  // MARK: Identifiers

  @Test("An identifier is temporary until the store assigns one, which other contexts and JSON keep")
  func identifiers() throws {
    let trip = Trip(name: "Rome")
    context.insert(trip)
    let temporary = trip.persistentModelID
    #expect(temporary.isTemporary)
    // The notification is posted during the call of save().
    nonisolated(unsafe) var noted: [PersistentIdentifier] = []
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { note in
      noted = note.userInfo?[ModelContext.NotificationKey.insertedIdentifiers.rawValue] as? [PersistentIdentifier] ?? []
    }
    try context.save()
    NotificationCenter.default.removeObserver(observer)
    let permanent = trip.persistentModelID
    #expect(!permanent.isTemporary && permanent.storeIdentifier == "trips.json" && permanent.entityName == "Trip")
    #expect(noted == [permanent])
    #expect(try context.fetch(byName()).first === trip)
    let decoded = try JSONDecoder().decode(PersistentIdentifier.self, from: JSONEncoder().encode(permanent))
    #expect(decoded == permanent)
    let other = try ModelContext(fixture.container())
    #expect((other.model(for: decoded) as? Trip)?.name == "Rome")
  }

  // MARK: Failures

  @Test("Rollback restores the values of the store, and inserted models leave the context")
  func rollback() throws {
    try insert("Rome")
    let trip = try #require(try context.fetch(byName()).first)
    trip.name = "Oslo"
    let other = Trip(name: "Riga")
    context.insert(other)
    context.rollback()
    #expect(trip.name == "Rome" && other.modelContext == nil && !context.hasChanges)
    #expect(try context.fetch(byName()).map(\.name) == ["Rome"])
  }

  @Test("A save that the store refuses leaves all changes in the context, and the next save writes them")
  func refusedSave() throws {
    try insert("Rome", "Oslo")
    let trips = try context.fetch(byName())
    trips[0].days = 8
    context.delete(trips[1])
    let new = Trip(name: "Riga")
    new.stops = [Stop(title: "Dom")]
    context.insert(new)
    let temporary = new.persistentModelID
    fixture.probe.onSave = { throw StoreFailure() }
    #expect(throws: StoreFailure()) { try context.save() }
    #expect(context.hasChanges && new.persistentModelID == temporary && temporary.isTemporary)
    let registered: Trip? = context.registeredModel(for: temporary)
    #expect(registered === new)
    #expect(try context.fetch(byName()).map(\.name) == ["Oslo", "Riga"])
    #expect(try reopened().map(\.name) == ["Oslo", "Rome"])
    fixture.probe.onSave = nil
    try context.save()
    #expect(!new.persistentModelID.isTemporary && !context.hasChanges)
    let found = try reopened()
    #expect(found.map(\.name) == ["Oslo", "Riga"] && found[0].days == 8 && found[1].stops.count == 1)
  }

  @Test("A refused save can be rolled back")
  func rolledBackSave() throws {
    try insert("Rome")
    let new = Trip(name: "Riga")
    context.insert(new)
    fixture.probe.onSave = { throw StoreFailure() }
    #expect(throws: StoreFailure()) { try context.save() }
    fixture.probe.onSave = nil
    context.rollback()
    #expect(new.modelContext == nil && !context.hasChanges)
    context.insert(new)
    try context.save()
    #expect(try reopened().map(\.name) == ["Riga", "Rome"])
  }

  @Test("An error of a fetch reaches the caller as it is")
  func refusedFetch() throws {
    try insert("Rome")
    fixture.probe.onFetch = { throw StoreFailure() }
    #expect(throws: StoreFailure()) { try context.fetch(byName()) }
    fixture.probe.onFetch = { throw DataStoreError.invalidPredicate }
    #expect(throws: SwiftDataError.unsupportedPredicate) { try context.fetch(byName()) }
    fixture.probe.onFetch = { throw DataStoreError.preferInMemoryFilter }
    #expect(throws: DataStoreError.preferInMemoryFilter) { try context.fetch(byName()) }
    fixture.probe.onFetch = nil
    #expect(try context.fetchCount(byName()) == 1)
  }

  @Test(
    "A save whose result names models wrongly is an error that says so",
    arguments: ["missing", "temporary", "foreign", "other entity", "equal"])
  func wrongIdentifiers(_ fault: String) throws {
    fixture.probe.remap = { right in
      switch fault {
      case "missing": [:]
      case "temporary": Dictionary(uniqueKeysWithValues: right.keys.map { ($0, $0) })
      case "equal": right.mapValues { old in right.values.first ?? old }
      default:
        // The parts of an identifier are valid text.
        right.mapValues { old in
          (try? .identifier(
            for: fault == "foreign" ? "elsewhere" : "trips.json", entityName: fault == "foreign" ? "Trip" : "Stop",
            primaryKey: 1)) ?? old
        }
      }
    }
    context.insert(Trip(name: "Rome"))
    context.insert(Trip(name: "Oslo"))
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.domain == NSCocoaErrorDomain && error?.code == NSPersistentStoreOperationError)
    #expect(error?.localizedFailureReason?.contains("The result of a save has") == true)
    #expect(context.hasChanges)
  }

  @Test("A snapshot that refers to an unknown identifier is an error of the fetch that names both")
  func danglingIdentifier() throws {
    let trip = Trip(name: "Rome")
    trip.stops = [Stop(title: "Forum")]
    context.insert(trip)
    try context.save()
    let text = try String(contentsOf: fixture.url, encoding: .utf8)
    let foreign = text.replacingOccurrences(of: "\"trips.json\"", with: "\"other.json\"")
    try foreign.write(to: fixture.url, atomically: true, encoding: .utf8)
    let error = #expect(throws: NSError.self) { try ModelContext(fixture.container()).fetch(byName()) }
    #expect(error?.localizedFailureReason?.contains("other.json") == true)
    #expect(error?.localizedFailureReason?.contains("trips.json") == true)
  }

  @Test("A relationship to a model that the store no longer has does not end the process")
  func missingDestination() throws {
    let trip = Trip(name: "Rome")
    trip.stops = [Stop(title: "Forum")]
    context.insert(trip)
    try context.save()
    let stop = try #require(trip.stops.first).persistentModelID
    let other = ModelContext(container)
    let known = try #require(other.model(for: stop) as? Stop)
    context.delete(try #require(trip.stops.first))
    try context.save()
    #expect(try other.fetchCount(FetchDescriptor<Stop>()) == 0)
    #expect(known.persistentModelID == stop)
  }
}

@Model
final class Borrower {
  var name: String
  var books: [Volume] = []

  init(name: String) {
    self.name = name
  }
}

@Model
final class Volume {
  var title: String
  @Relationship(inverse: \Borrower.books) var borrowers: [Borrower] = []

  init(title: String) {
    self.title = title
  }
}
