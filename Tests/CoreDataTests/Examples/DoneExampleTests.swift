// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The store of Examples/Done, which an earlier version of this project wrote")
struct DoneExampleTests {
  private static let models = folder.appendingPathComponent("Done.xcdatamodeld")

  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Examples/Done")

  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore("Done.sqlite")
    try FileManager.default.copyItem(at: Self.folder.appendingPathComponent("Done.sqlite"), to: store.url)
  }

  private func model(_ version: String? = nil) throws -> NSManagedObjectModel {
    try NSManagedObjectModel.load(contentsOf: Self.models, version: version)
  }

  @Test("The versions are Done, Done 2 and Done 3, and the last one is current")
  func versions() throws {
    #expect(try NSManagedObjectModel.versions(contentsOf: Self.models).map(\.name) == ["Done", "Done 2", "Done 3"])
    #expect(try NSManagedObjectModel.currentVersionName(contentsOf: Self.models) == "Done 3")
  }

  @Test("The first version opens it and finds 300 items, one name and date each")
  func opens() throws {
    let context = try store.context(model("Done"))
    let items = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "TSPItem"))
    #expect(items.count == 300)
    #expect(items.allSatisfy { $0.value(forKey: "name") is String })
    #expect(Set(items.compactMap { $0.value(forKey: "createdAt") as? Date }).count == 300)
    #expect(items.filter { $0.value(forKey: "done") as? Bool == true }.count == 179)
    try store.close()
  }

  @Test("The current version refuses it with 134100 and names both entities; the file is untouched")
  func refused() throws {
    let before = try Data(contentsOf: store.url)
    let error = #expect(throws: NSError.self) { try store.context(model()) }
    #expect(error?.code == NSPersistentStoreIncompatibleVersionHashError)
    #expect(error?.localizedFailureReason?.contains("TSPItem") == true)
    #expect(error?.localizedFailureReason?.contains("TSPList") == true)
    #expect(try Data(contentsOf: store.url) == before)
  }

  @Test("Migrated, it has the same rows: done is called isDone, and what is new is empty")
  func migrated() throws {
    let before = try StoreDump(store.context(model("Done"))).objects
    try store.close()
    let options = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
    let after = try StoreDump(store.context(model(), options: options)).objects
    try store.close()
    #expect(before.count == 300)
    let expected = before.mapValues { values in
      var values = values
      values["isDone"] = values.removeValue(forKey: "done")
      values["updatedAt"] = "nil"
      values["list"] = ""
      return values
    }
    #expect(after == expected)
  }
}
