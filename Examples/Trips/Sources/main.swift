// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// trips STORE...          opens copies of old stores, and prints what is in them after the migration
// trips --make DIRECTORY  writes a store of each version, as the versions of the app did

import Foundation
import SwiftData

/// The day of a month in 2026.
func day(_ month: Int, _ day: Int) -> Date {
  let parts = DateComponents(
    calendar: Calendar(identifier: .gregorian), timeZone: TimeZone(secondsFromGMT: 0), year: 2026, month: month,
    day: day)
  return parts.date ?? .distantPast
}

func show(_ url: URL) throws {
  let container = try ModelContainer(
    for: Trip.self, Stop.self, migrationPlan: TripsMigrationPlan.self, configurations: ModelConfiguration(url: url))
  let context = ModelContext(container)
  print("\(url.lastPathComponent):")
  for trip in try context.fetch(FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.startDate), SortDescriptor(\.name)])) {
    let start = trip.startDate.formatted(.iso8601.year().month().day())
    let stops = trip.stops.map(\.title).sorted().joined(separator: ", ")
    print("  \(start) \(trip.name): \(trip.destination), \(trip.kind.rawValue)\(stops.isEmpty ? "" : ", \(stops)")")
  }
}

func make(in directory: URL) throws {
  func container(_ version: any VersionedSchema.Type, _ name: String) throws -> ModelContext {
    ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: version),
        configurations: ModelConfiguration(url: directory.appendingPathComponent(name))))
  }

  let first = try container(SchemaV1.self, "v1.store")
  first.insert(SchemaV1.Trip(name: "Rome", destination: "Italy", begin: day(3, 1)))
  first.insert(SchemaV1.Trip(name: "Rome", destination: "Georgia", begin: day(8, 15)))
  try first.save()

  let second = try container(SchemaV2.self, "v2.store")
  let alps = SchemaV2.Trip(name: "Alps", destination: "Austria", startDate: day(7, 4))
  alps.notes = "Take the boots."
  alps.stops = [SchemaV2.Stop(title: "Hut"), SchemaV2.Stop(title: "Summit")]
  second.insert(alps)
  try second.save()

  let third = try container(SchemaV3.self, "v3.store")
  let oslo = SchemaV3.Trip(name: "Oslo", destination: "Norway", startDate: day(12, 24))
  oslo.stops = [SchemaV3.Stop(title: "Opera", position: .init(latitude: 59.9, longitude: 10.75))]
  third.insert(oslo)
  try third.save()
}

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "--make", let directory = arguments.last {
  try make(in: URL(fileURLWithPath: directory))
} else {
  for path in arguments { try show(URL(fileURLWithPath: path)) }
}
