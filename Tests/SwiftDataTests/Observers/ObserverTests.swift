// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Synchronization
import Testing

@Suite("Observers of results and history")
struct ObserverTests {
  private let container: ModelContainer
  private let context: ModelContext

  init() throws {
    container = try makeContainer()
    context = ModelContext(container)
  }

  /// Counts notifications, which may come on any thread.
  private final class Notices: Sendable {
    private let number = Mutex(0)
    private let arrived = DispatchSemaphore(value: 0)
    var count: Int { number.withLock { $0 } }

    func add() {
      number.withLock { $0 += 1 }
      arrived.signal()
    }

    /// Waits for the next notification; false if none comes within a minute.
    func wait() -> Bool { arrived.wait(timeout: .now() + 60) == .success }
  }

  /// Reads a value, and counts the notification of its next change.
  private func tracking<Value>(_ notices: Notices, _ read: () -> Value) -> Value {
    withObservationTracking(read) { notices.add() }
  }

  private func observer(_ predicate: Predicate<Trip>? = nil) -> ResultsObserver<Trip, Never> {
    ResultsObserver(filterBy: predicate, sortBy: [SortDescriptor(\.name)], modelContext: context)
  }

  @Test("Results contain unsaved changes of the context, each of which notifies once")
  func ownChanges() throws {
    let results = observer(#Predicate { $0.days > 2 })
    let notices = Notices()
    func names() -> [String] { tracking(notices) { results.results.map(\.name) } }
    #expect(names() == [])
    let trip = Trip(name: "Rome")
    context.insert(trip)
    context.insert(Trip(name: "Oslo"))
    #expect(notices.count == 1)
    #expect(names() == ["Oslo", "Rome"])
    trip.days = 1
    #expect(notices.count == 2)
    #expect(names() == ["Oslo"])
    context.rollback()
    #expect(names() == [] && notices.count == 3)
  }

  @Test("Results contain what another context saves")
  func otherContext() throws {
    let results = observer()
    let notices = Notices()
    func names() -> [String] { tracking(notices) { results.results.map(\.name) } }
    #expect(names() == [])
    let other = ModelContext(container)
    let trip = Trip(name: "Rome")
    other.insert(trip)
    #expect(notices.count == 0)
    try other.save()
    #expect(notices.count == 1)
    #expect(names() == ["Rome"])
    trip.name = "Oslo"
    try other.save()
    #expect(names() == ["Oslo"])
    other.delete(trip)
    try other.save()
    #expect(names() == [])
  }

  @Test("Results contain what another container, like another process, saves to the file")
  func otherContainer() throws {
    let fixture = try JSONFixture()
    defer { withExtendedLifetime(fixture) {} }
    let url = fixture.url.deletingLastPathComponent().appendingPathComponent("shared.store")
    func open() throws -> ModelContainer {
      try ModelContainer(for: Trip.self, Folder.self, configurations: ModelConfiguration(url: url))
    }
    let (mine, theirs) = (try open(), try open())
    let results = ResultsObserver<Trip, Never>(modelContext: ModelContext(mine))
    let history = HistoryObserver(modelContainer: mine)
    let (notices, events) = (Notices(), Notices())
    #expect(tracking(notices) { results.results.count } == 0)
    #expect(tracking(events) { history.eventCounter } == 0)
    let other = ModelContext(theirs)
    other.insert(Trip(name: "Rome"))
    try other.save()
    #expect(notices.wait() && results.results.map(\.name) == ["Rome"])
    #expect(events.wait() && history.eventCounter == 1)
  }

  @Test("Sections group the results by a property, in their order")
  func sections() throws {
    for (name, days) in [("Rome", 1), ("Oslo", 2), ("Riga", 1)] {
      let trip = Trip(name: name)
      trip.days = days
      trip.tags = [name]
      context.insert(trip)
    }
    let results = ResultsObserver(
      sortBy: [SortDescriptor(\Trip.name)], sectionBy: \.initial, modelContext: context)
    #expect(results.sections.sectionNames == ["O", "R"])
    #expect(results.sections[sectionName: "R"]?.map(\.name) == ["Riga", "Rome"])
    #expect(results.sections.contains(sectionName: "O") && results.sections.index(ofSectionNamed: "R") == 1)
    let rome = results.element(at: IndexPath(indexes: [1, 1]))
    #expect(rome.name == "Rome" && results.indexPath(for: rome) == IndexPath(indexes: [1, 1]))
    results.sortBy = [SortDescriptor(\.name, order: .reverse)]
    #expect(results.sections.sectionNames == ["R", "O"])
    results.filterBy = #Predicate { $0.days == 2 }
    #expect(results.sections.map { $0.map(\.name) } == [["Oslo"]] && results.indexPath(for: rome) == nil)
  }

  @Test("A fetch that fails leaves no results, and its error")
  func failure() throws {
    let fixture = try JSONFixture()
    defer { withExtendedLifetime(fixture) {} }
    let context = ModelContext(try fixture.container())
    let results = ResultsObserver<Trip, Never>(modelContext: context)
    context.insert(Trip(name: "Rome"))
    #expect(results.results.count == 1 && results.fetchError == nil)
    try context.save()
    fixture.probe.onFetch = { throw StoreFailure() }
    #expect(results.results.isEmpty && results.fetchError is StoreFailure)
    fixture.probe.onFetch = nil
    context.insert(Trip(name: "Oslo"))
    #expect(results.results.count == 2 && results.fetchError == nil)
  }

  @Test("A released observer is no longer notified, and does not keep its context")
  func release() {
    weak var known: ResultsObserver<Trip, Never>?
    do {
      let results = observer()
      known = results
      #expect(results.results.isEmpty)
    }
    #expect(known == nil)
    context.insert(Trip(name: "Rome"))
  }

  @Test("History events are counted by model and author, from a token on")
  func history() throws {
    context.author = "me"
    context.insert(Trip(name: "Rome"))
    try context.save()
    let token = try #require(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).last).token
    let trips = HistoryObserver(observedModels: [Trip.self], modelContainer: container)
    let mine = HistoryObserver(historyTokens: [token], authors: ["me"], modelContainer: container)
    let (tripEvents, myEvents) = (Notices(), Notices())
    #expect(tracking(tripEvents) { trips.eventCounter } == 0)
    #expect(tracking(myEvents) { mine.eventCounter } == 0)
    context.author = "you"
    context.insert(Trip(name: "Oslo"))
    try context.save()
    #expect(tripEvents.wait() && trips.eventCounter == 1)
    context.author = "me"
    context.insert(Folder(name: "root"))
    try context.save()
    #expect(myEvents.wait() && mine.eventCounter == 1)
    let all = HistoryObserver(historyTokens: [token], modelContainer: container)
    let events = Notices()
    if tracking(events, { all.eventCounter }) == 0 { #expect(events.wait()) }
    #expect(all.eventCounter == 2 && trips.eventCounter == 1)
  }

  @Test("Saves to a data store of the program's own are history events")
  func dataStore() throws {
    let fixture = try JSONFixture()
    defer { withExtendedLifetime(fixture) {} }
    let container = try fixture.container()
    let observer = HistoryObserver(observedModels: [Trip.self], modelContainer: container)
    let context = ModelContext(container)
    context.insert(Folder(name: "root"))
    try context.save()
    #expect(observer.eventCounter == 0)
    context.insert(Trip(name: "Rome"))
    try context.save()
    #expect(observer.eventCounter == 1)
  }
}

extension Trip {
  /// The first letter of the name, by which sections are made.
  fileprivate var initial: String { String(name.prefix(1)) }
}
