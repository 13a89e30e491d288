// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The work that a migration in place has left for later: tables with columns that no property has.
///
/// A table is one task, and a task is one transaction. The last one takes the key from the metadata that tells of the work,
/// so that a process that is killed in between leaves a store which is whole, and which says what is left to do.
struct DeferredCleanup {
  let file: StoreFile
  let document: ModelDocument
  let configuration: String?

  /// The tables that have such columns, sorted.
  func tables() throws -> [String] {
    let schema = try file.schema(for: document, configuration: document.configuration(configuration))
    return schema.extraColumns(in: try file.connection.catalog()).keys.sorted()
  }

  /// Cleans one table up.
  ///
  /// - Returns: whether there is more to do.
  /// - Throws: `SQLiteError`, `InPlaceProblem`; the table is as it was then.
  func runTask() throws -> Bool {
    try file.connection.setPragma("legacy_alter_table", to: 1)
    try file.connection.setPragma("secure_delete", to: 0)
    return try file.connection.transaction(.exclusive) {
      let pending = try tables()
      if let table = pending.first { try cleanUp(table) }
      guard pending.count < 2 else { return true }
      var metadata = try file.metadata()
      metadata[NSPersistentStoreDeferredLightweightMigrationOptionKey] = nil
      try file.setMetadata(metadata)
      return false
    }
  }

  /// A step from the model to itself that makes the table anew.
  private func cleanUp(_ table: String) throws {
    let run = try InPlaceStepRun(
      from: document, to: document, mapping: nil, configuration: configuration, file: file, values: FrameworkValues(),
      cleanup: .table(table))
    // The model stays as it is, so no file is dropped here; the migration itself has seen to them.
    let integrity = IntegrityGuard(file.connection, url: file.url, policy: .automatic)
    _ = try run.carryOut(DroppedFiles(connection: file.connection), integrity) { _, _, _, _ in }
  }
}
