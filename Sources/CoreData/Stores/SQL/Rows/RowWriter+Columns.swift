// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

extension RowWriter {
  /// A column and what goes into it.
  typealias ColumnValue = (column: String, value: SQLiteValue)

  /// The columns of the row itself that a change is about; to-many relationships have none.
  func columnValues(of change: RowChange, _ layout: EntityLayout) throws -> [ColumnValue] {
    let table = change.id.entity.slotTable
    return try change.changed.flatMap { position -> [ColumnValue] in
      let name = table.names[position]
      let slot = change.slots[position]
      if let attribute = layout.attributes[name] {
        return try columnValues(
          of: slot, attribute, description: table.attribute(at: position), in: layout, row: change.id.key.number)
      }
      if let relationship = layout.relationships[name], case .foreignKey(let key) = relationship.place {
        return try columnValues(of: slot, relationship, key, in: layout, row: change.id.key.number)
      }
      return []
    }
  }

  private func columnValues(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64
  ) throws -> [ColumnValue] {
    guard let column = attribute.column, let coding = ColumnCoding(attribute) else {
      return try elementValues(of: slot, attribute, description: description, in: layout, row: row)
    }
    var slot = slot
    if case .archived = coding, case .object(let value) = slot, let description {
      slot = .archived(try TransformableValues.encode(value, of: description))
    }
    guard let value = try coding.value(of: slot, external: external) else {
      throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    return [(column, value)]
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

  private func columnValues(
    of slot: Slot, _ relationship: RelationshipLayout, _ key: ForeignKeyLayout, in layout: EntityLayout, row: Int64
  ) throws -> [ColumnValue] {
    let number: SQLiteValue
    let entity: SQLiteValue
    switch slot {
    case .null: (number, entity) = (.null, .null)
    case .toOne(let id):
      guard entities.owns(id) else { throw unwritable(slot, relationship.name, in: layout, row: row) }
      number = .integer(id.key.number)
      entity = .integer(Int64(try entities.layout(of: id.entity).number))
    default: throw unwritable(slot, relationship.name, in: layout, row: row)
    }
    return [(key.column, number)] + (key.entityColumn.map { [($0, entity)] } ?? [])
  }

  private func unwritable(_ slot: Slot, _ property: String, in layout: EntityLayout, row: Int64) -> RowProblem {
    RowProblem(kind: .unwritableValue(found: "\(slot)"), table: layout.table, primaryKey: row, property: property)
  }
}
