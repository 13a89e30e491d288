// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftDataTesting
import Testing

@testable import trips

/// What has to hold before a version of the app is shipped.
@Suite("The gate")
struct GateTests {
  @Test("The schemas are those of the committed files")
  func schemas() throws {
    try expectSchemas(of: TripsMigrationPlan.self, match: "../Schemas/Trips.xcdatamodeld")
  }

  @Test("The plan has no errors, and shipped versions are as they were locked")
  func plan() throws {
    try expectPlan(TripsMigrationPlan.self, lock: "../Schemas/coredata.lock")
  }

  @Test("Stores with sample rows go through each stage", arguments: MigrationCase.all(of: TripsMigrationPlan.self))
  func samples(_ item: MigrationCase) throws {
    try expectMigration(item)
  }

  @Test("Stores of shipped versions go through each stage")
  func stores() throws {
    try expectMigration(of: TripsMigrationPlan.self, from: .stores(in: "../Stores"))
  }
}
