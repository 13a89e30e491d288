// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// Detects that another connection has changed the version of an open store.
///
/// A connection to a store relies on the tables, columns and entity numbers that the store had when it was opened.
/// Another connection, of this process or of another one, can migrate the store in place meanwhile. Every transaction
/// therefore calls `check()` before it reads or writes anything else; the result holds for the rest of the transaction.
///
/// If no other connection has committed since the last check, a check costs one statement. A guard belongs to a
/// connection, and is used by one thread at a time.
package final class StoreVersionGuard {
  /// The state of a store when it was opened.
  package struct Opening {
    fileprivate let document: ModelDocument
    fileprivate let configuration: String?
    fileprivate let allowsMissing: Bool
    fileprivate let schema: StoreSchema
    fileprivate let version: StoreVersion
    fileprivate let list: Data
    fileprivate let numbers: [PrimaryKeyRow]
    fileprivate let cookie: SQLiteValue?
    /// The lock of the stage that the connection belongs to.
    fileprivate private(set) weak var stage: StageLock?

    /// Records the state of a store. Must run in the transaction that reads the schema.
    ///
    /// - Parameters:
    ///   - schema: the layout that the connection uses, computed from the other parameters.
    ///   - allowsMissing: whether tables and columns of the schema may be missing.
    ///   - stage: the lock of the stage that the connection belongs to.
    package init(
      _ file: StoreFile, schema: StoreSchema, document: ModelDocument, configuration: String?, allowsMissing: Bool,
      metadata: [String: Any], stage: StageLock?
    ) throws {
      (self.document, self.configuration, self.allowsMissing) = (document, configuration, allowsMissing)
      (self.schema, self.stage) = (schema, stage)
      version = StoreVersion(metadata: metadata)
      list = try file.connection.scalar(StoreVersionGuard.listQuery)?.blob ?? Data()
      numbers = try file.primaryKeys().filter { $0.number <= PrimaryKeyRow.maxEntityNumber }
      cookie = try file.connection.pragma("schema_version")
    }
  }

  private let file: StoreFile
  private let opening: Opening
  /// The versions that the store may have: the one it was opened with, and the one that this process writes.
  private var accepted: Set<[String: Data]>
  /// The property list and the schema number (`PRAGMA schema_version`) at the last successful check.
  private var list: Data
  private var cookie: SQLiteValue?
  /// The value of `PRAGMA data_version` at the last successful check; nil before the first.
  private var checkedState: Int64?
  private var stateQuery: SQLiteStatement?
  /// The connection's `lastState` at the last successful check.
  private var checkedRead: UInt32?
  /// The framework's metadata as written by another connection since the store was opened; nil if there was no such
  /// write.
  package private(set) var foreignMetadata: [String: Any]?

  package init(_ file: StoreFile, _ opening: Opening) {
    (self.file, self.opening) = (file, opening)
    accepted = [opening.version.hashes]
    (list, cookie) = (opening.list, opening.cookie)
  }

  /// Creates the guard of another connection to the same store.
  package convenience init(_ file: StoreFile, like other: StoreVersionGuard) {
    self.init(file, other.opening)
    accepted = other.accepted
  }

  /// Allows metadata that this process is about to write, for a store whose versioning is ignored.
  package func accept(metadata: [String: Any]) { accepted.insert(StoreVersion(metadata: metadata).hashes) }

  fileprivate static let listQuery = "SELECT Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION DESC LIMIT 1"
  private static let numbersQuery =
    "SELECT Z_ENT, Z_SUPER, Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT <= \(PrimaryKeyRow.maxEntityNumber) ORDER BY Z_ENT"

  /// Makes sure that the store is as it was when it was opened. Must run in a transaction, before anything else.
  ///
  /// - Throws: `StoreVersionProblem`; `UnfinishedStage`; errors of reading metadata and tables.
  package func check() throws {
    let query = try stateQuery ?? file.connection.prepare("PRAGMA data_version", persistent: true)
    stateQuery = query
    let state: Int64
    do {
      defer { query.reset() }
      state = try query.step() ? query.int64(at: 0) : 0
    }
    if state != checkedState {
      try compare()
      checkedState = state
    }
    checkedRead = file.connection.lastState
  }

  /// Whether everything that the connection has read since the last check belongs to the same state of the store.
  package var isUnchanged: Bool { checkedRead != nil && checkedRead == file.connection.lastState }

  private func compare() throws {
    try compareMetadata()
    try compareNumbers()
    let found = try file.connection.cached("PRAGMA schema_version") { try $0.scalar() }
    guard found != cookie else { return }
    do {
      let schema = try file.schema(
        for: opening.document, configuration: opening.configuration, allowsMissing: opening.allowsMissing)
      guard schema.hasNames(of: opening.schema) else { throw StoreVersionProblem.rearranged }
    } catch is SchemaProblem {
      throw StoreVersionProblem.rearranged
    }
    cookie = found
  }

  private func compareMetadata() throws {
    let found: Data? = try file.connection.cached(Self.listQuery) { statement in
      guard try statement.step() else { return Data() }
      return statement.withBlob(at: 0) { bytes in
        list.elementsEqual(bytes) ? nil : Data(bytes)
      }
    }
    guard let found else { return }
    let metadata = try file.metadata()
    let version = StoreVersion(metadata: metadata)
    guard accepted.contains(version.hashes) else {
      throw StoreVersionProblem.migrated(from: opening.version, to: version)
    }
    // The code of a stage changes rows of the old version, and those that another connection wrote afterwards would go
    // through the step without it.
    do {
      try StageLock.check(metadata, of: file.url, own: opening.stage)
    } catch let held as StageLock.Held {
      throw UnfinishedStage(name: held.stage ?? "")
    }
    // Another connection has changed metadata of the app, or of the framework, such as the list of pending work.
    foreignMetadata = metadata.filter { StoreMetadata.ownKeys.contains($0.key) }
    list = found
  }

  private func compareNumbers() throws {
    let isSame = try file.connection.cached(Self.numbersQuery) { statement in
      for row in opening.numbers {
        guard try statement.step(), statement.int64(at: 0) == row.number, statement.int64(at: 1) == row.parentNumber,
          statement.withBlob(at: 2, { row.name.utf8.elementsEqual($0) })
        else { return false }
      }
      return try !statement.step()
    }
    guard isSame else { throw StoreVersionProblem.rearranged }
  }
}
