// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// The kind of a change in persistent history.
public enum NSPersistentHistoryChangeType: Int, Sendable {
  /// An object was inserted.
  case insert = 0
  /// An object was updated.
  case update = 1
  /// An object was deleted.
  case delete = 2

  init(_ kind: HistoryChangeKind) {
    switch kind {
    case .insert: self = .insert
    case .update: self = .update
    case .delete: self = .delete
    }
  }
}

/// A change of one object in persistent history.
open class NSPersistentHistoryChange: NSObject, NSCopying, NSFetchRequestResult, @unchecked Sendable {
  private let facts: HistoryChange
  private let id: NSManagedObjectID
  private let properties: Set<NSPropertyDescription>?
  private let values: [AnyHashable: Any]?
  private let knownTransaction: NSPersistentHistoryTransaction

  /// - Parameters:
  ///   - change: the change as a store reads it.
  ///   - transaction: the transaction without its changes, since these would retain this change.
  init(_ change: ObjectHistoryChange, in transaction: NSPersistentHistoryTransaction) {
    facts = change.stored
    id = change.id
    properties = change.properties
    values = change.tombstone
    knownTransaction = transaction
    super.init()
  }

  /// The number of the change, which grows with each change of its store.
  open var changeID: Int64 { facts.number }
  /// The identifier of the changed object.
  open var changedObjectID: NSManagedObjectID { id }
  /// The kind of the change.
  open var changeType: NSPersistentHistoryChangeType { NSPersistentHistoryChangeType(facts.kind) }
  /// The values of attributes with `preservesValueInHistoryOnDeletion`, by name; nil unless an object with such values
  /// was deleted.
  open var tombstone: [AnyHashable: Any]? { values }
  /// The transaction of the change.
  open var transaction: NSPersistentHistoryTransaction? { knownTransaction }
  /// The properties that were updated; nil unless an object was updated.
  open var updatedProperties: Set<NSPropertyDescription>? { properties }

  /// The entity of changes, for fetch requests over history.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.change }

  /// The entity of changes, for fetch requests over history.
  ///
  /// - Parameter context: the context that will execute the request.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    HistoryEntities.change
  }

  /// A new fetch request for changes, for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = HistoryEntities.change
    return request
  }

  /// Returns the change itself, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Returns whether both are the same change of a store.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPersistentHistoryChange else { return false }
    return other.facts.number == facts.number && other.knownTransaction.storeID == knownTransaction.storeID
  }

  open override var hash: Int { facts.number.hashValue }
}

/// The keys of changes in predicates.
extension NSPersistentHistoryChange: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "changeID": changeID
    case "changedObjectID": changedObjectID
    case "changedEntity": changedObjectID.entity.name
    case "changeType": changeType.rawValue
    case "tombstone": tombstone
    case "transaction": transaction
    case "updatedProperties": (updatedProperties ?? []).map(\.name)
    default: throw EvaluationError.unknownKey(key, object: "A change")
    }
  }
}

/// The entities of fetch requests over history, which belong to no model.
enum HistoryEntities {
  static let transaction = entity(
    "Transaction",
    [
      ("author", .stringAttributeType), ("bundleID", .stringAttributeType), ("contextName", .stringAttributeType),
      ("processID", .stringAttributeType), ("storeID", .stringAttributeType), ("timestamp", .dateAttributeType),
      ("token", .transformableAttributeType), ("transactionNumber", .integer64AttributeType),
    ])
  static let change = entity(
    "Change",
    [
      ("changedEntity", .stringAttributeType), ("changedObjectID", .objectIDAttributeType),
      ("changeID", .integer64AttributeType), ("changeType", .integer64AttributeType),
      ("tombstone", .transformableAttributeType), ("updatedProperties", .transformableAttributeType),
    ])

  private static func entity(_ name: String, _ attributes: [(String, NSAttributeType)]) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = attributes.map { name, type in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    return entity
  }
}
