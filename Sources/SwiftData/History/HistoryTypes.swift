// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A save, as history records it.
public protocol HistoryTransaction: Hashable, Identifiable, Sendable {
  /// The type of the token.
  associatedtype TokenType: HistoryToken
  /// The type of the transaction's identifier.
  associatedtype TransactionIdentifier: Hashable, Sendable

  /// The author that the context had.
  var author: String? { get }
  /// The changes.
  var changes: [HistoryChange] { get }
  /// The identifier of the store.
  var storeIdentifier: String { get }
  /// The time of the save.
  var timestamp: Date { get }
  /// The position in history.
  var token: TokenType { get }
  /// The identifier.
  var transactionIdentifier: TransactionIdentifier { get }
}

/// A position in history.
public protocol HistoryToken: Comparable, Codable, Hashable, Identifiable, Sendable {
  /// The type of the position.
  associatedtype TokenType: Codable, Hashable, Sendable
  /// The position; nil for the beginning.
  var tokenValue: TokenType? { get }
}

/// A change of a model.
public enum HistoryChange: Sendable {
  /// The model was inserted.
  case insert(any HistoryInsert)
  /// Attributes or relationships of the model were changed.
  case update(any HistoryUpdate)
  /// The model was deleted.
  case delete(any HistoryDelete)

  /// The identifier of the model.
  public var changedPersistentIdentifier: PersistentIdentifier {
    switch self {
    case .insert(let change): change.changedPersistentIdentifier
    case .update(let change): change.changedPersistentIdentifier
    case .delete(let change): change.changedPersistentIdentifier
    }
  }
}

/// The insertion of a model.
public protocol HistoryInsert<Model>: Sendable {
  /// The class of the model.
  associatedtype Model: PersistentModel
  /// The type of the identifiers.
  associatedtype Identifier: Hashable, Sendable
  /// The identifier of the model.
  var changedPersistentIdentifier: PersistentIdentifier { get }
  /// The identifier of the change.
  var changeIdentifier: Identifier { get }
  /// The identifier of the transaction.
  var transactionIdentifier: Identifier { get }
}

/// A change of a model's properties.
public protocol HistoryUpdate<Model>: Sendable {
  /// The class of the model.
  associatedtype Model: PersistentModel
  /// The type of the identifiers.
  associatedtype Identifier: Hashable, Sendable
  /// The identifier of the model.
  var changedPersistentIdentifier: PersistentIdentifier { get }
  /// The identifier of the change.
  var changeIdentifier: Identifier { get }
  /// The identifier of the transaction.
  var transactionIdentifier: Identifier { get }
  /// The changed properties.
  var updatedAttributes: [any PartialKeyPath<Model> & Sendable] { get }
}

/// The deletion of a model.
public protocol HistoryDelete<Model>: Sendable {
  /// The class of the model.
  associatedtype Model: PersistentModel
  /// The type of the identifiers.
  associatedtype Identifier: Hashable, Sendable
  /// The identifier of the model.
  var changedPersistentIdentifier: PersistentIdentifier { get }
  /// The identifier of the change.
  var changeIdentifier: Identifier { get }
  /// The identifier of the transaction.
  var transactionIdentifier: Identifier { get }
  /// The values of the attributes with `.preserveValueOnDeletion`.
  var tombstone: HistoryTombstone<Model> { get }
}

/// The values that history keeps of a deleted model: those of attributes with `.preserveValueOnDeletion`.
public struct HistoryTombstone<Model: PersistentModel>: Sequence, Sendable {
  private let values: [(key: String, value: any Sendable)]

  init(_ values: [(key: String, value: any Sendable)]) { self.values = values }

  /// The value of an attribute; nil if history has none.
  public subscript(_ keyPath: PartialKeyPath<Model>) -> (any Sendable)? {
    guard let name = ModelLayout.of(Model.self).slot(for: keyPath)?.name else { return nil }
    return values.first { $0.key == name }?.value
  }

  /// Returns an iterator over the values.
  public func makeIterator() -> AnyIterator<Any> {
    var rest = values[...]
    return AnyIterator { rest.popFirst()?.value }
  }
}

/// Which transactions are returned or deleted.
public struct HistoryDescriptor<T: HistoryTransaction> {
  /// The condition; nil for all transactions.
  public var predicate: Predicate<T>?
  /// The order; that of the transactions if empty.
  public var sortBy: [SortDescriptor<T>] = []
  /// The maximum number of transactions; 0 for no limit.
  public var fetchLimit: UInt64 = 0

  /// Creates a descriptor.
  public init(predicate: Predicate<T>? = nil) { self.predicate = predicate }

  /// Creates a descriptor.
  public init(predicate: Predicate<T>? = nil, sortBy: [SortDescriptor<T>]) {
    self.predicate = predicate
    self.sortBy = sortBy
  }
}

/// A store with history.
public protocol HistoryProviding {
  /// The type of the transactions.
  associatedtype HistoryType: HistoryTransaction
  /// The type of the transactions.
  static var historyType: HistoryType.Type { get }
  /// Returns transactions.
  func fetchHistory(_ descriptor: HistoryDescriptor<HistoryType>) throws -> [HistoryType]
  /// Deletes transactions.
  func deleteHistory(_ descriptor: HistoryDescriptor<HistoryType>) throws
}
