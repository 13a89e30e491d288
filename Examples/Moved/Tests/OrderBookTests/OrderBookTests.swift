// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTesting
import XCTest

@testable import OrderBook

/// Stores of every version, made up and migrated with the app's own mapping model and policies.
final class EveryVersionTests: XCTestCase {
  func testMigrations() async throws {
    let bundle = Bundle.main.bundleURL.appendingPathComponent("Moved_OrderBook.resources")
    let rehearsal = try await expectMigration(
      of: bundle.appendingPathComponent("OrderBook.momd"), mappings: [bundle])
    XCTAssertEqual(Set(rehearsal.cases.map(\.source)), ["OrderBook", "OrderBook 2"])
    // Extreme values break the rules of the model, which a migration by a mapping model refuses.
    for item in rehearsal.cases where item.content != "extreme" { XCTAssertEqual(item.outcome, .migrated, item.name) }
  }
}
