// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData

@Suite("Stores that cannot be opened", .serialized)
struct OpeningFailureTests {
  private var model: NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Note", [.make("name", .stringAttributeType)])
    return builder.model()
  }

  private func error(_ store: TemporaryStore, failing suffix: String, _ number: Int32) throws -> NSError {
    let path = store.folder.resolvingSymlinksInPath().appendingPathComponent(store.url.lastPathComponent).path
    faultInjectionArm(path + suffix, 1, Int32(FaultKindLasting.rawValue), number)
    defer { _ = faultInjectionDisarm() }
    return try #require(throws: NSError.self) { try store.context(model) }
  }

  @Test("With too many open files, a store is not opened as one that cannot be written")
  func tooManyFiles() throws {
    let store = try TemporaryStore()
    try store.context(model).make("Note", ["name": "one"]).managedObjectContext?.save()
    try store.close()
    for number in [EMFILE, ENFILE] {
      let error = try error(store, failing: "-wal", number)
      #expect(error.code == NSPersistentStoreOpenError)
      #expect(error.localizedFailureReason?.contains(String(cString: strerror(number))) == true)
      #expect(error.localizedRecoverySuggestion?.contains("ulimit -n") == true)
      let context = try store.context(model)
      #expect(context.coordinator.persistentStores.allSatisfy { !$0.isReadOnly })
      context.make("Note", ["name": "more"])
      try context.save()
      try store.close()
    }
  }

  @Test("The error of a lock that cannot be opened has the system's reason")
  func lock() throws {
    let store = try TemporaryStore()
    let place = StoreLocation(store.url)
    faultInjectionArm(place.lockFile.path, 1, Int32(FaultKindLasting.rawValue), EMFILE)
    defer { _ = faultInjectionDisarm() }
    let failure = try #require(throws: FileFailure.self) { try MigrationLock.acquire(place) }
    #expect(failure.number == EMFILE)
    let error = FileErrors.error(failure, store: store.url)
    #expect(error.localizedRecoverySuggestion?.contains("ulimit -n") == true)
  }

  @Test("A name may have all bytes that SQLite leaves")
  func longName() throws {
    let store = try TemporaryStore(String(repeating: "ä", count: 120) + ".sqlite")
    let context = try store.context(model)
    context.make("Note", ["name": "one"])
    try context.save()
    try store.close()
    #expect(try store.context(model).all("Note").count == 1)
    let long = try TemporaryStore(String(repeating: "x", count: 245) + ".sqlite")
    let error = try #require(throws: NSError.self) { try long.context(model) }
    #expect(error.code == CocoaError.Code.fileWriteInvalidFileName.rawValue)
    #expect(try FileManager.default.contentsOfDirectory(atPath: long.folder.path).isEmpty)
  }
}
