// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The optimised copy of a compiled model, `.omo`, whose format is not documented: the `.mom` beside it says the same.
enum OptimizedModel {
  /// How every such file begins.
  static let opening = Data("momv2".utf8)

  /// The compiled model that an optimised one was made from.
  /// - Throws: `ModelFileError` where it is absent.
  static func compiledModel(beside url: URL) throws -> URL {
    let compiled = url.deletingPathExtension().appendingPathExtension("mom")
    guard FileManager.default.fileExists(atPath: compiled.path) else { throw unreadable(url) }
    return compiled
  }

  /// The error for an optimised model that stands alone.
  static func unreadable(_ url: URL) -> ModelFileError {
    let compiled = url.deletingPathExtension().appendingPathExtension("mom").lastPathComponent
    return ModelFileError(
      .unsupportedFile, found: "The format of optimised models (.omo) is not documented, and there is no \(compiled).",
      advice: "Put the .mom of the same version beside it, or use the .xcdatamodel.", file: url)
  }
}
