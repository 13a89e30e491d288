// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Determines the source of each column of a destination entity's table, for the rows of one source entity.
package struct ColumnSources {
  package let step: InPlaceStep
  package let source: EntityLayout
  package let destination: EntityLayout

  /// Returns the sources of the columns that the destination entity uses. All other columns of the table stay NULL.
  package func all() throws -> [String: ColumnSource] {
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
      if case .foreignKey(let key) = layout.storage { addForeignKey(key, name, layout, to: &result) }
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
      guard old != nil || document.isFilledByElements else {
        for column in layout.columns { result[column] = .nothing }
        return
      }
      let elements = Pairing(
        oldDocument?.elements ?? [], document.elements, name: \.name, declared: \.renamingIdentifier)
      let sources = Dictionary(elements.matched.map { ($0.destination.name, $0.source) }) { first, _ in first }
      for element in layout.elements {
        guard var elementDocument = document.elements.first(where: { $0.name == element.name }) else { continue }
        // The default value of a new composite attribute takes precedence over those of its elements.
        if old == nil, case .dictionary(let values)? = document.defaultValue, let value = values[element.name] {
          elementDocument.defaultValue = value
        }
        let source = sources[element.name]
        try add(element, elementDocument, from: old?.elements.first { $0.name == source?.name }, source, to: &result)
      }
      return
    }
    let constants = try constants(for: layout, document)
    guard let old, let oldColumn = old.column, let oldDocument else {
      for column in layout.columns { result[column] = constants[column].map { .constant($0) } ?? .nothing }
      return
    }
    let conversion = try ValueConversion(
      from: oldDocument, to: document, entity: destination.name, dialect: step.destinationSchema.dialect)
    let needsValue = oldDocument.isOptional && !document.isOptional
    guard conversion.keepsValues else {
      let fallback = needsValue ? constants[column] : nil
      result[column] = .changed(column: oldColumn) { value in
        let converted = conversion.sql(value)
        return fallback.map { "COALESCE(\(converted), \($0))" } ?? converted
      }
      return
    }
    for (column, oldColumn) in zip(layout.columns, old.columns) {
      result[column] = .column(oldColumn)
      if needsValue, let constant = constants[column] {
        result[column] = .filled(column: oldColumn, with: constant, whereNull: old.columns[0])
      }
    }
  }

  /// Returns the parts of the default value by column; empty if there is no default value.
  private func constants(for layout: AttributeLayout, _ document: AttributeDocument) throws -> [String: BoundSQL] {
    guard let plain = document.defaultValue else { return [:] }
    return try StoredDefault(
      document, entity: destination.name, values: step.values, dialect: step.destinationSchema.dialect
    ).columns(of: plain, layout, of: destination, in: step.destinationSchema)
  }

  // MARK: Relationships

  private func addForeignKey(
    _ key: ForeignKeyLayout, _ name: String, _ layout: RelationshipLayout, to result: inout [String: ColumnSource]
  ) {
    let plan = RelationshipKey(foreignKey: key, layout, step: step)
    var old: (key: ForeignKeyLayout, target: String)?
    if let sourceName = step.mapping.sourceRelationship(of: name, in: destination.name),
      let layout = source.relationships[sourceName], case .foreignKey(let key) = layout.storage
    {
      old = (key, layout.destinationEntity)
    } else if case .columns(of: let layout) = plan.filling,
      case .inverseForeignKey(source.table, let key) = layout.storage
    {
      // If only the inverse existed before, its column contains the key.
      old = (key, layout.declaringEntity)
    }
    result[key.column] = old.map { .column($0.key.column) } ?? .nothing
    if let entityColumn = key.entityColumn {
      result[entityColumn] = old.flatMap { entityNumber($0.key, $0.target) } ?? .nothing
    }
    if let orderColumn = key.orderColumn {
      let kept = plan.keepsOrder ? old?.key.orderColumn : nil
      result[orderColumn] = kept.map { .column($0) } ?? .nothing
    }
  }

  /// Returns the source of the referenced objects' entity numbers, in the destination's numbering; nil if only the rows
  /// of these objects contain the numbers.
  private func entityNumber(_ key: ForeignKeyLayout, _ target: String) -> ColumnSource? {
    let renumbering = step.renumbering(of: target)
    guard let column = key.entityColumn else {
      guard let only = renumbering.first, step.sourceSchema[target]?.hasSubentities == false else { return nil }
      return .changed(column: key.column) { "CASE WHEN \($0) IS NULL THEN NULL ELSE \(raw: "\(only.new)") END" }
    }
    if renumbering.allSatisfy({ $0.old == $0.new }) { return .column(column) }
    return .changed(column: column) { "CASE \($0) \(raw: InPlaceStep.cases(renumbering)) END" }
  }

  /// Adds the columns in which to-many relationships without inverse store their owners' keys.
  private func addOwnerKeys(to result: inout [String: ColumnSource]) {
    for (layout, key) in step.destinationSchema.ownerKeys(inTable: destination.table)
    where isKind(of: layout.destinationEntity) {
      let plan = RelationshipKey(ownerKey: key, layout, step: step)
      var old: ForeignKeyLayout?
      if case .columns(of: let layout) = plan.filling, case .inverseForeignKey(source.table, let key) = layout.storage {
        old = key
      }
      result[key.column] = old.map { .column($0.column) } ?? .nothing
      if let orderColumn = key.orderColumn {
        let kept = plan.keepsOrder ? old?.orderColumn : nil
        result[orderColumn] = kept.map { .column($0) } ?? .nothing
      }
    }
  }

  private func isKind(of entity: String) -> Bool {
    step.destinationSchema[entity]?.numbers.contains(destination.number) ?? false
  }
}

/// The source of a destination column's values, for the rows of one entity.
package enum ColumnSource {
  /// A column of the source table, unchanged.
  case column(String)
  /// A column of the source table, with a constant in rows where another (often the same) column is NULL.
  case filled(column: String, with: BoundSQL, whereNull: String)
  /// A column of the source table, converted by an expression.
  case changed(column: String, (BoundSQL) -> BoundSQL)
  /// The same value in all rows.
  case constant(BoundSQL)

  /// NULL in all rows.
  package static var nothing: ColumnSource { .constant("NULL") }

  /// Whether the value is NULL in all rows.
  package var isNothing: Bool { if case .constant("NULL") = self { true } else { false } }

  /// The value as an expression of a query over the source table.
  package var expression: BoundSQL { expression { $0 } }

  /// Returns the value as an expression over columns that have been renamed.
  ///
  /// - Parameter present: Returns the current name of a source column.
  package func expression(_ present: (String) -> String) -> BoundSQL {
    switch self {
    case .column(let name): return "\(column: present(name))"
    case .filled(let name, let value, let decisive):
      let column: BoundSQL = "\(column: present(name))"
      if name == decisive { return "COALESCE(\(column), \(value))" }
      return "CASE WHEN \(column: present(decisive)) IS NULL THEN \(value) ELSE \(column) END"
    case .changed(let name, let change): return change("\(column: present(name))")
    case .constant(let value): return value
    }
  }

  /// The source column that the value is taken from; nil for a constant.
  package var origin: String? {
    switch self {
    case .column(let name), .filled(let name, _, _), .changed(let name, _): name
    case .constant: nil
    }
  }
}

/// The rule for new objects, applied to rows that get a new composite attribute.
extension AttributeDocument {
  /// Whether the elements of this new composite attribute get their default values. If a required element has none, no
  /// element gets one, unless the composite attribute itself has a default value.
  fileprivate var isFilledByElements: Bool {
    if case .dictionary? = defaultValue { return true }
    return elements.allSatisfy { $0.isOptional || $0.hasInitialValue }
  }

  private var hasInitialValue: Bool {
    guard kind == .composite else { return defaultValue != nil && defaultValue != .null }
    if case .dictionary(let values)? = defaultValue, elements.contains(where: { values[$0.name] != nil }) {
      return true
    }
    return isFilledByElements && elements.contains(where: \.hasInitialValue)
  }
}
