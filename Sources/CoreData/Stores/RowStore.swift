// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// A source of rows: a store, a read connection, or a pinned generation.
package protocol RowSource {
  /// Returns the rows that match a query; nil if the store cannot express its predicate or order. The caller then reads
  /// candidates (`RowCriteria.findsCandidates`), and filters and sorts them in memory.
  func rows(for query: RowQuery) throws -> [RowSnapshot]?

  /// Runs a body with a cursor over the rows that match a query, and returns its result; nil as for `rows(for:)`.
  func readRows<Result>(for query: RowQuery, _ body: (RowCursor) throws -> Result) throws -> Result?

  /// Returns the identifiers of the rows that match a query; nil as for `rows(for:)`.
  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]?

  /// Returns the identifiers of the rows that match a query, with their sort key values; nil as for `rows(for:)`, and
  /// if the store can read these values only with whole rows.
  func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]?

  /// Returns the number of rows that match a query; nil as for `rows(for:)`.
  func count(for query: RowQuery) throws -> Int?

  /// Returns the dictionaries that a request asks for; nil if the store cannot compute exactly what the in-memory
  /// evaluation does. The caller then makes them from objects.
  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]?

  /// Returns the row of an identifier; nil if it is not in the store.
  func row(for id: NSManagedObjectID) throws -> RowSnapshot?

  /// Returns a row as `row(for:)` does, without an identifier.
  func row(_ layout: RowLayout, _ primaryKey: Int64) throws -> RowSnapshot?

  /// Returns the members of a to-many relationship of a row, in their order if it is ordered.
  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID]

  /// Returns the members of a to-many relationship of several rows, as `members(of:for:)`; rows without members are left
  /// out.
  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]]

  /// Returns the members of a to-many relationship of several rows, together with the members' own rows; nil if members
  /// and rows must be read separately. Rows without members are left out.
  func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups?

  /// Returns the rows of an entity, without its sub-entities, with the given primary keys; nil if the store can only
  /// search for them.
  func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]?
}

extension RowSource {
  package func readRows<Result>(for query: RowQuery, _ body: (RowCursor) throws -> Result) throws -> Result? {
    try rows(for: query).map { try body(RowCursor($0)) }
  }

  package func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? { nil }

  package func row(_ layout: RowLayout, _ primaryKey: Int64) throws -> RowSnapshot? {
    try row(for: layout.identifier(primaryKey))
  }

  package func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? { nil }

  package func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? { nil }
}

/// Rows by the primary keys of their owners.
package struct RowGroups {
  package var rows: [RowSnapshot] = []
  /// The range of each owner's rows.
  package var ranges: [Int64: Range<Int>] = [:]

  package init() {}
}

/// The identifier of a row, with its sort key values.
package struct PlacedIdentifier {
  package let id: NSManagedObjectID
  package let values: [Any?]

  package init(id: NSManagedObjectID, values: [Any?]) {
    (self.id, self.values) = (id, values)
  }
}

/// A store of rows: the operations that every store type offers to contexts, by way of the coordinator.
///
/// The coordinator's lock is held during all calls except `concurrently(_:)`, so a store needs no lock of its own.
package protocol RowStore: NSPersistentStore, RowSource {
  /// Called after the metadata has been loaded.
  func finishOpening() throws

  /// Reads the last saved rows without the coordinator's lock, concurrently with other reads and writes. Returns nil if
  /// the store does not support that, or if the read failed and must be repeated under the lock.
  func concurrently<Result>(_ body: (any RowSource) throws -> Result) -> Result?

  /// Returns an identifier from the last part of its URI (`p12`); nil if this store cannot have such an identifier.
  func identifier(entityName: String, reference: String) -> NSManagedObjectID?

  /// Returns whether the store has a table for an entity that its configuration does not list.
  func hasTable(for entity: NSEntityDescription) -> Bool

  /// Whether the store's file has been destroyed or replaced since the store was last used.
  var isDisconnected: Bool { get }

  /// Whether the metadata have unsaved changes, which `writeMetadata()` writes.
  var hasUnsavedMetadata: Bool { get }

  /// Writes the metadata.
  func writeMetadata() throws

  /// Makes all reads until `endReading()` see the same state of the store, even if other processes write to it.
  func beginReading() throws

  /// Ends what `beginReading()` began.
  func endReading() throws

  /// Begins a transaction for the following writes.
  func beginWriting() throws

  /// Takes an exclusive write lock for the rest of the transaction. No-op where `beginWriting()` already does.
  func excludeWriters() throws

  /// Commits the transaction.
  func commitWriting() throws

  /// Rolls the transaction back.
  func rollBackWriting() throws

  /// Returns the transaction that the last write could not confirm, once; nil if there is none. Called after a write
  /// has failed.
  func takeUnconfirmedCommit() -> (any UnconfirmedCommit)?

  /// Frees disk space that the store does not need, after a transaction ran out of disk space and was rolled back.
  ///
  /// - Returns: whether the transaction is worth repeating.
  func makeRoom() -> Bool
}

/// A store that writes rows. Custom store classes write objects instead.
package protocol RowWritingStore: RowStore {
  /// Returns permanent identifiers for new objects, in the same order.
  func makeIdentifiers(for runs: [EntityRun]) throws -> [NSManagedObjectID]

  /// Writes all changes atomically.
  ///
  /// An inserted row gets version 1, and an updated row the version after its old one.
  ///
  /// - Throws: `RowConflicts` if rows have changed since they were read; the store's errors.
  func writeRows(_ changes: [RowChange]) throws
}

extension RowWritingStore {
  /// Returns permanent identifiers for new objects of these entities, in the same order.
  package func makeIdentifiers(for entities: some Sequence<NSEntityDescription>) throws -> [NSManagedObjectID] {
    try makeIdentifiers(for: EntityRun.runs(of: entities))
  }
}

extension RowStore {
  package func finishOpening() throws {}

  package func beginReading() throws {}

  package func endReading() throws {}

  package func excludeWriters() throws {}

  package func makeRoom() -> Bool { false }

  package func takeUnconfirmedCommit() -> (any UnconfirmedCommit)? { nil }

  /// Runs a body whose reads all see the same state of the store.
  package func readingOneState<Result>(_ body: () throws -> Result) throws -> Result {
    try beginReading()
    let result: Result
    do {
      result = try body()
    } catch {
      // Nothing was written. The earlier failure is the error to report.
      try? endReading()
      throw error
    }
    try endReading()
    return result
  }

  package func concurrently<Result>(_ body: (any RowSource) throws -> Result) -> Result? { nil }

  package func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    for id in ids { members[id.key] = try self.members(of: relationship, for: id) }
    return members
  }

  package func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? { nil }

  package var isDisconnected: Bool { false }
}

/// A query for the rows of an entity.
@dynamicMemberLookup
package struct RowQuery {
  package let entity: NSEntityDescription
  package private(set) var criteria: RowCriteria
  /// The objects that a child context excludes. Stores ignore them; `CoordinatorReader` adds their keys to
  /// `excludedKeys`.
  package var excludedIDs: [NSManagedObjectID] = []

  package init(entity: NSEntityDescription, includesSubentities: Bool = true) {
    self.entity = entity
    criteria = RowCriteria(includesSubentities: includesSubentities)
  }

  package subscript<Value>(dynamicMember member: WritableKeyPath<RowCriteria, Value>) -> Value {
    get { criteria[keyPath: member] }
    set { criteria[keyPath: member] = newValue }
  }
}

/// A change of one row.
package struct RowChange {
  package enum Kind {
    case insert
    case update
    case delete
  }

  /// The source of the new row's slots.
  private enum Values {
    case own([Slot])
    /// The slots of `old`.
    case old
    /// The slots of `old` with changes.
    case changes(SlotChanges)
  }

  package let kind: Kind
  package let id: NSManagedObjectID
  /// The row when it was read; nil for an insertion.
  package let old: RowSnapshot?
  private let values: Values
  /// The positions of slots that differ from `old`; for an insertion, those of all slots that are not null.
  package let changed: SlotSet

  package init(kind: Kind, id: NSManagedObjectID, old: RowSnapshot?, slots: [Slot], changed: SlotSet) {
    (self.kind, self.id, self.old, values, self.changed) = (kind, id, old, .own(slots), changed)
  }

  /// Creates the update of a row that is still packed.
  package init(_ changes: SlotChanges, of id: NSManagedObjectID, old: RowSnapshot, changed: SlotSet) {
    (kind, self.id, self.old, values, self.changed) = (.update, id, old, .changes(changes), changed)
  }

  /// Creates the deletion of a row, or a change that concerns only relationships whose members have not been read.
  package init(kind: Kind, id: NSManagedObjectID, old: RowSnapshot, changed: SlotSet = SlotSet()) {
    (self.kind, self.id, self.old, values, self.changed) = (kind, id, old, .old, changed)
  }

  /// The slots of the new row. All identifiers are permanent. Each access may decode a packed row.
  package var slots: [Slot] {
    switch values {
    case .own(let slots): slots
    case .old: old?.slots ?? []
    case .changes(let changes): changes.applied(to: old?.slots ?? [])
    }
  }

  /// Returns one slot of the new row.
  package func slot(at position: Int) -> Slot {
    switch values {
    case .own(let slots): slots[position]
    case .old: old?.slot(at: position) ?? .null
    case .changes(let changes): changes[position] ?? old?.slot(at: position) ?? .null
    }
  }
}
