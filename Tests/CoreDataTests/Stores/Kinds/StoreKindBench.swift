// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQL
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreData

/// The types of stores that the behaviour tests run over, two of them with classes of a program.
///
/// The last one is left out where there is no server.
enum StoreKind: String, CustomTestStringConvertible {
  case sqlite = "SQLite"
  case sqliteInMemory = "SQLite in memory"
  case xml = "XML"
  case binary = "Binary"
  case inMemory = "InMemory"
  case atomic = "TestAtomicStore"
  case incremental = "TestIncrementalStore"
  case postgreSQL = "PostgreSQL"

  static let allCases: [StoreKind] =
    [.sqlite, .sqliteInMemory, .xml, .binary, .inMemory, .atomic, .incremental] + servers
  static let servers: [StoreKind] = TestServer.isAvailable ? [.postgreSQL] : []

  var testDescription: String { rawValue }

  static let withFile: [StoreKind] = [.sqlite, .xml, .binary, .atomic]
  static let lasting: [StoreKind] = withFile + [.incremental] + servers

  var isLasting: Bool { Self.lasting.contains(self) }

  var type: NSPersistentStore.StoreType {
    self == .sqliteInMemory ? .sqlite : NSPersistentStore.StoreType(rawValue: rawValue)
  }

  func url(in folder: URL, _ name: String = "Store") -> URL {
    switch self {
    case .sqliteInMemory: URL(fileURLWithPath: "/dev/null")
    case .incremental: folder.appendingPathComponent("\(name).backend")
    case .postgreSQL: TestServer.shared.schemaURL()
    default: folder.appendingPathComponent("\(name).\(rawValue.lowercased())")
    }
  }

  static let registration: Void = {
    NSPersistentStoreCoordinator.registerStoreClass(TestAtomicStore.self, forStoreType: "TestAtomicStore")
    NSPersistentStoreCoordinator.registerStoreClass(
      TestIncrementalStore.self, type: NSPersistentStore.StoreType(rawValue: "TestIncrementalStore"))
  }()
}

/// A store of one kind in a folder of its own, with any number of contexts.
final class StoreKindBench {
  let kind: StoreKind
  let folder: TemporaryStore
  let url: URL
  private(set) var coordinator: NSPersistentStoreCoordinator
  private let makeModel: () -> NSManagedObjectModel
  /// Objects need their context; tests often hold the objects alone.
  private var contexts: [NSManagedObjectContext] = []

  init(_ kind: StoreKind, _ makeModel: @escaping () -> NSManagedObjectModel = CompanyModel.make) throws {
    _ = StoreKind.registration
    self.kind = kind
    self.makeModel = makeModel
    folder = try TemporaryStore()
    url = kind.url(in: folder.folder)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: makeModel())
    try coordinator.addPersistentStore(type: kind.type, at: url)
  }

  var store: NSPersistentStore { coordinator.persistentStores[0] }

  func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    contexts.append(context)
    return context
  }

  /// Closes the store and opens it again, if it outlives its coordinator.
  func reopen(options: [AnyHashable: Any]? = nil) throws {
    guard kind.isLasting else { return }
    try coordinator.remove(store)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: makeModel())
    try coordinator.addPersistentStore(type: kind.type, at: url, options: options)
  }

  /// What the store contains: one line for each object, with its values and the names of related objects.
  func contents() throws -> [String] { try Self.contents(of: context()) }

  static func contents(of context: NSManagedObjectContext) throws -> [String] {
    var lines: [String] = []
    for entity in context.coordinator.managedObjectModel.entities {
      let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
      request.includesSubentities = false
      for object in try context.fetch(request) {
        let values = entity.propertiesByName.keys.sorted().compactMap { key in
          text(of: object.value(forKey: key)).map { "\(key)=\($0)" }
        }
        lines.append("\(entity.name ?? ""): \(values.joined(separator: "; "))")
      }
    }
    return lines.sorted()
  }

  private static func text(of value: Any?) -> String? {
    switch value {
    case nil: nil
    case let object as NSManagedObject: name(of: object)
    case let set as NSOrderedSet: set.count == 0 ? nil : "[\(set.array.map { name(of: $0) }.joined(separator: ","))]"
    case let set as NSSet where set.allObjects.allSatisfy({ $0 is NSManagedObject }):
      set.count == 0 ? nil : "{\(set.allObjects.map { name(of: $0) }.sorted().joined(separator: ","))}"
    case let data as Data: "\(data.count):\(data.prefix(20).base64EncodedString())"
    case let values as [String: Any]: "\(values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" })"
    case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
    case let value?: "\(value)"
    }
  }

  private static func name(of object: Any) -> String {
    guard let object = object as? NSManagedObject else { return "?" }
    for key in ["name", "title", "number"] where object.entity.attributesByName[key] != nil {
      return object.value(forKey: key).map { "\($0)" } ?? "nil"
    }
    return "?"
  }
}

/// An atomic store of a program: a property list with all nodes.
final class TestAtomicStore: NSAtomicStore, @unchecked Sendable {
  struct Refusal: Error {}

  /// The paths of the stores whose `save()` fails.
  static let refusing = Mutex<Set<String>>([])
  private var last = 0

  override var type: String { "TestAtomicStore" }

  private static func list(at url: URL) throws -> [String: Any] {
    let data = try Data(contentsOf: url)
    return try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any] ?? [:]
  }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try list(at: url)["metadata"] as? [String: Any] ?? [:]
  }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    var list = try list(at: url)
    list["metadata"] = metadata
    try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0).write(to: url)
  }

  override func load() throws {
    guard let url, let model = persistentStoreCoordinator?.managedObjectModel,
      FileManager.default.fileExists(atPath: url.path)
    else { return }
    let list = try Self.list(at: url)
    last = list["last"] as? Int ?? 0
    var nodes: [String: NSAtomicStoreCacheNode] = [:]
    let objects = list["objects"] as? [[String: Any]] ?? []
    for object in objects {
      guard let reference = object["reference"] as? String, let name = object["entity"] as? String,
        let entity = model.entitiesByName[name]
      else { continue }
      nodes[reference] = NSAtomicStoreCacheNode(objectID: objectID(for: entity, withReferenceObject: reference))
    }
    for object in objects {
      guard let node = nodes[object["reference"] as? String ?? ""] else { continue }
      for (key, value) in object["values"] as? [String: Any] ?? [:] {
        node.setValue(Self.decoded(value, node.objectID.entity.attributesByName[key]), forKey: key)
      }
      for (key, references) in object["related"] as? [String: [String]] ?? [:] {
        let related = references.compactMap { nodes[$0] }
        let relationship = node.objectID.entity.relationshipsByName[key]
        node.setValue(relationship?.isToMany == true ? NSOrderedSet(array: related) : related.first, forKey: key)
      }
    }
    addCacheNodes(Set(nodes.values))
  }

  override func newReferenceObject(for managedObject: NSManagedObject) -> Any {
    last += 1
    return "\(managedObject.entity.name ?? "")/\(last)"
  }

  override func save() throws {
    guard let url else { return }
    if Self.refusing.withLock({ $0.contains(url.path) }) { throw Refusal() }
    let objects = cacheNodes().map { node -> [String: Any] in
      var values: [String: Any] = [:]
      var related: [String: [String]] = [:]
      for (key, value) in node.propertyCache ?? [:] {
        guard let key = key as? String else { continue }
        if node.objectID.entity.relationshipsByName[key] == nil {
          values[key] = Self.encoded(value)
        } else {
          let members = (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? [value]
          related[key] = members.compactMap { ($0 as? NSAtomicStoreCacheNode)?.objectID }
            .compactMap { referenceObject(for: $0) as? String }
        }
      }
      return [
        "entity": node.objectID.entity.name ?? "", "reference": referenceObject(for: node.objectID), "values": values,
        "related": related,
      ]
    }
    let list: [String: Any] = ["metadata": metadata ?? [:], "last": last, "objects": objects]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    try data.write(to: url, options: .atomic)
  }

  private static func encoded(_ value: Any) -> Any {
    switch value {
    case let id as UUID: id.uuidString
    case let url as URL: url.absoluteString
    case let number as NSDecimalNumber: number.stringValue
    default: value
    }
  }

  private static func decoded(_ value: Any, _ attribute: NSAttributeDescription?) -> Any? {
    switch (attribute?.attributeType, value) {
    case (.UUIDAttributeType, let text as String): UUID(uuidString: text)
    case (.URIAttributeType, let text as String): URL(string: text)
    case (.decimalAttributeType, let text as String): NSDecimalNumber(string: text)
    default: value
    }
  }
}

/// An incremental store of a program, over a "database" in this process that is found by its location.
final class TestIncrementalStore: NSIncrementalStore, @unchecked Sendable {
  struct Record {
    var entity: String
    var values: [String: Any]
    /// The references of related objects.
    var related: [String: [String]]
    var version: UInt64
  }

  final class Backend {
    var records: [String: Record] = [:]
    var metadata: [String: Any] = [:]
    var last = 0
    var requests: [String] = []
    var isRefusing = false
    /// How many contexts have registered each object, by its reference; without those that none has.
    var uses: [String: Int] = [:]
  }

  struct Refusal: Error {}

  private static let lock = NSLock()
  private nonisolated(unsafe) static var backends: [String: Backend] = [:]

  static func backend(at url: URL) -> Backend {
    lock.withLock {
      if let known = backends[url.path] { return known }
      let made = Backend()
      backends[url.path] = made
      return made
    }
  }

  var backend: Backend { Self.backend(at: url ?? URL(fileURLWithPath: "/")) }

  override var type: String { "TestIncrementalStore" }

  override func loadMetadata() throws {
    if backend.metadata.isEmpty {
      backend.metadata = [
        NSStoreUUIDKey: Self.identifierForNewStore(at: url ?? URL(fileURLWithPath: "/")), NSStoreTypeKey: type,
        NSStoreModelVersionHashesKey: persistentStoreCoordinator?.managedObjectModel.entityVersionHashesByName ?? [:],
      ]
    }
    metadata = backend.metadata
  }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] { backend(at: url).metadata }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    backend(at: url).metadata = metadata ?? [:]
  }

  private func id(_ reference: String, _ record: Record) -> NSManagedObjectID {
    guard let entity = persistentStoreCoordinator?.managedObjectModel.entitiesByName[record.entity] else {
      preconditionFailure("The test's model has no entity \(record.entity).")
    }
    return newObjectID(for: entity, referenceObject: reference)
  }

  private func reference(_ id: NSManagedObjectID) -> String { referenceObject(for: id) as? String ?? "" }

  override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    if let save = request as? NSSaveChangesRequest { return try execute(save) }
    guard let request = request as? NSFetchRequest<NSManagedObject>, let context, let entity = request.entity else {
      throw Refusal()
    }
    backend.requests.append("fetch \(request.resultType.rawValue)")
    let model = context.coordinator.managedObjectModel
    let wanted = backend.records.sorted { $0.key < $1.key }.filter { _, record in
      guard let own = model.entitiesByName[record.entity] else { return false }
      return request.includesSubentities ? own.isKindOf(entity: entity) : own === entity
    }
    var objects = wanted.map { context.object(with: id($0.key, $0.value)) }
    if let predicate = request.predicate { objects = objects.filter { predicate.evaluate(with: $0) } }
    for descriptor in (request.sortDescriptors ?? []).reversed() {
      objects = objects.enumerated().sorted { left, right in
        let order = descriptor.compare(left.element, to: right.element)
        return order == .orderedSame ? left.offset < right.offset : order == .orderedAscending
      }.map(\.element)
    }
    var window = objects.dropFirst(request.fetchOffset)
    if request.fetchLimit > 0 { window = window.prefix(request.fetchLimit) }
    switch request.resultType {
    case .managedObjectIDResultType: return window.map(\.objectID)
    case .countResultType: return [NSNumber(value: window.count)]
    case .dictionaryResultType:
      let keys = (request.propertiesToFetch ?? Array(entity.attributesByName.keys)).compactMap { $0 as? String }
      return window.map { object in
        let dictionary = NSMutableDictionary()
        for key in keys { if let value = object.value(forKey: key) { dictionary[key] = value } }
        return dictionary
      }
    default: return Array(window)
    }
  }

  private func execute(_ save: NSSaveChangesRequest) throws -> Any {
    if backend.isRefusing { throw Refusal() }
    for object in save.deletedObjects ?? [] { backend.records[reference(object.objectID)] = nil }
    for object in (save.insertedObjects ?? []).union(save.updatedObjects ?? []) {
      let reference = reference(object.objectID)
      var record = Record(
        entity: object.entity.name ?? "", values: [:], related: [:],
        version: (backend.records[reference]?.version ?? 0) + 1)
      for (name, attribute) in object.entity.attributesByName where !attribute.isTransient {
        record.values[name] = object.value(forKey: name)
      }
      for name in object.entity.relationshipsByName.keys {
        record.related[name] = object.objectIDs(forRelationshipNamed: name).map(self.reference)
      }
      backend.records[reference] = record
    }
    backend.metadata = metadata
    return [Any]()
  }

  override func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {
    for id in objectIDs { backend.uses[reference(id), default: 0] += 1 }
  }

  override func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {
    for id in objectIDs {
      let uses = backend.uses[reference(id), default: 0] - 1
      backend.uses[reference(id)] = uses == 0 ? nil : uses
    }
  }

  override func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    guard let record = backend.records[reference(objectID)] else {
      throw NSError(domain: NSCocoaErrorDomain, code: NSManagedObjectReferentialIntegrityError)
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: record.values, version: record.version)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    let ids = (backend.records[reference(objectID)]?.related[relationship.name] ?? []).compactMap { other in
      backend.records[other].map { id(other, $0) }
    }
    if relationship.isToMany { return ids }
    if let id = ids.first { return id }
    return NSNull()
  }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { object in
      backend.last += 1
      return newObjectID(
        for: object.entity, referenceObject: String(format: "r %06d/%@", backend.last, object.entity.name ?? ""))
    }
  }
}
