// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// A store that carries the model it was written with.
package protocol ModelCarryingStore: NSPersistentStore {
  /// Returns the model that a store carries, or nil.
  ///
  /// - Throws: the errors of reading the store; those of the model's archive.
  static func carriedModel(at url: URL) throws -> NSManagedObjectModel?
}

/// A store in a database server, at a URL of the server's scheme.
///
/// The target that implements such a store registers its class with `StoreKinds`. The coordinator uses only this
/// protocol.
package protocol ServerStore: RowWritingStore, CopyDestination, ModelCarryingStore {
  /// The schemes of the URLs of such stores, in lower case.
  static var schemes: Set<String> { get }

  /// Runs a body that inspects, migrates and opens a store, all of which may share one connection.
  static func sharingConnection<Result>(_ body: () throws -> Result) rethrows -> Result

  /// Returns whether there is a store at a location.
  ///
  /// - Throws: the errors of the server.
  static func hasStore(at url: URL) throws -> Bool

  /// Returns whether the server is a standby, or allows only reads.
  ///
  /// - Throws: the errors of the server.
  static func isReadOnly(at url: URL) throws -> Bool

  /// Returns the size of a store's tables and indexes, in bytes.
  ///
  /// - Throws: the errors of the server.
  static func size(at url: URL) throws -> Int

  /// Finds contradictions to the model that a store carries, which are not visible in its rows. Changes nothing.
  ///
  /// - Throws: the errors of the server.
  static func problems(at url: URL) throws -> [ServerStoreProblem]

  /// Repairs those problems that need no guess, in one transaction: missing indexes, constraints and sequences, and
  /// columns whose declaration has changed.
  ///
  /// - Throws: the errors of the server. On an error, the store is unchanged.
  static func repair(at url: URL) throws -> ServerStoreRepair

  /// Removes a store with all its rows. Does nothing if there is none.
  ///
  /// - Throws: the errors of the server. On an error, the store is unchanged.
  static func destroy(at url: URL) throws

  /// Removes a store that has an unfinished copy of another store.
  ///
  /// - Parameters:
  ///   - url: the location of the store.
  ///   - discardsOthers: whether rows that the copy has not written are removed too.
  /// - Returns: false if there is a complete store or none; nothing has been changed then.
  /// - Throws: 134070 if another process is copying rows into it, or if it has rows that the copy has not written and
  ///   that are not to be removed; the errors of the server.
  static func removeUnfinishedCopy(at url: URL, discardsOthers: Bool) throws -> Bool

  /// Returns the statements by which inferred steps between consecutive models would migrate a store inside the server.
  /// Changes nothing.
  ///
  /// - Throws: the errors of the server and of the steps; `ServerStepObstacle` for a step that SQL statements cannot
  ///   perform.
  static func migrationStatements(
    at url: URL, through models: [NSManagedObjectModel], configuration: String?
  ) throws -> [ServerStatement]

  /// Runs a body that reads a single state of a store without opening it.
  ///
  /// - Throws: the errors of the server, and those of the body.
  static func reading<Result>(at url: URL, _ body: (any ServerContents) throws -> Result) throws -> Result

  /// Begins to migrate a store, in one transaction of the server. Waits for other processes that are migrating it.
  ///
  /// - Throws: the errors of the server; 134090 if the wait times out.
  static func beginMigration(of url: URL, options: [AnyHashable: Any]) throws -> any ServerMigration
}

extension ServerStore {
  package static func sharingConnection<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
}

/// A state of a store in a server, accessible by SQL.
package protocol ServerContents {
  var database: any SQLDatabase { get }

  func metadata() throws -> [String: Any]

  /// Returns the layout of a model's entities in the store.
  ///
  /// - Throws: `SchemaProblem` if the tables do not fit the model.
  func schema(for document: ModelDocument, configuration: String?) throws -> StoreSchema
}

/// The migration of a store in a server. It has exclusive write access to the store until it ends.
///
/// Ends with `commit()` or `rollBack()`; if neither is called, the store is unchanged.
package protocol ServerMigration: AnyObject {
  /// Returns the current metadata of the store. Another process may have migrated it before this migration began.
  func metadata() throws -> [String: Any]

  /// Returns the model that the store carries now, or nil.
  func carriedModel() throws -> NSManagedObjectModel?

  /// Opens the store in its current version.
  ///
  /// - Throws: the errors of opening a store.
  func source(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator
  ) throws -> any RowStore

  /// Counts how much of each item the store contains. Items of which it contains nothing are left out. Other
  /// connections cannot change the counts afterwards.
  ///
  /// - Parameter model: the model of the store.
  /// - Throws: the errors of the server.
  func counted(
    _ items: [DroppedContent], in model: NSManagedObjectModel, configuration: String?
  ) throws -> [DroppedContent]

  /// Migrates with SQL statements alone, if every step between consecutive models can be expressed in SQL.
  ///
  /// - Returns: false if a step cannot; nothing has been changed then.
  /// - Throws: the errors of the server.
  func migrate(through models: [NSManagedObjectModel], configuration: String?) throws -> Bool

  /// Removes all tables, and opens an empty store of another version in their place, with the same UUID.
  ///
  /// - Throws: the errors of the server.
  func destination(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator,
    metadata: [String: Any]
  ) throws -> any RowStore

  func commit() throws

  func rollBack()
}

/// A problem of a store in a server.
package struct ServerStoreProblem: Hashable, Sendable {
  package enum Kind: Sendable {
    /// The metadata do not belong to a single store.
    case metadata
    /// A constraint is missing, so the server accepts invalid rows.
    case constraint
    /// An index is missing.
    case index
    /// New objects would get primary keys that are already in use.
    case keys
    /// Rows have entity numbers that do not belong to their table.
    case entityNumber
    /// The role lacks a privilege.
    case privilege
    /// A column is declared with another type or collation.
    case column
    /// A trigger or a rule of somebody else runs when rows are written.
    case trigger
  }

  package let kind: Kind
  /// The entity whose table is affected; nil if there is none.
  package let entity: String?
  /// A sentence that describes the problem.
  package let text: String
  /// The statements that fix it without guessing; empty if there are none.
  package let repair: [String]
  /// A sentence that says how to fix it.
  package let cure: String

  package init(_ kind: Kind, entity: String? = nil, _ text: String, repair: [String] = [], cure: String) {
    (self.kind, self.entity, self.text, self.repair, self.cure) = (kind, entity, text, repair, cure)
  }
}

/// The outcome of repairing a store in a server.
package struct ServerStoreRepair: Sendable {
  package let repaired: [ServerStoreProblem]
  /// The problems whose repair the rows do not allow: they violate the constraint.
  package let refused: [ServerStoreProblem]

  package init(repaired: [ServerStoreProblem], refused: [ServerStoreProblem]) {
    (self.repaired, self.refused) = (repaired, refused)
  }
}
