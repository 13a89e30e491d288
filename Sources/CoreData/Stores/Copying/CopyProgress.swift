// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// The progress of a copy whose parts have been committed.
package struct CopyProgress: Equatable {
  package enum Phase: String {
    /// Rows are being inserted.
    case rows
    /// All rows have been inserted, and members of relationships are being written.
    case members
  }

  /// The UUID of the source.
  package let source: String
  /// The state of the source: a hash of the numbers and versions of its rows.
  package let state: ContentHash
  /// The first of the new numbers for rows, in a destination that numbers all entities together.
  package let firstFree: Int64
  package internal(set) var phase = Phase.rows
  /// The entity whose rows are being copied; empty before the first.
  package internal(set) var entity = ""
  /// The source's number of the last row copied; nil if none of the entity has been.
  package internal(set) var last: Int64?
  /// A digest of what has been copied.
  package internal(set) var digest = StoreDigest()
  /// The number of links to missing objects that were left out.
  package internal(set) var leftOutLinks = 0

  package init(source: String, state: ContentHash, firstFree: Int64) {
    (self.source, self.state, self.firstFree) = (source, state, firstFree)
  }

  /// The progress as a property list.
  package var propertyList: [String: Any] {
    var list: [String: Any] = [
      "source": source, "state": state.text, "firstFree": firstFree, "phase": phase.rawValue, "entity": entity,
      "digest": digest.propertyList, "leftOutLinks": leftOutLinks,
    ]
    list["last"] = last
    return list
  }

  /// The property list of a copy that has written nothing yet.
  package static func mark(source: String) -> [String: Any] { ["source": source] }

  /// Whether a property list is that of a copy that has written nothing yet.
  package static func isMark(_ propertyList: Any) -> Bool {
    (propertyList as? [String: Any]).map { $0["source"] is String && $0["state"] == nil } ?? false
  }

  /// Reads the progress from a property list; nil for any other value.
  package init?(propertyList: Any?) {
    guard let list = propertyList as? [String: Any], let source = list["source"] as? String,
      let state = (list["state"] as? String).flatMap(ContentHash.init(text:)),
      let firstFree = (list["firstFree"] as? NSNumber)?.int64Value,
      let phase = (list["phase"] as? String).flatMap(Phase.init(rawValue:)), let entity = list["entity"] as? String,
      let digest = StoreDigest(propertyList: list["digest"])
    else { return nil }
    self.init(source: source, state: state, firstFree: firstFree)
    (self.phase, self.entity, last, self.digest) = (phase, entity, (list["last"] as? NSNumber)?.int64Value, digest)
    leftOutLinks = (list["leftOutLinks"] as? NSNumber)?.intValue ?? 0
  }

  /// Throws 134080 if the metadata belong to a store with an unfinished copy, which must not be mistaken for a complete
  /// store.
  package static func check(_ metadata: [String: Any], url: URL?) throws {
    guard let found = metadata[StoreMetadata.Key.unfinishedCopy] else { return }
    throw CopyErrors.unfinished(url: url, CopyProgress(propertyList: found))
  }
}
