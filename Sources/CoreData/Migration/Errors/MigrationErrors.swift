// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Errors of migration, from finding models to checking the result.
internal enum MigrationErrors {
  /// 134190: no mapping can be inferred. All reasons are listed, with an error for each if there are several; entity and
  /// property are those of the first.
  static func cannotInfer(_ obstacles: [InferenceObstacle]) -> NSError {
    let first = obstacles.first
    var info = ErrorDetail.place(entity: first?.entity, property: first?.property)
    if obstacles.count > 1 { info[NSDetailedErrorsKey] = obstacles.map { cannotInfer([$0]) } }
    var advice: [String] = []
    for obstacle in obstacles where !advice.contains(obstacle.advice) { advice.append(obstacle.advice) }
    return NSError.cocoa(
      NSInferredMappingModelError, "A mapping model could not be inferred.",
      reason: obstacles.map(\.reason).joined(separator: " "),
      suggestion: advice.isEmpty ? "Write a mapping model for these versions." : advice.joined(separator: " "), info)
  }

  /// 134110, also for a step that an in-place migration cannot take.
  static func failed(
    url: URL?, reason: String, suggestion: String, entity: String? = nil, attribute: String? = nil,
    underlying: (any Error)? = nil
  ) -> NSError {
    var info = ErrorDetail.place(entity: entity, property: attribute)
    info[ErrorDetail.attribute] = attribute
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSMigrationError, "An error occurred during persistent store migration.", reason: reason, suggestion: suggestion,
      underlying: underlying, info)
  }

  /// 134110: another process has migrated the store since the migration was planned.
  static func outdatedPlan(url: URL?, reason: String, suggestion: String) -> NSError {
    failed(url: url, reason: reason, suggestion: suggestion, underlying: OutdatedPlan())
  }

  /// Marks the error.
  struct OutdatedPlan: Error {}

  /// 134110 for rows without a value of a required attribute.
  static func missingMandatoryValues(url: URL?, entity: String, attribute: String) -> NSError {
    failed(
      url: url,
      reason:
        "Cannot migrate store in-place: Validation error missing attribute values on mandatory destination attribute",
      suggestion: "Give the attribute '\(attribute)' of entity '\(entity)' a default value, or make it optional.",
      entity: entity, attribute: attribute)
  }

  /// 134110 as the reason why a store was set aside that another has replaced.
  static func replaced(by other: URL, url: URL) -> NSError {
    failed(
      url: url, reason: "The store was replaced by the one from '\(other.path)', which had been set aside before.",
      suggestion: "Nothing is to be done.")
  }

  /// 134111
  static func constraintViolation(
    url: URL?, entity: String, properties: [String], values: String, underlying: (any Error)? = nil
  ) -> NSError {
    let names = properties.map { "'\($0)'" }.joined(separator: ", ")
    var info = ErrorDetail.place(entity: entity, property: properties.first)
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSMigrationConstraintViolationError, "Persistent store migration failed, uniqueness constraint violated.",
      reason: "Rows of entity '\(entity)' have the same value of \(names), which the new model wants to be unique: "
        + "\(values).",
      suggestion: "Remove the duplicates first, or leave the constraint out.", underlying: underlying, info)
  }

  /// 134120
  static func cancelled(url: URL?) -> NSError {
    NSError.cocoa(
      NSMigrationCancelledError, "The persistent store migration was cancelled.",
      reason: "The migration was cancelled before it was done.",
      suggestion: "The store is as it was before; start the migration again.", url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134130
  ///
  /// - Parameters:
  ///   - note: why some versions could not be checked, in a sentence.
  ///   - dropped: what the way from the model that the store carries would drop.
  static func missingSourceModel(
    url: URL?, metadata: [String: Any], searched: [String], note: String? = nil, dropped: [DroppedContent] = []
  ) -> NSError {
    var info = ErrorDetail.place(entity: dropped.first?.entity, property: dropped.first?.property)
      .merging(ErrorDetail.store(metadata: metadata)) { $1 }
    info[ErrorDetail.url] = url
    let loss =
      dropped.isEmpty
      ? "" : " A migration from the model that the store carries would drop \(DroppedContent.words(dropped))."
    let rest = searched.count > 6 ? " and \(searched.count - 6) more" : ""
    let places = searched.isEmpty ? "" : " Looked at: \(searched.prefix(6).joined(separator: ", "))\(rest)."
    return NSError.cocoa(
      NSMigrationMissingSourceModelError,
      "Persistent store migration failed, missing source managed object model.",
      reason: "Can't find model for source store: no model has the entity version hashes of the store.\(loss)\(places)"
        + (note.map { " \($0)" } ?? ""),
      suggestion: dropped.isEmpty
        ? "Keep the model version that the store was made with beside the current one."
        : "Check that store and model belong together, and keep the model version that the store was made with beside "
          + "the current one. To drop these all the same, set MigrationOption.allowsLoss, or use --allow or --allow-loss.",
      info)
  }

  /// 134110: the store now holds something that would be dropped, which it did not when the migration was planned.
  static func unplannedLoss(url: URL?, dropped: [DroppedContent]) -> NSError {
    failed(
      url: url,
      reason:
        "The migration would drop \(DroppedContent.words(dropped)), which the store did not hold when it was planned, "
        + "or which may not be dropped.",
      suggestion: "Plan the migration again. The store was not changed.", entity: dropped.first?.entity)
  }

  /// 134110: a mapping model leaves out entities of which the store has rows.
  static func unmappedRows(url: URL?, mapping: URL?, dropped: [DroppedContent]) -> NSError {
    let name = mapping.map { "'\($0.lastPathComponent)'" } ?? "that was made in code"
    return failed(
      url: url,
      reason: "No entity mapping of the mapping model \(name) takes \(DroppedContent.words(dropped)), so that these "
        + "would be dropped.",
      suggestion: "Add entity mappings for them, or mappings that remove them. To drop them all the same, set "
        + "MigrationOption.allowsLoss, or use --allow or --allow-loss. The store was not changed.",
      entity: dropped.first?.entity)
  }
}

extension NSError {
  /// Whether a migration was planned for a version that the store no longer has.
  var isOutdatedPlan: Bool { userInfo[NSUnderlyingErrorKey] is MigrationErrors.OutdatedPlan }
}
