// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// A transaction in persistent history: a save or a batch request that changed a store, or a labelled migration stage.
open class NSPersistentHistoryTransaction: NSObject, NSCopying, NSFetchRequestResult, @unchecked Sendable {
  private let facts: HistoryTransaction
  private let store: String
  private let knownChanges: [NSPersistentHistoryChange]?

  init(_ facts: HistoryTransaction, store: String, changes: [NSPersistentHistoryChange]?) {
    self.facts = facts
    self.store = store
    knownChanges = changes
    super.init()
  }

  /// Returns a copy of the transaction with changes.
  func adding(_ changes: [NSPersistentHistoryChange]) -> NSPersistentHistoryTransaction {
    NSPersistentHistoryTransaction(facts, store: store, changes: changes)
  }

  /// The number of the transaction, which grows with each transaction of its store.
  open var transactionNumber: Int64 { facts.number }
  /// The time of the transaction.
  open var timestamp: Date { Date(timeIntervalSinceReferenceDate: facts.time) }
  /// The UUID of the store.
  open var storeID: String { store }
  /// The identifier of the bundle that made the transaction, or the name of a program without a bundle.
  open var bundleID: String { facts.origin.bundle ?? "" }
  /// The name of the process that made the transaction.
  open var processID: String { facts.origin.process ?? "" }
  /// The name of the context that made the transaction, or the label of the migration stage that it belongs to.
  open var contextName: String? { facts.origin.contextName }
  /// The `transactionAuthor` of the context that made the transaction.
  open var author: String? { facts.origin.author }
  /// The changes, if the request asked for them.
  open var changes: [NSPersistentHistoryChange]? { knownChanges }
  /// The position after this transaction.
  open var token: NSPersistentHistoryToken { NSPersistentHistoryToken([store: facts.number]) }

  /// Returns a notification of the changes, for `NSManagedObjectContext.mergeChanges(fromContextDidSave:)`: the
  /// identifiers of inserted, updated and deleted objects.
  open func objectIDNotification() -> Notification {
    var ids: [NSPersistentHistoryChangeType: Set<NSManagedObjectID>] = [:]
    for change in changes ?? [] { ids[change.changeType, default: []].insert(change.changedObjectID) }
    let keys: [(NSPersistentHistoryChangeType, String)] = [
      (.insert, NSInsertedObjectIDsKey), (.update, NSUpdatedObjectIDsKey), (.delete, NSDeletedObjectIDsKey),
    ]
    var info: [AnyHashable: Any] = [:]
    for (type, key) in keys { info[key] = ids[type] }
    return Notification(name: NSManagedObjectContext.didSaveObjectIDsNotification, object: nil, userInfo: info)
  }

  /// The entity of transactions, for fetch requests over history.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.transaction }

  /// The entity of transactions, for fetch requests over history.
  ///
  /// - Parameter context: the context that will execute the request.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    HistoryEntities.transaction
  }

  /// A new fetch request for transactions, for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = HistoryEntities.transaction
    return request
  }

  /// Returns the transaction itself, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Returns whether both are the same transaction of a store.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPersistentHistoryTransaction else { return false }
    return other.store == store && other.facts.number == facts.number
  }

  open override var hash: Int { facts.number.hashValue }
}

/// The keys of transactions in predicates.
extension NSPersistentHistoryTransaction: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "transactionNumber": transactionNumber
    case "timestamp": timestamp
    case "storeID": storeID
    case "bundleID": bundleID
    case "processID": processID
    case "contextName": contextName
    case "author": author
    case "token": token
    case "changes": changes ?? []
    default: throw EvaluationError.unknownKey(key, object: "A transaction")
    }
  }
}
