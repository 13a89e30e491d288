// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import SwiftData

/// Work with SwiftData, compared with the same work with Core Data, of which both note the history.
enum SwiftDataWorkloads {
  static let all = [
    Workload(
      name: "SwiftData: insert and save", start: .empty, limit: 1.6, library: insert,
      byHand: withCoreData(ObjectWorkloads.insert)),
    Workload(
      name: "SwiftData: fetch all, read every property", start: .notes, limit: 1.5, library: fetchAllAndReadEvery,
      byHand: withCoreData(ObjectWorkloads.fetchAllAndReadEvery)),
    Workload(
      name: "SwiftData: predicate, sort, limit", start: .notes, limit: 1.1, library: query,
      byHand: withCoreData(ObjectWorkloads.query)),
    Workload(
      name: "SwiftData: update 10,000", start: .notes, limit: 1.5, library: update,
      byHand: withCoreData(ObjectWorkloads.update)),
    Workload(
      name: "SwiftData: delete 10,000", start: .notes, limit: 1.2, library: delete,
      byHand: withCoreData(ObjectWorkloads.delete)),
    Workload(
      name: "SwiftData: property reads, 1,000,000", start: .notes, secondsLimit: 0.06, library: readNumbers,
      byHand: withCoreData(ObjectWorkloads.readTypedNumbers)),
    Workload(
      name: "SwiftData: reads of strings, 1,000,000", start: .notes, secondsLimit: 0.06, library: readStrings,
      byHand: withCoreData(ObjectWorkloads.readTypedStrings)),
  ]

  private typealias Note = SwiftDataModel.Note
  private typealias Attachment = SwiftDataModel.Attachment

  private static func withCoreData(
    _ work: @escaping @Sendable (Workload.Place) throws -> Measurement
  ) -> @Sendable (Workload.Place) throws -> Measurement {
    { place in
      var place = place
      place.tracksHistory = true
      return try work(place)
    }
  }

  @Sendable private static func insert(_ place: Workload.Place) throws -> Measurement {
    let notes = ObjectWorkloads.notes(place)
    return try withContext(place) { context in
      for note in notes { context.insert(Note(note)) }
      try context.save()
    }
  }

  @Sendable private static func fetchAllAndReadEvery(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context in
      var values = 0
      for note in try context.fetch(FetchDescriptor<Note>()) {
        if note.title != nil { values += 1 }
        if note.body != nil { values += 1 }
        if note.fullName != nil { values += 1 }
        if note.dateCreated != nil { values += 1 }
        if note.displayIndex != nil { values += 1 }
      }
      try ObjectWorkloads.check(values == place.noteCount * 5)
    }
  }

  @Sendable private static func query(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context in
      let name: String? = "Ada Boris"
      var descriptor = FetchDescriptor<Note>(
        predicate: #Predicate { ($0.displayIndex ?? 0) > 100 && $0.fullName == name },
        sortBy: [SortDescriptor(\.dateCreated, order: .reverse)])
      descriptor.fetchLimit = 100
      try ObjectWorkloads.check(!context.fetch(descriptor).isEmpty)
    }
  }

  @Sendable private static func update(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context in
      var descriptor = FetchDescriptor<Note>()
      descriptor.fetchLimit = ObjectWorkloads.count
      for note in try context.fetch(descriptor) { note.title = "changed" }
      try context.save()
    }
  }

  @Sendable private static func delete(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context in
      var descriptor = FetchDescriptor<Attachment>()
      descriptor.fetchLimit = ObjectWorkloads.count
      for attachment in try context.fetch(descriptor) { context.delete(attachment) }
      try context.save()
    }
  }

  @Sendable private static func readNumbers(_ place: Workload.Place) throws -> Measurement {
    try read(place) { ($0.displayIndex ?? -1) >= 0 }
  }

  @Sendable private static func readStrings(_ place: Workload.Place) throws -> Measurement {
    try read(place) { $0.title != nil }
  }

  /// Reads a property of a thousand models, a thousand times.
  private static func read(_ place: Workload.Place, _ hasValue: (Note) -> Bool) throws -> Measurement {
    let context = ModelContext(try container(place))
    var descriptor = FetchDescriptor<Note>()
    descriptor.fetchLimit = 1_000
    let notes = try context.fetch(descriptor)
    for note in notes { try ObjectWorkloads.check(hasValue(note)) }
    return try Measurement.of {
      var values = 0
      for _ in 0..<1_000 {
        for note in notes where hasValue(note) { values += 1 }
      }
      try ObjectWorkloads.check(values == 1_000_000)
    }
  }

  private static func container(_ place: Workload.Place) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(SwiftDataModel.types), configurations: [ModelConfiguration(url: place.store)])
  }

  /// Measures some work in a context, without opening and closing the store.
  private static func withContext(
    _ place: Workload.Place, _ work: (ModelContext) throws -> Void
  ) throws -> Measurement {
    let context = ModelContext(try container(place))
    return try Measurement.of { try work(context) }
  }
}
