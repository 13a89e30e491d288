// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Writes changes of rows, all in the transaction of its caller.
struct RowWriter {
  let connection: SQLiteConnection
  let entities: StoredEntities
  let external: ExternalData

  /// Writes the changes: deletions first, so that they free what must be unique, then updates, insertions, and the
  /// relationships that stand outside the rows.
  ///
  /// - Returns: the new versions of the rows inserted and updated.
  /// - Throws: `RowConflicts` naming every row that has been changed since it was read; the caller rolls back then.
  func write(_ changes: [RowChange]) throws -> [ObjectKey: Int64] {
    var versions: [ObjectKey: Int64] = [:]
    var conflicts: [RowConflicts.Conflict] = []
    for kind in [RowChange.Kind.delete, .update, .insert] {
      for change in changes where change.kind == kind {
        let layout = try entities.layout(of: change.id.entity)
        switch kind {
        case .delete:
          if try !delete(change, layout) { conflicts.append(try conflict(change, layout)) }
        case .update:
          if let version = try update(change, layout) {
            versions[change.id.key] = version
          } else {
            conflicts.append(try conflict(change, layout))
          }
        case .insert:
          try insert(change, layout)
          versions[change.id.key] = 1
        }
      }
    }
    guard conflicts.isEmpty else { throw RowConflicts(conflicts: conflicts) }
    try writeRelationships(of: changes)
    return versions
  }

  private func insert(_ change: RowChange, _ layout: EntityLayout) throws {
    let columns = try columnValues(of: change, layout)
    let names = (["Z_PK", "Z_ENT", "Z_OPT"] + columns.map(\.column)).map(SQLName.quoted).joined(separator: ", ")
    let marks = Array(repeating: "?", count: columns.count + 3).joined(separator: ", ")
    try connection.run(
      "INSERT INTO \(SQLName.quoted(layout.table)) (\(names)) VALUES (\(marks))",
      [.integer(change.id.key.number), .integer(Int64(layout.number)), 1] + columns.map(\.value))
  }

  /// The new version; nil when the row is not as it was read.
  private func update(_ change: RowChange, _ layout: EntityLayout) throws -> Int64? {
    try noteReplacedFiles(of: change, layout, all: false)
    let columns = try columnValues(of: change, layout)
    let version = (change.old?.version ?? 0) + 1
    let assignments = (columns.map(\.column) + ["Z_OPT"]).map { "\(SQLName.quoted($0)) = ?" }
    try connection.run(
      "UPDATE \(SQLName.quoted(layout.table)) SET \(assignments.joined(separator: ", ")) "
        + "WHERE Z_PK = ? AND IFNULL(Z_OPT, 0) = ?",
      columns.map(\.value) + [.integer(version), .integer(change.id.key.number), .integer(version - 1)])
    return connection.changes == 1 ? version : nil
  }

  private func delete(_ change: RowChange, _ layout: EntityLayout) throws -> Bool {
    try noteReplacedFiles(of: change, layout, all: true)
    let key = SQLiteValue.integer(change.id.key.number)
    try connection.run(
      "DELETE FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ? AND IFNULL(Z_OPT, 0) = ?",
      [key, .integer(change.old?.version ?? 0)])
    guard connection.changes == 1 else { return false }
    try forgetRelationships(of: key, layout)
    return true
  }

  private func conflict(_ change: RowChange, _ layout: EntityLayout) throws -> RowConflicts.Conflict {
    let reader = RowReader(entity: layout, includesSubentities: false, entities: entities, external: external)
    let columns = reader.columns.map(SQLName.quoted).joined(separator: ", ")
    let stored = try connection.cached(
      "SELECT \(columns) FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?"
    ) { statement -> RowSnapshot? in
      try statement.bind(change.id.key.number, at: 1)
      return try statement.step() ? try reader.snapshot(statement) : nil
    }
    return RowConflicts.Conflict(id: change.id, expectedVersion: change.old?.version ?? 0, stored: stored)
  }

  /// Has the files forgotten whose names stand in columns that are about to change.
  private func noteReplacedFiles(of change: RowChange, _ layout: EntityLayout, all: Bool) throws {
    let table = change.id.entity.slotTable
    let changed = Set(change.changed.map { table.names[$0] })
    for attribute in layout.attributes.values
    where attribute.allowsExternalStorage && (all || changed.contains(attribute.name)) {
      guard let column = attribute.column else { continue }
      let sql = "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?"
      if let bytes = try connection.scalar(sql, [.integer(change.id.key.number)])?.blob { external.willReplace(bytes) }
    }
  }
}
