// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles

/// What contexts ask, through the coordinator, of a store that keeps rows.
///
/// All calls come while the coordinator's lock is held, so that a store needs no lock of its own.
protocol RowStore: NSPersistentStore {
  /// The rows that answer a query, or nil when the store cannot express its predicate or order; the caller then asks for
  /// all rows of the entity and sorts them out in memory.
  func rows(for query: RowQuery) throws -> [RowSnapshot]?

  /// The identifiers of the rows that answer a query; nil as for `rows(for:)`.
  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]?

  /// How many rows answer a query; nil as for `rows(for:)`.
  func count(for query: RowQuery) throws -> Int?

  /// The row of that identifier; nil when it is not in the store.
  func row(for id: NSManagedObjectID) throws -> RowSnapshot?

  /// The members of a to-many relationship of one row, in order where it is ordered.
  func members(of relationship: NSRelationshipDescription, for id: NSManagedObjectID) throws -> [NSManagedObjectID]

  /// Permanent identifiers for new objects, one for each entity given, in that order.
  func makeIdentifiers(for entities: [NSEntityDescription]) throws -> [NSManagedObjectID]

  /// An identifier from the last part of its URI (`p12`); nil when it cannot be one of this store.
  func identifier(entityName: String, reference: String) -> NSManagedObjectID?

  /// Whether the metadata have been changed since they were read or written; every `write(_:)` writes them.
  var hasUnsavedMetadata: Bool { get }

  /// Begins a transaction that the following writes become parts of.
  func beginWriting() throws

  /// Keeps everything since `beginWriting()`.
  func commitWriting() throws

  /// Undoes everything since `beginWriting()`.
  func rollBackWriting() throws

  /// Writes all changes in one transaction, or none.
  ///
  /// A row that is inserted gets version 1, one that is updated the next version after its old one.
  ///
  /// - Throws: `RowConflicts` when rows have changed since they were read; 134180 and its family when SQLite fails.
  func write(_ changes: [RowChange]) throws
}

/// A query for the rows of an entity.
@dynamicMemberLookup
struct RowQuery {
  let entity: NSEntityDescription
  private(set) var criteria: RowCriteria

  init(entity: NSEntityDescription, includesSubentities: Bool = true) {
    self.entity = entity
    criteria = RowCriteria(includesSubentities: includesSubentities)
  }

  subscript<Value>(dynamicMember member: WritableKeyPath<RowCriteria, Value>) -> Value {
    get { criteria[keyPath: member] }
    set { criteria[keyPath: member] = newValue }
  }
}

/// A change of one row.
struct RowChange {
  enum Kind {
    case insert
    case update
    case delete
  }

  let kind: Kind
  let id: NSManagedObjectID
  /// The row as it was read; nil for an insertion.
  let old: RowSnapshot?
  /// The row as it is to be. All identifiers in it are permanent.
  let slots: [Slot]
  /// The slots that differ from `old`; for an insertion, all that are not null.
  let changed: SlotSet
}
