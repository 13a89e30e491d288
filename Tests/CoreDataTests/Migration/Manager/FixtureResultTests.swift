// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Published mapping models over data made for the purpose, with policies written anew, and every result written out.
@Suite(
  "Mapping models of other projects, with their results",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"), .serialized)
struct FixtureResultTests {
  // MARK: UnCloudNotes

  private static let notes = Fixtures.url(
    "kodecocodes__cdt-materials/06-versioning-and-migration/projects/final/UnCloudNotes")

  private func notesModel(_ version: String) throws -> NSManagedObjectModel {
    let name = version == "v1" ? "UnCloudNotesDataModel" : "UnCloudNotesDataModel \(version)"
    let document = try NSManagedObjectModel.load(
      contentsOf: Self.notes.appendingPathComponent("UnCloudNotesDataModel.xcdatamodeld"), version: name
    ).document
    var plain = document
    // The transformer of images is the app's.
    for entity in plain.entities.indices {
      for attribute in plain.entities[entity].attributes.indices {
        plain.entities[entity].attributes[attribute].valueTransformerName = nil
      }
    }
    return try NSManagedObjectModel(document: plain)
  }

  private func notesMapping(_ versions: String, _ old: NSManagedObjectModel, _ new: NSManagedObjectModel) throws
    -> NSMappingModel
  {
    try NSMappingModel.load(
      contentsOf: Self.notes.appendingPathComponent("UnCloudNotesMappingModel_\(versions).xcmappingmodel"),
      forSourceModel: old, destinationModel: new)
  }

  /// An image attachment gets what the attachment did not have: the size, and a caption from the note's text.
  final class ImageAttachmentPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      let image = NSEntityDescription.insertNewObject(
        forEntityName: "ImageAttachment", into: manager.destinationContext)
      for property in mapping.attributeMappings ?? [] {
        guard let name = property.name else { continue }
        let value = property.valueExpression?.expressionValue(
          with: sInstance, context: [NSMigrationSourceObjectKey: sInstance])
        image.setValue(value, forKey: name)
      }
      let size = (sInstance.value(forKey: "image") as? NSString)?.length ?? 0
      image.setValue(size, forKey: "width")
      image.setValue(size * 2, forKey: "height")
      let body = sInstance.value(forKeyPath: "note.body") as? String ?? ""
      image.setValue(String(body.prefix(12)), forKey: "caption")
      manager.associate(sourceInstance: sInstance, withDestinationInstance: image, for: mapping)
    }
  }

  @Test("UnCloudNotes: v1 to v2 to v3 to v4")
  func unCloudNotes() throws {
    MigrationPolicyClasses.register(
      ImageAttachmentPolicy.self, as: "UnCloudNotes.AttachmentToImageAttachmentMigrationPolicyV3toV4")
    let store = try TemporaryStore("v1.sqlite")
    let (v1, v2, v3, v4) = (try notesModel("v1"), try notesModel("v2"), try notesModel("v3"), try notesModel("v4"))
    let context = try store.context(try notesModel("v1"))
    let day = Date(timeIntervalSinceReferenceDate: 1000)
    for number in 1...5 {
      context.make(
        "Note",
        [
          "title": "Note \(number)", "body": "The body of note \(number)", "displayIndex": number * 10,
          "dateCreated": day.addingTimeInterval(Double(number)),
        ])
    }
    try context.save()
    try store.close()
    let urls = ["v2", "v3", "v4"].map { store.folder.appendingPathComponent("\($0).sqlite") }
    let inferred = try NSMappingModel.inferredMappingModel(forSourceModel: v1, destinationModel: v2)
    try FixtureMapping.migrate(store.url, v1, inferred, v2, to: urls[0])
    try store.open(urls[0], try notesModel("v2")) { context in
      for note in try context.all("Note", by: "title") where ["Note 2", "Note 4"].contains(note.text("title")) {
        note.setValue("image of \(note.text("title") ?? "")", forKey: "image")
      }
      try context.save()
    }
    try FixtureMapping.migrate(urls[0], v2, try notesMapping("v2_to_v3", v2, v3), v3, to: urls[1])
    try store.open(urls[1], try notesModel("v3")) { context in
      let attachments = try context.all("Attachment", by: "dateCreated")
      #expect(attachments.map { $0.text("image") } == ["image of Note 2", "image of Note 4"])
      #expect(attachments.map { $0.value(forKeyPath: "note.title") as? String } == ["Note 2", "Note 4"])
      #expect(
        attachments.map { $0.value(forKey: "dateCreated") as? Date } == [2, 4].map { day.addingTimeInterval($0) })
    }
    try FixtureMapping.migrate(urls[1], v3, try notesMapping("v3_to_v4", v3, v4), v4, to: urls[2])
    try store.open(urls[2], try notesModel("v4")) { context in
      let notes = try context.all("Note", by: "title")
      #expect(notes.map { $0.text("title") } == (1...5).map { "Note \($0)" })
      #expect(notes.map { $0.text("body") } == (1...5).map { "The body of note \($0)" })
      #expect(notes.map { ($0.value(forKey: "displayIndex") as? NSNumber)?.intValue } == [10, 20, 30, 40, 50])
      #expect(notes.map { $0.names("attachments", "caption") } == [[], ["The body of "], [], ["The body of "], []])
      let images = try context.all("Attachment", by: "dateCreated")
      #expect(images.map { $0.entity.name } == ["ImageAttachment", "ImageAttachment"])
      #expect(images.map { $0.text("image") } == ["image of Note 2", "image of Note 4"])
      #expect(images.map { ($0.value(forKey: "width") as? NSNumber)?.intValue } == [15, 15])
      #expect(images.map { ($0.value(forKey: "height") as? NSNumber)?.intValue } == [30, 30])
      #expect(images.map { $0.value(forKeyPath: "note.title") as? String } == ["Note 2", "Note 4"])
    }
  }

  // MARK: BookMigration

  private static let books = Fixtures.url("hwaxxer__BookMigration/BookMigration")

  private func bookModel(_ version: Int) throws -> NSManagedObjectModel {
    try NSManagedObjectModel.load(
      contentsOf: Self.books.appendingPathComponent("Model.xcdatamodeld"), version: "Model\(version)")
  }

  /// Makes authors of names in the step to version 2, and files of file names in the step to version 3.
  final class BookPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let context = manager.destinationContext
      let book = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])[0]
      if "\(mapping.userInfo?["modelVersion"] ?? "")" == "2" {
        guard let name = sInstance.text("authorName") else { return }
        var authors = manager.userInfo?["authors"] as? [String: NSManagedObject] ?? [:]
        let author = authors[name] ?? NSEntityDescription.insertNewObject(forEntityName: "Author", into: context)
        author.setValue(name, forKey: "name")
        authors[name] = author
        manager.userInfo = ["authors": authors]
        book.setValue(NSSet(object: author), forKey: "authors")
      } else {
        for user in (sInstance.value(forKey: "users") as? NSSet)?.allObjects ?? [] {
          let file = NSEntityDescription.insertNewObject(forEntityName: "File", into: context)
          file.setValue(sInstance.value(forKey: "fileURL"), forKey: "fileURL")
          file.setValue(book, forKey: "book")
          guard let id = (user as? NSManagedObject)?.value(forKey: "userId") as? NSNumber else { continue }
          var files = manager.userInfo?["files"] as? [NSNumber: [URL]] ?? [:]
          files[id, default: []].append(file.objectID.uriRepresentation())
          manager.userInfo = ["files": files]
          // The identifier is to outlive the save.
          try context.obtainPermanentIDs(for: [file])
          files[id]?.removeLast()
          files[id]?.append(file.objectID.uriRepresentation())
          manager.userInfo = ["files": files]
        }
      }
    }
  }

  /// Gives users their files in the second pass of the step to version 3.
  final class UserPolicy: NSEntityMigrationPolicy {
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
      let files = manager.userInfo?["files"] as? [NSNumber: [URL]] ?? [:]
      guard let id = dInstance.value(forKey: "userId") as? NSNumber,
        let coordinator = manager.destinationContext.persistentStoreCoordinator
      else { return }
      let objects = (files[id] ?? []).compactMap { url in
        coordinator.managedObjectID(forURIRepresentation: url).map { manager.destinationContext.object(with: $0) }
      }
      dInstance.setValue(NSSet(array: objects), forKey: "files")
    }
  }

  @Test("BookMigration: the published store of version 1 to 2, and in two passes to 3")
  func bookMigration() throws {
    MigrationPolicyClasses.register(BookPolicy.self, as: "MHWBookToBookPolicy")
    MigrationPolicyClasses.register(UserPolicy.self, as: "MHWUserToUserPolicy")
    let temporary = try Fixtures.copy(ofStore: Self.books.appendingPathComponent("Model1.sqlite"))
    let source = temporary.url
    let store = try TemporaryStore()
    let (v1, v2, v3) = (try bookModel(1), try bookModel(2), try bookModel(3))
    func mapping(_ name: String, _ old: NSManagedObjectModel, _ new: NSManagedObjectModel) throws -> NSMappingModel {
      try NSMappingModel.load(
        contentsOf: Self.books.appendingPathComponent("\(name).xcmappingmodel"), forSourceModel: old,
        destinationModel: new)
    }
    struct Book {
      let title: String
      let author: String?
      let user: Int?
      let file: String
    }
    var before: [Book] = []
    var userCount = 0
    try store.open(source, try bookModel(1)) { context in
      before = try context.all("Book", by: "title").map { book in
        Book(
          title: book.text("title") ?? "", author: book.text("authorName"),
          user: (book.value(forKeyPath: "user.userId") as? NSNumber)?.intValue,
          file: "\(book.value(forKey: "fileURL") ?? "none")")
      }
      userCount = try context.all("User", by: "userId").count
    }
    #expect(before.count > 1 && userCount > 0)
    let second = store.folder.appendingPathComponent("v2.sqlite")
    try FixtureMapping.migrate(source, v1, try mapping("Model1_to_Model2", v1, v2), v2, to: second)
    try store.open(second, try bookModel(2)) { context in
      let books = try context.all("Book", by: "title")
      #expect(books.map { $0.text("title") ?? "" } == before.map(\.title))
      #expect(books.map { $0.names("authors") } == before.map { $0.author.map { [$0] } ?? [] })
      #expect(books.map { "\($0.value(forKey: "fileURL") ?? "none")" } == before.map(\.file))
      let users = books.map { book in
        ((book.value(forKey: "users") as? NSSet)?.allObjects ?? []).compactMap { user in
          ((user as? NSManagedObject)?.value(forKey: "userId") as? NSNumber)?.intValue
        }
      }
      #expect(users == before.map { $0.user.map { [$0] } ?? [] })
      let authors = try context.all("Author")
      #expect(authors.compactMap { $0.text("name") } == Set(before.compactMap(\.author)).sorted())
    }
    let third = store.folder.appendingPathComponent("v3.sqlite")
    let manager = NSMigrationManager(sourceModel: v2, destinationModel: v3)
    manager.batchSize = 2
    let users = try mapping("Model2_to_Model3_User", v2, v3)
    users.entityMappings[0].entityMigrationPolicyClassName = "MHWUserToUserPolicy"
    for pass in [try mapping("Model2_to_Model3", v2, v3), users] {
      try manager.migrateStore(from: second, type: .sqlite, mapping: pass, to: third, type: .sqlite)
    }
    try StoreChecks.check(third, try bookModel(3))
    try StoreChecks.checkJoins(third, try bookModel(3))
    try store.open(third, try bookModel(3)) { context in
      let books = try context.all("Book", by: "title")
      #expect(books.map { $0.text("title") ?? "" } == before.map(\.title))
      #expect(books.map { $0.names("authors") } == before.map { $0.author.map { [$0] } ?? [] })
      let files = books.map { book in
        ((book.value(forKey: "files") as? NSSet)?.allObjects ?? []).compactMap { $0 as? NSManagedObject }
      }
      #expect(files.map(\.count) == before.map { $0.user == nil ? 0 : 1 })
      for (book, file) in zip(before, files) {
        guard let file = file.first else { continue }
        #expect("\(file.value(forKey: "fileURL") ?? "none")" == book.file)
        #expect((file.value(forKeyPath: "user.userId") as? NSNumber)?.intValue == book.user)
      }
      let found = try context.all("User", by: "userId")
      #expect(found.count == userCount)
    }
  }

  // MARK: LoopKit

  /// Carb entries get an anchor, and dates that the old version had no place for.
  final class CachedCarbPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let next = (manager.userInfo?["anchor"] as? Int ?? 0) + 1
      manager.userInfo = ["anchor": next]
      for made in manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]) {
        made.setValue(next, forKey: "anchorKey")
        made.setValue(sInstance.value(forKey: "startDate"), forKey: "addedDate")
        made.setValue("com.example.loop", forKey: "provenanceIdentifier")
      }
    }
  }

  /// Deleted entries become entries that say so.
  final class DeletedCarbPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let next = (manager.userInfo?["anchor"] as? Int ?? 0) + 1
      manager.userInfo = ["anchor": next]
      for made in manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]) {
        made.setValue(next, forKey: "anchorKey")
        made.setValue(sInstance.value(forKey: "externalID"), forKey: "syncIdentifier")
        made.setValue(false, forKey: "createdByCurrentApp")
        made.setValue(2, forKey: "operation")
      }
    }
  }

  @Test("LoopKit: version 1 to 4, with deleted entries among the others")
  func loopKit() throws {
    MigrationPolicyClasses.register(CachedCarbPolicy.self, as: "LoopKit.CachedCarbObjectv3EntityMigrationPolicy")
    MigrationPolicyClasses.register(DeletedCarbPolicy.self, as: "LoopKit.DeletedCarbObjectv3EntityMigrationPolicy")
    let folder = Fixtures.url("LoopKit__LoopKit/LoopKit/Persistence")
    let fixture = try #require(
      FixtureMapping.all.found.first { $0.url == folder.appendingPathComponent("Modelv1v4.xcmappingmodel") })
    let (old, new) = (
      try NSManagedObjectModel(document: fixture.source), try NSManagedObjectModel(document: fixture.destination)
    )
    let store = try TemporaryStore()
    let context = try store.context(try NSManagedObjectModel(document: fixture.source))
    func day(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) * 86_400) }
    for number in 1...7 {
      context.make(
        "CachedCarbObject",
        [
          "grams": Double(number) * 2.5, "startDate": day(number), "createdByCurrentApp": number % 2 == 0,
          "syncIdentifier": "carb \(number)", "syncVersion": number, "foodType": "food \(number)",
          "absorptionTime": 600.0,
        ])
      context.make(
        "Reservoir",
        ["createdAt": day(number), "date": day(number + 1), "volume": Double(number), "raw": Data([UInt8(number)])])
      context.make(
        "PumpEvent",
        [
          "createdAt": day(number), "date": day(number), "duration": 30.0, "mutable": true, "uploaded": false,
          "raw": Data([7, UInt8(number)]), "title": "event \(number)", "type": "Bolus",
        ])
    }
    for number in 1...3 {
      context.make("DeletedCarbObject", ["externalID": "gone \(number)", "startDate": day(20 + number)])
    }
    try context.save()
    try store.close()
    let target = store.folder.appendingPathComponent("v4.sqlite")
    try FixtureMapping.migrate(store.url, old, NSMappingModel(document: fixture.mapping), new, to: target)
    try store.open(target, try NSManagedObjectModel(document: fixture.destination)) { context in
      let carbs = try context.all("CachedCarbObject", by: "startDate")
      #expect(carbs.map { $0.text("syncIdentifier") } == (1...7).map { "carb \($0)" } + (1...3).map { "gone \($0)" })
      #expect(carbs.map { ($0.value(forKey: "anchorKey") as? NSNumber)?.intValue } == Array(1...10))
      let grams: [Double?] = [2.5, 5, 7.5, 10, 12.5, 15, 17.5, 0, 0, 0]
      #expect(carbs.map { ($0.value(forKey: "grams") as? NSNumber)?.doubleValue } == grams)
      #expect(carbs.map { ($0.value(forKey: "operation") as? NSNumber)?.intValue } == [0, 0, 0, 0, 0, 0, 0, 2, 2, 2])
      #expect(carbs.map { $0.value(forKey: "addedDate") as? Date } == (1...7).map { day($0) } + [nil, nil, nil])
      #expect(
        carbs.map { $0.text("provenanceIdentifier") } == Array(repeating: "com.example.loop", count: 7) + ["", "", ""])
      let events = try context.all("PumpEvent", by: "title")
      #expect(events.map { $0.value(forKey: "raw") as? Data } == (1...7).map { Data([7, UInt8($0)]) })
      #expect(
        events.map { ($0.value(forKey: "modificationCounter") as? NSNumber)?.intValue } == Array(repeating: 0, count: 7)
      )
      let reservoirs = try context.all("Reservoir", by: "date")
      #expect(reservoirs.map { ($0.value(forKey: "volume") as? NSNumber)?.doubleValue } == (1...7).map { Double($0) })
      let settings = try context.all("SettingsObject", by: "date")
      #expect(settings.isEmpty)
    }
  }
}
