// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Makes snapshots from the rows of one table, for an entity and, where wanted, its sub-entities.
final class RowReader {
  /// What a statement has to select, in this order.
  let columns: [String]
  private let entity: EntityLayout
  private let table: String
  private let plans: [Int: [RowStep]]
  private let entities: StoredEntities
  private let external: ExternalData

  /// The columns that come before those of properties.
  private static let leading = ["Z_PK", "Z_ENT", "Z_OPT"]

  init(entity: EntityLayout, includesSubentities: Bool, entities: StoredEntities, external: ExternalData) {
    self.entities = entities
    self.external = external
    self.entity = entity
    table = entity.table
    var list = SelectList(columns: Self.leading)
    var plans: [Int: [RowStep]] = [:]
    for number in includesSubentities ? entity.numbers : [entity.number] {
      guard let layout = entities.schema.entity(number: number),
        let description = entities.description(number: number)
      else { continue }
      plans[number] = description.slotTable.names.map { RowStep(property: $0, of: layout, entities: entities, &list) }
    }
    columns = list.columns
    self.plans = plans
  }

  /// The snapshot of the statement's current row.
  ///
  /// - Throws: `RowProblem` when the row is not one of the entities, or a value not of its type.
  func snapshot(_ statement: SQLiteStatement) throws -> RowSnapshot {
    let primaryKey = statement.int64(at: 0)
    let number = statement.int64(at: 1)
    guard let found = entities.number(ofRow: number, like: entity), let plan = plans[found],
      let id = entities.id(entity: found, primaryKey: primaryKey)
    else {
      throw RowProblem(kind: .unknownEntity(number: number), table: table, primaryKey: primaryKey, property: "")
    }
    let slots = try plan.map { step in
      do {
        return try step.slot(of: statement, entities: entities, external: external)
      } catch let problem as RowStep.Unreadable {
        throw RowProblem(
          kind: .unreadableValue(found: problem.found), table: table, primaryKey: primaryKey,
          property: problem.property)
      } catch let missing as ExternalData.MissingFile {
        throw RowProblem(
          kind: .missingExternalFile(path: missing.path), table: table, primaryKey: primaryKey, property: "A value")
      }
    }
    return RowSnapshot(id: id, version: statement.int64(at: 2), slots: slots)
  }
}

/// The columns of a statement, each once.
struct SelectList {
  private(set) var columns: [String]

  mutating func position(of column: String) -> Int {
    if let position = columns.firstIndex(of: column) { return position }
    columns.append(column)
    return columns.count - 1
  }
}
