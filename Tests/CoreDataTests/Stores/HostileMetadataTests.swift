// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Metadata that nobody has written in good faith")
struct HostileMetadataTests {
  private func store(withMetadata list: Data) throws -> TemporaryStore {
    let store = try TemporaryStore()
    _ = try store.context(CompanyModel.make())
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(list)])
    try connection.close()
    return store
  }

  /// Twelve lists, each of ten times the next: 600 bytes that unfold to 10¹² values.
  private var bomb: Data {
    var bytes = Data("bplist00".utf8)
    var offsets: [UInt8] = []
    var wide: [Int] = []
    for position in 0..<12 {
      wide.append(bytes.count)
      bytes += [0xAA] + [UInt8](repeating: UInt8(position + 1), count: 10)
    }
    wide.append(bytes.count)
    bytes += [0x51, 0x78]
    let table = bytes.count
    offsets = wide.map { UInt8($0) }
    bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
    for number in [13, 0, table] { bytes += [0, 0, 0, 0, 0, 0, 0, UInt8(number)] }
    return bytes
  }

  @Test("A list of shared lists, a ring, and a text list are refused with a sentence")
  func refused() throws {
    var ring = Data("bplist00".utf8)
    ring += [0xA1, 0, 8, 0, 0, 0, 0, 0, 0, 1, 1] as [UInt8]
    for number: UInt8 in [1, 0, 10] { ring += [0, 0, 0, 0, 0, 0, 0, number] as [UInt8] }
    for list: Data in [bomb, ring, Data("{ a = b; }".utf8)] {
      let store = try store(withMetadata: list)
      let error = try #require(throws: NSError.self) {
        try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
      }
      #expect(error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
      #expect(error.localizedFailureReason?.contains("Z_METADATA") == true, "\(error)")
    }
  }

  @Test("A model in the store that cannot be read is a Cocoa error where a migration needs it")
  func damagedModel() throws {
    let store = try TemporaryStore()
    _ = try store.context(CompanyModel.make())
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("UPDATE Z_MODELCACHE SET Z_CONTENT = ?", [.blob(Data([1, 2, 3]))])
    try connection.close()
    var builder = ModelBuilder()
    builder.entity("Employee", [.make("name", .stringAttributeType)])
    let model = builder.model()
    let error = try #require(throws: NSError.self) {
      try store.context(
        model,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        ])
    }
    #expect(error.domain == NSCocoaErrorDomain && error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect(error.localizedFailureReason?.isEmpty == false, "\(error)")
  }

  @Test("Where the metadata are empty, the model that the store carries stands in for them, and the store can be used")
  func empty() throws {
    let model = CompanyModel.make()
    for list: SQLiteValue in [.null, .blob(Data())] {
      let store = try TemporaryStore()
      let context = try store.context(model)
      context.make("Employee", ["name": "Ada"])
      try context.save()
      try store.close()
      let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
      try connection.run("UPDATE Z_METADATA SET Z_PLIST = ?", [list])
      let identifier = try connection.scalar("SELECT Z_UUID FROM Z_METADATA")?.text
      try connection.close()
      let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
      #expect(metadata[NSStoreModelVersionHashesKey] as? [String: Data] == model.entityVersionHashesByName)
      #expect(metadata[NSStoreUUIDKey] as? String == identifier)
      let again = try store.context(CompanyModel.make())
      #expect(try again.all("Employee").map { $0.value(forKey: "name") as? String } == ["Ada"])
      again.make("Employee", ["name": "Bob"])
      again.coordinator.setMetadata(["App": 1], for: again.coordinator.persistentStores[0])
      try again.save()
      try store.close()
      let written = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
      #expect(written["App"] as? Int == 1 && written[NSStoreUUIDKey] as? String == identifier)
      #expect(written[NSStoreModelVersionHashesKey] as? [String: Data] == model.entityVersionHashesByName)
    }
  }

  @Test("Without a model that could stand in, empty metadata are an error")
  func emptyWithoutModel() throws {
    let store = try store(withMetadata: Data())
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("DELETE FROM Z_MODELCACHE")
    try connection.close()
    let error = try #require(throws: NSError.self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    }
    #expect(error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect(
      error.localizedFailureReason?.contains("Z_METADATA.Z_PLIST is empty, and the store carries no model") == true)
  }

  @Test("XML metadata, as a tool may write them, are read")
  func xml() throws {
    let list = try PropertyListSerialization.data(fromPropertyList: ["mine": [1, "x"]], format: .xml, options: 0)
    let store = try store(withMetadata: list)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    #expect(metadata["mine"] as? NSArray == [1, "x"] as NSArray)
  }

  @Test("A value that no property list holds is error 512 with its key, and the metadata stay")
  func unwritable() throws {
    let store = try TemporaryStore()
    _ = try store.context(CompanyModel.make())
    try store.close()
    let before = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    let error = try #require(throws: NSError.self) {
      try NSPersistentStoreCoordinator.setMetadata(["mine": ["url": store.url]], type: .sqlite, at: store.url)
    }
    #expect(error.domain == NSCocoaErrorDomain && error.code == 512)
    #expect(error.localizedFailureReason?.contains("'mine.url'") == true)
    let after = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    #expect(NSDictionary(dictionary: after) == NSDictionary(dictionary: before))
  }
}
