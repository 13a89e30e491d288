// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article on contexts and actors, between `guide:` and `end`.

import Foundation
import SwiftData
import Testing

extension GuideTrips {
  // guide: contexts-actor
  @ModelActor
  actor Importer {
    func add(_ names: [String]) throws -> [PersistentIdentifier] {
      let trips = names.map { Trip(name: $0, start: .now) }
      for trip in trips { modelContext.insert(trip) }
      try modelContext.save()
      return trips.map(\.persistentModelID)
    }
  }
  // end

  @Suite("The guide on contexts and actors")
  struct ContextsTests {
    private let container: ModelContainer

    init() throws {
      container = try ModelContainer(for: Trip.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    }

    @Test("Changes are saved, discarded, or both as a transaction")
    func saving() throws {
      let container = self.container
      // guide: contexts-save
      let context = ModelContext(container)
      let trip = Trip(name: "Oslo", start: .now)
      context.insert(trip)
      try context.save()
      trip.days = 9
      context.rollback()
      let days = trip.days
      // end
      #expect(days == 1)

      // guide: contexts-transaction
      try context.transaction {
        trip.days = 5
        trip.stops.append(Stop(title: "Opera"))
      }
      // end
      #expect(!context.hasChanges)
      #expect(try ModelContext(container).fetch(FetchDescriptor<Trip>()).map(\.days) == [5])

      // guide: contexts-identity
      let identifier = trip.persistentModelID
      let other = ModelContext(container)
      let same = other.model(for: identifier) as? Trip
      // end
      #expect(same?.name == "Oslo" && same !== trip && same == trip)
    }

    @Test("An actor returns identifiers, by which the main context finds the models")
    @MainActor func actors() async throws {
      let container = self.container
      // guide: contexts-import
      let importer = Importer(modelContainer: container)
      let identifiers = try await importer.add(["Oslo", "Rome"])
      let context = container.mainContext
      let trips = identifiers.compactMap { context.model(for: $0) as? Trip }
      // end
      #expect(trips.map(\.name) == ["Oslo", "Rome"])
    }

    @Test("A property is observed")
    func observing() throws {
      let trip = Trip(name: "Oslo", start: .now)
      nonisolated(unsafe) var changes = 0
      // guide: contexts-observe
      withObservationTracking {
        _ = trip.days
      } onChange: {
        changes += 1
      }
      trip.days = 2
      // end
      #expect(changes == 1)
    }

    @Test("A save posts a notification")
    func notifications() throws {
      let context = ModelContext(container)
      nonisolated(unsafe) var inserted: [PersistentIdentifier] = []
      // guide: contexts-notification
      let observer = NotificationCenter.default.addObserver(
        forName: ModelContext.didSave, object: context, queue: nil
      ) { post in
        let key = ModelContext.NotificationKey.insertedIdentifiers.rawValue
        inserted = post.userInfo?[key] as? [PersistentIdentifier] ?? []
      }
      // end
      context.insert(Trip(name: "Oslo", start: .now))
      try context.save()
      NotificationCenter.default.removeObserver(observer)
      #expect(inserted.map(\.entityName) == ["Trip"])
    }

    @Test("Many models are read in batches")
    func enumerating() throws {
      let context = ModelContext(container)
      for number in 0..<20 { context.insert(Trip(name: "\(number)", start: .now)) }
      try context.save()
      var total = 0
      // guide: contexts-enumerate
      try context.enumerate(FetchDescriptor<Trip>(), batchSize: 500) { trip in
        total += trip.days
      }
      // end
      #expect(total == 20)
    }
  }
}
