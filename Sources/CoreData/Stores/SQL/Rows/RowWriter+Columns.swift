// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension RowWriter {
  /// A column and what goes into it.
  typealias ColumnValue = (column: String, value: SQLiteValue)

  /// Gives a plan's statement the values of the row itself that a change is about; to-many relationships have none.
  func bindColumns(of change: RowChange, _ plan: RowPlan, to statement: SQLiteStatement) throws {
    for position in change.changed {
      let slot = change.slots[position]
      switch plan.steps[position] {
      case .nothing: continue
      case .column(let coding, let attribute, let index):
        switch (coding, slot) {
        case (.string, .string(let value)): try statement.bind(value, at: index)
        case (.integer, .integer(let value)): try statement.bind(value, at: index)
        case (.double, .double(let value)), (.date, .date(let value)): try statement.bind(value, at: index)
        default:
          let value = try columnValue(
            of: slot, attribute, coding, description: change.id.entityDescription.slotTable.attribute(at: position),
            in: plan.layout, row: change.id.key.number)
          try statement.bind(value, at: index)
        }
      case .columns(let attribute):
        let values = try columnValues(
          of: slot, attribute, description: change.id.entityDescription.slotTable.attribute(at: position),
          in: plan.layout,
          row: change.id.key.number)
        for (column, value) in values { try statement.bind(value, at: plan.index(of: column)) }
      case .key(let relationship, let key, let index):
        let (number, entity) = try keyValues(of: slot, relationship, key, in: plan.layout, row: change.id.key.number)
        try statement.bind(number, at: index)
        if key.entityColumn != nil { try statement.bind(entity, at: index + 1) }
      }
    }
  }

  private func columnValues(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64
  ) throws -> [ColumnValue] {
    guard let column = attribute.column, let coding = ColumnCoding(attribute) else {
      return try elementValues(of: slot, attribute, description: description, in: layout, row: row)
    }
    let value = try columnValue(of: slot, attribute, coding, description: description, in: layout, row: row)
    return [(column, value)]
  }

  private func columnValue(
    of slot: Slot, _ attribute: AttributeLayout, _ coding: ColumnCoding, description: NSAttributeDescription?,
    in layout: EntityLayout, row: Int64
  ) throws -> SQLiteValue {
    var slot = slot
    if case .archived = coding, case .object(let value) = slot, let description {
      slot = try TransformableValues.encode(value, of: description).map { .archived($0) } ?? .null
    }
    guard let value = try coding.value(of: slot, external: external) else {
      throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    return value
  }

  private func elementValues(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64
  ) throws -> [ColumnValue] {
    let values: NSDictionary
    switch slot {
    case .null: values = [:]
    case .object(let object as NSDictionary): values = object
    default: throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    let descriptions = (description as? NSCompositeAttributeDescription)?.elements ?? []
    return try attribute.elements.flatMap { element -> [ColumnValue] in
      guard let description = descriptions.first(where: { $0.name == element.name }) else { return [] }
      guard let slot = Slot(values[element.name as NSString], for: description) else {
        throw unwritable(.null, "\(attribute.name).\(element.name)", in: layout, row: row)
      }
      return try columnValues(of: slot, element, description: description, in: layout, row: row)
    }
  }

  private func keyValues(
    of slot: Slot, _ relationship: RelationshipLayout, _ key: ForeignKeyLayout, in layout: EntityLayout, row: Int64
  ) throws -> (number: SQLiteValue, entity: SQLiteValue) {
    switch slot {
    case .null: return (.null, .null)
    case .toOne(let id):
      guard entities.owns(id) else { throw unwritable(slot, relationship.name, in: layout, row: row) }
      let entity: SQLiteValue =
        key.entityColumn == nil ? .null : .integer(Int64(try plans.plan(for: id.entity).layout.number))
      return (.integer(id.key.number), entity)
    default: throw unwritable(slot, relationship.name, in: layout, row: row)
    }
  }

  private func unwritable(_ slot: Slot, _ property: String, in layout: EntityLayout, row: Int64) -> RowProblem {
    RowProblem(kind: .unwritableValue(found: "\(slot)"), table: layout.table, primaryKey: row, property: property)
  }
}
