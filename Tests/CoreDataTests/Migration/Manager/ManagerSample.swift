// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Notes in folders, with tags: two versions, a store of the first, and a mapping model that tests change.
final class ManagerSample {
  let store: TemporaryStore
  let old: NSManagedObjectModel
  let new: NSManagedObjectModel
  let mapping = NSMappingModel()
  let destination: URL
  lazy var manager = NSMigrationManager(sourceModel: old, destinationModel: new)
  /// Called along with the manager's own handler.
  var willShow: (NSMigrationManager) -> Void = { _ in }

  init(folders: Int = 2, notes: Int = 7) throws {
    store = try TemporaryStore()
    destination = store.folder.appendingPathComponent("New.sqlite")
    old = Self.first()
    new = Self.second()
    let context = try store.context(Self.first())
    let made = (1...max(folders, 1)).map { context.make("Folder", ["name": "F\($0)"]) }
    let tags = (1...3).map { context.make("Tag", ["name": "T\($0)"]) }
    for number in 0..<notes {
      let note = context.make(
        "Note",
        [
          "title": "N\(number + 1)", "body": "Text \(number + 1)", "rank": number + 1,
          "folder": made[number % made.count],
        ])
      note.setValue(NSSet(array: Array(tags.prefix(number % 4))), forKey: "tags")
      note.setValue(NSOrderedSet(array: tags.prefix(number % 3).reversed()), forKey: "favourites")
    }
    try context.save()
    try store.close()
    mapping.entityMappings = [
      Self.entity("FolderToBox", "Folder", "Box", ["label": "$source.name"], ["notes": Self.of("NoteToNote", "notes")]),
      Self.entity(
        "NoteToNote", "Note", "Note", ["title": "$source.title", "rank": "$source.rank"],
        [
          "box": Self.of("FolderToBox", "folder"), "tags": Self.of("TagToTag", "tags"),
          "favourites": Self.of("TagToTag", "favourites"),
        ]),
      Self.entity("TagToTag", "Tag", "Tag", ["name": "$source.name"], ["notes": Self.of("NoteToNote", "notes")]),
    ]
  }

  subscript(name: String) -> NSEntityMapping {
    guard let found = mapping.entityMappingsByName[name] else { preconditionFailure("There is no \(name).") }
    return found
  }

  static func of(_ mapping: String, _ relationship: String) -> String {
    "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"\(mapping)\", "
      + "$source.\(relationship))"
  }

  static func entity(
    _ name: String, _ source: String?, _ destination: String?, _ attributes: [String: String] = [:],
    _ relationships: [String: String] = [:], filter: String? = nil,
    type: NSEntityMappingType = .transformEntityMappingType
  ) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = name
    mapping.mappingType = type
    mapping.sourceEntityName = source
    mapping.destinationEntityName = destination
    mapping.attributeMappings = properties(attributes)
    mapping.relationshipMappings = properties(relationships)
    if let source {
      mapping.sourceExpression = NSExpression(
        format: "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", %@, %@), "
          + "$manager.sourceContext, NO)", source, filter ?? "TRUEPREDICATE")
    }
    return mapping
  }

  static func properties(_ expressions: [String: String]) -> [NSPropertyMapping] {
    expressions.sorted { $0.key < $1.key }.map { name, format in
      let property = NSPropertyMapping()
      property.name = name
      property.valueExpression = NSExpression(format: format)
      return property
    }
  }

  static func first() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Folder", [.make("name", .stringAttributeType)])
    builder.entity(
      "Note",
      [
        .make("title", .stringAttributeType), .make("body", .stringAttributeType),
        .make("rank", .integer32AttributeType),
      ])
    builder.entity("Tag", [.make("name", .stringAttributeType)])
    builder.relate(.init("Folder", "notes", toMany: true), .init("Note", "folder"))
    builder.relate(.init("Note", "tags", toMany: true), .init("Tag", "notes", toMany: true))
    builder.relate(.init("Note", "favourites", toMany: true, ordered: true), .init("Tag", "admirers", toMany: true))
    return builder.model()
  }

  static func second() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Box", [.make("label", .stringAttributeType)])
    builder.entity(
      "Note", [.make("title", .stringAttributeType, optional: false), .make("rank", .integer64AttributeType)])
    builder.entity("Tag", [.make("name", .stringAttributeType)])
    builder.entity("Page", [.make("text", .stringAttributeType), .make("number", .integer32AttributeType)])
    builder.relate(.init("Box", "notes", toMany: true), .init("Note", "box"))
    builder.relate(.init("Note", "tags", toMany: true), .init("Tag", "notes", toMany: true))
    builder.relate(.init("Note", "favourites", toMany: true, ordered: true), .init("Tag", "admirers", toMany: true))
    builder.relate(.init("Note", "pages", toMany: true, ordered: true), .init("Page", "note"))
    return builder.model()
  }

  /// Migrates, and checks what is true of every migration.
  func migrate(batchSize: Int = 3, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let before = try Snapshot(store.url)
    manager.batchSize = batchSize
    var progress: [Float] = []
    manager.progressHandler = { [willShow] in
      progress.append($0.migrationProgress)
      willShow($0)
    }
    defer { manager.progressHandler = nil }
    let hadDestination = FileManager.default.fileExists(atPath: destination.path)
    let earlier = hadDestination ? try Snapshot(destination) : nil
    do {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: destination, type: .sqlite)
    } catch {
      #expect(try Snapshot(store.url) == before, "the source has changed", sourceLocation: sourceLocation)
      if let earlier {
        #expect(try FileContent(destination) == earlier.content, sourceLocation: sourceLocation)
        #expect(try externalFiles() == earlier.external, sourceLocation: sourceLocation)
      } else {
        #expect(try files() == ["Store.sqlite"], "files are left", sourceLocation: sourceLocation)
      }
      #expect(progress == progress.sorted(), sourceLocation: sourceLocation)
      throw error
    }
    #expect(try Snapshot(store.url) == before, "the source has changed", sourceLocation: sourceLocation)
    #expect(try files() == ["New.sqlite", "Store.sqlite"], sourceLocation: sourceLocation)
    #expect(progress == progress.sorted() && progress.last == 1, sourceLocation: sourceLocation)
    try StoreChecks.check(destination, Self.second(), sourceLocation: sourceLocation)
    try StoreChecks.checkJoins(destination, Self.second(), sourceLocation: sourceLocation)
  }

  private func files() throws -> [String] {
    try store.files().filter { !$0.hasSuffix("_SUPPORT") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
  }

  private func externalFiles() throws -> [String] {
    try Snapshot.externalFiles(of: destination)
  }

  /// The bytes of a store, and what stands beside it.
  struct Snapshot: Equatable {
    let bytes: Data
    let log: Data?
    let external: [String]
    let content: FileContent

    init(_ url: URL) throws {
      bytes = try Data(contentsOf: url)
      log = FileManager.default.contents(atPath: url.path + "-wal")
      external = try Self.externalFiles(of: url)
      let directory = try TemporaryDirectory()
      let copy = try directory.write(bytes, to: "Copy.sqlite")
      if let log { try directory.write(log, to: "Copy.sqlite-wal") }
      content = try FileContent(copy)
    }

    static func externalFiles(of url: URL) throws -> [String] {
      let folder = ExternalData(store: url).folder.path
      guard FileManager.default.fileExists(atPath: folder) else { return [] }
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }
  }

  /// The destination, opened by its own model.
  func result(_ body: (NSManagedObjectContext) throws -> Void) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.second())
    let opened = try coordinator.addPersistentStore(type: .sqlite, at: destination)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try body(context)
    try coordinator.remove(opened)
  }
}

extension NSManagedObject {
  /// The names of the members of a relationship.
  func names(_ relationship: String, _ key: String = "name") -> [String] {
    let value = value(forKey: relationship)
    let objects = (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? []
    let names = objects.compactMap { ($0 as? NSManagedObject)?.value(forKey: key) as? String }
    return value is NSOrderedSet ? names : names.sorted()
  }

  func text(_ key: String) -> String? { value(forKey: key) as? String }
}
