// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// A folder with stores that are copied.
final class CopyBench {
  static let kinds: [NSPersistentStore.Type] = [SQLiteStore.self, XMLStore.self, BinaryStore.self, InMemoryStore.self]

  let folder: TemporaryStore
  let model = CompanyModel.make()
  /// The layout of the store that `company(people:_:)` has made.
  private(set) var schema: StoreSchema?
  /// Stores do not keep their coordinators.
  private var coordinators: [ObjectIdentifier: NSPersistentStoreCoordinator] = [:]

  init() throws { folder = try TemporaryStore() }

  func place(_ name: String) -> URL { folder.folder.appendingPathComponent(name) }

  /// Opens or makes a store with a coordinator of its own.
  func open(
    _ kind: NSPersistentStore.Type, _ url: URL, _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = nil,
    continuesCopy: Bool = false
  ) throws -> any RowStore {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    return try open(kind, url, coordinator, options, continuesCopy: continuesCopy)
  }

  private func open(
    _ kind: NSPersistentStore.Type, _ url: URL, _ coordinator: NSPersistentStoreCoordinator,
    _ options: [AnyHashable: Any]? = nil, continuesCopy: Bool = false
  ) throws -> any RowStore {
    let store = kind.init(
      persistentStoreCoordinator: coordinator, configurationName: nil, at: url, options: options)
    try coordinator.finishOpening(store, continuesCopy: continuesCopy)
    coordinators[ObjectIdentifier(store)] = coordinator
    return try #require(store as? any RowStore)
  }

  func close(_ store: any RowStore) {
    store.willRemove(from: store.persistentStoreCoordinator)
    coordinators[ObjectIdentifier(store)] = nil
  }

  /// Makes a store for a copy of another one.
  func made(_ kind: NSPersistentStore.Type, _ name: String, for source: any RowStore) throws -> any RowStore {
    let coordinator = try #require(source.persistentStoreCoordinator)
    return try open(kind, place(name), coordinator, continuesCopy: true)
  }

  @discardableResult
  func copy(
    _ source: any RowStore, into destination: any RowStore, _ settings: CopySettings = CopySettings()
  ) throws -> StoreCopyResult {
    let coordinator = try #require(source.persistentStoreCoordinator)
    return try StoreCopy(source: source, destination: destination, coordinator: coordinator, settings).run()
  }

  /// Copies a store into a new one.
  func copy(
    _ source: any RowStore, to kind: NSPersistentStore.Type, _ name: String, _ settings: CopySettings = CopySettings()
  ) throws -> (store: any RowStore, result: StoreCopyResult) {
    let store = try made(kind, name, for: source)
    return (store, try copy(source, into: store, settings))
  }

  /// Makes a SQLite store with people, their boss, tasks and a project, which are related in every way.
  func company(
    people: Int, _ change: (NSManagedObjectContext) throws -> Void = { _ in }
  ) throws -> any RowStore {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: place("Source"))
    schema = (store as? SQLiteStore)?.opened?.entities.schema
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let boss = context.make("Manager", ["name": "Boss", "bonus": 1.5])
      let tasks = (0..<4).map { context.make("Task", ["title": "t\($0)"]) }
      let project = context.make("Project", ["title": "p"])
      var last: NSManagedObject?
      for number in 0..<people {
        let person = context.make(
          "Employee", ["name": String(format: "e%02d", number), "age": number % 60, "tags": ["a", "b"] as NSArray])
        person["manager"] = boss
        person["favourites"] = NSOrderedSet(array: [tasks[number % 4], tasks[(number + 1) % 4]])
        person.mutableSetValue(forKey: "friends").add(last ?? boss)
        person.mutableSetValue(forKey: "projects").add(project)
        if number % 2 == 0 { person["scan"] = Data(repeating: UInt8(number), count: 200_000) }
        last = person
      }
      project.mutableOrderedSetValue(forKey: "tasks").addObjects(from: [tasks[2], tasks[0], tasks[1]])
      // Identifiers, and so digests, depend on the order in which objects are saved.
      for object in context.insertedObjects.sorted(by: { Self.name($0) < Self.name($1) }) {
        try context.obtainPermanentIDs(for: [object])
      }
      try context.save()
      try change(context)
      for object in context.insertedObjects { try context.obtainPermanentIDs(for: [object]) }
      try context.save()
      context.reset()
    }
    context.persistentStoreCoordinator = nil
    coordinators[ObjectIdentifier(store)] = coordinator
    return try #require(store as? any RowStore)
  }

  private static func name(_ object: NSManagedObject) -> String {
    let key = object.entity.attributesByName["name"] == nil ? "title" : "name"
    return "\(object.entity.name ?? "")/\(object[key] ?? "")"
  }
}

/// A store that commits copies in parts, and fails when it is told to. What it has committed outlives it, by its location.
final class PartialStore: MemoryStore, PartialCopyDestination, @unchecked Sendable {
  struct Failure: Error {}

  /// What has been committed.
  struct Saved {
    let metadata: [String: Any]
    let tables: RowTables
  }

  private static let disk = Guarded<[URL: Saved]>([:])

  static func saved(at url: URL) -> Saved? { disk.value[url] }

  /// The number of writes that succeed; nil for all.
  var allowedWrites: Int?
  private(set) var writes = 0
  private(set) var commits = 0

  override var type: String { "PartialStore" }

  override class func hasContents(at url: URL) -> Bool { saved(at: url) != nil }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try #require(saved(at: url)).metadata
  }

  override func loadMetadata() throws {
    try super.loadMetadata()
    if let saved = url.flatMap(Self.saved(at:)) { setInitialMetadata(saved.metadata) }
  }

  override func finishOpening() throws {
    try super.finishOpening()
    guard let saved = url.flatMap(Self.saved(at:)) else { return }
    tables = try saved.tables.copied(for: self)
  }

  func recordCopy(_ progress: CopyProgress?) throws {
    var metadata: [String: Any] = self.metadata ?? [:]
    metadata[StoreMetadata.Key.unfinishedCopy] = progress?.propertyList
    setInitialMetadata(metadata)
  }

  override func saveFile() throws {
    let saved = Saved(metadata: metadata ?? [:], tables: try openTables().copied(for: self))
    if let url { Self.disk.update { $0[url] = saved } }
    commits += 1
  }

  private func count() throws {
    if let allowedWrites, writes >= allowedWrites { throw Failure() }
    writes += 1
  }

  override func insertCopies(_ rows: [RowChange]) throws {
    try count()
    try super.insertCopies(rows)
  }

  override func connectCopies(_ rows: [RowChange]) throws {
    try count()
    try super.connectCopies(rows)
  }
}

/// A store that does not keep what it is given.
final class FaultyStore: MemoryStore, @unchecked Sendable {
  var losesRow = false
  var losesValue = false

  override var type: String { NSInMemoryStoreType }

  override func insertCopies(_ rows: [RowChange]) throws {
    guard rows.first?.id.entity.name == "Employee" else { return try super.insertCopies(rows) }
    if losesRow { return try super.insertCopies(Array(rows.dropLast())) }
    guard losesValue, let row = rows.last else { return try super.insertCopies(rows) }
    let poorer = RowChange(
      kind: .insert, id: row.id, old: nil, slots: row.slots, changed: SlotSet(row.changed.dropFirst()))
    try super.insertCopies(rows.dropLast() + [poorer])
  }
}

extension StoreDigest {
  /// Reads all rows of a store.
  init(of store: any RowStore, _ model: NSManagedObjectModel) throws {
    try self.init(of: store, PresentKeys(of: store, model))
  }
}
