// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

extension MigrationErrors {
  /// 134110: no expression of a mapping model reads certain values that the store contains.
  ///
  /// - Parameter open: the new properties without an expression, in words.
  static func unreadValues(url: URL?, mapping: URL?, dropped: [DroppedContent], open: String?) -> NSError {
    let name = mapping.map { "'\($0.lastPathComponent)'" } ?? "that was made in code"
    return failed(
      url: url,
      reason:
        "No expression of the mapping model \(name) reads \(DroppedContent.text(dropped)), so this content would be "
        + "dropped." + (open.map { " \($0)." } ?? ""),
      suggestion:
        "Write expressions that read these values. If they may be dropped, say so in the entity mapping: list the "
        + "properties in its user info under '\(EntityMappingDocument.dropsKey)' ('drops' in a .mapping), or write nil as the "
        + "expression of the new property. Or set MigrationOption.allowsLoss, or use --allow or --allow-loss. The store was not "
        + "changed.",
      entity: dropped.first?.entity)
  }
}
