// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Errors about models: files that cannot be read, and models that contradict themselves.
internal enum ModelErrors {
  /// 260 for a missing file, 259 for one that is no model, `NSCoreDataError` for what makes no sense in itself.
  static func cannotRead(
    _ error: ModelFileError, _ description: String = "The managed object model could not be read."
  ) -> NSError {
    var info = ErrorDetail.place(entity: error.entity, property: error.property)
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
      reason: "\(url?.lastPathComponent ?? "The model") has no version '\(name)'.",
      suggestion: "Its versions are: \(known.joined(separator: ", ")).", url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 260 for a model that is not among the resources that were searched; without a name for any model.
  static func notFound(_ name: String?, found: [URL], folders: [URL]) -> NSError {
    let places = folders.map { "'\($0.path)'" }.joined(separator: ", ")
    let names = found.map { "'\($0.lastPathComponent)'" }.joined(separator: ", ")
    return NSError.cocoa(
      CocoaError.Code.fileReadNoSuchFile.rawValue, "The managed object model could not be found.",
      reason: (name.map { "There is no model named '\($0)'" } ?? "There is no model")
        + " as .\(ModelSearch.modelKinds.joined(separator: ", .")) in \(places.isEmpty ? "no bundle at all" : places)."
        + (names.isEmpty ? "" : " Found: \(names)."),
      suggestion:
        "Add the model to the resources of the target, in Package.swift with .copy(\"\(name ?? "Model").xcdatamodeld\"),"
        + " or read it from its own place and give it to init(name:managedObjectModel:).",
      name.map { [NSFilePathErrorKey: $0] } ?? [:])
  }

  /// 134130 for metadata of which no models have all entities.
  static func noModel(
    forMetadata metadata: [String: Any], missing: [String], modelCount: Int, unreadable: [any Error]
  ) -> NSError {
    let problems = unreadable.map { (($0 as NSError).localizedFailureReason ?? $0.localizedDescription) }
    let entities = missing.map { "'\($0)'" }.joined(separator: ", ")
    let versions = "\(modelCount) \(modelCount == 1 ? "model version" : "model versions")"
    return NSError.cocoa(
      NSMigrationMissingSourceModelError, "No managed object model was found for the store.",
      reason: (missing.isEmpty
        ? "The metadata hold no entity version hashes."
        : "None of \(versions) that could be used has the version hashes of: \(entities).")
        + (problems.isEmpty ? "" : " Could not be read: \(problems.joined(separator: " "))"),
      suggestion: "Keep the model versions that stores were made with among the resources.",
      underlying: unreadable.first,
      [ErrorDetail.metadata: metadata])
  }

  /// `NSCoreDataError` for models that have different things of the same name.
  static func cannotMerge(_ conflicts: [ModelMerge.Conflict]) -> NSError {
    let sentences = conflicts.map { conflict in
      let details = conflict.differences.map(\.words).joined(separator: "; ")
      return "There are two different versions of the \(conflict.subject.rawValue) '\(conflict.name)'"
        + (details.isEmpty ? "." : ": \(details).")
    }
    let first = conflicts.first { $0.subject == .entity }
    let kinds = ["attributes", "relationships", "fetchedProperties"]
    let path = first?.differences.first { $0.path.count > 1 && kinds.contains($0.path[0]) }?.path
    return NSError.cocoa(
      NSCoreDataError, "The managed object models could not be merged.", reason: sentences.joined(separator: " "),
      suggestion: "Give one of them another name, make them equal, or leave one of the models out.",
      ErrorDetail.place(entity: first?.name, property: path?[1]))
  }

  /// 134504
  static func unresolvedReference(_ reference: String, reason: String, underlying: (any Error)? = nil) -> NSError {
    NSError.cocoa(
      NSManagedObjectModelReferenceNotFoundError, "The referenced managed object model could not be found.",
      reason: "The reference to \(reference) cannot be resolved: \(reason)",
      suggestion: "Check the name or place, and that the model has not changed since its checksum was noted.",
      underlying: underlying)
  }

  /// 259 for a file of localized names that cannot be read.
  static func unreadableStrings(_ url: URL, reason: String, underlying: (any Error)? = nil) -> NSError {
    NSError.cocoa(
      CocoaError.Code.fileReadCorruptFile.rawValue, "The localized names of a model could not be read.",
      reason: "\(url.path): \(reason)", suggestion: "Write it as a property list, or as lines of \"key\" = \"value\";.",
      underlying: underlying, [NSFilePathErrorKey: url.path])
  }

  static func unknownIndexProperty(_ name: String, index: String, entity: String) -> NSError {
    invalid(
      "The index '\(index)' of entity '\(entity)' names the property '\(name)', which the entity does not have.",
      suggestion: "Remove the element from the index, or add the property.", entity: entity, property: name)
  }

  static func mixedIndex(_ index: String, entity: String) -> NSError {
    invalid(
      "The index '\(index)' of entity '\(entity)' mixes binary elements with those of a range tree.",
      suggestion: "Make two indexes of it.", entity: entity)
  }

  private static func invalid(_ reason: String, suggestion: String, entity: String, property: String? = nil) -> NSError
  {
    NSError.cocoa(
      NSCoreDataError, "The managed object model is not valid.", reason: reason, suggestion: suggestion,
      ErrorDetail.place(entity: entity, property: property))
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
