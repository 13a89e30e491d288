// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Operations for object migration, in addition to those for contexts.
extension SQLiteStore {
  /// Returns the number of an entity in this store; nil if the store does not have it.
  func number(of entity: NSEntityDescription) -> Int? { opened?.entities.number(of: entity) }

  /// Returns the number of the root entity in whose table an entity is stored.
  func rootNumber(ofEntity number: Int) -> Int? {
    opened?.entities.schema.entity(number: number)?.rootNumber
  }

  /// Returns the entity with a number.
  func entity(number: Int) -> NSEntityDescription? { opened?.entities.description(number: number) }

  /// Returns the identifier of a row; nil for an unknown entity number.
  func identifier(entity number: Int, primaryKey: Int64) -> NSManagedObjectID? {
    opened?.entities.noteIdentity()
    return opened?.entities.id(entity: number, primaryKey: primaryKey)
  }

  /// Returns the layout shared by the rows of an entity; nil for an unknown entity number.
  func rowLayout(ofEntity number: Int) -> RowLayout? {
    guard let entities = opened?.entities else { return nil }
    entities.noteIdentity()
    guard let entity = entities.description(number: number), let identities = entities.identities else { return nil }
    return RowLayout(entity: entity, number: number, identities: identities)
  }

  /// Returns whether an entity has a row with a primary key.
  func hasRow(entity number: Int, primaryKey: Int64) throws -> Bool {
    try withState { state in
      guard let layout = state.entities.schema.entity(number: number) else { return false }
      let sql = "SELECT Z_ENT FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?"
      guard let stored = try state.connection.scalar(sql, [.integer(primaryKey)])?.integer else { return false }
      return state.entities.number(ofRow: stored, like: layout) == number
    }
  }

  /// Returns the range of primary keys in an entity's table; nil for an empty table.
  func keyRange(ofEntity number: Int) throws -> ClosedRange<Int64>? {
    try withState { state in
      guard let layout = state.entities.schema.entity(number: number) else { return nil }
      let table = SQLName.quoted(layout.table)
      // SQLite answers each of two queries from one end of the table, but a combined query by reading the whole table.
      guard let least = try state.connection.scalar("SELECT MIN(Z_PK) FROM \(table)")?.integer,
        let greatest = try state.connection.scalar("SELECT MAX(Z_PK) FROM \(table)")?.integer
      else { return nil }
      return least...greatest
    }
  }

  /// Returns the greatest primary key assigned so far in a root entity's table.
  func lastKey(ofRoot number: Int) throws -> Int64 {
    try withState { state in
      let sql = "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?"
      let recorded = try state.connection.scalar(sql, [.integer(Int64(number))])?.integer ?? 0
      return max(recorded, try keyRange(ofEntity: number)?.upperBound ?? 0, 0)
    }
  }

  /// Reserves all primary keys of a root entity up to a key.
  func reserveKeys(ofRoot number: Int, through key: Int64) throws {
    try withState { state in
      try state.connection.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = ?1 WHERE Z_ENT = ?2 AND IFNULL(Z_MAX, 0) < ?1",
        [.integer(key), .integer(Int64(number))])
    }
  }

  /// Returns the primary keys in a range of an entity's rows, without its sub-entities, in ascending order.
  func primaryKeys(ofEntity number: Int, in keys: ClosedRange<Int64>, limit: Int) throws -> [Int64] {
    try withState { state in
      guard let layout = state.entities.schema.entity(number: number) else { return [] }
      let hierarchy = state.entities.schema.entity(number: layout.rootNumber)?.numbers ?? []
      let test = hierarchy.count == 1 ? "" : " AND Z_ENT = \(number)"
      let sql =
        "SELECT Z_PK FROM \(SQLName.quoted(layout.table)) WHERE Z_PK BETWEEN ? AND ?\(test) ORDER BY Z_PK LIMIT ?"
      return try state.connection.cached(sql) { statement in
        try statement.bind([.integer(keys.lowerBound), .integer(keys.upperBound), .integer(Int64(limit))])
        var found: [Int64] = []
        while try statement.step() { found.append(statement.int64(at: 0)) }
        return found
      }
    }
  }

  /// Continues the transaction numbers of another store's history, which this store replaces.
  func continueNumbers(of other: SQLiteStore) throws {
    guard let last = try other.lastTransaction(), last > 0 else { return }
    try continueHistory(after: last)
  }

  /// Runs a closure with the state of the open store, and translates the errors of lower layers.
  func withState<Result>(_ body: (Opened) throws -> Result) throws -> Result {
    let state = try state()
    return try translating { try body(state) }
  }

  /// Runs a closure, and translates the errors of lower layers. If another connection has migrated the store, the error
  /// names the versions.
  func translating<Result>(_ body: () throws -> Result) throws -> Result {
    try ErrorTranslation.translating(url: url, during: .use) {
      do {
        return try body()
      } catch let problem as StoreVersionProblem {
        throw StoreErrors.changedVersion(url: url, problem, name: versionName(of:))
      }
    }
  }

  /// Runs a read-only closure as `withState(_:)` does, in one transaction.
  ///
  /// - Parameter isSearch: whether it searches rows by anything other than their keys.
  func reading<Result>(isSearch: Bool, _ body: (Opened) throws -> Result) throws -> Result {
    try withState { state in
      if isSearch { try willSearch?(state) }
      return try state.reading { try body(state) }
    }
  }
}

/// The model cached in a store, as a version of a model file.
struct CarriedModel {
  /// The version identifier in the store's metadata, or else the name of the file.
  let name: String
  let document: ModelDocument

  /// Reads the model of a store; nil for a file that is not a SQLite database.
  ///
  /// - Throws: the errors of reading the store; 259 if it contains no model, or one that cannot be read.
  init?(storeAt url: URL) throws {
    // If the file cannot be read, reading it as a model throws the error.
    guard (try? RegularFile.firstBytes(15, of: url)) == Data("SQLite format 3".utf8) else { return nil }
    let (metadata, found) = try SQLiteStore.carried(at: url)
    guard let found else {
      throw ModelErrors.cannotRead(
        ModelFileError(
          .missingContents, found: "The store contains no model.", advice: "Name the model that it was written with.",
          file: url))
    }
    let identifiers = metadata[NSStoreModelVersionIdentifiersKey] as? [Any] ?? []
    name =
      identifiers.lazy.compactMap { $0 as? String }.first { !$0.isEmpty }
      ?? url.deletingPathExtension().lastPathComponent
    document = found
  }
}

extension NSManagedObjectModel {
  /// Returns the versions in a model file, or the one carried by a store.
  static func bundle(at url: URL) throws -> ModelBundle {
    if let carried = try CarriedModel(storeAt: url) {
      return ModelBundle(url: url, versions: [(carried.name, carried.document)])
    }
    do {
      return try ModelBundle(contentsOf: url)
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error.inFile(url))
    }
  }
}
