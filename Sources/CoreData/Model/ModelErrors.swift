// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Errors of models: unreadable files, inconsistent models, and failed searches.
enum ModelErrors {
  /// 260 for a missing file, 259 for a file that is not a model, `NSCoreDataError` for an inconsistent model.
  static func cannotRead(
    _ error: ModelFileError, _ description: String = "The managed object model could not be read."
  ) -> NSError {
    var info = ErrorDetail.userInfo(entity: error.entity, property: error.property)
    info[NSFilePathErrorKey] = error.file
    info["line"] = error.line
    let place = [error.entity, error.property].compactMap { $0 }.joined(separator: ".")
    let file = error.file.map { "\($0)\(error.line.map { ", line \($0)" } ?? ""): " } ?? ""
    let reason = file + (place.isEmpty ? "" : "\(place): ") + error.found
    return NSError.cocoa(
      code(of: error.kind), description, reason: reason, suggestion: error.advice, underlying: error, info)
  }

  static func unknownVersion(_ name: String, known: [String], url: URL?) -> NSError {
    NSError.cocoa(
      NSCoreDataError, "The managed object model has no such version.",
      reason: "\(url.map { "'\($0.path)'" } ?? "The model") has no version '\(name)'.",
      suggestion: "Its versions are: \(known.joined(separator: ", ")).", url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 260: the model is not among the resources searched.
  ///
  /// - Parameter name: the model's name; nil for any model.
  static func notFound(_ name: String?, found: [URL], folders: [URL]) -> NSError {
    let places = folders.map { "'\($0.path)'" }.joined(separator: ", ")
    let names = found.map { "'\($0.lastPathComponent)'" }.joined(separator: ", ")
    return NSError.cocoa(
      CocoaError.Code.fileReadNoSuchFile.rawValue, "The managed object model could not be found.",
      reason: (name.map { "There is no model named '\($0)'" } ?? "There is no model")
        + " as .\(ModelSearch.modelKinds.joined(separator: ", .")) in \(places.isEmpty ? "no bundle at all" : places)."
        + (names.isEmpty ? "" : " Found: \(names)."),
      suggestion:
        "Add the model to the target's resources in Package.swift, with .copy(\"\(name ?? "Model").xcdatamodeld\"),"
        + " or load it from its URL and pass it to init(name:managedObjectModel:).",
      name.map { [NSFilePathErrorKey: $0] } ?? [:])
  }

  /// 134130: no model has certain entities of a store in the store's version.
  static func noModel(
    forMetadata metadata: [String: Any], missing: [String], modelCount: Int, unreadable: [any Error]
  ) -> NSError {
    let problems = unreadable.map { (($0 as NSError).localizedFailureReason ?? $0.localizedDescription) }
    let entities = missing.map { "'\($0)'" }.joined(separator: ", ")
    let versions = "\(modelCount) \(modelCount == 1 ? "model version" : "model versions")"
    return NSError.cocoa(
      NSMigrationMissingSourceModelError, "No managed object model was found for the store.",
      reason: (missing.isEmpty
        ? "The metadata contain no entity version hashes."
        : "None of \(versions) has the store's version hashes of: \(entities).")
        + (problems.isEmpty ? "" : " Could not be read: \(problems.joined(separator: " "))"),
      suggestion: "Add the model versions that stores were written with to the resources.",
      underlying: unreadable.first,
      [ErrorDetail.metadata: metadata])
  }

  /// `NSCoreDataError`: models have different entities or templates of the same name.
  static func cannotMerge(_ conflicts: [ModelMerge.Conflict]) -> NSError {
    let sentences = conflicts.map { conflict in
      let details = conflict.differences.map(\.text).joined(separator: "; ")
      return "There are two different versions of the \(conflict.subject.rawValue) '\(conflict.name)'"
        + (details.isEmpty ? "." : ": \(details).")
    }
    let first = conflicts.first { $0.subject == .entity }
    let kinds = ["attributes", "relationships", "fetchedProperties"]
    let path = first?.differences.first { $0.path.count > 1 && kinds.contains($0.path[0]) }?.path
    return NSError.cocoa(
      NSCoreDataError, "The managed object models could not be merged.", reason: sentences.joined(separator: " "),
      suggestion: "Rename one of them, make them equal, or leave one of the models out.",
      ErrorDetail.userInfo(entity: first?.name, property: path?[1]))
  }

  /// 134504
  static func unresolvedReference(_ reference: String, reason: String, underlying: (any Error)? = nil) -> NSError {
    NSError.cocoa(
      NSManagedObjectModelReferenceNotFoundError, "The referenced managed object model could not be found.",
      reason: "The reference to \(reference) cannot be resolved: \(reason)",
      suggestion: "Check the name or location, and whether the model has changed since its checksum was recorded.",
      underlying: underlying)
  }

  /// 259: a file of localized names cannot be read.
  static func unreadableStrings(_ url: URL, reason: String, underlying: (any Error)? = nil) -> NSError {
    NSError.cocoa(
      CocoaError.Code.fileReadCorruptFile.rawValue, "The localized names of a model could not be read.",
      reason: "\(url.path): \(reason)", suggestion: "Write a property list, or lines of the form \"key\" = \"value\";.",
      underlying: underlying, [NSFilePathErrorKey: url.path])
  }

  static func unknownIndexProperty(_ name: String, index: String, entity: String) -> NSError {
    invalid(
      "The index '\(index)' of entity '\(entity)' is on the property '\(name)', which the entity does not have.",
      suggestion: "Remove the element from the index, or add the property.", entity: entity, property: name)
  }

  static func unknownUniqueProperty(_ name: String, entity: String, known: [String]) -> NSError {
    invalid(
      "A uniqueness constraint of entity '\(entity)' is on the property '\(name)', which the entity does not have. "
        + "It has: \(known.sorted().joined(separator: ", ")).",
      suggestion: "Correct the constraint, or add the property.", entity: entity, property: name)
  }

  static func mixedIndex(_ index: String, entity: String) -> NSError {
    invalid(
      "The index '\(index)' of entity '\(entity)' mixes binary and R-tree elements.",
      suggestion: "Split it into two indexes.", entity: entity)
  }

  private static func invalid(_ reason: String, suggestion: String, entity: String, property: String? = nil) -> NSError
  {
    NSError.cocoa(
      NSCoreDataError, "The managed object model is not valid.", reason: reason, suggestion: suggestion,
      ErrorDetail.userInfo(entity: entity, property: property))
  }

  private static func code(of kind: ModelFileError.Kind) -> Int {
    switch kind {
    case .missingFile: CocoaError.Code.fileReadNoSuchFile.rawValue
    case .unreadableFile: CocoaError.Code.fileReadUnknown.rawValue
    case .missingContents, .unsupportedFile, .notXML, .brokenXML, .notAnArchive, .brokenArchive:
      CocoaError.Code.fileReadCorruptFile.rawValue
    default: NSCoreDataError
    }
  }
}
