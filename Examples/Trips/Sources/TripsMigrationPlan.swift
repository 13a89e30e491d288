// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// From the first version to the second nothing needs code. The third wants unique names, so that trips with the name
/// of an earlier one get a number first; and the hikes of old stores are found by their notes.
enum TripsMigrationPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [SchemaV1.self, SchemaV2.self, SchemaV3.self] }

  static var stages: [MigrationStage] {
    [
      .lightweight(fromVersion: SchemaV1.self, toVersion: SchemaV2.self),
      .custom(
        fromVersion: SchemaV2.self, toVersion: SchemaV3.self,
        willMigrate: { context in
          var counts: [String: Int] = [:]
          let byDate = FetchDescriptor<SchemaV2.Trip>(sortBy: [SortDescriptor(\.startDate)])
          for trip in try context.fetch(byDate) {
            counts[trip.name, default: 0] += 1
            if let count = counts[trip.name], count > 1 { trip.name += " (\(count))" }
          }
          try context.save()
        },
        didMigrate: { context in
          for trip in try context.fetch(FetchDescriptor<SchemaV3.Trip>()) where trip.notes.contains("boots") {
            trip.kind = .hike
          }
          try context.save()
        }),
    ]
  }
}
