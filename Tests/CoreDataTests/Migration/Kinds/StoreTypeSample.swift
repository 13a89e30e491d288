// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Books of authors: two versions in a file, and a store of the first of any type with a file.
final class StoreTypeSample {
  static let kinds: [StoreKind] = [.sqlite, .xml, .binary]

  let kind: StoreKind
  let folder: TemporaryStore
  let url: URL
  private let modelFolder: TemporaryDirectory
  let models: URL
  let old: NSManagedObjectModel
  let new: NSManagedObjectModel
  /// Objects need their context; tests often hold the objects alone.
  private var contexts: [NSManagedObjectContext] = []

  init(_ kind: StoreKind) throws {
    self.kind = kind
    folder = try TemporaryStore()
    url = kind.url(in: folder.folder, "Old")
    modelFolder = try TemporaryDirectory()
    models = modelFolder.file("Books.momd")
    try ModelBundle.writeCompiled(
      [("v1", Self.first().document), ("v2", Self.second().document)], current: "v2", to: models)
    old = try .load(contentsOf: models, version: "v1")
    new = try .load(contentsOf: models, version: "v2")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: old)
    let store = try coordinator.addPersistentStore(type: kind.type, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    Self.fill(context)
    coordinator.setMetadata(coordinator.metadata(for: store).merging(["App": "mine"]) { $1 }, for: store)
    try context.save()
    try coordinator.remove(store)
  }

  private static func fill(_ context: NSManagedObjectContext) {
    let authors = (1...2).map { context.make("Author", ["name": "A\($0)"]) }
    let books = (1...5).map { number in
      let book = context.make(
        number == 4 ? "Novel" : "Book",
        [
          "title": "B\(number)", "pages": number * 100, "price": NSDecimalNumber(string: "12345678901234.\(number)"),
          "id": UUID(uuidString: "00000000-0000-0000-0000-00000000000\(number)") as Any,
          "printed": Date(timeIntervalSinceReferenceDate: Double(number) / 8),
          "site": URL(string: "https://example.org/\(number)?q=ü") as Any,
          "cover": Data(repeating: UInt8(number), count: number == 3 ? 300_000 : 10),
          "tags": ["t\(number)", "\u{1}<&>"] as NSArray, "isLent": number % 2 == 0,
        ])
      if number == 4 { book["genre"] = "love" }
      return book
    }
    authors[0]["books"] = NSOrderedSet(array: [books[2], books[0], books[3]])
    authors[1]["books"] = NSOrderedSet(array: [books[4], books[1]])
    books[0]["related"] = NSSet(array: [books[1], books[2]])
    books[4]["related"] = NSSet(array: [books[0]])
  }

  private static func attributes(_ pages: NSAttributeType) -> [NSAttributeDescription] {
    [
      .make("pages", pages), .make("price", .decimalAttributeType), .make("id", .UUIDAttributeType),
      .make("printed", .dateAttributeType), .make("site", .URIAttributeType),
      .make("cover", .binaryDataAttributeType, external: true), .make("tags", .transformableAttributeType),
      .make("isLent", .booleanAttributeType),
    ]
  }

  private static func relate(_ builder: inout ModelBuilder) {
    builder.relate(.init("Author", "books", toMany: true, ordered: true), .init("Book", "author"))
    builder.relate(.init("Book", "related", toMany: true), .init("Book", "relating", toMany: true))
  }

  private static func first() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Author", [.make("name", .stringAttributeType)])
    builder.entity("Book", [.make("title", .stringAttributeType)] + attributes(.integer16AttributeType))
    builder.entity("Novel", parent: "Book", [.make("genre", .stringAttributeType)])
    relate(&builder)
    return builder.model()
  }

  /// The title is called name, pages are larger, authors have a rank, and there are chapters.
  private static func second() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Author", [.make("name", .stringAttributeType), .make("rank", .integer32AttributeType, default: 7)])
    builder.entity("Book", [.make("name", .stringAttributeType)] + attributes(.integer32AttributeType))
    builder.entity("Novel", parent: "Book", [.make("genre", .stringAttributeType)])
    builder.entity("Chapter", [.make("title", .stringAttributeType)])
    relate(&builder)
    builder.relate(.init("Book", "chapters", toMany: true, ordered: true), .init("Chapter", "book"))
    let model = builder.model()
    model.entitiesByName["Book"]?.attributesByName["name"]?.renamingIdentifier = "title"
    return model
  }

  // MARK: What stores contain

  func context(_ kind: StoreKind, _ url: URL, _ options: [AnyHashable: Any]? = nil) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(type: kind.type, at: url, options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    contexts.append(context)
    return context
  }

  /// Closes the store of a context.
  func close(_ context: NSManagedObjectContext) {
    #expect(throws: Never.self) { try context.coordinator.remove(context.coordinator.persistentStores[0]) }
  }

  /// The contents of a store of the second version.
  func contents(_ kind: StoreKind, _ url: URL) throws -> [String] {
    let context = try context(kind, url)
    defer { close(context) }
    let covers = try context.all("Book").compactMap { ($0["cover"] as? Data)?.count }.sorted()
    let tags = try context.all("Book").map { "\($0["name"] ?? ""): \(($0["tags"] as? [String] ?? []).count)" }
    return try StoreKindBench.contents(of: context) + tags + ["covers \(covers)"]
  }

  func metadata(_ kind: StoreKind, _ url: URL) throws -> [String: Any] {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: kind.type, at: url)
  }

  /// The store's file, and the names of all files except those of SQLite's log.
  struct Files: Equatable {
    var data: Data
    var names: Set<String>
  }

  func files() throws -> Files {
    Files(
      data: try Data(contentsOf: url),
      names: Set(try folder.files().filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }))
  }

  // MARK: Mapping models

  /// A mapping model of copies, with a policy for books or none.
  func mapping(policy: NSEntityMigrationPolicy.Type? = nil) -> NSMappingModel {
    Self.mapping(old, new, policy: policy)
  }

  static func mapping(
    _ old: NSManagedObjectModel, _ new: NSManagedObjectModel, policy: NSEntityMigrationPolicy.Type?
  ) -> NSMappingModel {
    let values = ["pages", "price", "id", "printed", "site", "cover", "tags", "isLent"]
    let shared = Dictionary(uniqueKeysWithValues: values.map { ($0, "$source.\($0)") })
      .merging(["name": "$source.title"]) { $1 }
    let mapping = NSMappingModel()
    let made = "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", "
    let relationships = [
      "author": made + "\"Authors\", $source.author)",
      "related": "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:sourceInstances:\", \"related\", "
        + "$source.related)",
    ]
    mapping.entityMappings = [
      ManagerSample.entity("Authors", "Author", "Author", ["name": "$source.name", "rank": "9"]),
      ManagerSample.entity("Books", "Book", "Book", shared, relationships),
      ManagerSample.entity(
        "Novels", "Novel", "Novel", shared.merging(["genre": "$source.genre"]) { $1 }, relationships),
    ]
    for entity in mapping.entityMappings {
      entity.sourceEntityVersionHash = old.entitiesByName[entity.sourceEntityName ?? ""]?.versionHash
      entity.destinationEntityVersionHash = new.entitiesByName[entity.destinationEntityName ?? ""]?.versionHash
    }
    if let policy {
      for name in ["Books", "Novels"] {
        let entity = mapping.entityMappingsByName[name]
        entity?.mappingType = .customEntityMappingType
        entity?.entityMigrationPolicyClassName = NSStringFromClass(policy)
      }
    }
    return mapping
  }
}

/// Makes two chapters of each book, in an order, and marks authors by what it finds in the source.
final class ChapterPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let book = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])[0]
    let author = (sInstance["author"] as? NSManagedObject)?["name"] as? String ?? ""
    let chapters = ["2", "1"].map { number in
      let chapter = NSEntityDescription.insertNewObject(forEntityName: "Chapter", into: manager.destinationContext)
      chapter["title"] = "\(author) \(number)"
      return chapter
    }
    book["chapters"] = NSOrderedSet(array: chapters)
  }
}

/// Fails at the third object, when others have been made.
final class BreakingPolicy: NSEntityMigrationPolicy {
  struct Failure: Error, Equatable {
    let title: String?
  }

  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    if sInstance["title"] as? String == "B3" { throw Failure(title: "B3") }
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
  }
}

/// Kills the process at the third object, when others have been made.
final class KillingPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    if sInstance["title"] as? String == "B3" { kill(getpid(), SIGKILL) }
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
  }
}
