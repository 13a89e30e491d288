// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the articles on predicates and on history, between `guide:` and `end`.

import Foundation
import SwiftData
import Testing

extension GuideTrips {
  @Suite("The guide on predicates and history")
  struct PredicatesTests {
    private let container: ModelContainer
    private let context: ModelContext

    init() throws {
      container = try ModelContainer(for: Trip.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
      context = ModelContext(container)
      for (name, days, stops) in [("Rome", 4, ["Forum", "Ostia"]), ("Oslo", 2, ["Opera"]), ("Alps", 9, [])] {
        let trip = Trip(name: name, start: .now)
        trip.days = days
        trip.stops = stops.map { Stop(title: $0) }
        context.insert(trip)
      }
      try context.save()
    }

    private func names(_ predicate: Predicate<Trip>) throws -> [String] {
      try context.fetch(FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.name)])).map(\.name)
    }

    @Test("Conditions on values and through relationships")
    func conditions() throws {
      // guide: predicates-values
      let word = "o"
      let long = #Predicate<Trip> { $0.days >= 4 && $0.name.localizedStandardContains(word) }
      // end
      #expect(try names(long) == ["Rome"])

      // guide: predicates-relationships
      let withOpera = #Predicate<Trip> { $0.stops.contains { $0.title == "Opera" } }
      let withoutStops = #Predicate<Trip> { $0.stops.isEmpty }
      let ofRome = #Predicate<Stop> { $0.trip?.name == "Rome" }
      // end
      #expect(try names(withOpera) == ["Oslo"])
      #expect(try names(withoutStops) == ["Alps"])
      #expect(try context.fetchCount(FetchDescriptor(predicate: ofRome)) == 2)
    }

    @Test("An identifier of another model in a condition")
    func identifiers() throws {
      let trip = try #require(try context.fetch(FetchDescriptor<Trip>()).first { $0.name == "Rome" })
      // guide: predicates-identifier
      let identifier = trip.persistentModelID
      let itsStops = #Predicate<Stop> { $0.trip?.persistentModelID == identifier }
      // end
      #expect(try context.fetchCount(FetchDescriptor(predicate: itsStops)) == 2)
    }

    @Test("A descriptor with an order, a limit and prefetching")
    func descriptor() throws {
      // guide: predicates-descriptor
      var descriptor = FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.days, order: .reverse), SortDescriptor(\.name)])
      descriptor.fetchLimit = 2
      descriptor.relationshipKeyPathsForPrefetching = [\.stops]
      let longest = try context.fetch(descriptor).map(\.name)
      let count = try context.fetchCount(descriptor)
      // end
      #expect(longest == ["Alps", "Rome"])
      #expect(count == 2)
    }

    @Test("An order by what is not stored is refused")
    func order() throws {
      var descriptor = FetchDescriptor<Trip>()
      descriptor.sortBy = [SortDescriptor(\.name.count)]
      #expect { try context.fetch(descriptor) } throws: { SwiftDataError.unsupportedSortDescriptor ~= $0 }
    }

    @Test("Transactions, changes and tokens")
    func history() throws {
      let container = self.container
      // guide: history-author
      let context = ModelContext(container)
      context.author = "import"
      let trip = Trip(name: "Bern", start: .now)
      context.insert(trip)
      try context.save()
      trip.days = 2
      try context.save()
      // end

      var lines: [String] = []
      // guide: history-fetch
      let author = "import"
      let mine = HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.author == author })
      let transactions = try context.fetchHistory(mine)
      for transaction in transactions {
        for change in transaction.changes {
          switch change {
          case .insert(let insert): lines.append("new \(insert.changedPersistentIdentifier.entityName)")
          case .update(let update as DefaultHistoryUpdate<Trip>):
            lines.append("changed days: \(update.updatedAttributes.contains { $0 as AnyKeyPath == \Trip.days })")
          case .update, .delete: break
          }
        }
      }
      // end
      #expect(lines == ["new Trip", "changed days: true"])

      let saved = try #require(transactions.first?.token)
      // guide: history-token
      let data = try JSONEncoder().encode(saved)
      let token = try JSONDecoder().decode(DefaultHistoryToken.self, from: data)
      let later = HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token > token })
      let news = try context.fetchHistory(later)
      // end
      #expect(news.count == 1)

      // guide: history-delete
      let old = HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token <= token })
      try context.deleteHistory(old)
      // end
      #expect(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).count == 1)
    }
  }
}
