// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// A store that keeps the model it was written with.
package protocol ModelCarryingStore: NSPersistentStore {
  /// Returns the model that a store carries; nil if it has none.
  ///
  /// - Throws: the errors of reading the store; those of the model's archive.
  static func carriedModel(at url: URL) throws -> NSManagedObjectModel?
}

/// A store in a database server, at a URL of the server's scheme.
///
/// The target that has such a store registers its class (`StoreKinds`); the coordinator knows no more of it than this.
package protocol ServerStore: RowWritingStore, CopyDestination, ModelCarryingStore {
  /// The schemes of the URLs of such stores, in lower case.
  static var schemes: Set<String> { get }

  /// Runs a body that looks at a store, migrates and opens it, which may use one connection for all of it.
  static func sharingConnection<Result>(_ body: () throws -> Result) rethrows -> Result

  /// Whether there is a store at a location.
  ///
  /// - Throws: the errors of the server.
  static func hasStore(at url: URL) throws -> Bool

  /// Whether the server is a standby, or lets only read.
  ///
  /// - Throws: the errors of the server.
  static func isReadOnly(at url: URL) throws -> Bool

  /// The bytes that the tables and indexes of a store take.
  ///
  /// - Throws: the errors of the server.
  static func size(at url: URL) throws -> Int

  /// Looks for what contradicts the model that a store carries, and cannot be seen in its rows. Changes nothing.
  ///
  /// - Throws: the errors of the server.
  static func problems(at url: URL) throws -> [ServerStoreProblem]

  /// Removes a store with all its rows. Does nothing if there is none.
  ///
  /// - Throws: the errors of the server. The store is unchanged then.
  static func destroy(at url: URL) throws

  /// Removes a store that has an unfinished copy of another one.
  ///
  /// - Returns: false if it is a complete store, or none; nothing has been changed then.
  /// - Throws: 134070 if another process is copying rows into it; the errors of the server.
  static func removeUnfinishedCopy(at url: URL) throws -> Bool

  /// The statements by which inferred steps from one model to the next would migrate a store inside the server. Changes
  /// nothing.
  ///
  /// - Throws: the errors of the server, and of the steps; `ServerStepObstacle` for a step that needs more than statements.
  static func migrationStatements(
    at url: URL, through models: [NSManagedObjectModel], configuration: String?
  ) throws -> [ServerStatement]

  /// Runs a body that reads one state of a store without opening it.
  ///
  /// - Throws: the errors of the server, and those of the body.
  static func reading<Result>(at url: URL, _ body: (any ServerContents) throws -> Result) throws -> Result

  /// Begins to migrate a store, in one transaction of the server. Waits for others that are migrating it.
  ///
  /// - Throws: the errors of the server; 134090 if the wait takes too long.
  static func beginMigration(of url: URL, options: [AnyHashable: Any]) throws -> any ServerMigration
}

extension ServerStore {
  package static func sharingConnection<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
}

/// One state of a store in a server, as SQL sees it.
package protocol ServerContents {
  var database: any SQLDatabase { get }

  func metadata() throws -> [String: Any]

  /// Returns the layout of a model's entities in the store.
  ///
  /// - Throws: `SchemaProblem` where the tables do not fit the model.
  func schema(for document: ModelDocument, configuration: String?) throws -> StoreSchema
}

/// The migration of a store in a server, which alone may change the store until it ends.
///
/// Ends with `commit()` or `rollBack()`; if neither is called, the store is unchanged.
package protocol ServerMigration: AnyObject {
  /// The metadata of the store now: another process may have migrated it before this one could begin.
  func metadata() throws -> [String: Any]

  /// The model that the store carries now; nil if it has none.
  func carriedModel() throws -> NSManagedObjectModel?

  /// Opens the store as it is.
  ///
  /// - Throws: the errors of opening a store.
  func source(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator
  ) throws -> any RowStore

  /// Counts how much the store holds of each item, and leaves out those of which it holds nothing. Nobody else can change it
  /// afterwards.
  ///
  /// - Parameter model: the model of the store.
  /// - Throws: the errors of the server.
  func counted(
    _ items: [DroppedContent], in model: NSManagedObjectModel, configuration: String?
  ) throws -> [DroppedContent]

  /// Migrates by statements alone, if every step from one model to the next can be expressed so.
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

/// What is wrong with a store in a server.
package struct ServerStoreProblem: Hashable, Sendable {
  package enum Kind: Sendable {
    /// The metadata are not those of one store.
    case metadata
    /// A constraint is missing, so that the server does not refuse what it should.
    case constraint
    /// An index is missing.
    case index
    /// The next objects would get keys that are taken.
    case keys
    /// Rows are of no entity of their table.
    case entityNumber
  }

  package let kind: Kind
  /// The entity whose table is concerned; nil for none.
  package let entity: String?
  /// What was found, in a sentence.
  package let text: String
  /// What to do, in a sentence.
  package let cure: String

  package init(_ kind: Kind, entity: String? = nil, _ text: String, cure: String) {
    (self.kind, self.entity, self.text, self.cure) = (kind, entity, text, cure)
  }
}
