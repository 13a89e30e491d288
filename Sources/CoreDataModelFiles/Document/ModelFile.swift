// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Reads untrusted files of models, mapping models and bundles.
package enum ModelFile {
  /// The largest acceptable file in bytes.
  package static let largest = 1 << 25

  /// Reads a whole file.
  ///
  /// - Throws: `ModelFileError` if the file is not regular, missing, too large or unreadable.
  package static func read(_ url: URL) throws -> Data {
    try translating(url) { try RegularFile.read(url, limit: largest) }
  }

  /// Reads the first bytes of a file.
  ///
  /// - Throws: The errors of `read(_:)`.
  package static func firstBytes(_ count: Int, of url: URL) throws -> Data {
    try translating(url) { try RegularFile.firstBytes(count, of: url) }
  }

  private static func translating(_ url: URL, _ body: () throws -> Data) throws -> Data {
    do {
      return try body()
    } catch RegularFile.Problem.notRegular(_, let kind) {
      throw ModelFileError(
        .unsupportedFile, found: "The path names \(kind), not a regular file.", advice: "Name a model file.",
        file: url)
    } catch RegularFile.Problem.tooLarge(_, let bytes, let limit) {
      throw ModelFileError(
        .unsupportedFile, found: "The file has \(bytes) bytes; at most \(limit) are read.",
        advice: "Check that it is a model file.", file: url)
    } catch let failure as FileFailure {
      let reason = String(cString: strerror(failure.number))
      throw ModelFileError(
        failure.number == ENOENT ? .missingFile : .unreadableFile, found: "The file cannot be read: \(reason).",
        advice: "Check the path and its permissions.", file: url)
    }
  }
}
