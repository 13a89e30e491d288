// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// How one slot is made from a row's columns.
enum RowStep {
  case attribute(String, ColumnCoding, column: Int)
  case composite([(name: String, step: RowStep)])
  case toOne(String, column: Int, entityColumn: Int?, destination: Int)
  /// A to-many relationship, which is asked for on its own.
  case unread
  /// A transient attribute, or a relationship that leads out of the store.
  case null

  /// A value that is not of its property's type.
  struct Unreadable: Error {
    let property: String
    let found: String
  }

  init(property name: String, of layout: EntityLayout, entities: StoredEntities, _ list: inout SelectList) {
    if let attribute = layout.attributes[name] {
      self.init(attribute, &list)
      return
    }
    guard let relationship = layout.relationships[name] else {
      self = .null
      return
    }
    guard case .foreignKey(let key) = relationship.place, !relationship.isToMany else {
      self = .unread
      return
    }
    self = .toOne(
      name, column: list.position(of: key.column), entityColumn: key.entityColumn.map { list.position(of: $0) },
      destination: entities.schema[relationship.destinationEntity]?.number ?? 0)
  }

  private init(_ attribute: AttributeLayout, _ list: inout SelectList) {
    if let column = attribute.column, let coding = ColumnCoding(attribute) {
      self = .attribute(attribute.name, coding, column: list.position(of: column))
    } else {
      self = .composite(attribute.elements.map { ($0.name, RowStep($0, &list)) })
    }
  }

  func slot(of statement: SQLiteStatement, entities: StoredEntities, external: ExternalData) throws -> Slot {
    switch self {
    case .null: return .null
    case .unread: return .unread
    case .attribute(let name, let coding, let column):
      if let slot = try coding.slot(at: column, of: statement, external: external) { return slot }
      throw Unreadable(property: name, found: statement.value(at: column).literal)
    case .composite(let elements):
      let value = NSMutableDictionary()
      for (name, step) in elements {
        let slot = try step.slot(of: statement, entities: entities, external: external)
        if let element = slot.publicValue { value[name as NSString] = element }
      }
      // A composite without any value is not told from one whose elements are all null.
      return value.count == 0 ? .null : .object(value.copy() as? NSDictionary ?? value)
    case .toOne(let name, let column, let entityColumn, let destination):
      if statement.isNull(at: column) { return .null }
      let primaryKey = statement.int64(at: column)
      // A row from before the destination had sub-entities has no number; the relationship's own entity stands in.
      let number = entityColumn.map { Int(statement.int64(at: $0)) } ?? 0
      let id =
        entities.id(entity: number == 0 ? destination : number, primaryKey: primaryKey)
        ?? entities.id(entity: destination, primaryKey: primaryKey)
      guard let id else { throw Unreadable(property: name, found: "a row of entity number \(number)") }
      return .toOne(id)
    }
  }
}
