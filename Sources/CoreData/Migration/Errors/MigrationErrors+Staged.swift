// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of staged migration.
extension MigrationErrors {
  /// 134504 for a store, or a destination model, that is not one of the stages.
  ///
  /// - Parameters:
  ///   - checksum: the version checksum of the store.
  ///   - known: the version checksums of the stages, in order.
  static func unknownStage(url: URL?, metadata: [String: Any], checksum: String, known: [String]) -> NSError {
    var info: [String: Any] = [ErrorDetail.metadata: metadata]
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSManagedObjectModelReferenceNotFoundError, "Staged migration could not begin.",
      reason: "Cannot use staged migration with an unknown model version. The store's version checksum is "
        + "\(checksum); the stages are for \(known.isEmpty ? "no version" : known.joined(separator: ", ")).",
      suggestion: "Give the version that the store was made with a stage of its own, before the stages that lead on.",
      info)
  }

  /// 134504 for a version of a stage whose model cannot be found.
  static func missingStageModel(url: URL?, checksum: String, underlying: (any Error)? = nil) -> NSError {
    NSError.cocoa(
      NSManagedObjectModelReferenceNotFoundError, "The model of a migration stage could not be found.",
      reason: "No model has the version checksum \(checksum), which a stage names."
        + ((underlying as NSError?)?.localizedFailureReason.map { " \($0)" } ?? ""),
      suggestion: "Keep the version beside the current one, or give the stage the checksum that the version has now.",
      underlying: underlying, url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134505
  static func stagedFrameworkMismatch(url: URL?, metadata: [String: Any], reason: String) -> NSError {
    var info: [String: Any] = [ErrorDetail.metadata: metadata]
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSStagedMigrationFrameworkVersionMismatchError,
      "The metadata of the persistent store must be updated before staged migration can be used.", reason: reason,
      suggestion: "Open the store once with the model it was made with, change something, and save; its metadata are "
        + "written anew then.", info)
  }

  /// 134506
  static func backwardStages(url: URL?, source: String, destination: String) -> NSError {
    NSError.cocoa(
      NSStagedMigrationBackwardMigrationError, "Staged migration would go backwards.",
      reason: "A store file cannot be migrated backwards with staged migration. The store is of the version "
        + "\(source), which comes after the version \(destination) of the model in the order of the stages.",
      suggestion: "Put the stages into the order of the versions, or open the store with a later version.",
      url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134110 for stages that do not lead to the model.
  static func stagesEndElsewhere(url: URL?, destination: String, known: [String]) -> NSError {
    failed(
      url: url,
      reason:
        "Incompatible metadata after migration because the store version hashes didn't migrate: no stage leads to "
        + "the version \(destination); the stages are for \(known.joined(separator: ", ")).",
      suggestion: "Add a stage for the version that the store is opened with. The store was not changed.")
  }

  /// 134110 for a handler that has thrown.
  ///
  /// - Parameters:
  ///   - handler: `willMigrateHandler` or `didMigrateHandler`.
  static func stageHandler(
    url: URL?, handler: String, stage: String, state: String, underlying: any Error
  ) -> NSError {
    let error = underlying as NSError
    let words = error.localizedFailureReason ?? error.localizedDescription
    return failed(
      url: url, reason: "The \(handler) of the stage \(stage) has failed: \(words) \(state)",
      suggestion:
        "Remove the cause and open the store again: the migration goes on with this stage, and runs the handler "
        + "again.", entity: error.userInfo[ErrorDetail.entity] as? String, underlying: underlying)
  }
}
