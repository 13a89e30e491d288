// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Validates the rows of a mapping in SQL. If any row is invalid, validating objects reports the errors.
struct RowValidation {
  let mapping: SQLMapping
  let connection: SQLiteConnection

  private var table: String { mapping.target.table(mapping.destination.table) }

  /// Returns whether all rows are valid.
  func isPassed() throws -> Bool {
    for layout in mapping.destination.attributes.values {
      guard let attribute = mapping.destinationEntity.attributesByName[layout.name],
        !(attribute is NSDerivedAttributeDescription)
      else { continue }
      if try !isPassed(layout, attribute, isElement: false) { return false }
    }
    for layout in mapping.destination.relationships.values {
      guard let relationship = mapping.destinationEntity.relationshipsByName[layout.name] else { continue }
      if try !isPassed(layout, relationship) { return false }
    }
    return true
  }

  /// Returns whether no row satisfies a condition.
  private func hasNone(_ condition: String) throws -> Bool {
    try connection.scalar("SELECT 1 FROM \(table) r WHERE \(mapping.madeRows("r")) AND \(condition) LIMIT 1") == nil
  }

  private func isPassed(_ layout: AttributeLayout, _ attribute: NSAttributeDescription, isElement: Bool) throws -> Bool
  {
    guard let column = layout.column,
      let decoder = ColumnConverter(layout, attribute, external: mapping.target.external)
    else {
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      return try layout.elements.allSatisfy { element in
        guard let inner = elements.first(where: { $0.name == element.name }) else { return true }
        return try isPassed(element, inner, isElement: true)
      }
    }
    let name = SQLName.quoted(column)
    // Elements of a composite attribute may lack a value.
    if !attribute.isOptional, !isElement, try !hasNone("r.\(name) IS NULL") { return false }
    let rules = attribute.validations
    if rules.isEmpty { return true }
    let evaluator = PredicateEvaluator()
    let statement = try connection.prepare(
      "SELECT r.\(name) FROM \(table) r WHERE \(mapping.madeRows("r")) AND r.\(name) IS NOT NULL")
    while try statement.step() {
      guard let value = try decoder.value(statement.value(at: 0)) else { continue }
      for rule in rules where try !evaluator.evaluate(rule.predicate, with: value) { return false }
    }
    return true
  }

  private func isPassed(_ layout: RelationshipLayout, _ relationship: NSRelationshipDescription) throws -> Bool {
    switch layout.storage {
    case .foreignKey(let key):
      return try relationship.isOptional || hasNone("r.\(SQLName.quoted(key.column)) IS NULL")
    case .inverseForeignKey(let far, let key):
      return try isCountPassed(
        "\(mapping.target.table(far)) m WHERE m.\(SQLName.quoted(key.column)) = r.Z_PK", relationship)
    case .joinTable(let end):
      let (near, opposite) = (SQLName.quoted(end.sourceColumn), SQLName.quoted(end.destinationColumn))
      let both = end.isReflexive ? " OR (m.\(opposite) = r.Z_PK AND m.\(near) <> r.Z_PK)" : ""
      return try isCountPassed("\(mapping.target.table(end.table)) m WHERE m.\(near) = r.Z_PK\(both)", relationship)
    }
  }

  private func isCountPassed(_ members: String, _ relationship: NSRelationshipDescription) throws -> Bool {
    let least = relationship.minCount
    guard least > 0 || relationship.maxCount > 0 else { return true }
    let count = "(SELECT COUNT(*) FROM \(members))"
    let tooFew = "\(count) < \(least)" + (relationship.isOptional ? " AND \(count) > 0" : "")
    let tooMany = relationship.maxCount > 0 ? "\(count) > \(relationship.maxCount)" : "0"
    return try hasNone("((\(tooFew)) OR \(tooMany))")
  }
}
