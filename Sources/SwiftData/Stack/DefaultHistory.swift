// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A position in the history of Core Data stores: the number of the last transaction of each.
public struct DefaultHistoryToken: HistoryToken {
  /// The numbers of transactions, by the identifiers of stores.
  public let tokenValue: [String: Int64]?

  init(_ value: [String: Int64]) { tokenValue = value }

  /// A number that distinguishes positions of one process.
  public var id: Int { tokenValue.hashValue }

  /// Returns whether the first position is before the second one in each store that both have.
  public static func < (left: DefaultHistoryToken, right: DefaultHistoryToken) -> Bool {
    let (first, second) = (left.tokenValue ?? [:], right.tokenValue ?? [:])
    var isLess = first.isEmpty && !second.isEmpty
    for (store, number) in first {
      guard let other = second[store] else { continue }
      if number > other { return false }
      if number < other { isLess = true }
    }
    return isLess
  }
}

/// A save in a Core Data store.
public struct DefaultHistoryTransaction: HistoryTransaction {
  /// The author that the context had.
  public let author: String?
  /// The app's bundle identifier.
  public let bundleIdentifier: String
  /// The process.
  public let processIdentifier: String
  /// The changes.
  public let changes: [HistoryChange]
  /// The identifier of the store.
  public let storeIdentifier: String
  /// The time of the save.
  public let timestamp: Date
  /// The position in history.
  public let token: DefaultHistoryToken
  /// The number of the transaction in its store.
  public let transactionIdentifier: Int64
  /// The number of the transaction in its store.
  public var id: Int64 { transactionIdentifier }

  /// Returns whether both are the same transaction of the same store.
  public static func == (left: DefaultHistoryTransaction, right: DefaultHistoryTransaction) -> Bool {
    left.storeIdentifier == right.storeIdentifier && left.transactionIdentifier == right.transactionIdentifier
  }

  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(transactionIdentifier) }
}

/// The insertion of a model in a Core Data store.
public struct DefaultHistoryInsert<Model: PersistentModel>: HistoryInsert {
  /// The identifier of the model.
  public let changedPersistentIdentifier: PersistentIdentifier
  /// The number of the change.
  public let changeIdentifier: Int64
  /// The number of the transaction.
  public let transactionIdentifier: Int64
}

/// A change of a model in a Core Data store.
public struct DefaultHistoryUpdate<Model: PersistentModel>: HistoryUpdate {
  /// The identifier of the model.
  public let changedPersistentIdentifier: PersistentIdentifier
  /// The number of the change.
  public let changeIdentifier: Int64
  /// The number of the transaction.
  public let transactionIdentifier: Int64
  /// The changed properties.
  public let updatedAttributes: [any PartialKeyPath<Model> & Sendable]
}

/// The deletion of a model in a Core Data store.
public struct DefaultHistoryDelete<Model: PersistentModel>: HistoryDelete {
  /// The identifier of the model.
  public let changedPersistentIdentifier: PersistentIdentifier
  /// The number of the change.
  public let changeIdentifier: Int64
  /// The number of the transaction.
  public let transactionIdentifier: Int64
  /// The values of the attributes with `.preserveValueOnDeletion`.
  public let tombstone: HistoryTombstone<Model>
}

extension ModelContext {
  /// Returns the transactions that a descriptor describes, the oldest first.
  ///
  /// - Parameter descriptor: the descriptor, of `DefaultHistoryTransaction`s.
  /// - Throws: `SwiftDataError.historyTokenExpired` if transactions after a token were deleted,
  ///   `.invalidTransactionFetchRequest` for transactions of another type, and Core Data's errors.
  public func fetchHistory<T: HistoryTransaction>(_ descriptor: HistoryDescriptor<T>) throws -> [T] {
    let own = try core.dataStoreHistory(descriptor)
    if T.self != DefaultHistoryTransaction.self, let own { return own }
    try checkThatHistoryIsWhole(descriptor.predicate)
    var found = own ?? []
    for (_, made) in try transactions(T.self) {
      if let predicate = descriptor.predicate, try !predicate.evaluate(made) { continue }
      found.append(made)
      // Without an order of its own, the first are enough.
      if descriptor.sortBy.isEmpty, descriptor.fetchLimit > 0, found.count >= descriptor.fetchLimit { break }
    }
    if !descriptor.sortBy.isEmpty { found.sort(using: descriptor.sortBy) }
    guard descriptor.fetchLimit > 0, descriptor.fetchLimit < found.count else { return found }
    return Array(found.prefix(Int(descriptor.fetchLimit)))
  }

  /// Deletes the transactions that a descriptor describes, which must be the oldest ones.
  ///
  /// - Parameter descriptor: the descriptor, of `DefaultHistoryTransaction`s.
  /// - Throws: `SwiftDataError.invalidTransactionFetchRequest` if an older transaction is not among them, and Core Data's
  ///   errors.
  public func deleteHistory<T: HistoryTransaction>(_ descriptor: HistoryDescriptor<T>) throws {
    if try core.deleteDataStoreHistory(descriptor), T.self != DefaultHistoryTransaction.self { return }
    var deleted: Set<String> = []
    var kept: [String: NSPersistentHistoryTransaction] = [:]
    for (transaction, made) in try transactions(T.self) {
      let store = transaction.storeID
      if let predicate = descriptor.predicate, try !predicate.evaluate(made) {
        if kept[store] == nil { kept[store] = transaction }
        continue
      }
      if let older = kept[store] {
        throw SwiftDataError(
          .invalidTransactionFetchRequest,
          "History can only be deleted from its beginning, but the predicate keeps the transaction "
            + "\(older.transactionNumber) and deletes the later \(transaction.transactionNumber).")
      }
      deleted.insert(store)
    }
    for store in container.coordinator.persistentStores where deleted.contains(store.identifier) {
      let request =
        kept[store.identifier].map { NSPersistentHistoryChangeRequest.deleteHistory(before: $0) }
        ?? NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture)
      request.affectedStores = [store]
      try managed.execute(request)
    }
  }

  private func transactions<T: HistoryTransaction>(
    _ type: T.Type
  ) throws -> [(NSPersistentHistoryTransaction, T)] {
    let stores = container.coreDataStores
    if stores.isEmpty { return [] }
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    request.affectedStores = stores
    let result = try managed.execute(request) as? NSPersistentHistoryResult
    let found = result?.result as? [NSPersistentHistoryTransaction] ?? []
    return try found.map { transaction in
      guard let made = core.transaction(transaction) as? T else {
        throw SwiftDataError(
          .invalidTransactionFetchRequest,
          "The stores of the container have DefaultHistoryTransactions, and no \(T.self)s.")
      }
      return (transaction, made)
    }
  }
}

extension ContextCore {
  fileprivate func transaction(_ transaction: NSPersistentHistoryTransaction) -> DefaultHistoryTransaction {
    DefaultHistoryTransaction(
      author: transaction.author, bundleIdentifier: transaction.bundleID, processIdentifier: transaction.processID,
      changes: (transaction.changes ?? []).compactMap { change($0, transaction.transactionNumber) },
      storeIdentifier: transaction.storeID, timestamp: transaction.timestamp,
      token: DefaultHistoryToken([transaction.storeID: transaction.transactionNumber]),
      transactionIdentifier: transaction.transactionNumber)
  }

  private func change(_ change: NSPersistentHistoryChange, _ transaction: Int64) -> HistoryChange? {
    // A model class that the schema no longer has gives no change.
    let name = change.changedObjectID.entity.name ?? ""
    guard let type = container.schema.entitiesByName[name]?.type else { return nil }
    return make(change, transaction, type)
  }

  private func make<Model: PersistentModel>(
    _ change: NSPersistentHistoryChange, _ transaction: Int64, _ type: Model.Type
  ) -> HistoryChange {
    let identifier = PersistentIdentifier(change.changedObjectID)
    switch change.changeType {
    case .insert:
      return .insert(
        DefaultHistoryInsert<Model>(
          changedPersistentIdentifier: identifier, changeIdentifier: change.changeID, transactionIdentifier: transaction
        ))
    case .update:
      let layout = ModelLayout.of(type)
      let paths = (change.updatedProperties ?? []).compactMap { layout.slot(named: $0.name)?.keyPath }
      return .update(
        DefaultHistoryUpdate<Model>(
          changedPersistentIdentifier: identifier, changeIdentifier: change.changeID,
          transactionIdentifier: transaction,
          updatedAttributes: SendableKeyPaths.of(paths)))
    case .delete:
      let (layout, scratch) = (ModelLayout.of(type), ModelRow(entity: change.changedObjectID.entity, insertInto: nil))
      let values = (change.tombstone ?? [:]).compactMap { key, value -> (key: String, value: any Sendable)? in
        guard let key = key as? String, let slot = layout.slot(named: key), case .attribute(let access) = slot.kind,
          // A value that the attribute cannot have, as one of an earlier version of the model, is left out.
          (try? scratch.setCheckedValues([key: value])) != nil, let value = try? access.read(any: scratch)
        else { return nil }
        return (key, SendableValues.assume(value))
      }
      return .delete(
        DefaultHistoryDelete<Model>(
          changedPersistentIdentifier: identifier, changeIdentifier: change.changeID,
          transactionIdentifier: transaction,
          tombstone: HistoryTombstone(values.sorted { $0.key < $1.key })))
    }
  }
}

/// Key paths of models, which hold nothing that threads could share.
private enum SendableKeyPaths {
  /// Returns those of a model. Swift 6.0's compiler cannot compile a closure that returns one.
  static func of<Model>(_ keyPaths: [AnyKeyPath]) -> [any PartialKeyPath<Model> & Sendable] {
    var found: [any PartialKeyPath<Model> & Sendable] = []
    for case let keyPath as PartialKeyPath<Model> in keyPaths { found.append(assume(keyPath)) }
    return found
  }

  private static func assume<Model>(_ keyPath: PartialKeyPath<Model>) -> any PartialKeyPath<Model> & Sendable {
    // A stored property's key path captures nothing.
    unsafeBitCast(keyPath, to: (any PartialKeyPath<Model> & Sendable).self)
  }
}

/// The values of tombstones, which are decoded for each, so that nobody else has them.
private enum SendableValues {
  static func assume(_ value: Any) -> any Sendable {
    let value = (value as? any OptionalValue)?.someValue ?? value
    // The value itself would be cast, and not the container of any value, without `as Any`.
    return unsafeBitCast(value as Any, to: (any Sendable).self)
  }
}
