// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

@Suite("Fetching models")
struct FetchTests {
  private let container: ModelContainer
  private let context: ModelContext

  /// Twelve trips, of 1 to 12 days.
  init() throws {
    container = try makeContainer()
    context = ModelContext(container)
    for number in 1...12 {
      let trip = Trip(name: String(format: "%02d", number))
      trip.days = number
      context.insert(trip)
    }
    try context.save()
  }

  private let byDays = FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.days, order: .reverse)])

  @Test("Limits, offsets and orders apply, with and without unsaved changes")
  func limits() throws {
    var descriptor = byDays
    descriptor.fetchLimit = 3
    descriptor.fetchOffset = 1
    #expect(try context.fetch(descriptor).map(\.days) == [11, 10, 9])
    context.insert(Trip(name: "new"))
    try #require(try context.fetch(byDays).first { $0.days == 1 }).days = 100
    #expect(try context.fetch(descriptor).map(\.days) == [12, 11, 10])
    descriptor.includePendingChanges = false
    #expect(try context.fetch(descriptor).map(\.name) == ["11", "10", "09"])
  }

  @Test("A condition applies before the limit")
  func condition() throws {
    var descriptor = byDays
    descriptor.predicate = #Predicate { $0.days % 2 == 0 }
    #expect(try context.fetch(descriptor).map(\.days) == [12, 10, 8, 6, 4, 2])
    #expect(try context.fetchCount(descriptor) == 6)
    #expect(try context.fetchIdentifiers(descriptor).count == 6)
    descriptor.fetchLimit = 2
    descriptor.fetchOffset = 1
    #expect(try context.fetch(descriptor).map(\.days) == [10, 8])
  }

  @Test("A fetch in batches has all results, and refuses unsaved changes")
  func batches() throws {
    let results = try context.fetch(byDays, batchSize: 5)
    #expect(results.count == 12 && results.map(\.days) == Array((1...12).reversed()) && results[7].days == 5)
    let identifiers = try context.fetchIdentifiers(byDays, batchSize: 5)
    #expect(Array(identifiers) == results.map(\.persistentModelID))
    context.insert(Trip(name: "new"))
    #expect { try context.fetch(byDays, batchSize: 5) } throws: {
      SwiftDataError.includePendingChangesWithBatchSize ~= $0 && "\($0)".contains("Save first")
    }
    #expect { try context.fetchIdentifiers(byDays) } throws: {
      SwiftDataError.sortingPendingChangesWithIdentifiers ~= $0
    }
    var descriptor = byDays
    descriptor.includePendingChanges = false
    #expect(try context.fetch(descriptor, batchSize: 5).count == 12)
  }

  @Test("Enumerating visits each model, and refuses changes that nobody saves")
  func enumerating() throws {
    var days: [Int] = []
    try context.enumerate(byDays, batchSize: 5) { days.append($0.days) }
    #expect(days == Array((1...12).reversed()))
    #expect { try context.enumerate(byDays) { $0.days += 1 } } throws: {
      SwiftDataError.modelValidationFailure ~= $0 && "\($0)".contains("allowEscapingMutations")
    }
    context.rollback()
    try context.enumerate(byDays, batchSize: 5, allowEscapingMutations: true) { $0.days += 100 }
    try context.save()
    #expect(try ModelContext(container).fetch(byDays).map(\.days) == Array((101...112).reversed()))
  }

  @Test("Models of a type are deleted, all or by a condition")
  func deleting() throws {
    try context.delete(model: Trip.self, where: #Predicate { $0.days > 4 })
    #expect(try context.fetchCount(byDays) == 4)
    try context.save()
    #expect(try ModelContext(container).fetch(byDays).map(\.days) == [4, 3, 2, 1])
    try context.delete(model: Trip.self)
    try context.save()
    #expect(try ModelContext(container).fetchCount(byDays) == 0)
  }

  @Test("A fetch sees what another context has saved, but keeps unsaved changes")
  func otherContexts() throws {
    let trips = try context.fetch(byDays)
    trips[1].days = 50
    let other = ModelContext(container)
    for trip in try other.fetch(byDays) { trip.days += 1000 }
    try other.save()
    _ = try context.fetch(byDays)
    #expect(trips[0].days == 1012 && trips[1].days == 50)
  }
}
