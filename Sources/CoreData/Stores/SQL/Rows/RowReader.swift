// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Makes snapshots from the rows of one table, for an entity and, where wanted, its sub-entities.
final class RowReader {
  /// What a statement has to select, in this order.
  let columns: [String]
  private let entity: EntityLayout
  private let table: String
  /// By entity number; nil for those that are not asked for.
  private let plans: [Plan?]
  private let entities: StoredEntities
  private let external: ExternalData

  private final class Plan {
    let table: SlotTable
    let steps: ContiguousArray<RowStep>

    init(_ table: SlotTable, _ steps: ContiguousArray<RowStep>) {
      self.table = table
      self.steps = steps
    }
  }

  /// The columns that come before those of properties.
  private static let leading = ["Z_PK", "Z_ENT", "Z_OPT"]

  init(entity: EntityLayout, includesSubentities: Bool, entities: StoredEntities, external: ExternalData) {
    self.entities = entities
    self.external = external
    self.entity = entity
    table = entity.table
    var list = SelectList(columns: Self.leading)
    let numbers = includesSubentities ? entity.numbers : [entity.number]
    var plans: [Plan?] = Array(repeating: nil, count: (numbers.max() ?? 0) + 1)
    for number in numbers {
      guard let layout = entities.schema.entity(number: number),
        let description = entities.description(number: number)
      else { continue }
      let table = description.slotTable
      let steps = table.names.map { RowStep(property: $0, of: layout, entities: entities, &list) }
      plans[number] = Plan(table, ContiguousArray(steps))
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
    guard let found = entities.number(ofRow: number, like: entity), plans.indices.contains(found),
      let plan = plans[found],
      let id = entities.id(entity: found, primaryKey: primaryKey)
    else {
      throw RowProblem(kind: .unknownEntity(number: number), table: table, primaryKey: primaryKey, property: "")
    }
    var slots: [Slot] = []
    slots.reserveCapacity(plan.steps.count)
    do {
      for position in plan.steps.indices {
        slots.append(try plan.steps[position].slot(of: statement, entities: entities, external: external))
      }
    } catch let problem as RowStep.Unreadable {
      throw RowProblem(
        kind: .unreadableValue(found: problem.found), table: table, primaryKey: primaryKey,
        property: problem.element ?? plan.table.names[slots.count])
    } catch let file as ExternalData.UnreadableFile {
      throw RowProblem(
        kind: .unreadableFile(
          entity: entities.description(number: found)?.name ?? entity.name, reason: file.description),
        table: table, primaryKey: primaryKey,
        property: plan.table.names[slots.count])
    }
    for transient in plan.table.transientDefaults { slots[transient.position] = transient.value }
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
