// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// When and why a store was set aside, written beside it.
package struct SetAsideNote: Codable, Hashable {
  package var version = 1
  package let date: Date
  package let code: Int
  package var reason: String

  /// The name of the folder in which the stores of a folder are set aside.
  package static let folderName = "Incompatible"

  package init(code: Int, reason: String) {
    date = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    self.code = code
    self.reason = reason
  }

  package static func name(besideStore name: String) -> String { "\(name)-set-aside.json" }

  /// The largest note that is read, in bytes.
  private static let greatestSize = 1 << 20

  package func write(in directory: OpenDirectory, besideStore name: String) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    var note = self
    // A reason may quote values of any size.
    note.reason = String(reason.prefix(10_000))
    let mode = (directory.status(name)?.st_mode ?? 0o600) & 0o666 | 0o600
    try directory.write(encoder.encode(note), to: Self.name(besideStore: name), mode: mode)
  }

  /// A note that is none.
  package struct Unreadable: Error {
    package let path: String
    package let reason: String

    package init(
      path: String, reason: String
    ) {
      self.path = path
      self.reason = reason
    }
  }

  /// - Throws: `Unreadable`; `RegularFile.Problem`; `FileFailure`.
  package static func read(in directory: OpenDirectory, besideStore name: String) throws -> SetAsideNote {
    let file = Self.name(besideStore: name)
    do {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      return try decoder.decode(SetAsideNote.self, from: directory.read(file, limit: greatestSize))
    } catch let error as DecodingError {
      throw Unreadable(path: directory.path(file).path, reason: "\(error)")
    }
  }
}
