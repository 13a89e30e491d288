// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation

@testable import CoreData

/// A SQLite store of its own in a temporary folder, used without contexts.
final class StoreBench {
  private let directory: TemporaryDirectory
  var folder: URL { directory.url }
  let url: URL
  let coordinator: NSPersistentStoreCoordinator
  let store: SQLiteStore
  /// What SQLite was asked, in order.
  private(set) var statements: [String] = []

  init(_ document: ModelDocument, options: [AnyHashable: Any]? = nil) throws {
    directory = try TemporaryDirectory()
    url = directory.file("Bench.sqlite")
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: try NSManagedObjectModel(document: document))
    store = try Self.open(url, coordinator, options)
    try connection.setTrace { [unowned self] in statements.append($0) }
  }

  deinit {
    // A store that cannot be closed is removed with the directory.
    try? coordinator.remove(store)
  }

  static func open(
    _ url: URL, _ coordinator: NSPersistentStoreCoordinator, _ options: [AnyHashable: Any]? = nil
  ) throws -> SQLiteStore {
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    guard let store = store as? SQLiteStore else { throw StoreErrors.cannotOpen(url: url, reason: "Another kind.") }
    return store
  }

  var connection: SQLiteConnection {
    get throws { try store.state().connection }
  }

  func entity(_ name: String) -> NSEntityDescription {
    guard let entity = coordinator.managedObjectModel.entitiesByName[name] else {
      preconditionFailure("The test's model has no entity \(name).")
    }
    return entity
  }

  /// Inserts one row, and gives its snapshot.
  @discardableResult
  func insert(_ name: String, _ values: [String: Slot] = [:]) throws -> RowSnapshot {
    let id = try store.makeIdentifiers(for: [entity(name)])[0]
    let change = change(.insert, id, old: nil, values)
    try store.writeRows([change])
    return RowSnapshot(id: id, version: 1, slots: change.slots)
  }

  /// A change that sets these slots.
  func change(
    _ kind: RowChange.Kind, _ id: NSManagedObjectID, old: RowSnapshot?, _ values: [String: Slot] = [:]
  ) -> RowChange {
    let table = id.entity.slotTable
    var slots = old?.slots ?? Array(repeating: Slot.null, count: table.count)
    var changed: [Int] = []
    for (key, value) in values {
      guard let position = table.position(of: key) else {
        preconditionFailure("\(id.entity.name ?? "") has no property \(key).")
      }
      slots[position] = value
      changed.append(position)
    }
    return RowChange(kind: kind, id: id, old: old, slots: slots, changed: SlotSet(changed))
  }

  func read(_ id: NSManagedObjectID) throws -> RowSnapshot? {
    try store.row(for: id)
  }

  func slot(_ key: String, of snapshot: RowSnapshot) -> Slot? {
    snapshot.id.entity.slotTable.position(of: key).map { snapshot.slots[$0] }
  }

  /// The values of one text column among the rows that answer a predicate, and the condition that found them.
  func names(
    _ entity: String, where predicate: PredicateSyntax?, order: [SortKey] = [], limit: Int = 0, offset: Int = 0
  ) throws -> (names: [String], sql: String)? {
    var query = RowQuery(entity: self.entity(entity))
    query.predicate = predicate
    query.order = order
    query.limit = limit
    query.offset = offset
    statements = []
    guard let rows = try store.rows(for: query) else { return nil }
    let names = rows.map { row -> String in
      if case .string(let name)? = slot("name", of: row) { return name }
      return "-"
    }
    // What is read first after a change is read in a transaction.
    let sql = statements.last { $0 != "COMMIT" } ?? ""
    return (names, sql.range(of: " FROM ").map { String(sql[$0.upperBound...]) } ?? sql)
  }

  func members(_ relationship: String, of id: NSManagedObjectID) throws -> [Int64] {
    guard let relationship = id.entity.relationshipsByName[relationship] else { return [] }
    return try store.members(of: relationship, for: id).map(\.key.number)
  }

  func table(_ sql: String) throws -> [[SQLiteValue]] { try connection.rows(sql).map(\.values) }

  /// A snapshot with the slots of `values` in the place of its own, as a context would hold it.
  static func many(_ snapshots: [RowSnapshot], ordered: Bool = false) -> Slot {
    .toMany(ToMany(snapshots.map(\.id), isOrdered: ordered))
  }
}

/// The models of these tests.
enum BenchModels {
  /// Every type of attribute.
  static var types: ModelDocument {
    var entity = EntityDocument(name: "Thing")
    let kinds: [(String, AttributeKind)] = [
      ("small", .integer16), ("whole", .integer64), ("flag", .boolean), ("real", .double), ("single", .float),
      ("price", .decimal), ("moment", .date), ("name", .string), ("token", .uuid), ("site", .uri),
      ("bytes", .binaryData), ("tags", .transformable),
    ]
    entity.attributes = kinds.map { AttributeDocument(name: $0.0, kind: $0.1) }
    var large = AttributeDocument(name: "large", kind: .binaryData)
    large.allowsExternalBinaryDataStorage = true
    var place = AttributeDocument(name: "place", kind: .composite)
    place.elements = [AttributeDocument(name: "x", kind: .double), AttributeDocument(name: "label", kind: .string)]
    entity.attributes += [large, place]
    return ModelDocument(entities: [entity])
  }

  /// Departments, people and their sub-entity managers, projects, tags.
  static var company: ModelDocument {
    var department = EntityDocument(name: "Department")
    department.attributes = [AttributeDocument(name: "name", kind: .string), .init(name: "budget", kind: .integer32)]
    department.relationships = [
      .init(name: "people", destinationEntityName: "Person", inverseName: "department", isToMany: true)
    ]
    var person = EntityDocument(name: "Person")
    person.attributes = [
      .init(name: "name", kind: .string), .init(name: "age", kind: .integer16), .init(name: "born", kind: .date),
      .init(name: "nick", kind: .string),
    ]
    person.relationships = [
      .init(name: "department", destinationEntityName: "Department", inverseName: "people"),
      .init(name: "boss", destinationEntityName: "Person", inverseName: "reports"),
      .init(name: "reports", destinationEntityName: "Person", inverseName: "boss", isToMany: true),
      .init(name: "projects", destinationEntityName: "Project", inverseName: "members", isToMany: true),
      .init(name: "friends", destinationEntityName: "Person", inverseName: "friends", isToMany: true),
      .init(name: "notes", destinationEntityName: "Note", isToMany: true),
    ]
    person.relationships[2].isOrdered = true
    let manager = EntityDocument(name: "Manager", parentName: "Person")
    var project = EntityDocument(name: "Project")
    project.attributes = [.init(name: "name", kind: .string), .init(name: "cost", kind: .double)]
    project.relationships = [
      .init(name: "members", destinationEntityName: "Person", inverseName: "projects", isToMany: true)
    ]
    project.relationships[0].isOrdered = true
    var note = EntityDocument(name: "Note")
    note.attributes = [.init(name: "name", kind: .string)]
    note.uniquenessConstraints = [["name"]]
    return ModelDocument(entities: [department, person, manager, project, note])
  }
}
