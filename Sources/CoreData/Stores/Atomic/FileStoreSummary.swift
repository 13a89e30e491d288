// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

/// The description of an XML or binary store, read without a model.
package struct FileStoreSummary {
  package let type: NSPersistentStore.StoreType
  /// All metadata, with the UUID and the type.
  package let metadata: [String: Any]
  /// The number of objects of each entity. Entities are named as in the version hashes of the metadata, or else as in
  /// the file.
  package let objectCounts: [String: Int]
  /// The size of the file in bytes.
  package let size: Int

  /// Reads a store.
  ///
  /// - Returns: nil for a file that is neither an XML nor a binary store.
  /// - Throws: 259 for an XML store that is damaged; the errors of reading the file.
  package init?(of url: URL) throws {
    guard let (type, kind) = try Self.kind(of: url) else { return nil }
    let contents: any StoreFormat
    do {
      guard let data = try FileStoreErrors.translating(url, { try WholeFile(url).read(limit: FileStore.largest) })
      else { return nil }
      size = data.count
      contents = try FileStoreErrors.translating(url) { try kind.format.init(data, url: url) }
    } catch {
      // Any property list begins like a binary store.
      guard type == .binary else { throw error }
      return nil
    }
    self.type = type
    metadata = contents.metadata
    let names = (metadata[StoreMetadata.Key.hashes] as? [String: Data] ?? [:]).keys
    let known = Dictionary(grouping: names) { $0.uppercased() }
    objectCounts = contents.objectCounts.reduce(into: [:]) { counts, part in
      // An XML store has uppercase entity names.
      let alike = known[part.key.uppercased()] ?? []
      counts[names.contains(part.key) ? part.key : alike.count == 1 ? alike[0] : part.key, default: 0] += part.value
    }
  }

  /// Returns the type and the class of an XML or binary store, by the beginning of its file; nil for any other file.
  static func kind(of url: URL) throws -> (NSPersistentStore.StoreType, FileStore.Type)? {
    // A file that cannot be read is reported when it is opened.
    guard let start = try? RegularFile.firstBytes(512, of: url) else { return nil }
    if start.starts(with: Data("bplist".utf8)) { return (.binary, BinaryStore.self) }
    let isStore = start.starts(with: Data("<?xml".utf8)) && start.range(of: Data("<!DOCTYPE database".utf8)) != nil
    return isStore ? (.xml, XMLStore.self) : nil
  }
}
