// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
    case .missingContents, .unsupportedFile, .notXML, .brokenXML, .notAnArchive, .brokenArchive:
      CocoaError.Code.fileReadCorruptFile.rawValue
    default: NSCoreDataError
    }
  }
}
