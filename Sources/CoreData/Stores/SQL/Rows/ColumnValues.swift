// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A column of a row, and the value to store in it.
package struct ColumnValue {
  package let name: String
  /// The value in SQLite's storage form.
  package let value: SQLiteValue
  /// The SQL expression for the value.
  package let sql: BoundSQL

  /// The assignment of the column in an UPDATE statement.
  package var assignment: BoundSQL { "\(column: name) = \(sql)" }
}

/// Converts slots to column values.
package struct ColumnValues {
  private let entities: StoredEntities
  private let external: ExternalData?

  /// - Parameter external: the files of large values; nil for a store without files.
  package init(entities: StoredEntities, external: ExternalData?) {
    (self.entities, self.external) = (entities, external)
  }

  private var dialect: SQLDialect { entities.schema.dialect }

  /// Returns the columns of an attribute, with the values to store.
  ///
  /// - Parameter kept: for composite attributes in SQLite, the columns of elements that keep their contents.
  package func columns(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64, keeping kept: [String: SQLiteValue] = [:]
  ) throws -> [ColumnValue] {
    let values = try values(of: slot, attribute, description: description, in: layout, row: row, keeping: kept)
    return values.flatMap { attribute, _, value in
      switch dialect {
      case .sqlite: attribute.columns.map { ColumnValue(name: $0, value: value, sql: "\(value: value)") }
      case .postgreSQL:
        entities.schema.assignments(of: value, to: attribute, of: layout).map {
          ColumnValue(name: $0.column, value: value, sql: $0.value)
        }
      }
    }
  }

  /// Returns the value of an attribute, or of each element of a composite attribute, in SQLite's storage form.
  ///
  /// - Parameter kept: the columns of elements that keep their contents.
  package func values(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64, keeping kept: [String: SQLiteValue] = [:]
  ) throws -> [(attribute: AttributeLayout, coding: ColumnCoding, value: SQLiteValue)] {
    if let column = attribute.column, let coding = ColumnCoding(attribute) {
      let value =
        try kept[column] ?? value(of: slot, attribute, coding, description: description, in: layout, row: row)
      return [(attribute, coding, value)]
    }
    let values: NSDictionary
    switch slot {
    case .null: values = [:]
    case .object(let object as NSDictionary): values = object
    default: throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    let descriptions = (description as? NSCompositeAttributeDescription)?.elements ?? []
    return try attribute.elements.flatMap { element in
      guard let description = descriptions.first(where: { $0.name == element.name }),
        let slot = Slot(values[element.name as NSString], for: description)
      else { throw unwritable(.null, "\(attribute.name).\(element.name)", in: layout, row: row) }
      return try self.values(of: slot, element, description: description, in: layout, row: row, keeping: kept)
    }
  }

  /// Returns the value of a single-column attribute, in SQLite's storage form.
  package func value(
    of slot: Slot, _ attribute: AttributeLayout, _ coding: ColumnCoding, description: NSAttributeDescription?,
    in layout: EntityLayout, row: Int64
  ) throws -> SQLiteValue {
    var slot = slot
    if case .archived = coding, case .object(let value) = slot, let description {
      slot = try TransformableValues.encode(value, of: description).map { .archived($0) } ?? .null
    }
    if dialect == .postgreSQL, case .object(let number as NSDecimalNumber) = slot, case .decimal = coding {
      // The exact value. A SQLite column keeps only as much of it as a double holds.
      return .text(DecimalConversion.text(of: number.decimalValue))
    }
    guard let value = try coding.value(of: slot, external: external) else {
      throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    if dialect == .postgreSQL, case .text(let text) = value, text.utf8.contains(0) {
      throw RowProblem(kind: .zeroCharacter, table: layout.table, primaryKey: row, property: attribute.name)
    }
    return value
  }

  /// Returns the values of a to-one relationship's columns: the destination's key, and the number of its entity if
  /// there is a column for it.
  package func key(
    of slot: Slot, _ relationship: RelationshipLayout, _ key: ForeignKeyLayout, in layout: EntityLayout, row: Int64
  ) throws -> (number: SQLiteValue, entity: SQLiteValue) {
    switch slot {
    case .null: return (.null, .null)
    case .toOne(let id):
      guard entities.owns(id) else { throw unwritable(slot, relationship.name, in: layout, row: row) }
      if key.entityColumn == nil { return (.integer(id.key.number), .null) }
      guard let number = entities.number(of: id.entity) else {
        throw SchemaProblem.entityNotInStore(entity: id.entity.name ?? "")
      }
      return (.integer(id.key.number), .integer(Int64(number)))
    default: throw unwritable(slot, relationship.name, in: layout, row: row)
    }
  }

  private func unwritable(_ slot: Slot, _ property: String, in layout: EntityLayout, row: Int64) -> RowProblem {
    if case .object(let value as UnreadableValue) = slot { return value.problem }
    return RowProblem(
      kind: .unwritableValue(found: "\(slot)"), table: layout.table, primaryKey: row, property: property)
  }
}
