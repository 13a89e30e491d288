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
  /// - Throws: 512, 513 and their kin when the file system fails.
  public func remove() throws {
    try RecoveryErrors.translating(url: url) {
      for file in [url] + StorePlace(url).companions { try FileCalls.removeFile(file) }
      try FileCalls.removeTree(StoreFiles.externalData(of: url))
      try FileCalls.removeFile(SetAsideNote.file(besideStoreAt: url))
      let folder = url.deletingLastPathComponent()
      try FileCalls.removeFolderIfEmpty(folder)
      try FileCalls.removeFolderIfEmpty(folder.deletingLastPathComponent())
    }
  }
}

/// When and why a store was set aside, written beside it.
struct SetAsideNote: Codable, Hashable {
  var version = 1
  let date: Date
  let code: Int
  let reason: String

  init(_ error: NSError?) {
    date = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    code = error?.code ?? 0
    reason = [error?.localizedDescription, error?.localizedFailureReason].compactMap { $0 }.joined(separator: " ")
  }

  /// The largest note that is read, in bytes: a date, a code and a few sentences.
  private static let largest = 1 << 20

  static func file(besideStoreAt url: URL) -> URL { StorePlace.url(url, "-set-aside.json") }

  func write(besideStoreAt url: URL) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try FileCalls.write(encoder.encode(self), to: Self.file(besideStoreAt: url))
  }

  static func read(besideStoreAt url: URL) throws -> SetAsideNote {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let data = try RegularFile.read(file(besideStoreAt: url), limit: largest, followsLinks: false)
    return try decoder.decode(SetAsideNote.self, from: data)
  }
}
