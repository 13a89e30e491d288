// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataAnalysis
@testable import CoreDataMigration
@testable import CoreDataSQLite

@Suite("Processes that have a store open", .serialized)
struct StoreUserTests {
  private static let words = "has the store open"

  @Test("Another process names the one that has a store open, in a checkup and in a plan; afterwards there is none")
  func otherProcess() async throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    context.make("Department", ["name": "one"])
    try context.save()
    // The process itself is no other. Asking must not end the lock by which the next process sees it.
    for _ in 0..<2 { #expect(DatabaseUser.other(of: store.url.path) == nil) }
    let (path, process) = (store.url.path, getpid())
    await #expect(processExitsWith: .success) { [path = path as String, process = process as Int32] in
      let url = URL(fileURLWithPath: path)
      for _ in 0..<2 { #expect(DatabaseUser.other(of: path)?.process == process) }
      let item = Checkup.ofStore(url, model: nil).items.first { $0.subject == "other processes" }
      #expect(item?.finding.hasPrefix("The process \(process) (") == true && item?.level == .note)
      #expect(item?.finding.hasSuffix(StoreUserTests.words + ".") == true)
      let model = CompanyModel.make()
      model.entitiesByName["Task"]?.versionHashModifier = "2"
      let plan = try MigrationPlan(
        storeAt: url, known: ModelVersions([ModelVersion(name: "new", model: model)]), version: nil)
      #expect(plan.remarks.contains { $0.hasPrefix("The process \(process) (") && $0.contains("134100") })
    }
    try store.close()
    await #expect(processExitsWith: .success) { [path = path as String] in
      #expect(DatabaseUser.other(of: path) == nil)
      #expect(
        !Checkup.ofStore(URL(fileURLWithPath: path), model: nil).items.contains { $0.subject == "other processes" })
    }
  }
}
