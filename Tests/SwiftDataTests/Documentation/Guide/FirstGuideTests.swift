// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the articles on the first ten minutes and on models, between `guide:` and `end`.

import Foundation
import SwiftData
import Testing

enum GuideTrips {
  // guide: first-models
  @Model
  final class Trip {
    @Attribute(.unique) var name: String
    var start: Date
    var days = 1
    @Relationship(deleteRule: .cascade, inverse: \Stop.trip) var stops: [Stop] = []

    init(name: String, start: Date) {
      self.name = name
      self.start = start
    }
  }

  @Model
  final class Stop {
    var title: String
    var trip: Trip?

    init(title: String) {
      self.title = title
    }
  }
  // end
}

extension GuideTrips {
  @Suite("The guide on the first ten minutes with SwiftData")
  struct FirstTests {
    private let directory: GuideDirectory

    init() throws { directory = try GuideDirectory() }

    @Test("Trips are saved, fetched, changed and deleted")
    func first() throws {
      let storeURL = directory.file("Trips.store")
      // guide: first-open
      let container = try ModelContainer(for: Trip.self, configurations: ModelConfiguration(url: storeURL))
      let context = ModelContext(container)
      // end

      // guide: first-insert
      let rome = Trip(name: "Rome", start: Date(timeIntervalSince1970: 1_790_000_000))
      rome.stops = [Stop(title: "Forum"), Stop(title: "Pantheon")]
      context.insert(rome)
      try context.save()
      // end

      var found: [String] = []
      // guide: first-fetch
      let short = FetchDescriptor<Trip>(
        predicate: #Predicate { $0.days < 3 && !$0.stops.isEmpty }, sortBy: [SortDescriptor(\.start)])
      for trip in try context.fetch(short) {
        found.append("\(trip.name): \(trip.stops.map(\.title).sorted().joined(separator: ", "))")
      }
      // end
      #expect(found == ["Rome: Forum, Pantheon"])

      // guide: first-upsert
      let again = Trip(name: "Rome", start: rome.start)
      again.days = 4
      context.insert(again)
      try context.save()
      let count = try context.fetchCount(FetchDescriptor<Trip>())
      // end
      #expect(count == 1)
      #expect(try ModelContext(container).fetch(FetchDescriptor<Trip>()).map(\.days) == [4])

      // guide: first-delete
      try context.delete(model: Trip.self, where: #Predicate { $0.name == "Rome" })
      try context.save()
      let left = try context.fetchCount(FetchDescriptor<Stop>())
      // end
      #expect(left == 0)
    }

    @Test("A container in memory serves a test")
    func memory() throws {
      // guide: first-memory
      let container = try ModelContainer(
        for: Trip.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
      // end
      #expect(try ModelContext(container).fetchCount(FetchDescriptor<Trip>()) == 0)
    }
  }
}
