// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// Works out, for the rows of one source entity, what goes into the columns of its destination entity's table.
struct ColumnSources {
  let step: InPlaceStep
  let source: EntityLayout
  let destination: EntityLayout

  /// The sources of the columns that the destination entity uses; every other column of the table stays NULL.
  func all() throws -> [String: ColumnSource] {
    var result: [String: ColumnSource] = [:]
    for (name, layout) in destination.attributes.sorted(by: { $0.key < $1.key }) {
      let document = step.destination.attribute(name, of: destination.name)
      guard let document else { continue }
      let sourceName = step.mapping.sourceAttribute(of: name, in: destination.name)
      let old = sourceName.flatMap { source.attributes[$0] }
      let oldDocument = sourceName.flatMap { step.source.attribute($0, of: source.name) }
      try add(layout, document, from: old, oldDocument, to: &result)
    }
    for (name, layout) in destination.relationships.sorted(by: { $0.key < $1.key }) {
      if case .foreignKey(let key) = layout.place { addForeignKey(key, name, layout, to: &result) }
    }
    addOwnerKeys(to: &result)
    return result
  }

  // MARK: Attributes

  private func add(
    _ layout: AttributeLayout, _ document: AttributeDocument, from old: AttributeLayout?,
    _ oldDocument: AttributeDocument?, to result: inout [String: ColumnSource]
  ) throws {
    guard let column = layout.column else {
      for element in layout.elements {
        guard let elementDocument = document.elements.first(where: { $0.name == element.name }) else { continue }
        try add(
          element, elementDocument, from: old?.elements.first { $0.name == element.name },
          oldDocument?.elements.first { $0.name == element.name }, to: &result)
      }
      return
    }
    let fallback = try document.defaultValue.map { try StoredDefault(document, entity: destination.name).value(of: $0) }
    guard let old, let oldColumn = old.column, let oldDocument else {
      result[column] = .constant(fallback ?? .null)
      return
    }
    var expression = ColumnExpression.column
    if let converted = try ValueConversion(from: oldDocument, to: document, entity: destination.name).applied(
      to: expression)
    {
      expression = converted
    }
    if oldDocument.isOptional, !document.isOptional, let fallback {
      expression = expression.wrapped("IFNULL(", ", ?)", [fallback])
    }
    result[column] = expression == .column ? .column(oldColumn) : .changed(column: oldColumn, expression)
  }

  // MARK: Relationships

  private func addForeignKey(
    _ key: ForeignKeyLayout, _ name: String, _ layout: RelationshipLayout, to result: inout [String: ColumnSource]
  ) {
    let old = oldForeignKey(name, layout)
    result[key.column] = old?.column ?? .constant(.null)
    if let entityColumn = key.entityColumn { result[entityColumn] = old?.entityColumn ?? .constant(.null) }
    if let orderColumn = key.orderColumn { result[orderColumn] = old?.orderColumn ?? .constant(.null) }
  }

  /// What the columns of a to-one relationship are filled from.
  private struct OldForeignKey {
    let column: ColumnSource
    let entityColumn: ColumnSource
    let orderColumn: ColumnSource
  }

  private func oldForeignKey(_ name: String, _ layout: RelationshipLayout) -> OldForeignKey? {
    if let sourceName = step.mapping.sourceRelationship(of: name, in: destination.name),
      let old = source.relationships[sourceName], case .foreignKey(let key) = old.place
    {
      return foreignKey(key, to: old.destinationEntity)
    }
    // Where only the other side is known from before, it says what stands here.
    guard let inverse = layout.inverseName,
      let old = step.sourceRelationshipLayout(of: inverse, in: layout.destinationEntity)
    else { return nil }
    switch old.place {
    case .inverseForeignKey(let table, let key) where table == source.table:
      return foreignKey(key, to: old.declaringEntity)
    case .foreignKey(let key):
      return reversedForeignKey(key, of: old.declaringEntity)
    case .inverseForeignKey, .joinTable:
      return nil
    }
  }

  private func foreignKey(_ key: ForeignKeyLayout, to target: String) -> OldForeignKey {
    OldForeignKey(
      column: .column(key.column), entityColumn: entityNumber(key, target),
      orderColumn: key.orderColumn.map { .column($0) } ?? Self.newOrder(within: key.column))
  }

  /// The key of the row that points here, in a one-to-one relationship of which only that row knew.
  private func reversedForeignKey(_ key: ForeignKeyLayout, of entity: String) -> OldForeignKey? {
    guard let owner = step.sourceSchema[entity] else { return nil }
    let (table, own) = (SQLName.quoted(owner.table), SQLName.quoted(source.table))
    let condition = "FROM \(table) AS o WHERE o.\(SQLName.quoted(key.column)) = \(own).Z_PK LIMIT 1"
    let cases = InPlaceStep.cases(step.renumbering(of: entity))
    return OldForeignKey(
      column: .query(SQLFragment("(SELECT o.Z_PK \(condition))")),
      entityColumn: .query(SQLFragment("(SELECT CASE o.Z_ENT \(cases) END \(condition))")),
      orderColumn: .constant(.null))
  }

  /// The entity numbers of the objects pointed at, in the destination's numbering.
  private func entityNumber(_ key: ForeignKeyLayout, _ target: String) -> ColumnSource {
    let renumbering = step.renumbering(of: target)
    guard let column = key.entityColumn else {
      let number = renumbering.first?.new ?? 0
      return .changed(
        column: key.column, ColumnExpression.column.wrapped("CASE WHEN ", " IS NULL THEN NULL ELSE \(number) END"))
    }
    if renumbering.allSatisfy({ $0.old == $0.new }) { return .column(column) }
    return .changed(
      column: column, ColumnExpression.column.wrapped("CASE ", " \(InPlaceStep.cases(renumbering)) END"))
  }

  /// Places for a relationship that becomes ordered: by primary key, spaced as Core Data spaces them.
  private static func newOrder(within column: String) -> ColumnSource {
    let name = SQLName.quoted(column)
    return .query(
      SQLFragment(
        "CASE WHEN \(name) IS NULL THEN NULL ELSE "
          + "1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(name) ORDER BY Z_PK) END"))
  }

  /// The columns by which to-many relationships without inverse point from here to their owners.
  private func addOwnerKeys(to result: inout [String: ColumnSource]) {
    for owner in step.destinationSchema.entities {
      for (name, layout) in owner.relationships.sorted(by: { $0.key < $1.key }) {
        guard layout.inverseName == nil, case .inverseForeignKey(let table, let key) = layout.place,
          table == destination.table, layout.declaringEntity == owner.name, isKind(of: layout.destinationEntity)
        else { continue }
        let oldKey = step.sourceRelationshipLayout(of: name, in: owner.name).flatMap { old -> ForeignKeyLayout? in
          if case .inverseForeignKey(_, let oldKey) = old.place { return oldKey }
          return nil
        }
        result[key.column] = oldKey.map { .column($0.column) } ?? .constant(.null)
        if let orderColumn = key.orderColumn {
          result[orderColumn] =
            oldKey.map { old in old.orderColumn.map { .column($0) } ?? Self.newOrder(within: old.column) }
            ?? .constant(.null)
        }
      }
    }
  }

  private func isKind(of entity: String) -> Bool {
    step.destinationSchema[entity]?.numbers.contains(destination.number) ?? false
  }
}
