// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value of a binary property list, references between the objects of a keyed archive included.
package enum ArchiveValue: Hashable, Sendable {
  case boolean(Bool)
  case integer(Int64)
  /// A whole number above `Int64.max`.
  case unsigned(UInt64)
  case real(Double)
  case date(Date)
  case data(Data)
  case string(String)
  /// A reference to an object of the same archive, by its position.
  case uid(Int)
  case array([ArchiveValue])
  case dictionary([String: ArchiveValue])
}

/// Why bytes are no binary property list, or no keyed archive that we know.
struct ArchiveFailure: Error {
  let kind: ModelFileError.Kind
  let found: String

  /// Damage below the level of objects.
  static func broken(_ found: String) -> ArchiveFailure {
    ArchiveFailure(kind: .brokenArchive, found: found)
  }

  /// A class that the reader does not know in that place.
  static func unknownClass(_ name: String, _ place: String) -> ArchiveFailure {
    ArchiveFailure(kind: .unknownClass, found: "The class \(name) is not known as \(place).")
  }

  /// The failure as the error that callers see.
  func error(file: URL?) -> ModelFileError {
    let advice =
      kind == .unknownClass
      ? "Use the source of the model, or report the class." : "Restore the file from a good copy."
    return ModelFileError(kind, found: found, advice: advice, file: file)
  }
}
