// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite

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
  /// The greatest key among the source rows, or beyond.
  var greatestKey: Int64 = 0

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

  /// Finds the rows that this mapping has made.
  func madeRows(_ alias: String) -> String {
    "\(alias).Z_PK > \(offset) AND \(alias).Z_PK <= \(offset + greatestKey) AND \(alias).Z_ENT = \(destination.number)"
  }
}

/// Gives every mapping keys of its own in the table that it writes to.
///
/// Copies keep the keys of their rows where nothing else is in the way; otherwise they come after all keys that are used or
/// spoken for. Entities of one table have different keys, so that their mappings can share an offset.
struct KeyLanes {
  private struct Lane {
    let offset: Int64
    let sourceTable: String
    var entities: Set<String>
  }

  private var lanes: [String: [Lane]] = [:]
  private var used: [String: Int64] = [:]

  /// Puts a mapping into a lane.
  ///
  /// - Parameters:
  ///   - present: the greatest key that the destination's table had before.
  mutating func assign(_ copy: EntityCopy, present: Int64) {
    let table = copy.destination.table
    let (source, entity) = (copy.rows.entity.table, copy.rows.entity.name)
    if let position = lanes[table]?.firstIndex(where: { $0.sourceTable == source && !$0.entities.contains(entity) }) {
      lanes[table]?[position].entities.insert(entity)
      copy.offset = lanes[table]?[position].offset ?? 0
      return
    }
    copy.offset = used[table] ?? present
    lanes[table, default: []].append(Lane(offset: copy.offset, sourceTable: source, entities: [entity]))
    used[table] = copy.offset + copy.greatestKey
  }
}
