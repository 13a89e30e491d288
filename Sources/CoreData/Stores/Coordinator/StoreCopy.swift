// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

/// Copies all rows of a store into a new, empty one, possibly of another type.
struct StoreCopy {
  let source: any RowStore
  let destination: any RowStore
  let coordinator: NSPersistentStoreCoordinator
  /// Whether rows keep the numbers in their identifiers, as far as possible.
  var keepsNumbers = false

  /// Copies the rows and the app's metadata. The rows get new identifiers.
  ///
  /// - Returns: whether all rows have kept their numbers.
  /// - Throws: 134070 for a store whose rows cannot be listed; the errors of both stores. The destination has no rows
  ///   then.
  @discardableResult
  func run() throws -> Bool {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.retainsRegisteredObjects = true
    let entities = coordinator.managedObjectModel.entities.filter { source.hasPlace(for: $0) }
    let rows = try entities.flatMap { entity in
      guard let rows = try source.rows(for: RowQuery(entity: entity, includesSubentities: false)) else {
        throw StoreErrors.operationFailed(
          url: source.url, reason: "The rows of a store of the type '\(source.type)' cannot be listed.")
      }
      return rows
    }
    let objects = rows.map { NSManagedObject(entity: $0.id.entityDescription, insertInto: nil) }
    let (ids, keepsAll) =
      keepsNumbers ? try keptIdentifiers(rows) : (try destination.makeIdentifiers(forObjects: objects), false)
    let newIDs = Dictionary(zip(rows.map(\.id.key), ids)) { first, _ in first }
    for (position, row) in rows.enumerated() {
      let object = objects[position]
      object.slots = try slots(of: row, newIDs, context)
      object.changes = .inserted
      object.replaceIdentifier(by: ids[position])
      context.registry.add(object)
    }
    var metadata: [String: Any] = destination.metadata ?? [:]
    for (key, value) in source.metadata ?? [:] where !StoreMetadata.ownKeys.contains(key) && key != NSStoreUUIDKey {
      metadata[key] = value
    }
    destination.metadata = metadata
    let changes = objects.map { object in
      RowChange(
        kind: .insert, id: object.identifier, old: nil, slots: object.slots, changed: object.changedStoredSlots())
    }
    try destination.write(changes, for: context)
    if destination.hasUnsavedMetadata { try destination.writeMetadata() }
    return keepsAll
  }

  /// Returns identifiers with the numbers of the rows. In a file that numbers the objects of all entities together, objects
  /// whose number another one has get new numbers.
  ///
  /// - Returns: the identifiers, and whether all rows have kept their numbers.
  private func keptIdentifiers(_ rows: [RowSnapshot]) throws -> (ids: [NSManagedObjectID], keepsAll: Bool) {
    var numbers = rows.map(\.id.key.number)
    var keepsAll = true
    if let destination = destination as? any RowTableStore {
      let tables = try destination.openTables()
      tables.reserve(from: numbers.max().map { $0 == .max ? $0 : $0 + 1 } ?? 1)
      var known: Set<Int64> = []
      for position in numbers.indices where !known.insert(numbers[position]).inserted {
        numbers[position] = try tables.reserve(1)
        keepsAll = false
      }
    }
    let ids = try zip(rows, numbers).map { row, number in
      let name = row.id.entityDescription.name ?? ""
      guard let id = destination.identifier(entityName: name, reference: "p\(number)") else {
        throw StoreErrors.operationFailed(
          url: destination.url, reason: "The store has no place for the object \(number) of the entity '\(name)'.")
      }
      return id
    }
    if let destination = destination as? SQLiteStore {
      var greatest: [UInt32: Int64] = [:]
      for id in ids { greatest[id.key.root] = max(greatest[id.key.root] ?? 0, id.key.number) }
      for (root, number) in greatest { try destination.reserveKeys(ofRoot: Int(root), through: number) }
    }
    return (ids, keepsAll)
  }

  /// Returns the values of a row with the identifiers of the new store. References to rows that are gone are left out.
  private func slots(
    of row: RowSnapshot, _ newIDs: [ObjectKey: NSManagedObjectID], _ context: NSManagedObjectContext
  ) throws -> [Slot] {
    let table = row.id.entityDescription.slotTable
    return try row.slots.enumerated().map { position, slot in
      guard let relationship = table.relationship(at: position) else { return slot }
      if relationship.isToMany {
        if table.isTransient(at: position) { return .null }
        let members = try source.members(of: relationship, for: row.id, in: context)
        return .toMany(ToMany(members.compactMap { newIDs[$0.key] }, isOrdered: relationship.isOrdered))
      }
      if case .toOne(let id) = slot { return newIDs[id.key].map { .toOne($0) } ?? .null }
      return slot
    }
  }
}

/// Whole files of stores that are not SQLite databases.
enum StoreFileMoves {
  /// Removes the file of a store.
  static func destroy(_ kind: NSPersistentStore.Type, at url: URL) throws {
    if kind is NSIncrementalStore.Type { throw unsupported(kind, "destroy", url) }
    guard kind != InMemoryStore.self, !RegularFile.isNullDevice(url) else { return }
    try FileStoreErrors.translating(url) {
      try check(url)
      try WholeFile(url).remove()
    }
  }

  /// Replaces the file of a store by a copy of another.
  static func replace(_ kind: NSPersistentStore.Type, at url: URL, from source: URL) throws {
    guard kind is FileStore.Type || kind is NSAtomicStore.Type else { throw unsupported(kind, "copy", url) }
    let data = try FileStoreErrors.translating(source) {
      guard let data = try WholeFile(source).read(limit: FileStore.largest) else {
        throw StoreFileProblem.missing(path: source.path)
      }
      if let kind = kind as? FileStore.Type { _ = try kind.format.init(data, url: source) }
      return data
    }
    try FileStoreErrors.translating(url) {
      try check(url)
      try WholeFile(url, replacesUnread: true).write(data)
    }
  }

  /// Refuses a SQLite database, which has more files than one.
  private static func check(_ url: URL) throws {
    guard FileCalls.isRegular(url), try RegularFile.firstBytes(15, of: url) == Data("SQLite format 3".utf8) else {
      return
    }
    throw StoreErrors.typeMismatch(url: url, reason: "'\(url.path)' is a store of the type '\(NSSQLiteStoreType)'.")
  }

  private static func unsupported(_ kind: NSPersistentStore.Type, _ operation: String, _ url: URL) -> NSError {
    StoreErrors.operationFailed(
      url: url,
      reason: "The framework cannot \(operation) stores of the class \(kind), since it does not know where "
        + "they keep their rows.")
  }
}

extension NSPersistentStoreCoordinator {
  /// Changes the location of a store.
  ///
  /// A SQLite store opens the store that is at the new location; it must have the same model version and entity
  /// numbers. Any other store with a file writes it there at the next save, and replaces what is there.
  ///
  /// - Parameters:
  ///   - url: the new location.
  ///   - store: a store of this coordinator.
  /// - Returns: whether the location has been changed. False for an incremental store, for a store of another
  ///   coordinator, and if there is no suitable SQLite store at the new location.
  @discardableResult
  public func setURL(_ url: URL, for store: NSPersistentStore) -> Bool {
    withLock {
      guard store.persistentStoreCoordinator === self else { return false }
      switch store {
      case let store as SQLiteStore: return store.reopen(at: url)
      case let store as FileStore: store.setDestination(url)
      case let store as NSAtomicStore:
        store.url = url
        store.hasUnsavedMetadata = true
      case is NSIncrementalStore: return false
      default: store.url = url
      }
      return true
    }
  }

  /// Moves the rows of a store into a new one of another type, or of the same type if there are no SQLite files to
  /// copy.
  func copy(
    _ store: NSPersistentStore, into kind: NSPersistentStore.Type, at url: URL, _ options: [AnyHashable: Any]?
  ) throws -> NSPersistentStore {
    guard let source = store as? any RowStore else {
      throw StoreErrors.operationFailed(url: store.url, reason: "The rows of the store cannot be listed.")
    }
    let moved = kind.init(
      persistentStoreCoordinator: self, configurationName: store.customConfigurationName, at: url, options: options)
    if let moved = moved as? MemoryStore, let store = store as? MemoryStore {
      try moved.takeRows(of: store)
      return moved
    }
    do {
      try finishOpening(moved)
      guard let destination = moved as? any RowStore else {
        throw StoreErrors.operationFailed(url: url, reason: "Rows cannot be written to a store of the class \(kind).")
      }
      try StoreCopy(source: source, destination: destination, coordinator: self).run()
    } catch {
      moved.willRemove(from: self)
      // The caller needs the error of the copy, not one of the cleanup.
      if kind == SQLiteStore.self {
        try? StoreFiles.remove(at: url)
      } else {
        try? StoreFileMoves.destroy(kind, at: url)
      }
      throw error
    }
    return moved
  }
}
