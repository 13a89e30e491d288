// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// One entity mapping as a copy of rows.
final class EntityCopy {
  let mapping: NSEntityMapping
  /// The place in the order of processing.
  let position: Int
  let rows: SourceRows
  let destination: EntityLayout
  let sourceEntity: NSEntityDescription
  let destinationEntity: NSEntityDescription
  /// What is added to the key of a source row to get that of its copy.
  var offset: Int64 = 0
  /// All keys of the source's table; those of the source rows are among them.
  var keys: ClosedRange<Int64> = 1...1

  var name: String { mapping.name ?? "" }

  /// Nil for a mapping that makes no objects: one that adds or removes an entity.
  init?(_ mapping: NSEntityMapping, position: Int, from source: CopySide, to target: CopySide) throws {
    guard mapping.mappingType != .removeEntityMappingType, let name = mapping.destinationEntityName,
      let rows = try SourceRows(of: mapping, position: position, in: source)
    else { return nil }
    guard let destination = target.schema[name], let destinationEntity = target.description(of: destination),
      let sourceEntity = source.description(of: rows.entity)
    else {
      throw CopyProblem(
        mapping: mapping.name ?? "", entity: name, reason: "The destination has no entity '\(name)'.",
        suggestion: "Name an entity of the destination model in the mapping.")
    }
    self.mapping = mapping
    self.position = position
    self.rows = rows
    self.destination = destination
    self.destinationEntity = destinationEntity
    self.sourceEntity = sourceEntity
  }

  /// The key of a copy as SQL, for the key of the row that it was made from.
  func copiedKey(_ key: BoundSQL) -> BoundSQL {
    offset == 0 ? key : "(\(key) + \(raw: String(offset)))"
  }

  /// The key of a copy as SQL, for a key that stands in another row; NULL for one that no row of the table can have: its
  /// copy could be the key of another row.
  func copiedReference(_ key: BoundSQL) -> BoundSQL {
    "CASE WHEN \(key) BETWEEN \(raw: String(keys.lowerBound)) AND \(raw: String(keys.upperBound)) THEN \(copiedKey(key)) END"
  }

  /// Whether a key in another row is one that a row of the table can have, as SQL.
  func hasKey(_ column: String) -> BoundSQL {
    "\(raw: column) BETWEEN \(raw: String(keys.lowerBound)) AND \(raw: String(keys.upperBound))"
  }

  /// Finds the rows that this mapping has made.
  func madeRows(_ alias: String) -> String {
    "\(alias).Z_PK BETWEEN \(offset + keys.lowerBound) AND \(offset + keys.upperBound) "
      + "AND \(alias).Z_ENT = \(destination.number)"
  }
}
