// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Errors about mapping models: missing, unreadable, or made for other states of the models.
extension MigrationErrors {
  /// As for models: 260 for a missing file, 259 for one that is not a mapping model, `NSCoreDataError` for a contradictory
  /// one.
  static func cannotReadMapping(_ error: ModelFileError) -> NSError {
    ModelErrors.cannotRead(error, "The mapping model could not be read.")
  }

  /// The versions that an error is about, as far as they are known.
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

    /// Under Core Data's keys.
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
  ///   - detail: more about what is missing, as a sentence.
  ///   - underlying: why none could be inferred; its entity and property are told too.
  static func missingMappingModel(
    url: URL?, models: Models, detail: String? = nil, suggestion: String? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    let versions =
      (models.sourceName.map { " from '\($0)'" } ?? "") + (models.destinationName.map { " to '\($0)'" } ?? "")
    let cause = underlying as NSError?
    var info = ErrorDetail.place(
      entity: cause?.userInfo[ErrorDetail.entity] as? String, property: cause?.userInfo[ErrorDetail.property] as? String
    ).merging(models.details) { $1 }
    info[ErrorDetail.url] = url
    return NSError.cocoa(
      NSMigrationMissingMappingModelError, missingMapping,
      reason: "Can't find mapping model for migration\(versions)."
        + ((detail ?? cause?.localizedFailureReason).map { " \($0)" } ?? ""),
      suggestion: suggestion ?? "Add a mapping model, or make the change one that can be inferred.",
      underlying: underlying, info)
  }

  /// 134140 for a mapping model that is meant for the two versions, and whose hashes no longer fit.
  ///
  /// - Parameters:
  ///   - mapping: the mapping model's file; nil for one that was made in code.
  static func staleMapping(
    url: URL?, mapping: URL?, models: Models, mismatches: [MappingMismatch]
  ) -> NSError {
    let name = mapping.map { "'\($0.lastPathComponent)'" } ?? "that was made in code"
    let first = mismatches.first
    var info = ErrorDetail.place(entity: first?.entity).merging(models.details) { $1 }
    info[ErrorDetail.url] = url
    info[ErrorDetail.mappingModelURL] = mapping
    info[ErrorDetail.mappingHash] = first?.wanted.map(ErrorDetail.hex)
    info[ErrorDetail.modelHash] = first?.found.map(ErrorDetail.hex)
    let opening =
      "The mapping model \(name) is for the migration from '\(models.sourceName ?? "")' to "
      + "'\(models.destinationName ?? "")', but was made for other states of these versions, so that it cannot be used."
    return NSError.cocoa(
      NSMigrationMissingMappingModelError, missingMapping,
      reason: ([opening] + mismatches.map(\.sentence)).joined(separator: " "),
      suggestion:
        "Compile the mapping model again with the models as they are now, or undo the change of the models. If it "
        + "is not needed any more, remove it from the program.", info)
  }

  private static let missingMapping = "Persistent store migration failed, missing mapping model."
}
