// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// How one slot is made from a row's columns.
enum RowStep {
  case attribute(ColumnCoding, column: Int)
  case composite(Elements)
  case toOne(column: Int, entityColumn: Int?, destination: Int)
  /// A to-many relationship, which is asked for on its own.
  case unread
  /// A transient attribute, or a relationship that leads out of the store.
  case null

  /// The elements of a composite attribute. An object, so that steps without it are copied without counting references.
  final class Elements {
    let steps: [(name: String, step: RowStep)]

    init(_ steps: [(name: String, step: RowStep)]) {
      self.steps = steps
    }
  }

  /// A value that is not of its property's type.
  struct Unreadable: Error {
    /// The element of a composite attribute that it is; nil where it is the property itself.
    var element: String?
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
      column: list.position(of: key.column), entityColumn: key.entityColumn.map { list.position(of: $0) },
      destination: entities.schema[relationship.destinationEntity]?.number ?? 0)
  }

  private init(_ attribute: AttributeLayout, _ list: inout SelectList) {
    if let column = attribute.column, let coding = ColumnCoding(attribute) {
      self = .attribute(coding, column: list.position(of: column))
    } else {
      self = .composite(Elements(attribute.elements.map { ($0.name, RowStep($0, &list)) }))
    }
  }

  func slot(of statement: SQLiteStatement, entities: StoredEntities, external: ExternalData) throws -> Slot {
    switch self {
    case .null: return .null
    case .unread: return .unread
    case .attribute(let coding, let column):
      if let slot = try coding.slot(at: column, of: statement, external: external) { return slot }
      throw Unreadable(found: statement.value(at: column).shortLiteral)
    case .composite(let elements):
      let value = NSMutableDictionary()
      for (name, step) in elements.steps {
        let slot: Slot
        do {
          slot = try step.slot(of: statement, entities: entities, external: external)
        } catch let problem as Unreadable {
          throw Unreadable(element: problem.element ?? name, found: problem.found)
        }
        if let element = slot.publicValue { value[name as NSString] = element }
      }
      // A composite without any value is not told from one whose elements are all null.
      return value.count == 0 ? .null : .object(value.copy() as? NSDictionary ?? value)
    case .toOne(let column, let entityColumn, let destination):
      if statement.isNull(at: column) { return .null }
      let primaryKey = statement.int64(at: column)
      // A row from before the destination had sub-entities has no number; the relationship's own entity stands in.
      let number = entityColumn.map { Int(statement.int64(at: $0)) } ?? 0
      let id =
        entities.id(entity: number == 0 ? destination : number, primaryKey: primaryKey)
        ?? entities.id(entity: destination, primaryKey: primaryKey)
      guard let id else { throw Unreadable(found: "a row of entity number \(number)") }
      return .toOne(id)
    }
  }
}
