// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// The record, in a store's metadata, of a custom stage whose code has begun and is not finished.
///
/// It is written before `willMigrateHandler`, and again with the step if there is a `didMigrateHandler`. So the next process
/// knows that this one is left, and programs that have the store open notice that the code runs.
struct StageRecord {
  /// The metadata key.
  static let key = StoreMetadata.Key.pendingStage

  /// The value before the step, and the one that is written with the step.
  let beforeStep: [String: String]
  let afterStep: [String: String]

  /// - Parameter run: the `StageLock.run` of the process that runs the code.
  init(_ stage: NSCustomMigrationStage, run: String) {
    beforeStep = [
      StoreMetadata.StageKey.name: stage.historyLabel ?? stage.checksums.joined(separator: " to "),
      StoreMetadata.StageKey.run: run,
    ]
    afterStep = beforeStep.merging([StoreMetadata.StageKey.versions: Self.versions(stage)]) { $1 }
  }

  private static func versions(_ stage: NSCustomMigrationStage) -> String { stage.checksums.joined(separator: " ") }

  /// Returns whether the step of a stage has run, and its `didMigrateHandler` has not finished.
  static func isPending(_ stage: NSCustomMigrationStage, in metadata: [String: Any]) -> Bool {
    let stored = metadata[key] as? [String: Any]
    return stored?[StoreMetadata.StageKey.versions] as? String == versions(stage)
  }

  /// Writes a record, or removes it, in a transaction.
  ///
  /// - Parameters:
  ///   - record: `beforeStep` or `afterStep`; nil to remove the record.
  ///   - check: throws if the store is not as it is expected.
  static func write(
    _ record: [String: String]?, at url: URL, timeout: TimeInterval, check: ([String: Any]) throws -> Void = { _ in }
  ) throws {
    try ErrorTranslation.translating(url: url, during: .use) {
      let file = try StoreFile.open(url, isReadOnly: false, timeout: timeout)
      defer {
        // Closing does not affect whether the transaction was committed.
        try? file.close()
      }
      try file.connection.transaction(.immediate) {
        var metadata = try file.metadata()
        try check(metadata)
        metadata[key] = record
        try file.setMetadata(metadata)
      }
    }
  }
}
