// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The representation of a store's rows in its persistent history.
package final class StoreHistory {
  /// An attribute whose value is preserved when its object is deleted.
  struct Tombstone {
    let attribute: NSAttributeDescription
    let coding: ColumnCoding
    /// The SQL expression for the value to preserve.
    let sql: String
  }

  private struct Facts {
    let bits: HistoryBits
    let tombstones: [Tombstone]
  }

  let entities: StoredEntities
  private let dialect: SQLDialect
  private var facts: [Int: Facts] = [:]

  package init(_ entities: StoredEntities, _ dialect: SQLDialect) {
    (self.entities, self.dialect) = (entities, dialect)
  }

  /// The number of columns for preserved values.
  package var tombstoneCount: Int { entities.schema.entities.map { tombstones(of: $0.number).count }.max() ?? 0 }

  /// Returns the bits of an entity's properties.
  func bits(of number: Int) -> HistoryBits { facts(of: number).bits }

  /// Returns the attributes of an entity whose values are preserved, by name.
  func tombstones(of number: Int) -> [Tombstone] { facts(of: number).tombstones }

  private func facts(of number: Int) -> Facts {
    if let known = facts[number] { return known }
    guard let layout = entities.schema.entity(number: number) else {
      trap("The schema has no entity with the number \(number).")
    }
    let attributes = entities.description(number: number)?.attributesByName ?? [:]
    let kept = attributes.values.filter { $0.preservesValueInHistoryOnDeletion && !$0.isTransient }
      .sorted { $0.name < $1.name }
    let made = Facts(
      bits: HistoryBits(layout, in: entities.schema),
      tombstones: kept.compactMap { attribute in
        guard let stored = layout.attributes[attribute.name], let sql = HistoryTombstone.sql(of: stored, dialect),
          let coding = ColumnCoding(stored)
        else { return nil }
        return Tombstone(attribute: attribute, coding: coding, sql: sql)
      })
    facts[number] = made
    return made
  }

  /// Records the changes of a save. Deleted rows must still exist.
  package func record(_ changes: [RowChange], with writer: HistoryWriter) throws {
    var together = SimilarChanges(writer)
    for kind in [RowChange.Kind.insert, .update, .delete] {
      for position in changes.indices where changes[position].kind == kind {
        let id = changes[position].id
        guard let entity = entities.number(of: id.entityDescription),
          let layout = entities.schema.entity(number: entity)
        else { throw SchemaProblem.entityNotInStore(entity: id.entityDescription.name ?? "") }
        let key = id.key.number
        switch kind {
        case .insert: try together.add(.insert, entity: entity, key: key)
        case .update:
          let names = id.entityDescription.slotTable.names
          let changed = changes[position].changed.map { names[$0] }
          try together.add(.update, entity: entity, key: key, columns: bits(of: entity).bytes(of: changed))
        case .delete:
          let kept = tombstones(of: entity)
          if kept.isEmpty {
            try together.add(.delete, entity: entity, key: key)
          } else {
            try together.end()
            try writer.record(
              .delete, entity: entity, rows: "FROM \(column: layout.table) WHERE Z_PK = \(value: .integer(key))",
              keeping: kept.map(\.sql))
          }
        }
      }
    }
    try together.end()
  }

  /// Changes that differ only in their keys, and have not been recorded yet.
  private struct SimilarChanges {
    /// The maximum number of keys to hold back.
    private static let limit = 10_000

    private let writer: HistoryWriter
    private var kind = HistoryChangeKind.insert
    private var entity = 0
    private var columns: Data?
    private var keys: [Int64] = []

    init(_ writer: HistoryWriter) {
      self.writer = writer
    }

    mutating func add(_ kind: HistoryChangeKind, entity: Int, key: Int64, columns: Data? = nil) throws {
      let isSimilar = kind == self.kind && entity == self.entity && columns == self.columns
      if !isSimilar || keys.count == Self.limit { try end() }
      (self.kind, self.entity, self.columns) = (kind, entity, columns)
      keys.append(key)
    }

    mutating func end() throws {
      if keys.isEmpty { return }
      try writer.record(kind, entity: entity, keys: keys, columns: columns)
      keys.removeAll(keepingCapacity: true)
    }
  }
}
