// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Stores at paths that are no regular files")
struct IrregularStoreTests {
  /// What has the store's name.
  enum Kind: CaseIterable, Sendable {
    case fifo, directory, socket, device, linkToFIFO

    var word: String {
      switch self {
      case .fifo, .linkToFIFO: "a FIFO"
      case .directory: "a directory"
      case .socket: "a socket"
      case .device: "a device"
      }
    }

    /// - Returns: false where only root may make one.
    func make(at url: URL) throws -> Bool {
      switch self {
      case .fifo: return mkfifo(url.path, 0o666) == 0
      case .directory:
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        return true
      case .socket: return mknod(url.path, S_IFSOCK | 0o666, 0) == 0
      case .device:
        // As /dev/zero: 1, 5.
        return mknod(url.path, S_IFCHR | 0o666, 1 << 8 | 5) == 0
      case .linkToFIFO:
        let pipe = url.deletingLastPathComponent().appendingPathComponent("pipe")
        guard mkfifo(pipe.path, 0o666) == 0 else { return false }
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: pipe)
        return true
      }
    }
  }

  @Test("None is opened to wait there, written, replaced or removed", arguments: Kind.allCases)
  func refusals(_ kind: Kind) throws {
    let store = try TemporaryStore("Data.sqlite")
    guard try kind.make(at: store.url) else { return }
    let other = store.folder.appendingPathComponent("Other.sqlite")
    try RecoverySample.fill(other, rows: 3, photos: 0)
    let files = try FileManager.default.subpathsOfDirectory(atPath: store.folder.path).sorted()
    let (url, model) = (store.url, RecoverySample.model(1))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let aside: [AnyHashable: Any] = [StoreSetAsideOption: true]
    let attempts: [(String, () throws -> Void)] = [
      ("add", { try coordinator.addPersistentStore(type: .sqlite, at: url) }),
      ("add, setting aside", { try coordinator.addPersistentStore(type: .sqlite, at: url, options: aside) }),
      (
        "add for reading",
        {
          try coordinator.addPersistentStore(
            type: .sqlite, at: url, options: [NSReadOnlyPersistentStoreOption: true])
        }
      ),
      ("metadata", { _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url) }),
      ("set metadata", { try NSPersistentStoreCoordinator.setMetadata([:], type: .sqlite, at: url) }),
      (
        "create",
        {
          try ErrorTranslation.translating(url: url, during: .opening) {
            try StoreFile.create(at: url, document: model.document)
          }
        }
      ),
      ("peek", { _ = try SQLiteStore.carriedModel(at: url) }),
      ("destroy", { try coordinator.destroyPersistentStore(at: url, type: .sqlite) }),
      (
        "destroy by force",
        {
          try coordinator.destroyPersistentStore(
            at: url, type: .sqlite, options: [NSPersistentStoreForceDestroyOption: true])
        }
      ),
      ("replace", { try coordinator.replacePersistentStore(at: url, withPersistentStoreFrom: other, type: .sqlite) }),
      (
        "replace by it",
        { try coordinator.replacePersistentStore(at: other, withPersistentStoreFrom: url, type: .sqlite) }
      ),
      ("set aside", { try StoreRecovery.setAside(storeAt: url, model: model) }),
    ]
    for (name, attempt) in attempts {
      let found = thrownError(attempt)
      #expect(found?.domain == NSCocoaErrorDomain, "\(name): \(String(describing: found))")
      #expect(found?.localizedFailureReason?.contains(kind.word) == true, "\(name): \(String(describing: found))")
      #expect(try FileManager.default.subpathsOfDirectory(atPath: store.folder.path).sorted() == files, "\(name)")
    }
    var status = stat()
    #expect(lstat(url.path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG)
  }

  @Test("A store at /dev/null is in memory: rows, large values and several stores side by side, nothing on the disk")
  func nullDevice() throws {
    let null = URL(fileURLWithPath: "/dev/null")
    let before = try FileManager.default.contentsOfDirectory(atPath: "/dev").sorted()
    let model = RecoverySample.model(1)
    let container = NSPersistentContainer(name: "Preview", managedObjectModel: model)
    container.persistentStoreDescriptions.first?.url = null
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    #expect(failure == nil)
    let context = container.viewContext
    let photo = Data(repeating: 7, count: 300_000)
    let folder = context.make("Folder", ["name": "F"])
    context.make("Note", ["title": "a", "photo": photo]).setValue(folder, forKey: "folder")
    try context.save()
    context.refreshAllObjects()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = NSPredicate(format: "title == 'a' AND folder.name == 'F'")
    #expect(try context.fetch(request).first?.value(forKey: "photo") as? Data == photo)
    let background = container.newBackgroundContext()
    #expect(try background.count(for: request) == 1)
    // Another one has rows of its own.
    let second = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      NSSQLitePragmasOption: ["journal_mode": "WAL"],
    ]
    let other = try second.addPersistentStore(type: .sqlite, at: null, options: options)
    let empty = NSManagedObjectContext(.privateQueue)
    empty.persistentStoreCoordinator = second
    #expect(try empty.count(for: request) == 0)
    try second.remove(other)
    try second.destroyPersistentStore(at: null, type: .sqlite)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "/dev").sorted() == before)
    // A name in it tells stores apart for the reader only: each is one of its own.
    let named = URL(fileURLWithPath: "/dev/null/Notes.sqlite")
    for _ in 0..<2 {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let opened = try coordinator.addPersistentStore(type: .sqlite, at: named, options: options)
      #expect(opened.url == named)
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      #expect(try context.count(for: request) == 0)
      context.make("Note", ["title": "a", "photo": photo]).setValue(
        context.make("Folder", ["name": "F"]), forKey: "folder")
      try context.save()
      #expect(try context.count(for: request) == 1)
      try coordinator.destroyPersistentStore(at: named, type: .sqlite)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: "/dev").sorted() == before)
    #expect(RegularFile.isNullDevice(null) && RegularFile.isNullDevice(named))
    #expect(!RegularFile.isNullDevice(URL(fileURLWithPath: "/dev/nullable")))
  }

  @Test(
    "A device that is the null device under another name is a store in memory too, and stays",
    .enabled(if: geteuid() == 0))
  func anotherNullDevice() throws {
    let store = try TemporaryStore("Data.sqlite")
    guard mknod(store.url.path, S_IFCHR | 0o666, 1 << 8 | 3) == 0 else { return }
    let context = try store.context(RecoverySample.model(1))
    context.make("Note", ["title": "a", "photo": Data(repeating: 7, count: 300_000)])
    try context.save()
    try store.close()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    let other = store.folder.appendingPathComponent("Other.sqlite")
    try RecoverySample.fill(other, rows: 3, photos: 0)
    #expect(throws: (any Error).self) {
      try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: other, type: .sqlite)
    }
    #expect(RegularFile.isNullDevice(store.url))
    #expect(try store.files() == ["Data.sqlite", "Other.sqlite"])
  }
}
