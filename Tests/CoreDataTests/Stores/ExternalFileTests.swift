// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Files of values that are no files of values")
struct ExternalFileTests {
  /// What may stand in the place of a file of a value, or of the directories that it is in.
  enum Kind: String, CaseIterable, Sendable {
    case link, linkToDevice, fifo, directory, huge, valuesLink, supportLink

    var word: String {
      switch self {
      case .link, .linkToDevice, .valuesLink, .supportLink: "is a symbolic link"
      case .fifo: "is a FIFO"
      case .directory: "is a directory"
      case .huge: "bytes; at most"
      }
    }
  }

  private let store: TemporaryStore
  private let secret: URL

  init() throws {
    store = try TemporaryStore("home/Data.sqlite")
    try FileManager.default.createDirectory(
      at: store.url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try RecoverySample.fill(store.url, rows: 3, photos: 1)
    secret = store.folder.appendingPathComponent("secret")
    try FileManager.default.createDirectory(at: secret, withIntermediateDirectories: true)
  }

  /// Puts something in the place of the value's file.
  private func put(_ kind: Kind) throws {
    let manager = FileManager.default
    let folder = StoreLocation.externalData(of: store.url)
    let name = try #require(try manager.contentsOfDirectory(atPath: folder.path).first)
    let file = folder.appendingPathComponent(name)
    let (foreign, support) = (secret.appendingPathComponent(name), folder.deletingLastPathComponent())
    switch kind {
    case .valuesLink:
      try manager.removeItem(at: secret)
      try manager.moveItem(at: folder, to: secret)
      return try manager.createSymbolicLink(at: folder, withDestinationURL: secret)
    case .supportLink:
      try manager.moveItem(at: support, to: secret.appendingPathComponent("support"))
      return try manager.createSymbolicLink(
        at: support, withDestinationURL: secret.appendingPathComponent("support"))
    default: break
    }
    try manager.moveItem(at: file, to: foreign)
    switch kind {
    case .link: try manager.createSymbolicLink(at: file, withDestinationURL: foreign)
    case .linkToDevice:
      try manager.createSymbolicLink(at: file, withDestinationURL: URL(fileURLWithPath: "/dev/zero"))
    case .fifo: #expect(mkfifo(file.path, 0o600) == 0)
    case .directory: try manager.createDirectory(at: file, withIntermediateDirectories: false)
    default:
      try Data().write(to: file)
      #expect(truncate(file.path, 1 << 40) == 0)
    }
  }

  @Test("Reading one gives nil, and an error with the entity, the property and the file", arguments: Kind.allCases)
  func reading(_ kind: Kind) throws {
    try put(kind)
    let context = try store.context(RecoverySample.model(1))
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = NSPredicate(format: "title == 'Note 0'")
    let note = try #require(try context.fetch(request).first)
    #expect(note.value(forKey: "photo") == nil)
    let found = thrownError { _ = try note.checkedValue(forKeyPath: "photo") }
    let reason = found?.localizedFailureReason ?? ""
    #expect(found?.code == NSPersistentStoreOperationError)
    for word in ["'photo'", "'Note'", "ZNOTE", kind.word] {
      #expect(reason.contains(word), "\(kind): \(reason)")
    }
  }

  // A file that is too large to be read is no obstacle: files of values are linked.
  @Test(
    "Migrating by a mapping model and by a policy refuses, and leaves the store as it was",
    arguments: Kind.allCases.filter { $0 != .huge })
  func migrating(_ kind: Kind) throws {
    try put(kind)
    MigrationPolicyClasses.register(TorturePolicy.self)
    let home = store.url.deletingLastPathComponent()
    let names = try FileManager.default.subpathsOfDirectory(atPath: home.path).sorted()
    for policy in [nil, "TorturePolicy"] {
      let migration = try RecoverySample.migration(store.url, [(2, .mapping)], policy: policy)
      let found = thrownError { try migration.run() }
      #expect(
        found?.localizedFailureReason?.contains(kind.word) == true,
        "\(kind), \(policy ?? ""): \(String(describing: found))")
      #expect(found?.domain == NSCocoaErrorDomain)
      #expect(try RecoverySample.version(store.url) == 1)
      #expect(try FileManager.default.subpathsOfDirectory(atPath: home.path).sorted() == names)
    }
  }

  @Test("A store reached over a link has the values beside its file, whether or not a link leads to them as well")
  func links() throws {
    let content = try RecoverySample.content(store.url)
    let folder = store.folder.appendingPathComponent("links")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let link = folder.appendingPathComponent("Data.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.url)
    #expect(try RecoverySample.content(link) == content)
    let support = StoreFiles.externalData(of: store.url)
    try FileManager.default.createSymbolicLink(
      at: folder.appendingPathComponent(".Data_SUPPORT"), withDestinationURL: support)
    #expect(try RecoverySample.content(link) == content)
    // A migration over the link finds them, and puts new ones beside the file.
    try RecoverySample.migration(link, [(2, .mapping)]).run()
    #expect(try RecoverySample.content(link) == content)
    #expect(try RecoverySample.content(store.url) == content)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [".Data_SUPPORT", "Data.sqlite"])
  }

  @Test("A fetch reads no large file; its contents stay those of the row, whatever becomes of them and of the file")
  func contents() throws {
    var builder = ModelBuilder()
    builder.entity(
      "Picture", [.make("name", .stringAttributeType), .make("photo", .binaryDataAttributeType, external: true)])
    let store = try TemporaryStore()
    let context = try store.context(builder.model())
    let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
    let object = context.make("Picture", ["name": "old", "photo": photo])
    try context.save()
    context.reset()
    let folder = StoreLocation.externalData(of: store.url)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    func isMapped() throws -> Bool {
      let maps = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
      return try maps.readToEnd().map { String(decoding: $0, as: UTF8.self).contains(name) } == true
    }
    let found = try #require(try context.all("Picture").first)
    #expect(found["name"] as? String == "old")
    #expect(try isMapped())
    var data = try #require(found["photo"] as? Data)
    #expect(data == photo)
    data[1] = 77
    data.append(5)
    data.replaceSubrange(0..<1000, with: Data())
    #expect(try Data(contentsOf: folder.appendingPathComponent(name)) == photo)
    #expect(found["photo"] as? Data == photo)

    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    try other.performAndWait {
      try #require(try other.all("Picture").first)["photo"] = Data(repeating: 1, count: 200_000)
      try other.save()
    }
    #expect(try !FileManager.default.contentsOfDirectory(atPath: folder.path).contains(name))
    #expect(found["photo"] as? Data == photo)
    context.refresh(found, mergeChanges: false)
    #expect((found["photo"] as? Data)?.count == 200_000)
    data = Data()
    #expect(try !isMapped())
    withExtendedLifetime(object) {}
  }

  @Test("New values have the permissions of the store, or less")
  func permissions() throws {
    chmod(store.url.path, 0o600)
    let context = try store.context(RecoverySample.model(1))
    context.make("Note", ["photo": Data(repeating: 7, count: 200_000)])
    let old = Set(try FileManager.default.contentsOfDirectory(atPath: StoreLocation.externalData(of: store.url).path))
    try context.save()
    let folder = StoreLocation.externalData(of: store.url)
    let new = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)).subtracting(old)
    var found = stat()
    let name = try #require(new.first)
    #expect(lstat(folder.appendingPathComponent(name).path, &found) == 0 && found.st_mode & 0o777 == 0o600)
    try store.close()
  }
}
