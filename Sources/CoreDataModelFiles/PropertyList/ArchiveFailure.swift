// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An error in a property list or a keyed archive.
struct ArchiveFailure: Error {
  let kind: ModelFileError.Kind
  let found: String

  /// Creates an error for damaged data.
  static func broken(_ found: String) -> ArchiveFailure {
    ArchiveFailure(kind: .brokenArchive, found: found)
  }

  /// Creates an error for a class that is unknown in its context.
  static func unknownClass(_ name: String, _ place: String) -> ArchiveFailure {
    ArchiveFailure(kind: .unknownClass, found: "The class \(name) is not supported as \(place).")
  }

  /// Returns the error to report to callers.
  func error(file: URL?) -> ModelFileError {
    let advice =
      kind == .unknownClass
      ? "Use the source of the model, or report the class." : "Restore the file from a good copy."
    return ModelFileError(kind, found: found, advice: advice, file: file)
  }
}
