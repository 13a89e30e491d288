// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// A store in a database with Core Data's tables.
///
/// What the engines have in common is here and in the other files of this directory. An engine supplies its connection
/// (`SQLRowSource`), its transactions, and how rows and primary keys get into tables.
package protocol SQLStore: HistoryCopying, GenerationalStore, BatchStore, RowWritingStore {
  associatedtype Connection: SQLRowSource

  /// The connection that writes, and that also reads within its own transactions; nil for a store that is not open.
  var opened: Connection? { get }
  /// The read-only connections.
  var connections: ReadingConnections { get }
  /// Whether a batch request is running, whose handlers must not write.
  var isInBatch: Bool { get set }

  /// Runs a body with the connection, and translates the errors of lower layers.
  func withState<Result>(_ body: (Connection) throws -> Result) throws -> Result

  /// Runs a body that only reads, as `withState(_:)` does. All its reads see the same state.
  ///
  /// - Parameter isSearch: whether it searches rows by anything other than their keys.
  func reading<Result>(isSearch: Bool, _ body: (Connection) throws -> Result) throws -> Result

  /// Runs a body that writes, in a transaction of its own or inside the one that `beginWriting()` has begun.
  ///
  /// - Parameter repeating: whether the body may run again after a conflict with other writers.
  func writing<Result>(repeating: Bool, _ body: (Connection) throws -> Result) throws -> Result

  /// Runs a body that writes rows or history copied from another store.
  func copying(_ body: (Connection) throws -> Void) throws

  /// Waits until no other connection creates or changes tables of the store, and keeps others from it until the
  /// transaction ends. No-op where a transaction that writes already does.
  func excludeOtherDefinitions(_ opened: Connection) throws

  /// Returns the engine's part of batch requests.
  func batchEngine(_ opened: Connection) -> any BatchEngine
}

extension SQLStore {
  package func rows(for query: RowQuery) throws -> [RowSnapshot]? {
    try reading(isSearch: query.criteria.isSearch) { try $0.rows(for: query) }
  }

  package func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try reading(isSearch: query.criteria.isSearch) { try $0.identifiers(for: query) }
  }

  package func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try reading(isSearch: true) { try $0.placedIdentifiers(for: query) }
  }

  package func count(for query: RowQuery) throws -> Int? {
    try reading(isSearch: query.criteria.isSearch) { try $0.count(for: query) }
  }

  package func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try reading(isSearch: true) { try $0.dictionaries(for: query, results) }
  }

  package func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    try reading(isSearch: false) { try $0.row(for: id) }
  }

  package func row(_ layout: RowLayout, _ primaryKey: Int64) throws -> RowSnapshot? {
    try reading(isSearch: false) { try $0.row(layout, primaryKey) }
  }

  package func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? {
    try reading(isSearch: false) { try $0.rows(of: entity, primaryKeys: primaryKeys) }
  }

  package func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    try reading(isSearch: true) { try $0.members(of: relationship, for: id) }
  }

  package func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    try reading(isSearch: true) { try $0.members(of: relationship, forAll: ids) }
  }

  package func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? {
    try reading(isSearch: true) { try $0.memberRows(of: relationship, entity: entity, primaryKeys: primaryKeys) }
  }

  package func concurrently<Result>(_ body: (any RowSource) throws -> Result) -> Result? { connections.reading(body) }

  package func hasTable(for entity: NSEntityDescription) -> Bool { opened?.entities.number(of: entity) != nil }

  package func identifier(entityName: String, reference: String) -> NSManagedObjectID? {
    guard let entities = opened?.entities, let entity = entities.schema[entityName], reference.hasPrefix("p"),
      let key = Int64(reference.dropFirst()), key > 0
    else { return nil }
    entities.noteIdentity()
    return entities.id(entity: entity.number, primaryKey: key)
  }

  /// - Throws: the error of writing to a store that is read-only, or that a batch request is changing.
  package func checkWritable() throws {
    if isReadOnly { throw StoreErrors.readOnly(self) }
    if isInBatch {
      throw StoreErrors.operationFailed(
        url: url, reason: "The handler of a batch request cannot change the store, which the request is changing.")
    }
  }

  package func excludeOtherDefinitions(_ opened: Connection) throws {}

  package func batch<Result>(_ derivations: Derivations, _ body: (BatchRun) throws -> Result) throws -> Result {
    // A handler that supplies rows one by one cannot supply them again.
    try writing(repeating: false) { state in
      isInBatch = true
      defer { isInBatch = false }
      let run = BatchRun(
        database: state.database, entities: state.entities, plans: state.plans, engine: batchEngine(state),
        history: state.history, derivations: derivations, origin: origin)
      do {
        let result = try body(run)
        try run.finish()
        return result
      } catch let error as InvalidPattern {
        throw BatchErrors.badRequest(
          EvaluationError(error).description, entity: nil,
          suggestion: "Correct the predicate of the request.")
      }
    }
  }
}
