// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// A store that was set aside: it did not fit the model, or was damaged, and a new one took its place. An addition to
/// Apple's interface.
///
/// It lies in a folder of its own, which bears the date, in the folder `Incompatible` beside the store, together with its
/// external data, and under its old name: it can be opened there by any tool. Nothing of it is ever removed unasked.
public struct SetAsideStore: Hashable, Sendable {
  /// Where the store lies now.
  public let url: URL
  /// When it was set aside.
  public let date: Date
  /// The code of the error because of which it was set aside; 0 where there was none.
  public let code: Int
  /// Why it was set aside, in the words of that error.
  public let reason: String

  /// The name of the folder in which the stores of a folder are set aside.
  static let folderName = "Incompatible"

  /// Removes the store, its external data, and its folder where nothing else is in it.
  ///
  /// - Throws: 134070 where a link stands in the way; 512, 513 and their kin when the file system fails.
  public func remove() throws {
    try RecoveryErrors.translating(url: url) {
      let (name, stamp) = (url.lastPathComponent, url.deletingLastPathComponent())
      let outer = try OpenDirectory.open(stamp.deletingLastPathComponent(), followsLinks: false)
      guard let directory = try outer.directoryIfPresent(stamp.lastPathComponent) else { return }
      for file in [name] + StorePlace.companionSuffixes.map({ name + $0 }) { try directory.removeFile(file) }
      try directory.removeTree(SupportDirectory(store: url).url.lastPathComponent)
      try directory.removeFile(SetAsideNote.name(besideStore: name))
      try outer.removeDirectoryIfEmpty(stamp.lastPathComponent)
      try OpenDirectory.open(outer.url.deletingLastPathComponent()).removeDirectoryIfEmpty(outer.url.lastPathComponent)
    }
  }
}

/// When and why a store was set aside, written beside it.
struct SetAsideNote: Codable, Hashable {
  var version = 1
  let date: Date
  let code: Int
  var reason: String

  init(_ error: NSError?) {
    date = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    code = error?.code ?? 0
    reason = [error?.localizedDescription, error?.localizedFailureReason].compactMap { $0 }.joined(separator: " ")
  }

  static func name(besideStore name: String) -> String { "\(name)-set-aside.json" }

  /// The largest note that is read, in bytes.
  private static let greatestSize = 1 << 20

  func write(in directory: OpenDirectory, besideStore name: String) throws {
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
  struct Unreadable: Error {
    let path: String
    let reason: String
  }

  /// - Throws: `Unreadable`; `RegularFile.Problem`; `FileFailure`.
  static func read(in directory: OpenDirectory, besideStore name: String) throws -> SetAsideNote {
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
