// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

@ModelActor
private actor Worker {
  func add(_ names: [String]) throws -> [PersistentIdentifier] {
    let trips = names.map { Trip(name: $0) }
    for trip in trips { modelContext.insert(trip) }
    try modelContext.save()
    return trips.map(\.persistentModelID)
  }

  func prolong(_ identifier: PersistentIdentifier) throws {
    self[identifier, as: Trip.self]?.days += 1
    try modelContext.save()
  }

  func addStop(_ identifier: PersistentIdentifier) throws {
    self[identifier, as: Trip.self]?.stops.append(Stop(title: "new"))
    try modelContext.save()
  }

  func count() throws -> Int { try modelContext.fetchCount(FetchDescriptor<Trip>()) }
}

@Suite("Model actors and the main context")
struct ModelActorTests {
  @Test("Actors share rows by identifiers, and lose none of each other's changes")
  func actors() async throws {
    let container = try makeContainer()
    let first = Worker(modelContainer: container)
    let identifiers = try await first.add(["a", "b"])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let worker = Worker(modelContainer: container)
          for number in 0..<20 { _ = try await worker.add(["\(UUID()) \(number)"]) }
        }
      }
      try await group.waitForAll()
    }
    for _ in 0..<10 { try await first.prolong(identifiers[0]) }
    #expect(try await first.count() == 82)
    let trip = ModelContext(container).model(for: identifiers[0]) as? Trip
    #expect(trip?.days == 13)
  }

  @Test("The main context saves by itself, and merges what others save")
  @MainActor func mainContext() async throws {
    let container = try makeContainer()
    let context = container.mainContext
    #expect(context.autosaveEnabled && !ModelContext(container).autosaveEnabled)
    let trip = Trip(name: "Rome")
    context.insert(trip)
    #expect(context.hasChanges)
    try await poll { !context.hasChanges }
    #expect(!trip.persistentModelID.isTemporary)
    trip.days = 4
    try await poll { !context.hasChanges }
    try await Worker(modelContainer: container).prolong(trip.persistentModelID)
    try await poll { trip.days == 5 }
    #expect(trip.days == 5)
  }

  @Test("Observers in the main context learn of the properties that another context has changed")
  @MainActor func mergedObservation() async throws {
    let container = try makeContainer()
    let context = container.mainContext
    let (trip, other) = (Trip(name: "Rome"), Trip(name: "Oslo"))
    context.insert(trip)
    context.insert(other)
    try context.save()
    let (days, name, untouched) = (Changes(trip, \.days), Changes(trip, \.name), Changes(other, \.days))
    let stops = Changes(trip, \.stops)
    let worker = Worker(modelContainer: container)
    try await worker.prolong(trip.persistentModelID)
    try await poll { days.count > 0 }
    #expect(days.count == 1 && trip.days == 4)
    #expect(name.count == 0 && untouched.count == 0)
    try await worker.addStop(trip.persistentModelID)
    try await poll { trip.stops.count == 1 }
    #expect(trip.stops.count == 1 && stops.count > 0)
  }

  /// Waits until a condition holds, at most ten seconds.
  @MainActor private func poll(_ condition: () -> Bool) async throws {
    for _ in 0..<1000 where !condition() { try await Task.sleep(for: .milliseconds(10)) }
  }

  @Test("Observers of a property learn of its changes, before and after the model is inserted")
  func observation() throws {
    final class Changes: @unchecked Sendable { var count = 0 }
    let context = ModelContext(try makeContainer())
    let trip = Trip(name: "Rome")
    for isInserted in [false, true] {
      if isInserted { context.insert(trip) }
      let changes = Changes()
      withObservationTracking {
        _ = trip.days
      } onChange: {
        changes.count += 1
      }
      trip.name += "x"
      #expect(changes.count == 0)
      trip.days += 1
      #expect(changes.count == 1)
    }
  }

  @Test("Reading a model whose row was deleted says so")
  func deletedRow() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeContainer()
      let worker = Worker(modelContainer: container)
      let identifier = try await worker.add(["a"])[0]
      let context = ModelContext(container)
      try context.delete(model: Trip.self)
      try context.save()
      try await worker.prolong(identifier)
    }
    let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(words.contains("has no value. Its row was deleted. Fetch models by their persistentModelID"), "\(words)")
  }
}
