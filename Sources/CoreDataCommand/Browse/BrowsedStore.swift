// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataStoreFiles
import Foundation

/// The objects of an open store, as the pages of `store browse` need them: a few at a time, whatever the store has.
final class BrowsedStore {
  private let invocation: CommandInvocation
  private var objects: OpenedObjects
  private var isOpen = true

  var context: NSManagedObjectContext { objects.context }
  var store: NSPersistentStore { objects.store }
  var coordinator: NSPersistentStoreCoordinator { objects.coordinator }
  /// The entities whose objects the store can have, sorted by name.
  var entities: [NSEntityDescription] { objects.entities }
  /// The name of the store.
  var name: String { objects.address.name }
  /// The location of the store without a password.
  var location: String { objects.address.text }

  /// The number of objects on a page.
  static let pageSize = 50

  /// Opens STORE for reading.
  ///
  /// - Throws: the errors of `OpenedObjects.init(_:)`.
  init(_ invocation: CommandInvocation) throws {
    self.invocation = invocation
    objects = try OpenedObjects(invocation, seesChanges: true)
    // Another program may write to the store meanwhile.
    context.stalenessInterval = 0
  }

  /// Closes the store.
  func close() throws {
    guard isOpen else { return }
    isOpen = false
    try objects.close()
  }

  /// Opens the store again, if it was closed.
  func reopen() throws {
    guard !isOpen else { return }
    objects = try OpenedObjects(invocation, seesChanges: true)
    context.stalenessInterval = 0
    isOpen = true
  }

  func entity(named name: String) -> NSEntityDescription? { entities.first { $0.name == name } }

  // MARK: Objects

  /// Returns the identifier of an object from the last parts of its URI.
  func id(entity: String, reference: String) -> NSManagedObjectID? {
    let parts = [store.identifier ?? "", entity, reference].map(URLText.encoded)
    return URL(string: "x-coredata://\(parts.joined(separator: "/"))")
      .flatMap(coordinator.managedObjectID(forURIRepresentation:))
  }

  /// Returns the entity and the reference of an object, the last parts of its URI.
  static func place(of id: NSManagedObjectID) -> (entity: String, reference: String) {
    let parts = id.uriRepresentation().pathComponents.suffix(2)
    return (parts.first ?? "", parts.last ?? "")
  }

  /// Returns an object; nil if the store does not have it.
  ///
  /// - Throws: the errors of reading the store.
  func object(_ id: NSManagedObjectID) throws -> NSManagedObject? { try context.storedObject(id) }

  /// Returns the number of objects that match a selection.
  func count(_ selection: ObjectSelection) throws -> Int {
    if case .ids(let ids) = try source(of: selection) { return ids.count }
    return try context.count(for: request(selection))
  }

  /// Returns the identifiers of the objects on a page of a selection.
  func ids(_ selection: ObjectSelection, page: Int, size: Int = pageSize) throws -> [NSManagedObjectID] {
    let start = (page - 1) * size
    if case .ids(let ids) = try source(of: selection) { return Array(ids.dropFirst(start).prefix(size)) }
    let request = try request(selection)
    request.fetchOffset = start
    request.fetchLimit = size
    return try context.fetch(request)
  }

  private func request(_ selection: ObjectSelection) throws -> NSFetchRequest<NSManagedObjectID> {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: selection.entity.name ?? "")
    request.resultType = .managedObjectIDResultType
    request.affectedStores = [store]
    var parts = [selection.predicate].compactMap { $0 }
    switch try source(of: selection) {
    case .all: break
    case .matching(let predicate): parts.append(predicate)
    case .ids(let ids): parts.append(try NSPredicate.checked(format: "SELF IN %@", argumentArray: [ids]))
    }
    if !parts.isEmpty { request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: parts) }
    if let key = selection.sortKey {
      request.sortDescriptors = [NSSortDescriptor(key: key, ascending: !selection.isDescending)]
    }
    return request
  }

  /// The objects that a selection chooses from.
  private enum Source {
    case all
    case matching(NSPredicate)
    /// The members of a relationship, in their order.
    case ids([NSManagedObjectID])
  }

  private func source(of selection: ObjectSelection) throws -> Source {
    guard let members = selection.members else { return .all }
    let relationship = members.relationship
    // The inverse lets the store look for a few members without reading all of them.
    if let inverse = relationship.inverseRelationship, !relationship.isOrdered {
      return .matching(
        try NSPredicate.checked(
          format: inverse.isToMany ? "ANY %K == %@" : "%K == %@", argumentArray: [inverse.name, members.owner]))
    }
    let ids = members.owner.objectIDs(forRelationshipNamed: relationship.name)
    guard selection.predicate == nil, selection.sortKey == nil else {
      return .matching(try NSPredicate.checked(format: "SELF IN %@", argumentArray: [ids]))
    }
    return .ids(ids)
  }

  // MARK: History

  /// A transaction in the store's history.
  struct Transaction {
    let number: Int64
    let time: Double
    let origin: HistoryOrigin
    /// The number of all its changes.
    let changeCount: Int
    /// The first of its changes.
    let changes: [ObjectHistoryChange]
  }

  /// Returns the latest transactions before a number; nil if the store has no history.
  ///
  /// - Parameters:
  ///   - number: nil for the end of the history.
  ///   - limit: the maximum number of transactions.
  ///   - changeLimit: the maximum number of changes for each of them.
  func history(before number: Int64?, limit: Int, changeLimit: Int) throws -> [Transaction]? {
    guard let store = store as? any HistoryStore else { return nil }
    return try coordinator.performAndWait {
      guard store.hasHistory else { return nil }
      var found: [Transaction] = []
      try store.readHistory(before: number ?? .max, count: limit, changeLimit: changeLimit) {
        found.append(
          Transaction(number: $0.number, time: $0.time, origin: $0.origin, changeCount: $1, changes: $2))
      }
      return found
    }
  }
}

/// Objects that a page lists.
struct ObjectSelection {
  let entity: NSEntityDescription
  /// The objects to choose from, if they are the members of a relationship.
  var members: (owner: NSManagedObject, relationship: NSRelationshipDescription)?
  var predicate: NSPredicate?
  /// An attribute; nil for the order of the store.
  var sortKey: String?
  var isDescending = false

  init(_ entity: NSEntityDescription) { self.entity = entity }

  /// Returns the predicate for objects in which an attribute contains a text, or is equal to it as a number or a UUID.
  ///
  /// - Parameter id: returns the identifier of an object from its reference.
  static func search(
    _ text: String, in entity: NSEntityDescription, id: (String) -> NSManagedObjectID?
  ) throws -> NSPredicate {
    var parts: [NSPredicate] = []
    func add(_ format: String, _ arguments: [Any]) throws {
      parts.append(try NSPredicate.checked(format: format, argumentArray: arguments))
    }
    for (path, type) in attributes(of: entity) {
      switch type {
      case .stringAttributeType: try add("%K CONTAINS[cd] %@", [path, text])
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
        if let number = Int64(text) { try add("%K == %@", [path, NSNumber(value: number)]) }
      case .doubleAttributeType, .floatAttributeType:
        if let number = Double(text), number.isFinite { try add("%K == %@", [path, NSNumber(value: number)]) }
      case .decimalAttributeType:
        if let number = Decimal(string: text), Double(text) != nil {
          try add("%K == %@", [path, NSDecimalNumber(decimal: number)])
        }
      case .UUIDAttributeType:
        if let uuid = UUID(uuidString: text) { try add("%K == %@", [path, uuid]) }
      default: break
      }
    }
    if let id = id(text) { try add("SELF == %@", [id]) }
    return parts.isEmpty ? NSPredicate(value: false) : NSCompoundPredicate(orPredicateWithSubpredicates: parts)
  }

  /// Returns the key paths of the stored attributes, with their types; those of composite attributes by elements.
  private static func attributes(of entity: NSEntityDescription) -> [(path: String, type: NSAttributeType)] {
    func leaves(_ attribute: NSAttributeDescription, _ path: String) -> [(path: String, type: NSAttributeType)] {
      guard let composite = attribute as? NSCompositeAttributeDescription else {
        return [(path, attribute.attributeType)]
      }
      return composite.elements.flatMap { leaves($0, "\(path).\($0.name)") }
    }
    return entity.storedAttributes.flatMap { leaves($0, $0.name) }
  }
}

extension NSEntityDescription {
  /// The attributes with stored values, sorted by name.
  var storedAttributes: [NSAttributeDescription] {
    attributesByName.values.filter { !$0.isTransient }.sorted { $0.name < $1.name }
  }

  /// The relationships, sorted by name.
  var sortedRelationships: [NSRelationshipDescription] {
    relationshipsByName.values.filter { !$0.isTransient }.sorted { $0.name < $1.name }
  }

  /// The attribute whose value names an object best; nil without attributes of type string.
  var titleAttribute: NSAttributeDescription? {
    let texts = storedAttributes.filter { $0.attributeType == .stringAttributeType }
    let common = ["title", "name", "fullname", "displayname", "label", "subject", "headline", "email", "text"]
    for name in common {
      if let found = texts.first(where: { $0.name.lowercased() == name }) { return found }
    }
    return texts.first { $0.name.lowercased().hasSuffix("name") } ?? texts.first
  }
}

extension NSAttributeDescription {
  /// Whether objects can be sorted by the attribute's values.
  var isSortable: Bool {
    switch attributeType {
    case .undefinedAttributeType, .binaryDataAttributeType, .transformableAttributeType, .compositeAttributeType,
      .objectIDAttributeType:
      false
    default: !isTransient
    }
  }
}
