// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

@Suite("Stores in PostgreSQL", .enabled(if: TestServer.isAvailable, "There is no PostgreSQL server."))
struct StoreTests {
  @Test("A description with a URL of the scheme is enough")
  func container() throws {
    let url = TestServer.shared.schemaURL()
    for round in 0..<2 {
      let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyModel.make())
      container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
      var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      if let failure { throw failure }
      let context = container.viewContext
      if round == 0 {
        context.make("Employee", ["name": "Ada", "age": 36, "hired": Date(timeIntervalSinceReferenceDate: 0.1)])
        try context.save()
      }
      context.reset()
      let found = try #require(try context.all("Employee").first)
      #expect(found["name"] as? String == "Ada" && found["age"] as? Int == 36)
      #expect((found["hired"] as? Date)?.timeIntervalSinceReferenceDate == 0.1)
    }
  }
}
