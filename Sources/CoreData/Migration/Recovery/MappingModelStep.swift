// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A step by a mapping model: a migration manager makes the next store from the one before.
struct MappingModelStep {
  let step: StoreMigration.Step
  /// How long to wait for other users of the store, in seconds.
  let timeout: TimeInterval
  let manager: NSMigrationManager

  /// Runs the step.
  ///
  /// - Returns: how each entity mapping was carried out.
  /// - Throws: as `NSMigrationManager.migrateStore(from:type:options:mapping:to:type:options:)`, or what `progress` throws.
  func run(from source: URL, to destination: URL, progress: (Int, Int) throws -> Void) throws -> [MappingExecution] {
    let total = try rowCount(source)
    // The source was checked before the first step.
    let options: [String: Any] = [
      NSPersistentStoreTimeoutOption: NSNumber(value: timeout),
      MigrationOption.integrityCheck: StoreIntegrityCheck.never.rawValue,
    ]
    try withoutActuallyEscaping(progress) { progress in
      let handler = manager.progressHandler
      manager.progressHandler = { manager in
        handler?(manager)
        do {
          // A subclass may say what it likes.
          let fraction = Double(manager.migrationProgress)
          try progress(fraction > 0 ? Int(min(fraction, 1) * Double(total)) : 0, total)
        } catch {
          manager.cancelMigrationWithError(error)
        }
      }
      defer { manager.progressHandler = handler }
      try manager.migrateStore(
        from: source, type: .sqlite, options: options, mapping: step.mappingModel, to: destination, type: .sqlite,
        options: options)
    }
    return manager.executions
  }

  /// How many objects the source has.
  private func rowCount(_ url: URL) throws -> Int {
    let file = try StoreFile.open(url, isReadOnly: true, timeout: timeout)
    defer {
      // Opened for reading, so that nothing can be lost.
      try? file.close()
    }
    return try StoreVerification.rows(file, file.schema(for: step.sourceModel.document)).values.reduce(0, +)
  }
}
