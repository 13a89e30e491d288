// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("The files of every kind of store")
struct StoreKindFileTests {
  private func filled(_ kind: StoreKind, _ names: String...) throws -> (StoreKindBench, NSManagedObjectContext) {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    for name in names {
      context.make("Employee", ["name": name, "manager": context.make("Manager", ["name": "Of \(name)"])])
    }
    try context.save()
    return (bench, context)
  }

  private func names(_ coordinator: NSPersistentStoreCoordinator) throws -> [String] {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return try context.all("Employee").compactMap { $0["name"] as? String }
  }

  private func names(_ kind: StoreKind, _ url: URL) throws -> [String] {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    try coordinator.addPersistentStore(type: kind.type, at: url)
    let found = try names(coordinator)
    try coordinator.remove(coordinator.persistentStores[0])
    return found
  }

  private func metadata(_ kind: StoreKind, _ url: URL) throws -> [String: Any] {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: kind.type, at: url)
  }

  @Test("Metadata have type, UUID and hashes; the app's own are written by a save", arguments: StoreKind.allCases)
  func metadata(_ kind: StoreKind) throws {
    let (bench, context) = try filled(kind, "Ada")
    let own = bench.coordinator.metadata(for: bench.store)
    #expect(own[NSStoreTypeKey] as? String == kind.type.rawValue)
    #expect(own[NSStoreUUIDKey] as? String == bench.store.identifier)
    #expect((own[NSStoreModelVersionHashesKey] as? [String: Data])?["Employee"]?.count == 32)
    bench.coordinator.setMetadata(
      own.merging(["App": "1", "When": Date(timeIntervalSinceReferenceDate: 5)]) { $1 }, for: bench.store)
    context.make("Project", ["title": "P"])
    try context.save()
    guard kind.isLasting else { return }
    #expect(try metadata(kind, bench.url)["App"] as? String == "1")
    try bench.coordinator.remove(bench.store)
    var changed = try metadata(kind, bench.url)
    changed["App"] = "2"
    try NSPersistentStoreCoordinator.setMetadata(changed, type: kind.type, at: bench.url)
    let reopened = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let store = try reopened.addPersistentStore(type: kind.type, at: bench.url)
    #expect(reopened.metadata(for: store)["App"] as? String == "2")
    #expect(reopened.metadata(for: store)["When"] as? Date == Date(timeIntervalSinceReferenceDate: 5))
    #expect(store.identifier == own[NSStoreUUIDKey] as? String)
    #expect(try names(reopened) == ["Ada", "Of Ada"])
  }

  @Test("An empty URI in a file is damage", arguments: [StoreKind.xml, .binary])
  func emptyURI(_ kind: StoreKind) throws {
    var builder = ModelBuilder()
    builder.entity("Page", [.make("uri", .URIAttributeType), .make("date", .dateAttributeType)])
    let model = builder.model()
    let store = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: kind.type, at: store.url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let page = context.make(
      "Page", ["uri": URL(string: "u:x") as Any, "date": Date(timeIntervalSinceReferenceDate: .nan)])
    #expect(page.description.contains("nan"))
    try context.save()
    try coordinator.remove(coordinator.persistentStores[0])
    var bytes = try Data(contentsOf: store.url)
    // A text in a binary property list begins with its length.
    let (old, new) = kind == .xml ? ("u:x", "") : ("\u{53}u:x", "\u{50}")
    let place = try #require(bytes.range(of: Data(old.utf8)))
    // The places of other values must stay the same.
    bytes.replaceSubrange(place, with: Data(new.utf8) + (kind == .xml ? Data() : Data("\u{50}\u{50}\u{50}".utf8)))
    try bytes.write(to: store.url)
    let error = try #require(throws: NSError.self) {
      try NSPersistentStoreCoordinator(managedObjectModel: model).addPersistentStore(type: kind.type, at: store.url)
    }
    #expect(error.code == CocoaError.Code.fileReadCorruptFile.rawValue, "\(error)")
  }

  @Test("The older functions find metadata without being told the type", arguments: [StoreKind.sqlite, .xml, .binary])
  @available(*, deprecated)
  func olderMetadata(_ kind: StoreKind) throws {
    let (bench, _) = try filled(kind, "Ada")
    try bench.coordinator.remove(bench.store)
    let whole = try metadata(kind, bench.url)
    let found = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: nil, at: bench.url)
    #expect(found[NSStoreUUIDKey] as? String == whole[NSStoreUUIDKey] as? String)
    #expect(found[NSStoreTypeKey] as? String == kind.rawValue)
    let untyped: [AnyHashable: Any] = try NSPersistentStoreCoordinator.metadataForPersistentStore(with: bench.url)
    #expect(untyped[NSStoreTypeKey] as? String == kind.rawValue)
    let type: String? = kind.rawValue
    for (number, type) in [nil, type].enumerated() {
      try NSPersistentStoreCoordinator.setMetadata(
        found.merging(["App": number]) { $1 }, forPersistentStoreOfType: type, at: bench.url)
      #expect(try metadata(kind, bench.url)["App"] as? Int == number)
    }
    #expect(try names(kind, bench.url) == ["Ada", "Of Ada"])
    let none = bench.folder.folder.appendingPathComponent("None")
    #expect(throws: NSError.self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: nil, at: none)
    }
    try Data("no store".utf8).write(to: none)
    #expect {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: nil, at: none)
    } throws: { ($0 as NSError).code == CocoaError.Code.fileReadCorruptFile.rawValue }
  }

  @Test(
    "A save that cannot write leaves the old file, the objects and their changes, and can be repeated",
    arguments: [StoreKind.xml, .binary, .atomic, .incremental])
  func interrupted(_ kind: StoreKind) throws {
    let (bench, context) = try filled(kind, "Ada")
    let before = try bench.contents()
    let draft = bench.folder.folder.appendingPathComponent(".\(bench.url.lastPathComponent).part")
    // A directory in the place of the draft of the new file.
    try FileManager.default.createDirectory(
      at: draft.appendingPathComponent("full"), withIntermediateDirectories: true)
    TestAtomicStore.refusing.withLock { _ = $0.insert(bench.url.path) }
    TestIncrementalStore.backend(at: bench.url).isRefusing = true
    let ada = try #require(try context.all("Employee").first)
    ada["age"] = 50
    context.make("Manager", ["name": "New", "reports": NSSet(object: ada)])
    context.delete(try #require(try context.all("Manager").last))
    #expect(throws: (any Error).self) { try context.save() }
    #expect(context.hasChanges && ada["age"] as? Int == 50)
    #expect(try bench.contents() == before)
    if kind != .incremental { #expect(try names(kind, bench.url) == ["Ada", "Of Ada"]) }
    try FileManager.default.removeItem(at: draft)
    TestAtomicStore.refusing.withLock { _ = $0.remove(bench.url.path) }
    TestIncrementalStore.backend(at: bench.url).isRefusing = false
    try context.save()
    let after = try bench.contents()
    #expect(after != before)
    try bench.reopen()
    #expect(try bench.contents() == after)
  }

  @Test("What another program has written meanwhile is not overwritten", arguments: [StoreKind.xml, .binary])
  func others(_ kind: StoreKind) throws {
    let (bench, context) = try filled(kind, "Ada")
    let other = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    try other.addPersistentStore(type: kind.type, at: bench.url)
    let theirs = NSManagedObjectContext(.privateQueue)
    theirs.persistentStoreCoordinator = other
    theirs.make("Employee", ["name": "Theirs"])
    try theirs.save()
    context.make("Employee", ["name": "Mine"])
    #expect { try context.save() } throws: { ($0 as NSError).code == NSPersistentStoreOperationError }
    #expect(try names(kind, bench.url) == ["Ada", "Of Ada", "Theirs"])
    #expect(try bench.contents().count == 2)
  }

  @Test(
    "A new file has the usual permissions, and a save keeps those of the file", arguments: [StoreKind.xml, .binary])
  func permissions(_ kind: StoreKind) throws {
    let (bench, context) = try filled(kind, "Ada")
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: bench.url.path)
    try bench.reopen()
    let fresh = bench.context()
    fresh.make("Employee", ["name": "Bob"])
    try fresh.save()
    let found = try FileManager.default.attributesOfItem(atPath: bench.url.path)[.posixPermissions] as? NSNumber
    #expect(found?.intValue == 0o640)
    #expect(try bench.folder.files() == [bench.url.lastPathComponent])
    _ = context
  }

  @Test("A destroyed store is gone; what had it open cannot save, and can add it again", arguments: StoreKind.withFile)
  func destroying(_ kind: StoreKind) throws {
    let (bench, context) = try filled(kind, "Ada")
    try bench.coordinator.destroyPersistentStore(at: bench.url, type: kind.type)
    guard kind != .atomic else {
      #expect(!FileManager.default.fileExists(atPath: bench.url.path))
      return
    }
    context.make("Employee", ["name": "Bob"])
    #expect { try context.save() } throws: { ($0 as NSError).code == NSPersistentStoreOperationError }
    try bench.coordinator.addPersistentStore(type: kind.type, at: bench.url)
    #expect(try names(bench.coordinator).isEmpty && bench.coordinator.persistentStores.count == 1)
    // There is nothing to destroy.
    try bench.coordinator.destroyPersistentStore(
      at: bench.folder.folder.appendingPathComponent("None"), type: kind.type)
  }

  @Test("A store is replaced by a copy of another", arguments: StoreKind.withFile)
  func replacing(_ kind: StoreKind) throws {
    let (bench, _) = try filled(kind, "Ada")
    let (source, _) = try filled(kind, "Bob")
    try bench.coordinator.remove(bench.store)
    try bench.coordinator.replacePersistentStore(
      at: bench.url, withPersistentStoreFrom: source.url, type: kind.type)
    #expect(try names(kind, bench.url) == ["Bob", "Of Bob"] && names(source.coordinator) == ["Bob", "Of Bob"])
    let empty = source.folder.folder.appendingPathComponent("empty")
    try Data().write(to: empty)
    #expect(throws: (any Error).self) {
      try bench.coordinator.replacePersistentStore(at: bench.url, withPersistentStoreFrom: empty, type: kind.type)
    }
    #expect(try names(kind, bench.url) == ["Bob", "Of Bob"])
  }

  @Test(
    "A SQLite store is neither destroyed nor overwritten as a store of another type",
    arguments: [StoreKind.xml, .binary, .atomic])
  func otherTypes(_ kind: StoreKind) throws {
    let (bench, _) = try filled(.sqlite, "Ada")
    let (source, _) = try filled(kind, "Bob")
    try bench.coordinator.remove(bench.store)
    #expect { try source.coordinator.destroyPersistentStore(at: bench.url, type: kind.type) } throws: {
      ($0 as NSError).code == NSPersistentStoreTypeMismatchError
    }
    #expect(throws: (any Error).self) {
      try source.coordinator.replacePersistentStore(at: bench.url, withPersistentStoreFrom: source.url, type: kind.type)
    }
    #expect(throws: (any Error).self) {
      try NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make()).addPersistentStore(
        type: kind.type, at: bench.url)
    }
    #expect(try names(.sqlite, bench.url) == ["Ada", "Of Ada"])
  }

  @Test(
    "setURL has the next save go to the new location, without one that has changes too",
    arguments: [StoreKind.xml, .binary, .atomic])
  func location(_ kind: StoreKind) throws {
    let (bench, context) = try filled(kind, "Ada")
    let place = bench.folder.folder.appendingPathComponent("Other")
    #expect(bench.coordinator.setURL(place, for: bench.store) && bench.coordinator.url(for: bench.store) == place)
    try context.save()
    #expect(try names(kind, place) == ["Ada", "Of Ada"])
    context.make("Employee", ["name": "Bob"])
    try context.save()
    #expect(try names(kind, place) == ["Ada", "Bob", "Of Ada"] && names(kind, bench.url) == ["Ada", "Of Ada"])
    let foreign = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    #expect(!foreign.setURL(place, for: bench.store))
  }

  @Test("setURL opens the SQLite store at the new location, or keeps the old one if there is none")
  func sqliteLocation() throws {
    let (bench, _) = try filled(.sqlite, "Ada")
    let (other, _) = try filled(.sqlite, "Bob")
    try other.coordinator.remove(other.store)
    let none = bench.folder.folder.appendingPathComponent("None.sqlite")
    #expect(!bench.coordinator.setURL(none, for: bench.store) && bench.store.url == bench.url)
    #expect(try names(bench.coordinator) == ["Ada", "Of Ada"])
    #expect(bench.coordinator.setURL(other.url, for: bench.store) && bench.store.url == other.url)
    #expect(try names(bench.coordinator) == ["Bob", "Of Bob"])
    #expect(!FileManager.default.fileExists(atPath: none.path))
  }

  @Test(
    "A store moves to every other kind with all objects and the app's metadata", arguments: StoreKind.allCases,
    StoreKind.allCases)
  func moving(_ kind: StoreKind, _ target: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    let tasks = ["one", "two"].map { context.make("Task", ["title": $0]) }
    let ada = context.make(
      "Employee", ["name": "Ada", "tags": ["x"] as NSArray, "scan": Data(repeating: 3, count: 150_000)])
    ada["friends"] = NSSet(array: [ada, context.make("Manager", ["name": "Boss", "bonus": 1.5])])
    ada["favourites"] = NSOrderedSet(array: [tasks[1], tasks[0]])
    context.make("Department", ["name": "Hall", "archive": NSSet(array: tasks), "employees": NSSet(object: ada)])
    bench.coordinator.setMetadata(bench.store.metadata.merging(["App": "1"]) { $1 }, for: bench.store)
    try context.save()
    let before = try bench.contents()
    let id = ada.objectID
    let old = bench.store
    let place = target.url(in: bench.folder.folder, "Moved")
    guard kind != .incremental else {
      #expect { try bench.coordinator.migratePersistentStore(old, to: place, type: target.type) } throws: {
        ($0 as NSError).code == NSPersistentStoreOperationError
      }
      #expect(bench.coordinator.persistentStores == [old])
      // What a failure removes is the new store, never the device of a store in memory.
      var device = stat()
      #expect(stat("/dev/null", &device) == 0 && device.st_mode & S_IFMT == S_IFCHR)
      return
    }
    let moved = try bench.coordinator.migratePersistentStore(old, to: place, type: target.type)
    #expect(bench.coordinator.persistentStores == [moved] && moved.type == target.type.rawValue)
    #expect(try bench.contents() == before && moved.metadata["App"] as? String == "1")
    let keepsIdentifiers = [StoreKind.xml, .binary, .inMemory]
    if keepsIdentifiers.contains(kind), keepsIdentifiers.contains(target) {
      #expect(id.persistentStore === moved)
      ada["age"] = 3
      try context.save()
      #expect(try bench.contents().contains { $0.contains("age=3") })
    } else if kind != .sqlite || target != .sqlite {
      #expect(moved.identifier != old.identifier && id.persistentStore !== moved)
    }
    let writer = bench.context()
    writer.make("Task", ["title": "new"])
    try writer.save()
    guard target.isLasting else { return }
    let after = try bench.contents()
    #expect(after.count == before.count + 1)
    try bench.coordinator.remove(moved)
    try bench.coordinator.addPersistentStore(type: target.type, at: place)
    #expect(try bench.contents() == after)
  }

  @Test(
    "A save over two stores is written to both or to none", arguments: StoreKind.allCases.filter { $0 != .incremental },
    StoreKind.allCases.filter { $0 != .incremental })
  func several(_ one: StoreKind, _ other: StoreKind) throws {
    _ = StoreKind.registration
    let folder = try TemporaryStore()
    var builder = ModelBuilder()
    builder.entity("Book", [.make("title", .stringAttributeType)])
    builder.entity("Shop", [.make("name", .stringAttributeType)])
    let model = builder.model()
    model.entitiesByName["Shop"]?.uniquenessConstraints = [["name"]]
    for name in ["Book", "Shop"] {
      model.setEntities(model.entities.filter { $0.name == name }, forConfigurationName: name)
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let books = try coordinator.addPersistentStore(
      type: one.type, configuration: "Book", at: one.url(in: folder.folder, "Books"))
    let shops = try coordinator.addPersistentStore(
      type: other.type, configuration: "Shop", at: other.url(in: folder.folder, "Shops"))
    #expect((books.metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.keys.sorted() == ["Book"])
    func count(_ name: String, _ stores: [NSPersistentStore]? = nil) throws -> Int {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      let request = NSFetchRequest<NSManagedObject>(entityName: name)
      request.affectedStores = stores
      return try context.count(for: request)
    }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let book = context.make("Book", ["title": "a"])
    context.assign(book, to: books)
    context.make("Shop", ["name": "Corner"])
    try context.save()
    #expect(book.objectID.persistentStore === books)
    book["title"] = "b"
    context.make("Book", ["title": "c"])
    let second = context.make("Shop", ["name": "Corner"])
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try count("Book") == 1 && count("Shop") == 1 && count("Book", [shops]) == 0 && count("Book", [books]) == 1)
    let fresh = NSManagedObjectContext(.privateQueue)
    fresh.persistentStoreCoordinator = coordinator
    #expect(try fresh.existingObject(with: book.objectID)["title"] as? String == "a")
    second["name"] = "Market"
    try context.save()
    #expect(try count("Book") == 2 && count("Shop") == 2)
    let wrong = context.make("Book", ["title": "d"])
    context.assign(wrong, to: shops)
    #expect(throws: (any Error).self) { try context.save() }
  }

  @Test("An in-memory store needs no URL, and a container makes one from its description")
  func inMemory() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let store = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    #expect(store.url == nil && store.type == "InMemory")
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    for type in [NSSQLiteStoreType, NSXMLStoreType, NSBinaryStoreType] {
      #expect { try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: nil) } throws: {
        ($0 as NSError).code == NSPersistentStoreOpenError
      }
    }
    let (inMemory, anywhere) = (NSPersistentStoreDescription(), NSPersistentStoreDescription())
    #expect(inMemory.url?.absoluteString == "file:///dev/null" && inMemory.type == NSSQLiteStoreType)
    (inMemory.type, anywhere.type, anywhere.url) = (NSInMemoryStoreType, NSInMemoryStoreType, nil)
    for description in [
      NSPersistentStoreDescription(), inMemory, anywhere,
      NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null/Named.sqlite")),
    ] {
      let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyModel.make())
      container.persistentStoreDescriptions = [description]
      var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      #expect(failure == nil && container.persistentStoreCoordinator.persistentStores.count == 1)
      container.viewContext.make("Employee", ["name": "Ada"])
      try container.viewContext.save()
      #expect(try names(container.persistentStoreCoordinator) == ["Ada"])
      if description.url != nil { container.loadPersistentStores { failure = $1 } }
      #expect(failure == nil && container.persistentStoreCoordinator.persistentStores.count == 1)
      #expect(try names(container.persistentStoreCoordinator) == ["Ada"])
    }
    // Several stores in memory, at one location.
    let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyModel.make())
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(), NSPersistentStoreDescription()]
    container.loadPersistentStores { #expect($1 == nil) }
    #expect(container.persistentStoreCoordinator.persistentStores.count == 2)
  }

  @Test("Classes are registered for types and removed; an unknown type is 134000")
  func registration() throws {
    _ = StoreKind.registration
    let known = NSPersistentStoreCoordinator.registeredStoreTypes
    #expect(Set(["SQLite", "XML", "Binary", "InMemory", "TestAtomicStore"]).isSubset(of: known.keys))
    #expect(known["SQLite"] != known["XML"])
    NSPersistentStoreCoordinator.registerStoreClass(TestAtomicStore.self, forStoreType: "Passing")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let folder = try TemporaryStore("Passing")
    #expect(try coordinator.addPersistentStore(type: .init(rawValue: "Passing"), at: folder.url) is TestAtomicStore)
    NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: "Passing")
    #expect(NSPersistentStoreCoordinator.registeredStoreTypes["Passing"] == nil)
    #expect { try coordinator.addPersistentStore(type: .init(rawValue: "Passing"), at: folder.url) } throws: {
      ($0 as NSError).code == NSPersistentStoreInvalidTypeError
    }
  }

  @Test("Only subclasses of the two abstract stores can be registered")
  func misuse() async {
    await #expect(processExitsWith: .failure) {
      NSPersistentStoreCoordinator.registerStoreClass(NSPersistentStore.self, forStoreType: "Wrong")
    }
    await #expect(processExitsWith: .failure) {
      let store = NSAtomicStore(persistentStoreCoordinator: nil, configurationName: nil, at: URL(fileURLWithPath: "/"))
      try store.save()
    }
    await #expect(processExitsWith: .failure) {
      let store = NSIncrementalStore(
        persistentStoreCoordinator: nil, configurationName: nil, at: URL(fileURLWithPath: "/"))
      _ = try store.execute(NSPersistentStoreRequest(), with: nil)
    }
  }

  @Test("An incremental store gets each fetch with its result type, and what it returns is checked")
  func requests() throws {
    let (bench, context) = try filled(.incremental, "Ada")
    let backend = TestIncrementalStore.backend(at: bench.url)
    backend.requests = []
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Employee")
    ids.resultType = .managedObjectIDResultType
    #expect(try context.fetch(ids).count == 2)
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Employee")) == 2)
    let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Employee")
    dictionaries.resultType = .dictionaryResultType
    #expect(try context.fetch(dictionaries).count == 2)
    #expect(backend.requests == ["fetch 1", "fetch 4", "fetch 2"])
    let id = try context.fetch(ids)[0]
    for key in backend.records.keys { backend.records[key]?.values["age"] = "old" }
    #expect { try bench.context().existingObject(with: id) } throws: {
      ($0 as NSError).code == NSPersistentStoreOperationError
    }
  }
}
