// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Values whose files are missing")
struct UnreadableValueTests {
  private let store: TemporaryStore
  private let photo = Data(repeating: 7, count: 200_000)
  private let model: NSManagedObjectModel

  /// Three notes with photos in files; the file of "Note 1" is in another directory.
  init() throws {
    var builder = ModelBuilder()
    let location = NSCompositeAttributeDescription()
    (location.name, location.isOptional) = ("place", true)
    location.elements = [
      .make("street", .stringAttributeType), .make("map", .binaryDataAttributeType, external: true),
    ]
    let required: NSAttributeDescription = .make("photo", .binaryDataAttributeType, external: true)
    required.isOptional = false
    builder.entity("Note", [.make("name", .stringAttributeType), required, location])
    builder.entity("Folder", [.make("name", .stringAttributeType)])
    builder.relate(.init("Folder", "notes", toMany: true), .init("Note", "folder"))
    model = builder.model()
    store = try TemporaryStore()
    let context = try store.context(model)
    let folder = context.make("Folder", ["name": "All"])
    for number in 0..<3 {
      let note = context.make("Note", ["name": "Note \(number)", "photo": photo, "folder": folder])
      note["place"] = ["street": "Street \(number)", "map": Data(repeating: UInt8(number), count: 150_000)]
      try context.save()
    }
    try store.close()
  }

  private var files: URL { StoreLocation.externalData(of: store.url) }

  /// Moves the files of the attributes `photo` and, if wanted, `place` of "Note 1" away, and returns their new places.
  private func hide(map: Bool = false) throws -> [(from: URL, to: URL)] {
    var moved: [(URL, URL)] = []
    let photoName = try #require(try reference().flatMap { ExternalData.fileName(in: $0) })
    for name in try FileManager.default.contentsOfDirectory(atPath: files.path) {
      let file = files.appendingPathComponent(name)
      let isMap = try Data(contentsOf: file) == Data(repeating: 1, count: 150_000)
      guard name == photoName || map && isMap else { continue }
      let place = store.folder.appendingPathComponent(name)
      try FileManager.default.moveItem(at: file, to: place)
      moved.append((file, place))
    }
    #expect(moved.count == (map ? 2 : 1))
    return moved
  }

  /// What the column of the second note's photo holds.
  private func reference() throws -> Data? {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let bytes = try connection.scalar("SELECT ZPHOTO FROM ZNOTE WHERE Z_PK = 2")?.blob
    try connection.close()
    return bytes
  }

  private func note(_ title: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
    try #require(try context.all("Note").first { $0["name"] as? String == title })
  }

  @Test("Every kind of read returns the other values and the other rows")
  func reads() throws {
    _ = try hide(map: true)
    let context = try store.context(model)
    let notes = try context.all("Note")
    #expect(notes.compactMap { $0["name"] as? String }.sorted() == ["Note 0", "Note 1", "Note 2"])
    #expect(notes.filter { $0["photo"] == nil }.map { $0["name"] as? String } == ["Note 1"])
    let second = try note("Note 1", context)
    #expect(second["place"] as? NSDictionary == ["street": "Street 1"])
    #expect(second.value(forKeyPath: "place.street") as? String == "Street 1")
    #expect(!second.isDeleted && context.deletedObjects.isEmpty && !context.hasChanges)
    // A fault, a relationship, prefetching, dictionaries, another context, a child.
    context.reset()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.includesPropertyValues = false
    #expect(try context.fetch(request).compactMap { $0["name"] as? String }.count == 3)
    context.reset()
    let folder = try #require(try context.all("Folder").first)
    #expect((folder["notes"] as? Set<NSManagedObject>)?.compactMap { $0["name"] as? String }.count == 3)
    context.reset()
    let folders = NSFetchRequest<NSManagedObject>(entityName: "Folder")
    folders.relationshipKeyPathsForPrefetching = ["notes"]
    #expect((try context.fetch(folders).first?["notes"] as? Set<NSManagedObject>)?.count == 3)
    let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Note")
    dictionaries.resultType = .dictionaryResultType
    dictionaries.propertiesToFetch = ["name", "photo"]
    let found = try context.fetch(dictionaries)
    #expect(found.count == 3 && found.filter { $0["photo"] == nil }.map { $0["name"] as? String } == ["Note 1"])
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    #expect(try child.performAndWait { try child.all("Note").filter { $0["photo"] == nil }.count } == 1)
    try context.save()
  }

  @Test("Other changes of the object are saved, and the column keeps the name of the file")
  func saving() throws {
    let moved = try hide()
    let before = try reference()
    let context = try store.context(model)
    let second = try note("Note 1", context)
    second["name"] = "New"
    try context.save()
    #expect(try reference() == before)
    for (from, to) in moved { try FileManager.default.moveItem(at: to, to: from) }
    context.refresh(second, mergeChanges: false)
    #expect(second["photo"] as? Data == photo)
    second["name"] = "Note 1"
    try context.save()
  }

  /// What the columns of the second note's composite attribute hold.
  private func place() throws -> [SQLiteValue] {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let row = try connection.rows("SELECT ZSTREET, ZMAP FROM ZNOTE WHERE Z_PK = 2").first?.values ?? []
    try connection.close()
    return row
  }

  @Test("An element that could not be read keeps the name of its file when others of its composite attribute are set")
  func elements() throws {
    let moved = try hide(map: true)
    let map = try place()[1]
    let context = try store.context(model)
    let second = try note("Note 1", context)
    second.setValue("By key path", forKeyPath: "place.street")
    try context.save()
    #expect(try place() == [.text("By key path"), map])
    second["place"] = ["street": "As a whole"]
    try context.save()
    #expect(try place() == [.text("As a whole"), map])
    for (from, to) in moved { try FileManager.default.moveItem(at: to, to: from) }
    context.refresh(second, mergeChanges: false)
    let whole: NSDictionary = ["street": "As a whole", "map": Data(repeating: 1, count: 150_000)]
    #expect(second["place"] as? NSDictionary == whole)
    // An element that was read goes with the value that lacks it.
    second["place"] = ["street": "Alone"]
    try context.save()
    #expect(try place() == [.text("Alone"), .null])
  }

  @Test("An element in a file keeps the file when others of its composite attribute are set")
  func filesOfElements() throws {
    func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: files.path)) }
    let before = try names()
    let map = try place()[1]
    let context = try store.context(model)
    let second = try note("Note 1", context)
    second.setValue("By key path", forKeyPath: "place.street")
    try context.save()
    #expect(try names() == before && place() == [.text("By key path"), map])
    second.setValue(Data(repeating: 9, count: 150_000), forKeyPath: "place.map")
    try context.save()
    #expect(try names().count == before.count && names() != before)
    second["place"] = nil
    try context.save()
    #expect(try names().count == before.count - 1 && names().isSubset(of: before))
    context.refresh(second, mergeChanges: false)
    #expect(second["place"] == nil)
  }

  @Test("A value that was asked for is an error of its property when the object is saved, until it is set")
  func savingAfterReading() throws {
    _ = try hide()
    let context = try store.context(model)
    let (first, second) = (try note("Note 0", context), try note("Note 1", context))
    #expect(second["photo"] == nil)
    // Saves of other objects are not affected.
    first["name"] = "Note 00"
    try context.save()
    second["name"] = "New"
    let found = thrownError { try context.save() }
    #expect(found?.code == NSManagedObjectValidationError)
    #expect(found?.userInfo[NSValidationKeyErrorKey] as? String == "photo")
    #expect(found?.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === second)
    #expect((found?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == NSPersistentStoreOperationError)
    #expect(found?.localizedFailureReason?.contains("is missing") == true)
    #expect(thrownError { try context.save() }?.code == NSManagedObjectValidationError)
    second["photo"] = Data([1])
    try context.save()
    #expect(try reference() == Data([1, 1]))
  }

  @Test("A value that is given up is gone; the object can be deleted")
  func givingUp() throws {
    _ = try hide()
    let context = try store.context(model)
    let second = try note("Note 1", context)
    #expect(second["photo"] == nil)
    second["name"] = "New"
    second["photo"] = nil
    #expect(thrownError { try context.save() }?.code == NSValidationMissingMandatoryPropertyError)
    context.delete(second)
    try context.save()
    #expect(try context.all("Note").count == 2)
  }

  @Test(
    "Copies refuse, so that the value is not lost", arguments: [NSSQLiteStoreType, NSXMLStoreType, NSInMemoryStoreType])
  func copying(_ type: String) throws {
    _ = try hide()
    let context = try store.context(model)
    let coordinator = try #require(context.persistentStoreCoordinator)
    let source = try #require(coordinator.persistentStores.first)
    let place = store.folder.appendingPathComponent("Copy.store")
    let found = thrownError {
      _ = try coordinator.migratePersistentStore(source, to: place, options: nil, withType: type)
    }
    #expect(found?.localizedFailureReason?.contains("is missing") == true, "\(String(describing: found))")
    #expect(coordinator.persistentStores.map(\.url) == [store.url])
    #expect(try reference() != nil)
  }

  @Test("A batch update of another attribute changes all rows")
  func batchUpdates() throws {
    _ = try hide()
    let context = try store.context(model)
    let request = NSBatchUpdateRequest(entityName: "Note")
    request.propertiesToUpdate = ["name": NSExpression(format: "uppercase:(name)")]
    try context.execute(request)
    #expect(Set(try context.all("Note").compactMap { $0["name"] as? String }) == ["NOTE 0", "NOTE 1", "NOTE 2"])
  }
}
