// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import Foundation

/// The types of stores in files, by their names in options.
enum StoreFileKind: String, CaseIterable {
  case sqlite, binary, xml

  var storeType: NSPersistentStore.StoreType {
    switch self {
    case .sqlite: .sqlite
    case .binary: .binary
    case .xml: .xml
    }
  }

  /// The name of the type in sentences, after an article: `an XML`.
  var articleAndName: String {
    switch self {
    case .sqlite: "a SQLite"
    case .binary: "a binary"
    case .xml: "an XML"
    }
  }

  /// The type that the name of a new file asks for: SQLite, unless it ends with `.xml` or `.binary`.
  init(forFileAt url: URL) {
    let named = StoreFileKind(rawValue: url.pathExtension.lowercased())
    self = named ?? .sqlite
  }

  /// The type of a file that begins like a store, even if it is damaged; nil for any other file.
  init?(firstBytesOf url: URL) {
    // A file that cannot be read has no type; opening it says why.
    guard let bytes = try? RegularFile.firstBytes(16, of: url) else { return nil }
    if bytes.starts(with: Data("<?xml".utf8)) {
      self = .xml
    } else if bytes.starts(with: Data("bplist".utf8)) {
      self = .binary
    } else if bytes.starts(with: Data("SQLite format 3\0".utf8)) {
      self = .sqlite
    } else {
      return nil
    }
  }

  /// The type of an XML or binary store; nil for any other file.
  ///
  /// - Throws: the errors of reading a store that is damaged.
  init?(ofFileAt url: URL) throws {
    switch try FileStoreSummary(of: url)?.type {
    case .xml: self = .xml
    case .binary: self = .binary
    default:
      // Of a damaged binary store, the file still begins like a property list.
      guard StoreFileKind(firstBytesOf: url) == .binary else { return nil }
      throw CommandFailure(
        .unreadableStore, "\(url.lastPathComponent) is a damaged binary store, or another property list.")
    }
  }
}
