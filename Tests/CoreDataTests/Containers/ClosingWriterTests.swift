// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Stores replaced while another program writes to them and closes them")
struct ClosingWriterTests {
  enum Work: CaseIterable {
    case replacing, destroying, restoring
  }

  @Test("The store is in use, and keeps what was written", arguments: Work.allCases)
  func writing(work: Work) throws {
    let store = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let other = store.folder.appendingPathComponent("Other.sqlite")
    for url in [store.url, other] { try coordinator.remove(coordinator.addPersistentStore(type: .sqlite, at: url)) }
    let timeout = [NSPersistentStoreTimeoutOption: 3600.0]

    let writer = try SQLiteConnection(url: store.url, mode: .readWrite, busyTimeout: 3600)
    // From now on no other connection gets the store alone.
    #expect(try writer.scalar("SELECT COUNT(*) FROM Z_METADATA") == .integer(1))
    let url = store.url
    let place = StoreLocation(url)
    let (isDone, failures) = (Guarded(false), Guarded<[any Error]>([]))
    let failure = Guarded<NSError?>(nil)
    inThreads(2) { number in
      guard number > 0 else {
        defer { isDone.value = true }
        do {
          switch work {
          case .replacing:
            try coordinator.replacePersistentStore(
              at: url, destinationOptions: timeout, withPersistentStoreFrom: other, type: .sqlite)
          case .destroying:
            try coordinator.destroyPersistentStore(at: url, type: .sqlite, options: timeout)
          case .restoring:
            try StoreBackup.restore(other, to: url)
          }
        } catch {
          failure.value = error as NSError
        }
        return
      }
      // The journal says so before the replacement gives up its write lock and waits for other connections to close.
      func isExchanging() -> Bool {
        // The directory and its journal appear with the work, and go with it.
        let journal = try? WorkJournal.read(OpenDirectory.open(place.workFolder), place)
        return journal?.phase == .exchanging
      }
      while !isDone.value, !isExchanging() { sched_yield() }
      do {
        try writer.run("CREATE TABLE mine (x)")
        try writer.close()
      } catch {
        failures.update { $0.append(error) }
      }
    }
    #expect(failures.value.isEmpty, "\(failures.value)")
    let error = try #require(failure.value)
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSPersistentStoreTimeoutError, "\(error)")
    #expect(error.localizedDescription == "The persistent store is in use.")
    #expect(try SQLiteConnection(url: store.url, mode: .readOnly).hasTable("mine"))
    #expect(!FileCalls.exists(place.workFolder))
    // Nobody uses it any more.
    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    #expect(FileCalls.size(store.url) == 0)
  }
}
