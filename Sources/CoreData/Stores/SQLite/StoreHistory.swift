// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// How the rows of a store appear in its persistent history.
final class StoreHistory {
  /// An attribute whose value is kept when its object is deleted.
  struct Tombstone {
    let attribute: NSAttributeDescription
    let coding: ColumnCoding
    /// The value to keep. Values in files of their own are not kept, since the files go with the row.
    let sql: String
  }

  private struct Facts {
    let bits: HistoryBits
    let tombstones: [Tombstone]
  }

  private let entities: StoredEntities
  private var facts: [Int: Facts] = [:]

  init(_ entities: StoredEntities) {
    self.entities = entities
  }

  /// The number of columns that values of deleted rows need.
  var tombstoneCount: Int { entities.schema.entities.map { tombstones(of: $0.number).count }.max() ?? 0 }

  /// The bits of an entity's properties.
  func bits(of number: Int) -> HistoryBits { facts(of: number).bits }

  /// The attributes of an entity whose values are kept, by their names.
  func tombstones(of number: Int) -> [Tombstone] { facts(of: number).tombstones }

  private func facts(of number: Int) -> Facts {
    if let known = facts[number] { return known }
    guard let layout = entities.schema.entity(number: number) else {
      preconditionFailure("The schema has no entity with the number \(number).")
    }
    let attributes = entities.description(number: number)?.attributesByName ?? [:]
    let kept = attributes.values.filter { $0.preservesValueInHistoryOnDeletion && !$0.isTransient }
      .sorted { $0.name < $1.name }
    let made = Facts(
      bits: HistoryBits(layout, in: entities.schema),
      tombstones: kept.compactMap { attribute in
        guard let stored = layout.attributes[attribute.name], let column = stored.column.map(SQLName.quoted),
          let coding = ColumnCoding(stored)
        else { return nil }
        let sql =
          stored.allowsExternalStorage
          ? "CASE WHEN SUBSTR(\(column), 1, 1) = X'02' THEN NULL ELSE \(column) END" : column
        return Tombstone(attribute: attribute, coding: coding, sql: sql)
      })
    facts[number] = made
    return made
  }

  /// Records the changes of a save. Rows that are deleted must still be there.
  func record(_ changes: [RowChange], with writer: HistoryWriter) throws {
    for kind in [RowChange.Kind.insert, .update, .delete] {
      for position in changes.indices where changes[position].kind == kind {
        let id = changes[position].id
        guard let entity = entities.number(of: id.entityDescription),
          let layout = entities.schema.entity(number: entity)
        else { throw SchemaProblem.entityNotInStore(entity: id.entityDescription.name ?? "") }
        let key = id.key.number
        switch kind {
        case .insert: try writer.record(.insert, entity: entity, key: key)
        case .update:
          let names = id.entityDescription.slotTable.names
          let changed = changes[position].changed.map { names[$0] }
          try writer.record(.update, entity: entity, key: key, columns: bits(of: entity).bytes(of: changed))
        case .delete:
          let kept = tombstones(of: entity)
          if kept.isEmpty {
            try writer.record(.delete, entity: entity, key: key)
          } else {
            try writer.record(
              .delete, entity: entity, rows: "FROM \(column: layout.table) WHERE Z_PK = \(value: .integer(key))",
              keeping: kept.map(\.sql))
          }
        }
      }
    }
  }
}
