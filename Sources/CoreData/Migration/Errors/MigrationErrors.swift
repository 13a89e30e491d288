// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// Errors of migration, from finding models to verifying the result.
internal enum MigrationErrors {
  /// 134190: no mapping can be inferred. Lists all reasons, with an error for each if there are several. Entity and
  /// property are those of the first.
  static func cannotInfer(_ obstacles: [InferenceObstacle]) -> NSError {
    let first = obstacles.first
    var info = ErrorDetail.userInfo(entity: first?.entity, property: first?.property)
    if obstacles.count > 1 { info[NSDetailedErrorsKey] = obstacles.map { cannotInfer([$0]) } }
    var advice: [String] = []
    for obstacle in obstacles where !advice.contains(obstacle.advice) { advice.append(obstacle.advice) }
    return NSError.cocoa(
      NSInferredMappingModelError, "A mapping model could not be inferred.",
      reason: obstacles.map(\.reason).joined(separator: " "),
      suggestion: advice.isEmpty ? "Write a mapping model for these versions." : advice.joined(separator: " "), info)
  }

  /// 134110; also for a step that an in-place migration cannot execute.
  static func failed(
    url: URL?, reason: String, suggestion: String, entity: String? = nil, attribute: String? = nil,
    underlying: (any Error)? = nil
  ) -> NSError {
    var info = ErrorDetail.userInfo(entity: entity, property: attribute)
    info[ErrorDetail.attribute] = attribute
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSMigrationError, "An error occurred during persistent store migration.", reason: reason, suggestion: suggestion,
      underlying: underlying, info)
  }

  /// 134110: the store needs a migration, and was opened read-only.
  ///
  /// - Parameter hasStages: whether the migration has stages.
  static func readOnly(url: URL, hasStages: Bool) -> NSError {
    failed(
      url: url,
      reason: "The store was opened read-only, and has "
        + (hasStages ? "stages of a migration to go through." : "another model version than the one given."),
      suggestion: "Open it without NSReadOnlyPersistentStoreOption once, so that it can be migrated.")
  }

  /// 134110: another process has migrated the store since the migration was planned.
  static func outdatedPlan(url: URL?, reason: String, suggestion: String) -> NSError {
    failed(url: url, reason: reason, suggestion: suggestion, underlying: OutdatedPlan())
  }

  struct OutdatedPlan: Error {}

  /// Marks an error caused by concurrent changes to a store.
  struct Interference: Error {}

  /// 134110 for rows without a value of a required attribute.
  ///
  /// - Parameter rows: the rows without a value, as the subject of a sentence.
  static func missingMandatoryValues(url: URL?, entity: String, attribute: String, rows: String) -> NSError {
    let reason =
      "Cannot migrate store in-place: Validation error missing attribute values on mandatory destination attribute"
    let error = failed(
      url: url, reason: reason,
      suggestion:
        "Give the attribute '\(attribute)' of entity '\(entity)' a default value, make it optional, or set its "
        + "values by a mapping model.", entity: entity, attribute: attribute)
    var info = error.userInfo
    // Programs compare Core Data's own sentence, which contains no names.
    info[NSLocalizedFailureReasonErrorKey] =
      "\(reason): '\(attribute)' of entity '\(entity)' is required and has no default value in the destination, and "
      + "\(rows) without a value."
    return NSError(domain: error.domain, code: error.code, userInfo: info)
  }

  /// 134110: the reason why a store was set aside that has been replaced with another.
  static func replaced(by other: URL, url: URL) -> NSError {
    failed(
      url: url, reason: "The store was replaced by the one from '\(other.path)', which had been set aside before.",
      suggestion: "No action is needed.")
  }

  /// 134111
  static func constraintViolation(
    url: URL?, entity: String, properties: [String], values: String, underlying: (any Error)? = nil
  ) -> NSError {
    let names = properties.map { "'\($0)'" }.joined(separator: ", ")
    var info = ErrorDetail.userInfo(entity: entity, property: properties.first)
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSMigrationConstraintViolationError, "Persistent store migration failed, uniqueness constraint violated.",
      reason: "Rows of entity '\(entity)' have the same value of \(names), which must be unique in the new model: "
        + "\(values).",
      suggestion: "Remove the duplicates first, or remove the constraint from the model.", underlying: underlying, info)
  }

  /// 134120
  static func cancelled(url: URL?) -> NSError {
    NSError.cocoa(
      NSMigrationCancelledError, "The persistent store migration was cancelled.",
      reason: "The migration was cancelled before it was done.",
      suggestion: "The store was not changed. Start the migration again.", url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134130
  ///
  /// - Parameters:
  ///   - nearest: the version that differs from the store in the fewest entities, and its differences.
  ///   - note: a sentence that says why some versions could not be checked.
  ///   - reduction: what a migration from the model in the store itself would remove.
  static func missingSourceModel(
    url: URL?, metadata: [String: Any], searched: [String],
    nearest: (name: String, differences: [VersionDifference])? = nil, note: String? = nil,
    reduction: Reduction? = nil
  ) -> NSError {
    let first = reduction?.dropped.first ?? reduction?.reduced.first
    var info = ErrorDetail.userInfo(entity: first?.entity, property: first?.property)
      .merging(ErrorDetail.store(metadata: metadata)) { $1 }
    info[ErrorDetail.url] = url
    let loss = reduction.map { " \($0.sentence(metadata))" } ?? ""
    let rest = searched.count > 6 ? " and \(searched.count - 6) more" : ""
    let places = searched.isEmpty ? "" : " Looked at: \(searched.prefix(6).joined(separator: ", "))\(rest)."
    let differences =
      nearest.map {
        $0.differences.isEmpty ? "" : " From \($0.name): \(VersionDifference.text($0.differences, limit: 6))"
      } ?? ""
    return NSError.cocoa(
      NSMigrationMissingSourceModelError,
      "Persistent store migration failed, missing source managed object model.",
      reason: "Can't find model for source store: no model has the entity version hashes of the store.\(loss)\(places)"
        + differences
        + (note.map { " \($0)" } ?? ""),
      suggestion: reduction?.suggestion
        ?? "Add the model version that the store was made with to the model bundle.",
      info)
  }

  /// The content that a migration would remove from a store that none of the known versions has written.
  struct Reduction {
    /// The name of the wanted version.
    let destination: String
    /// The content that it would remove or narrow, whether or not the store contains any.
    let reduced: [DroppedContent]
    /// The part of that content that the store contains.
    let dropped: [DroppedContent]
    /// Whether the version may be reduced if no content is dropped.
    let allowsReduction: Bool

    init(to destination: String, reduced: [DroppedContent], dropped: [DroppedContent], allowsReduction: Bool) {
      (self.destination, self.reduced, self.dropped) = (destination, reduced, dropped)
      self.allowsReduction = allowsReduction
    }

    fileprivate func sentence(_ metadata: [String: Any]) -> String {
      let version = StoreVersion(metadata: metadata).text
      let opening = "The store is of \(version), which is not a known version"
      return dropped.isEmpty
        ? "\(opening): a migration to '\(destination)' would be a downgrade, and reduce the store by "
          + "\(DroppedContent.reductions(reduced))."
        : "\(opening). A migration from the model that is kept in the store to '\(destination)' would drop "
          + "\(DroppedContent.text(dropped))."
    }

    fileprivate var suggestion: String {
      let check =
        "Open the store with a program that has its version, or add that version to the model bundle."
      if dropped.isEmpty {
        return "\(check) To downgrade to '\(destination)' anyway, set MigrationOption.allowsDowngrade."
      }
      return "\(check) To drop this content anyway, set MigrationOption.allowsLoss, or use --allow or --allow-loss."
    }
  }

  /// 134110: the store now contains content that would be dropped, and did not when the migration was planned.
  static func unplannedLoss(url: URL?, dropped: [DroppedContent]) -> NSError {
    failed(
      url: url,
      reason:
        "The migration would drop \(DroppedContent.text(dropped)), which the store did not hold when the migration was "
        + "planned, or which may not be dropped.",
      suggestion: "Plan the migration again. The store was not changed.", entity: dropped.first?.entity)
  }

  /// 134110: a mapping model leaves out entities that have rows in the store.
  static func unmappedRows(url: URL?, mapping: URL?, dropped: [DroppedContent]) -> NSError {
    let name = mapping.map { "'\($0.lastPathComponent)'" } ?? "that was made in code"
    return failed(
      url: url,
      reason: "No entity mapping of the mapping model \(name) covers \(DroppedContent.text(dropped)), so this content "
        + "would be dropped.",
      suggestion: "Add entity mappings for these entities, or mappings that remove them. To drop them anyway, set "
        + "MigrationOption.allowsLoss, or use --allow or --allow-loss. The store was not changed.",
      entity: dropped.first?.entity)
  }

  /// 134110: a step that creates a new store would leave behind tables that do not belong to the model.
  static func otherTables(url: URL, source: String, destination: String, dropped: [OtherTables.Table]) -> NSError {
    failed(
      url: url,
      reason: "The step from '\(source)' to '\(destination)' creates a new store, which would not have "
        + "\(dropped.map(\.text).joined(separator: ", ")). "
        + "\(dropped.count == 1 ? "This table is" : "These tables are") not part of the model; "
        + "NSPersistentCloudKitContainer, for example, keeps its synchronization state in such tables.",
      suggestion: "Change the model so that the mapping can be inferred: a migration in place keeps all tables. To "
        + "drop them anyway, set MigrationOption.allowsLoss, or use --allow or --allow-loss. The store was not "
        + "changed.")
  }

  /// An error as for models (257, 259 and others): a version that an inferred step would skip.
  static func unreadableVersion(
    _ name: String, _ error: ModelFileError, source: String, destination: String
  ) -> NSError {
    let readingError = ModelErrors.cannotRead(error, "A model version on the path of the migration could not be read.")
    var info = readingError.userInfo
    let reason =
      "The migration from '\(source)' to '\(destination)' would skip the version '\(name)', and lose its renamings "
      + "and default values: it cannot be read. \(readingError.localizedFailureReason ?? "")"
    let advice =
      "\(error.advice) To migrate without this version, remove it from the model. The store was not changed."
    for key in [NSLocalizedDescriptionKey, NSLocalizedFailureReasonErrorKey, NSLocalizedRecoverySuggestionErrorKey] {
      info[key] = nil
    }
    return NSError.cocoa(
      readingError.code, readingError.localizedDescription, reason: reason, suggestion: advice, underlying: error, info)
  }

  // Errors about mapping models: missing, unreadable, or created for other states of the models.

  /// An error as for models: 260 for a missing file, 259 for a file that is not a mapping model, `NSCoreDataError` for
  /// a contradictory one.
  static func cannotReadMapping(_ error: ModelFileError) -> NSError {
    ModelErrors.cannotRead(error, "The mapping model could not be read.")
  }

  /// The versions that an error is about, if known.
  struct Models {
    var sourceName: String?
    var destinationName: String?
    var source: NSManagedObjectModel?
    var destination: NSManagedObjectModel?

    init() {}

    init(_ source: ModelVersion?, _ destination: ModelVersion?) {
      // A contradictory model is reported where it is used.
      (sourceName, self.source) = (source?.name, try? source?.model())
      (destinationName, self.destination) = (destination?.name, try? destination?.model())
    }

    /// The details under Core Data's keys.
    fileprivate var details: [String: Any] {
      var info: [String: Any] = [:]
      info[ErrorDetail.sourceModel] = source
      info[ErrorDetail.destinationModel] = destination
      return info
    }
  }

  /// 134140
  ///
  /// - Parameters:
  ///   - detail: a sentence with more about what is missing.
  ///   - underlying: the reason why no mapping could be inferred. Its entity and property are included.
  static func missingMappingModel(
    url: URL?, models: Models, detail: String? = nil, suggestion: String? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    let versions =
      (models.sourceName.map { " from '\($0)'" } ?? "") + (models.destinationName.map { " to '\($0)'" } ?? "")
    let cause = underlying as NSError?
    var info = ErrorDetail.userInfo(
      entity: cause?.userInfo[ErrorDetail.entity] as? String, property: cause?.userInfo[ErrorDetail.property] as? String
    ).merging(models.details) { $1 }
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSMigrationMissingMappingModelError, missingMapping,
      reason: "Can't find mapping model for migration\(versions)."
        + ((detail ?? cause?.localizedFailureReason).map { " \($0)" } ?? ""),
      suggestion: suggestion ?? "Add a mapping model, or change the model so that a mapping can be inferred.",
      underlying: underlying, info)
  }

  /// 134140: a mapping model is intended for the two versions, but its hashes no longer match.
  ///
  /// - Parameters:
  ///   - mapping: the mapping model's file; nil for one created in code.
  static func staleMapping(
    url: URL?, mapping: URL?, models: Models, mismatches: [MappingMismatch]
  ) -> NSError {
    let name = mapping.map { "'\($0.lastPathComponent)'" } ?? "that was made in code"
    let first = mismatches.first
    var info = ErrorDetail.userInfo(entity: first?.entity).merging(models.details) { $1 }
    info[ErrorDetail.url] = url
    info[ErrorDetail.mappingModelURL] = mapping
    info[ErrorDetail.mappingHash] = first?.wanted.map(ErrorDetail.hex)
    info[ErrorDetail.modelHash] = first?.found.map(ErrorDetail.hex)
    let opening =
      "The mapping model \(name) is for the migration from '\(models.sourceName ?? "")' to "
      + "'\(models.destinationName ?? "")', but was made for other states of these versions, so it cannot be used."
    return NSError.cocoa(
      NSMigrationMissingMappingModelError, missingMapping,
      reason: ([opening] + mismatches.map(\.sentence)).joined(separator: " "),
      suggestion:
        "Compile the mapping model again with the current models, or undo the change of the models. If it is no longer "
        + "needed, remove it from the program.", info)
  }

  private static let missingMapping = "Persistent store migration failed, missing mapping model."

  // Errors of migration managers about the two stores.

  /// 134150
  static func sourceStore(url: URL?, reason: String, underlying: (any Error)? = nil) -> NSError {
    NSError.cocoa(
      NSMigrationManagerSourceStoreError, "Persistent store migration failed, problem with the source store.",
      reason: reason,
      suggestion: (underlying as NSError?)?.localizedRecoverySuggestion
        ?? "Check that the source store exists and can be read.", underlying: underlying, stores(url, nil))
  }

  /// 134150: the source cannot be read, for the reason in another error.
  static func unusableSource(url: URL?, _ error: NSError) -> NSError {
    sourceStore(
      url: url,
      reason: "The source store cannot be used: \(error.localizedFailureReason ?? error.localizedDescription)",
      underlying: error)
  }

  /// 134160: the destination cannot be written, for the reason in another error.
  static func unusableDestination(url: URL?, _ error: NSError) -> NSError {
    destinationStore(
      url: url,
      reason: "The destination store cannot be used: \(error.localizedFailureReason ?? error.localizedDescription)",
      underlying: error)
  }

  /// 134160
  static func destinationStore(
    url: URL?, source: URL? = nil, reason: String, suggestion: String? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    NSError.cocoa(
      NSMigrationManagerDestinationStoreError, "Persistent store migration failed, problem with the destination store.",
      reason: reason,
      suggestion: suggestion ?? (underlying as NSError?)?.localizedRecoverySuggestion
        ?? "Check the path of the destination store, and that its directory exists and can be written.",
      underlying: underlying, stores(source, url))
  }

  private static func stores(_ source: URL?, _ destination: URL?) -> [String: Any] {
    var info: [String: Any] = [:]
    info[ErrorDetail.sourceURL] = source
    info[ErrorDetail.destinationURL] = destination
    return info
  }

  // Errors of staged migration.

  /// A sentence about where the rules of stages are explained.
  static let stageHelp = "The rules of stages are explained by coredata explain VR406."

  /// 134504: the version of a store, or of a destination model, is in none of the stages.
  ///
  /// - Parameters:
  ///   - version: the version of the store, in the form of `StageModels.label(_:)`.
  ///   - known: the versions of the stages, in order.
  static func unknownStage(url: URL?, metadata: [String: Any], version: String, known: [String]) -> NSError {
    var info: [String: Any] = [ErrorDetail.metadata: metadata]
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSManagedObjectModelReferenceNotFoundError, "Staged migration could not begin.",
      reason: "Cannot use staged migration with an unknown model version. The store has the version "
        + "\(version); the stages are for \(known.isEmpty ? "no version" : known.joined(separator: ", ")).",
      suggestion: "Add a stage for the version that the store was made with, before the other stages. \(stageHelp)",
      info)
  }

  /// 134504: the model of a stage's version cannot be found.
  static func missingStageModel(url: URL?, checksum: String) -> NSError {
    NSError.cocoa(
      NSManagedObjectModelReferenceNotFoundError, "The model of a migration stage could not be found.",
      reason: "No model has the version checksum \(checksum), which a stage names.",
      suggestion: "Add the version to the model bundle, or set the stage's checksum to the version's current one.",
      url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134505
  static func stagedFrameworkMismatch(url: URL?, metadata: [String: Any], reason: String) -> NSError {
    var info: [String: Any] = [ErrorDetail.metadata: metadata]
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSStagedMigrationFrameworkVersionMismatchError,
      "The metadata of the persistent store must be updated before staged migration can be used.", reason: reason,
      suggestion:
        "Open the store once with the model it was made with, make a change, and save. This rewrites its metadata.",
      info)
  }

  /// 134506
  static func backwardStages(url: URL?, source: String, destination: String) -> NSError {
    NSError.cocoa(
      NSStagedMigrationBackwardMigrationError, "Staged migration would go backwards.",
      reason: "A store file cannot be migrated backwards with staged migration. The store is of the version "
        + "\(source), which comes after the version \(destination) of the model in the order of the stages.",
      suggestion: "Order the stages by version, or open the store with a later version. \(stageHelp)",
      url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134110: the stages do not lead to the model.
  static func stagesEndElsewhere(url: URL?, destination: String, known: [String]) -> NSError {
    failed(
      url: url,
      reason:
        "Incompatible metadata after migration because the store version hashes didn't migrate: no stage leads to "
        + "the version \(destination); the stages are for \(known.joined(separator: ", ")).",
      suggestion:
        "Add a stage for the version of the model that the store is opened with. The store was not changed. \(stageHelp)"
    )
  }

  /// 134110: a handler has thrown an error.
  ///
  /// - Parameters:
  ///   - handler: `willMigrateHandler` or `didMigrateHandler`.
  static func stageHandler(
    url: URL?, handler: String, stage: String, state: String, underlying: any Error
  ) -> NSError {
    let error = underlying as NSError
    let words = error.localizedFailureReason ?? error.localizedDescription
    let stageFailure = failed(
      url: url, reason: "The \(handler) of the stage \(stage) has failed: \(words) \(state)",
      suggestion:
        "Remove the cause and open the store again: the migration continues with this stage, and calls the handler "
        + "again.", entity: error.userInfo[ErrorDetail.entity] as? String, underlying: underlying)
    return NSError(
      domain: stageFailure.domain, code: stageFailure.code,
      userInfo: stageFailure.userInfo.merging([ErrorDetail.stage: stage]) { $1 })
  }
}

extension NSError {
  /// Foundation's key for several underlying errors, which is missing on Linux.
  static let multipleUnderlyingErrorsKey = "NSMultipleUnderlyingErrorsKey"

  /// Returns the error with the earlier SQL failure among its underlying errors.
  func with(sqlFailure: any Error) -> NSError {
    var userInfo = userInfo
    let failures = [userInfo[NSUnderlyingErrorKey] as? any Error, sqlFailure].compactMap { $0 }
    userInfo[NSUnderlyingErrorKey] = failures[0]
    userInfo[Self.multipleUnderlyingErrorsKey] = failures
    return NSError(domain: domain, code: code, userInfo: userInfo)
  }

  /// Whether a migration was planned for a version that the store no longer has.
  var isOutdatedPlan: Bool { userInfo[NSUnderlyingErrorKey] is MigrationErrors.OutdatedPlan }

  /// Returns whether a migration failed for a reason outside the store: concurrent changes, a handler of the program,
  /// or a file of a model or mapping model.
  func isOutside(store url: URL) -> Bool {
    let cause = userInfo[NSUnderlyingErrorKey]
    if isOutdatedPlan || cause is MigrationErrors.Interference || userInfo[ErrorDetail.stage] != nil { return true }
    return (cause as? ModelFileError)?.file.map { $0 != url.path } == true
  }
}
