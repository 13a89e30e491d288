// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The source on the destination's connection, so that one statement reads the one and writes the other.
struct AttachedSource {
  /// The name before the dot in `name.table`.
  static let name = "SOURCE"

  private let source: MigrationStack
  private let connection: SQLiteConnection
  private let version: SQLiteValue?
  /// Why statements on the destination's connection do not see the source that the source's objects are read from; a
  /// predicate of which an entity mapping is the subject.
  private(set) var obstacle: String?

  /// Attaches the source. The destination's transaction must not have begun: SQLite attaches nothing inside one.
  init(_ source: MigrationStack, to destination: MigrationStack) throws {
    self.source = source
    connection = try destination.store.state().connection
    do {
      try connection.attach(source.store.state().connection.path, as: Self.name)
      version = try connection.scalar("PRAGMA \(Self.name).data_version")
    } catch {
      version = nil
      obstacle = "cannot have its source read by the destination's connection: \(error)"
    }
  }

  /// Has both connections read one and the same state of the source from now on, whoever writes to it. The destination's
  /// transaction has begun.
  mutating func hold() throws {
    guard obstacle == nil else { return }
    // The source's own snapshot lies between two looks of this connection: equal versions mean that nobody wrote.
    try source.store.endReading()
    try source.store.beginReading()
    _ = try connection.scalar("SELECT COUNT(*) FROM \(Self.name).Z_METADATA")
    if try connection.scalar("PRAGMA \(Self.name).data_version") != version {
      obstacle = "has a source that was written to as the migration began"
    }
  }

  /// Detaches the source, after the transaction.
  func detach() throws {
    guard version != nil else { return }
    try connection.detach(Self.name)
  }
}
