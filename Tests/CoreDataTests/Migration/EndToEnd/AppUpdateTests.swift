// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Published projects with mapping models and policies, updated over all their versions as an app does it: by opening.
@Suite(
  "Apps that are updated, and open their stores",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"), .serialized)
struct AppUpdateTests {
  /// A store in a folder of its own, whose name is not a plain one, and what an app opens it with.
  final class App {
    let temporary: TemporaryStore
    let store: URL
    let models: URL
    let newest: String
    let mappings: [Any]

    init(
      _ name: String, models: URL, newest: String, mappings: [Any], fill: (URL) throws -> Void
    ) throws {
      temporary = try TemporaryStore()
      let folder = temporary.folder.appendingPathComponent("Böcker & mer 📚", isDirectory: true)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      store = folder.appendingPathComponent("\(name) 100% – été.sqlite")
      (self.models, self.newest, self.mappings) = (models, newest, mappings)
      try fill(store)
    }

    func model() throws -> NSManagedObjectModel { try .load(contentsOf: models, version: newest) }

    /// Opens the store with a container of the newest version.
    func open(_ body: (NSManagedObjectContext) throws -> Void) throws {
      let container = NSPersistentContainer(name: "App", managedObjectModel: try model())
      let description = NSPersistentStoreDescription(url: store)
      description.setOption([URL]() as NSArray, forKey: MigrationOption.models)
      description.setOption(mappings as NSArray, forKey: MigrationOption.mappings)
      description.timeout = 0.2
      container.persistentStoreDescriptions = [description]
      var failure: (any Error)?
      container.loadPersistentStores { failure = failure ?? $1 }
      if let failure { throw failure }
      try body(container.viewContext)
      for store in container.persistentStoreCoordinator.persistentStores {
        try container.persistentStoreCoordinator.remove(store)
      }
    }

    func files() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: store.deletingLastPathComponent().path).sorted()
    }

    /// Updates the app: while somebody writes the store in vain; then for good; then it is opened once more.
    func update(_ body: (NSManagedObjectContext) throws -> Void) throws {
      let (filesBefore, bytes) = (try files(), try Data(contentsOf: store))
      let before = try FileContent(store)
      let writer = try SQLiteConnection(url: store, mode: .readWrite)
      try writer.begin(.immediate)
      let busy = #expect(throws: NSError.self) { try open { _ in } }
      #expect(busy?.domain == NSCocoaErrorDomain)
      #expect(busy?.localizedFailureReason?.isEmpty == false && busy?.localizedRecoverySuggestion?.isEmpty == false)
      try writer.rollback()
      try writer.close()
      #expect(try files() == filesBefore)
      #expect(try Data(contentsOf: store) == bytes)
      try open(body)
      let name = store.deletingPathExtension().lastPathComponent
      #expect(try files() == ["\(name).sqlite", "\(name)~.sqlite"])
      let kept = store.deletingLastPathComponent().appendingPathComponent("\(name)~.sqlite")
      #expect(try FileContent(kept) == before, "the kept store is not the old one")
      try StoreChecks.check(store, try model())
      try StoreChecks.checkJoins(store, try model())
      let done = try FileContent(store)
      try open(body)
      #expect(try files().count == 2)
      #expect(try FileContent(store) == done, "opening once more has changed the store")
    }
  }

  @Test("BookMigration: the published store, from version 1 to 3")
  func books() throws {
    MigrationPolicyClasses.register(FixtureResultTests.BookPolicy.self, as: "MHWBookToBookPolicy")
    MigrationPolicyClasses.register(FixtureResultTests.UserPolicy.self, as: "MHWUserToUserPolicy")
    let folder = Fixtures.url("hwaxxer__BookMigration/BookMigration")
    let models = folder.appendingPathComponent("Model.xcdatamodeld")
    // The mapping of users lies in a file of its own, without the policy that its project's code gives it.
    func mapping(_ name: String, _ old: Int, _ new: Int) throws -> NSMappingModel {
      try NSMappingModel.load(
        contentsOf: folder.appendingPathComponent("\(name).xcmappingmodel"),
        forSourceModel: .load(contentsOf: models, version: "Model\(old)"),
        destinationModel: .load(contentsOf: models, version: "Model\(new)"))
    }
    let users = try mapping("Model2_to_Model3_User", 2, 3)
    users.entityMappings[0].entityMigrationPolicyClassName = "MHWUserToUserPolicy"
    let mappings = [try mapping("Model1_to_Model2", 1, 2), try mapping("Model2_to_Model3", 2, 3), users]
    let app = try App("Books", models: models, newest: "Model3", mappings: mappings) { url in
      try FileManager.default.copyItem(at: folder.appendingPathComponent("Model1.sqlite"), to: url)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: url.path)
    }
    var expected: [String] = []
    var userNames: [Int] = []
    try app.temporary.open(app.store, try .load(contentsOf: models, version: "Model1")) { context in
      expected = try context.all("Book", by: "title").map { book in
        let user = (book.value(forKeyPath: "user.userId") as? NSNumber)?.intValue
        let file = user.map { "\(book.value(forKey: "fileURL") ?? "none") of \($0)" }
        return "\(book.text("title") ?? ""): \(book.text("authorName") ?? "nobody"): \(file ?? "")"
      }
      userNames = try context.all("User", by: "userId")
        .compactMap { ($0.value(forKey: "userId") as? NSNumber)?.intValue }
    }
    #expect(expected.count > 1 && !userNames.isEmpty)
    try app.update { context in
      let books = try context.all("Book", by: "title").map { book in
        let files = (book.value(forKey: "files") as? NSSet)?.allObjects as? [NSManagedObject] ?? []
        let words = files.map { file in
          let user = (file.value(forKeyPath: "user.userId") as? NSNumber)?.intValue
          return "\(file.value(forKey: "fileURL") ?? "none") of \(user.map(String.init) ?? "nobody")"
        }
        return "\(book.text("title") ?? ""): \(book.names("authors").first ?? "nobody"): \(words.joined())"
      }
      #expect(books == expected)
      let found = try context.all("User", by: "userId")
      #expect(found.compactMap { ($0.value(forKey: "userId") as? NSNumber)?.intValue } == userNames)
    }
  }

  @Test("BookMigration by hand: planned, cancelled wherever progress is told, and carried out")
  func byHand() throws {
    MigrationPolicyClasses.register(FixtureResultTests.BookPolicy.self, as: "MHWBookToBookPolicy")
    let folder = Fixtures.url("hwaxxer__BookMigration/BookMigration")
    let models = folder.appendingPathComponent("Model.xcdatamodeld")
    let app = try App("Books", models: models, newest: "Model2", mappings: []) { url in
      try FileManager.default.copyItem(at: folder.appendingPathComponent("Model1.sqlite"), to: url)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: url.path)
    }
    func plan() throws -> StoreMigration {
      try StoreMigration(storeAt: app.store, modelsAt: models, version: "Model2", mappings: [folder])
    }
    struct Stop: Error {}
    #expect(try plan().steps.map(\.kind) == [.mapping])
    let bytes = try Data(contentsOf: app.store)
    var told = 0
    while true {
      var events = 0
      do {
        var last = -1.0
        let report = try plan().run { progress in
          #expect(progress.fractionCompleted >= last && progress.fractionCompleted <= 1)
          last = progress.fractionCompleted
          events += 1
          if events > told { throw Stop() }
        }
        #expect(last == 1 && told > 2)
        #expect(report.rows["Book"]?.before == 4 && report.rows["Book"]?.after == 4)
        #expect(report.rows["User"]?.before == 3 && report.rows["User"]?.after == 3)
        #expect(
          report.replacedStore?.lastPathComponent == "\(app.store.deletingPathExtension().lastPathComponent)~.sqlite")
        break
      } catch let error as NSError {
        #expect(error.code == NSMigrationCancelledError)
        #expect(try Data(contentsOf: app.store) == bytes)
        #expect(try app.files() == [app.store.lastPathComponent])
      }
      told += 1
      try #require(told < 200)
    }
    #expect(try !plan().isNeeded)
    try StoreChecks.check(app.store, try app.model())
  }

  @Test("UnCloudNotes: from v1 to v4, over an inferred step and two mapping models, one with a policy")
  func notes() throws {
    MigrationPolicyClasses.register(
      FixtureResultTests.ImageAttachmentPolicy.self,
      as: "UnCloudNotes.AttachmentToImageAttachmentMigrationPolicyV3toV4")
    let folder = Fixtures.url(
      "kodecocodes__cdt-materials/06-versioning-and-migration/projects/final/UnCloudNotes")
    let source = folder.appendingPathComponent("UnCloudNotesDataModel.xcdatamodeld")
    let names = ["", " v2", " v3", " v4"].map { "UnCloudNotesDataModel\($0)" }
    let temporary = try TemporaryStore()
    let models = temporary.folder.appendingPathComponent("Notes.momd")
    // The transformer of images is the app's.
    let documents = try names.map { name in
      var document = try NSManagedObjectModel.load(contentsOf: source, version: name).document
      for entity in document.entities.indices {
        for attribute in document.entities[entity].attributes.indices {
          document.entities[entity].attributes[attribute].valueTransformerName = nil
        }
      }
      return (name, document)
    }
    try ModelBundle.writeCompiled(documents, current: names[3], to: models)
    for start in 0..<3 {
      let app = try App("Notes", models: models, newest: names[3], mappings: [folder]) { url in
        try Self.fill(url, try .load(contentsOf: models, version: names[start]), version: start + 1)
      }
      try app.update { context in
        let notes = try context.all("Note", by: "title")
        #expect(notes.map { $0.text("title") } == (1...5).map { "Note \($0)" })
        #expect(notes.map { $0.text("body") } == (1...5).map { "The body of note \($0)" })
        let withImages = start == 0 ? [] : [2, 4]
        let images = try context.all("Attachment", by: "dateCreated")
        #expect(images.map { $0.entity.name } == withImages.map { _ in "ImageAttachment" })
        #expect(images.map { ($0.value(forKey: "image") as? NSString)?.length } == withImages.map { 150_000 + $0 })
        #expect(
          images.map { ($0.value(forKey: "width") as? NSNumber)?.intValue } == withImages.map { 150_000 + $0 })
        #expect(images.map { $0.text("caption") } == withImages.map { _ in "The body of " })
        #expect(images.map { $0.value(forKeyPath: "note.title") as? String } == withImages.map { "Note \($0)" })
      }
    }
  }

  private static func fill(_ url: URL, _ model: NSManagedObjectModel, version: Int) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    for number in 1...5 {
      let date = Date(timeIntervalSinceReferenceDate: Double(number))
      let note = context.make(
        "Note",
        [
          "title": "Note \(number)", "body": "The body of note \(number)", "displayIndex": number, "dateCreated": date,
        ])
      guard version > 1, number % 2 == 0 else { continue }
      let image = String(repeating: "i", count: 150_000 + number)
      if version == 2 {
        note.setValue(image, forKey: "image")
      } else {
        context.make("Attachment", ["image": image, "dateCreated": date, "note": note])
      }
    }
    try context.save()
    try coordinator.remove(store)
  }

  @Test("LoopKit: from version 1 to 4 by one mapping model")
  func loop() throws {
    MigrationPolicyClasses.register(
      FixtureResultTests.CachedCarbPolicy.self, as: "LoopKit.CachedCarbObjectv3EntityMigrationPolicy")
    MigrationPolicyClasses.register(
      FixtureResultTests.DeletedCarbPolicy.self, as: "LoopKit.DeletedCarbObjectv3EntityMigrationPolicy")
    let folder = Fixtures.url("LoopKit__LoopKit/LoopKit/Persistence")
    let fixture = try #require(
      FixtureMapping.all.found.first { $0.url == folder.appendingPathComponent("Modelv1v4.xcmappingmodel") })
    let temporary = try TemporaryStore()
    let models = temporary.folder.appendingPathComponent("Loop.momd")
    try ModelBundle.writeCompiled([("1", fixture.source), ("4", fixture.destination)], current: "4", to: models)
    func day(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) * 86_400) }
    let app = try App("Loop", models: models, newest: "4", mappings: [fixture.url]) { url in
      let coordinator = NSPersistentStoreCoordinator(
        managedObjectModel: try NSManagedObjectModel(document: fixture.source))
      let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      for number in 1...600 {
        context.make(
          "CachedCarbObject",
          [
            "grams": Double(number), "startDate": day(number), "createdByCurrentApp": true,
            "syncIdentifier": "carb \(number)", "syncVersion": 1, "foodType": "food", "absorptionTime": 600.0,
          ])
      }
      for number in 1...3 {
        context.make("DeletedCarbObject", ["externalID": "gone \(number)", "startDate": day(1000 + number)])
      }
      try context.save()
      try coordinator.remove(store)
    }
    try app.update { context in
      let carbs = try context.all("CachedCarbObject", by: "startDate")
      #expect(
        carbs.map { $0.text("syncIdentifier") } == (1...600).map { "carb \($0)" } + (1...3).map { "gone \($0)" })
      #expect(carbs.map { ($0.value(forKey: "anchorKey") as? NSNumber)?.intValue } == Array(1...603))
      #expect(
        carbs.map { ($0.value(forKey: "grams") as? NSNumber)?.intValue } == Array(1...600) + [0, 0, 0])
    }
  }
}
