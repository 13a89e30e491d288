// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// The files of external data that no row references after a migration.
///
/// Their names are collected from the rows beforehand, in a temporary table, which can hold any number of them. The
/// files are removed only after the transaction has been committed to disk. If removing them is interrupted, the next
/// process to open the store removes them.
package struct DroppedFiles {
  private static let table = "temp.Z_MIGRATION_FILES"

  package let connection: SQLiteConnection

  package init(connection: SQLiteConnection) {
    self.connection = connection
  }

  /// Collects the files of values that a step drops or moves into the database.
  package func note(_ step: InPlaceStep) throws {
    for source in step.sourceSchema.entities {
      for column in columns(of: source, step) {
        try connection.run("CREATE TEMP TABLE IF NOT EXISTS Z_MIGRATION_FILES (VALUE BLOB)")
        let name = SQLName.quoted(column)
        let isFileName = "typeof(\(name)) = 'blob' AND LENGTH(\(name)) = \(ExternalData.fileNameLength)"
        try connection.run(
          "INSERT INTO \(Self.table) (VALUE) SELECT \(name) FROM \(SQLName.quoted(source.table))"
            + InPlaceStep.whereClause(step.condition(source), isFileName))
      }
    }
  }

  /// Writes the names of the files into a journal beside the store. Call this before the commit.
  ///
  /// Recovery keeps the files that rows still reference: all of them if the transaction was not committed, otherwise
  /// none.
  ///
  /// - Parameters:
  ///   - lock: The lock of the work on the store.
  ///   - source: The name of the store's current version.
  ///   - destination: The name of its new version.
  package func writeDown(_ lock: MigrationLock, from source: String, to destination: String) throws {
    guard try hasFiles() else { return }
    var journal = WorkJournal(purpose: .migration, source: source, destination: destination)
    journal.phase = .exchanging
    journal.isInPlace = true
    try connection.prepare("SELECT DISTINCT VALUE FROM \(Self.table)").forEachRow { row in
      if let name = row.blob(at: 0).flatMap(ExternalData.fileName) { journal.obsolete.append(name) }
    }
    guard !journal.obsolete.isEmpty else { return }
    try journal.write(lock.work)
  }

  private func hasFiles() throws -> Bool {
    try connection.scalar("SELECT 1 FROM temp.sqlite_master WHERE name = 'Z_MIGRATION_FILES'") != nil
  }

  /// Removes the files. Call this after the commit.
  ///
  /// The store has been migrated by then, and leftover files are harmless. If the commit cannot be synced to disk, all
  /// files stay.
  ///
  /// - Throws: The first failure. The journal still lists the files then.
  package func remove(from external: ExternalData) throws {
    guard try hasFiles(), try connection.scalar("SELECT 1 FROM \(Self.table) LIMIT 1") != nil else { return }
    try connection.synchronizeCommit()
    try connection.prepare("SELECT VALUE FROM \(Self.table)").forEachRow { row in
      if let bytes = row.blob(at: 0) { try external.remove(bytes) }
    }
    try connection.run("DROP TABLE \(Self.table)")
  }

  /// Returns the columns of a source entity whose values may be in files before the step but not after it.
  private func columns(of source: EntityLayout, _ step: InPlaceStep) -> [String] {
    let destination = step.mapping.destinationEntity(of: source.name) ?? ""
    let external = source.attributes.values.filter { $0.allowsExternalStorage || !$0.elements.isEmpty }
    guard !external.isEmpty else { return [] }
    let attributes = (step.destinationSchema[destination]?.attributes ?? [:]).values
    let successors = Dictionary(
      attributes.compactMap { new in step.mapping.sourceAttribute(of: new.name, in: destination).map { ($0, new) } }
    ) { first, _ in first }
    return external.flatMap { old in
      let new = successors[old.name]
      return columns(
        of: old, step.source.attribute(old.name, of: source.name), becoming: new,
        new.flatMap { step.destination.attribute($0.name, of: destination) })
    }.sorted()
  }

  private func columns(
    of old: AttributeLayout, _ document: AttributeDocument?, becoming new: AttributeLayout?,
    _ newDocument: AttributeDocument?
  ) -> [String] {
    let pairs = Pairing(
      document?.elements ?? [], newDocument?.elements ?? [], name: \.name, declared: \.renamingIdentifier
    ).matched
    let elements = old.elements.flatMap { element -> [String] in
      let pair = pairs.first { $0.source.name == element.name }
      let successor = new?.elements.first { $0.name == pair?.destination.name }
      let document = document?.elements.first { $0.name == element.name }
      return columns(of: element, document, becoming: successor, pair?.destination)
    }
    let isDropped = old.allowsExternalStorage && new?.allowsExternalStorage != true
    return (isDropped ? [old.column].compactMap { $0 } : []) + elements
  }
}
