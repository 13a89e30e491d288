// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

#if os(Linux)
/// A file system of a few megabytes in memory, which only root can mount.
private final class SmallDisk {
  private let directory: TemporaryDirectory
  var folder: URL { directory.url }

  /// Whether this process may mount one.
  static let isPossible: Bool = {
    guard geteuid() == 0, let disk = try? SmallDisk(megabytes: 1) else { return false }
    return FileManager.default.fileExists(atPath: disk.folder.path)
  }()

  init(megabytes: Int) throws {
    directory = try TemporaryDirectory()
    guard mount("tmpfs", folder.path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
      throw FileFailure(operation: "mount", path: folder.path, number: errno)
    }
  }

  deinit { umount2(folder.path, Int32(MNT_DETACH)) }

  var store: URL { folder.appendingPathComponent("Store.sqlite") }
  var logSize: Int { DatabaseCompanions.logFileSize(store.path) }

  /// Takes all the space that is left.
  func fill() throws {
    let descriptor = open(folder.appendingPathComponent("filling").path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let bytes = [UInt8](repeating: 0, count: 4_096)
    while write(descriptor, bytes, bytes.count) > 0 {}
  }
}
#endif

@Suite("A store on a full disk", .serialized, .timeLimit(.minutes(60)))
struct FullDiskTests {
  private static var model: NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Note", [.make("name", .stringAttributeType), .make("number", .integer64AttributeType)])
    return builder.model()
  }

  private static var tracking: [AnyHashable: Any] { [NSPersistentHistoryTrackingKey: true] }

  private static func open(_ url: URL, _ options: [AnyHashable: Any]? = nil) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: url, options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private static func count(_ context: NSManagedObjectContext) throws -> Int {
    try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note"))
  }

  // MARK: Calls that fail once

  /// Runs a body while the first writing call on the log fails for want of space.
  private func failingOnce(_ place: TemporaryStore, _ body: () throws -> Void) rethrows -> Bool {
    let log = place.folder.resolvingSymlinksInPath().appendingPathComponent("Store.sqlite-wal").path
    faultInjectionArm(log, 1, Int32(FaultKindOnce.rawValue), ENOSPC)
    defer { _ = faultInjectionDisarm() }
    try body()
    return !String(cString: faultInjectionCall()).isEmpty
  }

  @Test("A transaction that did not fit is run once more after the log has been shortened", arguments: 0..<8)
  func once(_ number: Int) throws {
    let place = try TemporaryStore()
    let context = try place.context(Self.model, options: Self.tracking)
    for number in 0..<20 { context.make("Note", ["name": "\(number)", "number": number]) }
    try context.save()
    let store = try #require(context.coordinator.persistentStores.first)
    let hasFailed = try failingOnce(place) {
      switch number {
      case 0:
        context.make("Note", ["name": "new"])
        try context.save()
      case 1:
        for note in try context.all("Note", by: "name") { note.setValue("changed", forKey: "name") }
        try context.save()
      case 2:
        for note in try context.all("Note", by: "name") { context.delete(note) }
        try context.save()
      case 3:
        try context.execute(NSBatchInsertRequest(entityName: "Note", objects: [["name": "a"], ["name": "b"]]))
      case 4:
        let request = NSBatchUpdateRequest(entityName: "Note")
        request.propertiesToUpdate = ["name": "changed"]
        try context.execute(request)
      case 5:
        try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Note")))
      case 6:
        try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date().addingTimeInterval(60)))
      default:
        context.coordinator.setMetadata((store.metadata ?? [:]).merging(["key": "value"]) { $1 }, for: store)
        try context.save()
      }
    }
    #expect(hasFailed)
    try place.close()
    let after = try place.context(Self.model, options: Self.tracking)
    let names = try after.all("Note", by: "name").compactMap { $0.value(forKey: "name") as? String }
    switch number {
    case 0: #expect(names.count == 21 && names.contains("new"))
    case 1, 4: #expect(names == Array(repeating: "changed", count: 20))
    case 2, 5: #expect(names == [])
    case 3: #expect(names.count == 22)
    case 6:
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast)
      let result = try after.execute(request) as? NSPersistentHistoryResult
      #expect((result?.result as? [NSPersistentHistoryTransaction])?.isEmpty == true)
    default: #expect(after.coordinator.persistentStores.first?.metadata["key"] as? String == "value")
    }
  }

  @Test("A save of two stores is run once more as a whole")
  func twoStores() throws {
    let place = try TemporaryStore()
    let context = try place.context(Self.model)
    let other = try context.coordinator.addPersistentStore(
      type: .sqlite, at: place.folder.appendingPathComponent("Other.sqlite"))
    for number in 0..<4 {
      let note = context.make("Note", ["name": "\(number)"])
      if number % 2 == 0 { context.assign(note, to: other) }
    }
    // Keys are reserved before.
    try context.obtainPermanentIDs(for: Array(context.insertedObjects))
    #expect(try failingOnce(place) { try context.save() })
    #expect(try Self.count(context) == 4)
  }

  @Test("A handler of a batch insertion is not asked again: nothing is inserted, and the next request succeeds")
  func handler() throws {
    let place = try TemporaryStore()
    let context = try place.context(Self.model)
    func request() -> NSBatchInsertRequest {
      var left = 5
      return NSBatchInsertRequest(entityName: "Note") { (dictionary: NSMutableDictionary) in
        dictionary["name"] = "note"
        left -= 1
        return left < 0
      }
    }
    let hasFailed = failingOnce(place) {
      let error = #expect(throws: NSError.self) { try context.execute(request()) }
      #expect(error?.code == CocoaError.Code.fileWriteOutOfSpace.rawValue)
    }
    #expect(hasFailed)
    #expect(try Self.count(context) == 0)
    try context.execute(request())
    #expect(try Self.count(context) == 5)
  }

  #if os(Linux)
  // MARK: Small disks

  /// Saves on two threads, each with a coordinator of its own, while others read, and returns the errors.
  private func save(_ disk: SmallDisk, seconds: Double) throws -> (saved: Int, errors: [NSError]) {
    let outcome = Guarded((saved: 0, errors: [NSError]()))
    let end = Date().addingTimeInterval(seconds)
    let url = disk.store
    let writers = (0..<2).map { thread in
      ParallelWork {
        let context = try Self.open(url, Self.tracking)
        while Date() < end {
          context.performAndWait {
            do {
              context.make("Note", ["name": String(repeating: "x", count: 200), "number": thread])
              try context.save()
              outcome.update { $0.saved += 1 }
            } catch {
              context.rollback()
              outcome.update { $0.errors.append(error as NSError) }
            }
            context.reset()
          }
          // The database stays small.
          if outcome.value.saved % 100 == 99 {
            _ = try? context.execute(
              NSPersistentHistoryChangeRequest.deleteHistory(before: Date().addingTimeInterval(60)))
          }
        }
      }
    }
    let readers = (0..<2).map { _ in
      ParallelWork {
        let context = try Self.open(url, Self.tracking)
        while Date() < end {
          // A read that fails is repeated by the connection that writes; how it ends is not the matter here.
          _ = try? context.performAndWait { try Self.count(context) }
        }
      }
    }
    for work in writers + readers { try work.wait() }
    return outcome.value
  }

  @Test(
    "Two writers and two readers go on saving when their log has filled the disk, and lose nothing",
    .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"), arguments: [8, 20])
  func writers(megabytes: Int) throws {
    let disk = try SmallDisk(megabytes: megabytes)
    _ = try Self.open(disk.store, Self.tracking)
    let outcome = try save(disk, seconds: 3)
    #expect(outcome.errors == [])
    #expect(outcome.saved > 20)
    #expect(try Self.count(Self.open(disk.store, Self.tracking)) == outcome.saved)
    #expect(disk.logSize <= BackgroundCheckpointer.restingSize)
  }

  @Test(
    "A save that is too large fails, leaves the store as it was, and gives its space back",
    .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
  func tooLarge() throws {
    let disk = try SmallDisk(megabytes: 4)
    let context = try Self.open(disk.store)
    context.make("Note", ["name": "first"])
    try context.save()
    for number in 0..<3_000 { context.make("Note", ["name": "\(number)" + String(repeating: "x", count: 2_000)]) }
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.domain == NSCocoaErrorDomain && error?.code == CocoaError.Code.fileWriteOutOfSpace.rawValue)
    #expect(error?.localizedRecoverySuggestion?.contains("Free some space") == true)
    context.rollback()
    #expect(disk.logSize < 1 << 20)
    context.make("Note", ["name": "second"])
    try context.save()
    #expect(try Self.count(context) == 2)
    for note in try context.all("Note", by: "name") { context.delete(note) }
    try context.save()
    #expect(try Self.count(context) == 0)
  }

  @Test(
    "A store with a log is read, and opened, when the disk has no byte left",
    .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
  func reading() throws {
    let disk = try SmallDisk(megabytes: 4)
    let place = try TemporaryStore()
    let context = try place.context(Self.model, options: [NSSQLitePragmasOption: ["wal_autocheckpoint": "0"]])
    // The rows have room in pages of the database. The log is longer than its index, which needs space to open the store.
    for round in 0..<2 {
      for number in 0..<(200 - 100 * round) {
        context.make("Note", ["name": "\(number)"])
        if round > 0 { try context.save() }
      }
      try context.save()
      if round > 0 { break }
      let connection = try SQLiteConnection(url: place.url, mode: .readWrite)
      #expect(try connection.journalMode() == .wal && connection.checkpoint(.truncate).isComplete)
      for note in try context.all("Note", by: "name") { context.delete(note) }
      try context.save()
    }
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: place.url.path + suffix, toPath: disk.store.path + suffix)
    }
    try disk.fill()
    let files = { try FileManager.default.contentsOfDirectory(atPath: disk.folder.path).sorted() }
    #expect(try files() == ["Store.sqlite", "Store.sqlite-wal", "filling"])
    let untouched = try StoreFile.openUntouched(disk.store)
    #expect(untouched.isCopy)
    #expect(try untouched.connection.rowCount(of: "ZNOTE") == 100)
    try untouched.close()
    #expect(try files() == ["Store.sqlite", "Store.sqlite-wal", "filling"])
    #expect(try Self.count(Self.open(disk.store, [NSReadOnlyPersistentStoreOption: true])) == 100)
    let opened = try Self.open(disk.store)
    #expect(try Self.count(opened) == 100)
    // The log's space is free now.
    let note = try #require(try opened.all("Note", by: "name").first)
    note.setValue("changed", forKey: "name")
    try opened.save()
  }
  #endif
}
