// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import SwiftData
import Testing

@Suite("Data stores shared by contexts, and next to others")
struct DataStoreSharingTests {
  private let fixture: JSONFixture
  private let container: ModelContainer

  init() throws {
    fixture = try JSONFixture()
    container = try fixture.container()
  }

  private func byName() -> FetchDescriptor<Trip> { FetchDescriptor(sortBy: [SortDescriptor(\.name)]) }

  @Test("Changes of different properties in two contexts are both kept")
  func conflict() throws {
    let (first, second) = (ModelContext(container), ModelContext(container))
    first.insert(Trip(name: "Rome"))
    try first.save()
    let mine = try #require(try first.fetch(byName()).first)
    let theirs = try #require(try second.fetch(byName()).first)
    #expect(mine.days == theirs.days)
    theirs.name = "Oslo"
    try second.save()
    mine.days = 12
    try first.save()
    let found = try #require(try ModelContext(fixture.container()).fetch(byName()).first)
    #expect(found.name == "Oslo" && found.days == 12)
  }

  @Test("A context shows with its next fetch what another one, or another process, has saved")
  func refetch() throws {
    let context = ModelContext(container)
    context.insert(Trip(name: "Rome"))
    try context.save()
    let mine = try #require(try context.fetch(byName()).first)
    for (context, name) in [(ModelContext(container), "Oslo"), (ModelContext(try fixture.container()), "Riga")] {
      try #require(try context.fetch(byName()).first).name = name
      try context.save()
      #expect(try #require(try self.fetch(mine)).name == name)
    }
  }

  private func fetch(_ trip: Trip) throws -> Trip? { try trip.modelContext?.fetch(byName()).first }

  @Test("Actors and contexts use one store at the same time")
  func actors() async throws {
    let container = container
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          let writer = TripWriter(modelContainer: container)
          for step in 0..<5 { try await writer.add("trip \(number) \(step)") }
        }
      }
      try await group.waitForAll()
    }
    #expect(try ModelContext(fixture.container()).fetchCount(FetchDescriptor<Trip>()) == 20)
  }

  @Test("A store learns when a context begins and ends to use it, and who its author is")
  func states() throws {
    do {
      let context = ModelContext(container)
      context.author = "me"
      #expect(fixture.probe.calls() == [])
      context.insert(Trip(name: "Rome"))
      try context.save()
      #expect(try context.fetchCount(FetchDescriptor<Trip>()) == 1)
      #expect(fixture.probe.calls() == ["begin", "save 1 0 0 by me", "fetch Trip"])
    }
    #expect(fixture.probe.ended.wait(timeout: .now() + 60) == .success)
  }

  @Test("Models of a data store and of a Core Data store are saved by one context")
  func mixed() throws {
    let directory = fixture.url.deletingLastPathComponent()
    let json = JSONStoreConfiguration(schema: Schema(Folder.self), url: fixture.url)
    let file = ModelConfiguration(
      schema: Schema(Trip.self), url: directory.appendingPathComponent("trips.store"))
    func open() throws -> ModelContainer {
      try ModelContainer(for: Trip.self, Folder.self, configurations: json, file)
    }
    let context = ModelContext(try open())
    context.insert(Trip(name: "Rome"))
    context.insert(Folder(name: "root"))
    try context.save()
    let history = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(history.flatMap(\.changes).map(\.changedPersistentIdentifier.entityName) == ["Trip"])
    let other = ModelContext(try open())
    #expect(try other.fetch(byName()).map(\.name) == ["Rome"])
    #expect(try other.fetch(FetchDescriptor<Folder>()).map(\.name) == ["root"])
    let identifiers = try other.fetchIdentifiers(FetchDescriptor<Folder>())
    #expect(identifiers.map(\.storeIdentifier) == ["trips.json"])
    #expect(try String(contentsOf: fixture.url, encoding: .utf8).contains("Rome") == false)
  }

  @Test("An entity in two stores, and a relationship between two stores, are refused")
  func partition() throws {
    let second = JSONStoreConfiguration("second", url: fixture.url)
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try ModelContainer(for: Trip.self, configurations: fixture.configuration, second)
    }
    let stops = JSONStoreConfiguration("stops", schema: Schema([Folder.self]), url: fixture.url)
    #expect(throws: SwiftDataError.configurationSchemaNotFoundInContainerSchema) {
      try ModelContainer(for: Trip.self, configurations: stops)
    }
  }

  @Test("Erasing a container erases its data stores")
  func erase() throws {
    let context = ModelContext(container)
    context.insert(Trip(name: "Rome"))
    try context.save()
    try container.erase()
    #expect(try ModelContext(fixture.container()).fetchCount(FetchDescriptor<Trip>()) == 0)
    context.insert(Trip(name: "Oslo"))
    try context.save()
    #expect(try ModelContext(fixture.container()).fetch(FetchDescriptor<Trip>()).map(\.name) == ["Oslo"])
  }

  @Test("A store with snapshots and numbers of its own changes the values that it saves")
  func ownSnapshots() throws {
    let container = try ModelContainer(for: Note.self, configurations: NumberingConfiguration())
    let context = ModelContext(container)
    let notes = ["a", "b"].map { Note(text: $0) }
    for note in notes {
      context.insert(note)
      try context.save()
    }
    #expect(notes.map(\.number) == [1, 2])
    #expect(notes.map { $0.persistentModelID.entityName } == ["Note", "Note"])
    let other = ModelContext(container)
    let sorted = FetchDescriptor<Note>(sortBy: [SortDescriptor(\.number)])
    #expect(try other.fetch(sorted).map(\.text) == ["a", "b"])
    notes[0].text = "c"
    try context.save()
    #expect(try other.fetch(sorted).map(\.text) == ["c", "b"])
    #expect(try other.fetch(sorted).map(\.number) == [1, 2])
  }

  @Test("History of a store's own type is fetched and deleted, and its tokens are in notifications")
  func ownHistory() throws {
    let context = ModelContext(try ModelContainer(for: Note.self, configurations: NumberingConfiguration()))
    // The notification is posted during the call of save().
    nonisolated(unsafe) var tokens: [any HistoryToken] = []
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { note in
      tokens = note.userInfo?[ModelContext.NotificationKey.historyTokens.rawValue] as? [any HistoryToken] ?? []
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    context.author = "me"
    for text in ["a", "b"] {
      context.insert(Note(text: text))
      try context.save()
    }
    #expect(tokens.map { ($0 as? NumberTransaction.Token)?.tokenValue } == [2])
    #expect(try context.fetchHistory(HistoryDescriptor<NumberTransaction>()).map(\.author) == ["me", "me"])
    try context.deleteHistory(HistoryDescriptor<NumberTransaction>())
    #expect(try context.fetchHistory(HistoryDescriptor<NumberTransaction>()).isEmpty)
    #expect(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).isEmpty)
  }

  @Test("A DefaultStore keeps the snapshots of another store in a Core Data store")
  func defaultStore() throws {
    let url = fixture.url.deletingLastPathComponent().appendingPathComponent("wrapped.store")
    let configuration = ModelConfiguration(schema: Schema(Trip.self, Folder.self), url: url)
    let store = try DefaultStore(configuration, migrationPlan: nil)
    let state = ModelContext(container).editingState
    let trip = Trip(name: "Rome")
    trip.stops = [Stop(title: "Forum")]
    trip.place = Place(city: "Roma", postcode: nil, latitude: 41.9)
    let context = ModelContext(container)
    context.insert(trip)
    var related: [PersistentIdentifier: any BackingData] = [:]
    let snapshots = [
      DefaultSnapshot(from: trip.persistentBackingData, relatedBackingDatas: &related),
      DefaultSnapshot(from: trip.stops[0].persistentBackingData, relatedBackingDatas: &related),
    ]
    let result = try store.save(
      DataStoreSaveChangesRequest(inserted: snapshots, updated: [], deleted: [], editingState: state))
    #expect(result.remappedIdentifiers.count == 2 && result.storeIdentifier == store.identifier)
    var descriptor = byName()
    descriptor.relationshipKeyPathsForPrefetching = [\.stops]
    let found = try store.fetch(DataStoreFetchRequest(descriptor: descriptor, editingState: state))
    #expect(found.fetchedSnapshots.map(\.persistentIdentifier) == [result.remappedIdentifiers[trip.persistentModelID]])
    #expect(found.relatedSnapshots.count == 1)
    let read = try #require(
      try ModelContext(ModelContainer(for: Trip.self, Folder.self, configurations: configuration)).fetch(byName())
        .first)
    #expect(read.place?.city == "Roma" && read.stops.map(\.title) == ["Forum"])
    try store.delete(DataStoreBatchDeleteRequest<Trip>(predicate: nil, editingState: state))
    #expect(try store.fetchCount(DataStoreFetchRequest(descriptor: byName(), editingState: state)) == 0)
    #expect(try store.fetchHistory(HistoryDescriptor()).count == 2)
  }
}

@ModelActor
actor TripWriter {
  func add(_ name: String) throws {
    modelContext.insert(Trip(name: name))
    try modelContext.save()
  }
}
