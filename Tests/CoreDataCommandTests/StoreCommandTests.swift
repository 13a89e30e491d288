// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata store")
struct StoreCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop()
  }

  @Test("create: an empty store of the version asked for")
  func create() throws {
    let run = CommandRun("store", "create", store, workshop.model, "--version", "Shop")
    #expect(run.status == .done)
    #expect(run.output == "Shop.sqlite: an empty store of Shop, 1 entity\n")
    let match = try CommandRun("store", "match", store, workshop.model, "--format", "json").json
    #expect(match["version"] as? String == "Shop")
    #expect((match["differences"] as? [Any])?.isEmpty == true)
  }

  @Test("create: what is there is never replaced")
  func createTwice() throws {
    try Data("mine".utf8).write(to: URL(fileURLWithPath: store))
    let run = CommandRun("store", "create", store, workshop.model)
    #expect(run.status == .failed)
    #expect(run.error == "error: \(store) already exists. Choose another name, or move the file away first.\n")
    #expect(try String(contentsOfFile: store, encoding: .utf8) == "mine")
  }

  @Test("info: what the store is, and its rows")
  func info() throws {
    try workshop.fill(store, orders: 3)
    let json = try CommandRun("store", "info", store, "--format", "json").json
    #expect(json["format"] as? String == "coredata.store-info/1")
    #expect(json["type"] as? String == "SQLite")
    #expect(UUID(uuidString: json["uuid"] as? String ?? "") != nil)
    let entities = try #require(json["entities"] as? [[String: Any]])
    #expect(entities.map { $0["name"] as? String } == ["Order"])
    #expect(entities.map { $0["rows"] as? Int } == [3])
    let versions = try CommandRun("model", "versions", workshop.model, "--format", "json").json
    let first = try #require((versions["versions"] as? [[String: Any]])?.first)
    #expect(json["checksum"] as? String == first["checksum"] as? String)
    #expect((first["entities"] as? [String: String])?["Order"] == entities[0]["hash"] as? String)
    let text = CommandRun("store", "info", store).output
    #expect(text.hasPrefix("Shop.sqlite\n  Type        SQLite\n  Identifier  "))
    #expect(text.contains("\n  Order      3  "))
  }

  @Test("export: a value whose file is missing is null, with a note; an error with --strict")
  func exportWithoutFiles() throws {
    let model = workshop.path("Media.xcdatamodel")
    try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
    let contents = """
      <model><entity name="Photo"><attribute name="data" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
      <attribute name="name" optional="YES" attributeType="String"/></entity></model>
      """
    try Data(contents.utf8).write(to: URL(fileURLWithPath: model + "/contents"))
    let url = URL(fileURLWithPath: store)
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model)))
    let opened = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    for number in 1...3 {
      let photo = NSEntityDescription.insertNewObject(forEntityName: "Photo", into: context)
      photo.setValue("\(number)", forKey: "name")
      photo.setValue(Data(repeating: UInt8(number), count: number == 2 ? 300_000 : 10), forKey: "data")
    }
    try context.save()
    try coordinator.remove(opened)
    try FileManager.default.removeItem(atPath: workshop.path(".Shop_SUPPORT"))

    let run = CommandRun("store", "export", store)
    #expect(run.status == .done)
    let values = try run.jsonLines.compactMap { $0["values"] as? [String: Any] }
    #expect(values.count == 3 && values.filter { $0["data"] is NSNull }.map { $0["name"] as? String } == ["2"])
    let row = try #require(
      run.jsonLines.first { ($0["values"] as? [String: Any])?["data"] is NSNull }?["id"] as? String
    )
    .components(separatedBy: "/p")[1]
    #expect(run.error.hasPrefix("note: Photo.data of the row \(row) in Shop.sqlite is kept in the file "))
    #expect(
      run.error.hasSuffix(
        ", which is missing. Copy the store together with its directory .Shop_SUPPORT. It is exported as null.\n"))
    let strict = CommandRun("store", "export", store, "--strict")
    #expect(strict.status == .unreadableStore)
    #expect(strict.error.hasPrefix("error: Photo.data of the row \(row) in Shop.sqlite is kept in the file "))
  }

  @Test("export and info: empty metadata are told, and the model that the store carries stands in for them")
  func emptyMetadata() throws {
    try workshop.fill(store, orders: 2)
    let before = try CommandRun("store", "info", store, "--format", "json").json
    try SQLiteConnection.execute("UPDATE Z_METADATA SET Z_PLIST = NULL", at: URL(fileURLWithPath: store))
    let info = CommandRun("store", "info", store, "--format", "json")
    let note = "Shop.sqlite holds no metadata: Z_METADATA.Z_PLIST is empty. Hashes and version are those of the model"
    #expect(info.status == .done && info.error.contains(note))
    #expect(try info.json["checksum"] as? String == before["checksum"] as? String)
    let export = CommandRun("store", "export", store)
    #expect(try export.jsonLines.count == 2 && export.error.contains(note))
    let match = try CommandRun("store", "match", store, workshop.model, "--format", "json").json
    #expect(match["version"] as? String == "Shop")
    #expect(CommandRun("migrate", "run", store, workshop.model, "--no-backup").status == .done)
    #expect(CommandRun("store", "info", store).error.isEmpty)
  }

  @Test("export: one object a line, sorted, and the same bytes of the store afterwards")
  func export() throws {
    try workshop.fill(store, orders: 12)
    let before = FileManager.default.contents(atPath: store)
    let run = CommandRun("store", "export", store)
    #expect(run.error.isEmpty)
    let lines = try run.jsonLines
    #expect(lines.count == 12)
    let keys = lines.compactMap { ($0["id"] as? String)?.components(separatedBy: "/p").last.flatMap { Int($0) } }
    #expect(keys == Array(1...12))
    #expect(run.output.hasPrefix("{\"entity\":\"Order\",\"id\":\"x-coredata://"))
    #expect(Set(lines.compactMap { ($0["values"] as? [String: Any])?["name"] as? String }).count == 12)
    #expect(CommandRun("store", "export", store, "--limit", "2").output.split(separator: "\n").count == 2)
    #expect(CommandRun("store", "export", store, "--entity", "Order").output == run.output)
    #expect(FileManager.default.contents(atPath: store) == before)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
  }

  @Test("export: rows that are only in the write-ahead log, from a folder that cannot be written")
  func exportOfLog() throws {
    let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: workshop.model), version: "Shop")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      type: .sqlite, configuration: nil, at: URL(fileURLWithPath: store), options: nil)
    try workshop.insert(orders: 5, into: coordinator)
    let folder = workshop.url.appendingPathComponent("sealed")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let copy = folder.appendingPathComponent("Shop.sqlite").path
    for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: store + suffix, toPath: copy + suffix) }
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
    let before = ["", "-wal"].map { FileManager.default.contents(atPath: copy + $0) }
    #expect(try CommandRun("store", "export", copy).jsonLines.count == 5)
    #expect(["", "-wal"].map { FileManager.default.contents(atPath: copy + $0) } == before)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["Shop.sqlite", "Shop.sqlite-wal"])
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
  }

  @Test("match: no version, the nearest, and what differs")
  func match() throws {
    let other = try Workshop()
    #expect(CommandRun("store", "create", store, workshop.model, "--version", "Shop 3").status == .done)
    try FileManager.default.removeItem(atPath: other.model + "/Shop 3.xcdatamodel")
    let run = CommandRun("store", "match", store, other.model)
    #expect(run.status == .unreadableStore)
    #expect(
      run.output == """
        Shop.sqlite was not written by any version of Shop.xcdatamodeld. The nearest are Shop and Shop 2. From Shop:
          The property 'name' of entity 'Order' is in the model, but not in the store.
          The property 'title' of entity 'Order' is in the store, but not in the model.
          The property 'total' of entity 'Order': isOptional is false in the store, true in the model.

        """)
    let json = try CommandRun("store", "match", store, other.model, "--format", "json").json
    #expect(json["version"] is NSNull)
    #expect(json["nearest"] as? String == "Shop")
    let differences = try #require(json["differences"] as? [[String: Any]])
    #expect(differences.map { $0["property"] as? String } == ["name", "title", "total"])
    #expect(differences.map { $0["change"] as? String } == ["only in model", "only in store", "isOptional"])
  }
}

extension Workshop {
  /// Makes a store of the first version with some orders, and closes it.
  func fill(_ path: String, orders: Int) throws {
    let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: self.model), version: "Shop")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      type: .sqlite, configuration: nil, at: URL(fileURLWithPath: path), options: nil)
    try insert(orders: orders, into: coordinator)
    try coordinator.remove(store)
  }

  func insert(orders: Int, into coordinator: NSPersistentStoreCoordinator) throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      for number in 1...orders {
        let order = NSEntityDescription.insertNewObject(forEntityName: "Order", into: context)
        order.setValue("Order \(number)", forKey: "name")
        order.setValue(number * 10, forKey: "total")
      }
      try context.save()
    }
  }
}
