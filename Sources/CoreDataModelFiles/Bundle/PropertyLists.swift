// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Property lists of the plain kind, without archives.
enum PropertyLists {
  static func dictionary(at file: URL) throws -> [String: Any] {
    let data = try Data(contentsOf: file)
    do {
      let value = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
      if let dictionary = value as? [String: Any] { return dictionary }
    } catch {
      throw ModelFileError(
        .unsupportedFile, found: "This is not a property list: \(error.localizedDescription).",
        advice: "Restore the file from version control.", file: file)
    }
    throw ModelFileError(
      .unsupportedFile, found: "The property list holds no dictionary.",
      advice: "Restore the file from version control.", file: file)
  }
}
