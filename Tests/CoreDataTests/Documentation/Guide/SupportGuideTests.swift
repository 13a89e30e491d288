// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's articles about support, servers and errors, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: trouble-describe
/// Returns what an error says, one line for each problem.
func lines(of error: any Error) -> [String] {
  let error = error as NSError
  guard let details = error.userInfo[NSDetailedErrorsKey] as? [NSError] else {
    let texts = [error.localizedFailureReason ?? error.localizedDescription, error.localizedRecoverySuggestion]
    return ["\(error.domain) \(error.code): " + texts.compactMap { $0 }.joined(separator: " ")]
  }
  return details.flatMap(lines(of:))
}
// end

// guide: support-report
/// What a report to the developers says about a store, without a value of a user in it.
func supportReport(storeAt url: URL, error: any Error) -> [String: Any] {
  let failure = error as NSError
  var report: [String: Any] = [
    "domain": failure.domain, "code": failure.code, "reason": failure.localizedFailureReason ?? "",
  ]
  // A file that is not a store has no metadata; the error says so.
  if let metadata = try? NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url) {
    report["checksum"] = metadata[NSPersistentStoreModelVersionChecksumKey]
    report["identifiers"] = metadata[NSStoreModelVersionIdentifiersKey]
  }
  return report
}
// end

@Suite("The code of the guide: support")
struct SupportGuideTests {
  private let store: DailyUseStore
  private var storeURL: URL { store.storeURL }

  init() throws {
    store = try DailyUseStore()
  }

  @Test("A store that does not open is reported with its version, and is not touched")
  func opening() throws {
    let example = DailyUseStore.modelURL.deletingLastPathComponent().appendingPathComponent("Done.sqlite")
    try FileManager.default.copyItem(at: example, to: storeURL)
    let model = try NSManagedObjectModel.load(contentsOf: DailyUseStore.modelURL)
    // guide: support-open
    let description = NSPersistentStoreDescription(url: storeURL)
    description.shouldMigrateStoreAutomatically = false
    let container = NSPersistentContainer(name: "Done", managedObjectModel: model)
    container.persistentStoreDescriptions = [description]
    var report: [String: Any]?
    container.loadPersistentStores { description, error in
      guard let error, let url = description.url else { return }
      report = supportReport(storeAt: url, error: error)
    }
    // end
    #expect(report?["code"] as? Int == NSPersistentStoreIncompatibleVersionHashError)
    let first = try NSManagedObjectModel.load(contentsOf: DailyUseStore.modelURL, version: "Done")
    #expect(report?["checksum"] as? String == first.versionChecksum)
  }

  @Test("Several errors are listed one by one")
  func several() throws {
    var builder = ModelBuilder()
    builder.entity(
      "Person",
      [.make("name", .stringAttributeType, optional: false), .make("age", .integer16AttributeType, optional: false)])
    let context = try store.temporary.context(builder.model())
    context.make("Person")
    var found: [String] = []
    // guide: trouble-save
    do {
      try context.save()
    } catch {
      found = lines(of: error)
    }
    // end
    #expect(
      found.sorted()
        == ["age", "name"].map {
          "NSCocoaErrorDomain 1570: '\($0)' of 'Person' has no value, but is not optional. "
            + "Set a value, give the property a default value, or make it optional."
        })
  }

  @Test("A store of a server is one with another URL")
  func servers() throws {
    let model = try NSManagedObjectModel.load(contentsOf: DailyUseStore.modelURL)
    // guide: servers-url
    // SHOP_STORE=postgresql://shop_app@db.example/shop?schema=shop&sslmode=verify-full
    let place = ProcessInfo.processInfo.environment["SHOP_STORE"].flatMap { URL(string: $0) }
    let description = NSPersistentStoreDescription(url: place ?? storeURL)
    description.setOption(30 as NSNumber, forKey: NSPersistentStoreTimeoutOption)
    let container = NSPersistentContainer(name: "Shop", managedObjectModel: model)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    // end
    #expect(failure == nil)
    let context = container.newBackgroundContext()
    context.make("TSPItem", ["name": "a"])
    var mustRestart = false
    // guide: servers-save
    do {
      try context.performAndWait { try context.save() }
    } catch let error as NSError
      where error.domain == NSCocoaErrorDomain && error.code == NSPersistentStoreIncompatibleVersionHashError
    {
      // Another instance has migrated the store. End, and let the supervisor start the new version.
      mustRestart = true
    }
    // end
    #expect(!mustRestart)
    #expect(try DailyUseStore.names(container) == ["a"])
  }

  @Test("A URL of a server that no product supports is refused")
  func unknownServer() throws {
    let model = try NSManagedObjectModel.load(contentsOf: DailyUseStore.modelURL)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let url = try #require(URL(string: "mysql://app@localhost/shop"))
    let error = #expect(throws: NSError.self) { try coordinator.addPersistentStore(type: .sqlite, at: url) }
    #expect(error?.code == NSPersistentStoreOpenError)
  }
}
