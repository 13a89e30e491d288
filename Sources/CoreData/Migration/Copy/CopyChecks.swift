// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Checks that the rows of a finished copy are what the destination model wants: the last pass of a migration.
struct CopyChecks {
  let plan: CopyPlan
  let connection: SQLiteConnection
  let url: URL

  private var target: CopySide { plan.target }

  /// - Throws: 134110 naming entity and property, with the error of validation that the object would give beneath it.
  func run(_ copy: EntityCopy) throws {
    for name in copy.destination.attributes.keys.sorted() {
      guard let layout = copy.destination.attributes[name],
        let attribute = copy.destinationEntity.attributesByName[name],
        !(attribute is NSDerivedAttributeDescription)
      else { continue }
      try check(layout, attribute, copy, "")
    }
    for name in copy.destination.relationships.keys.sorted() {
      guard let layout = copy.destination.relationships[name],
        let relationship = copy.destinationEntity.relationshipsByName[name], !relationship.isTransient
      else { continue }
      try check(layout, relationship, copy)
    }
  }

  // MARK: Attributes

  private func check(
    _ layout: AttributeLayout, _ attribute: NSAttributeDescription, _ copy: EntityCopy, _ path: String
  ) throws {
    guard let column = layout.column, let decoder = ColumnDecoder(layout, attribute, external: target.external) else {
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      for element in layout.elements {
        guard let inner = elements.first(where: { $0.name == element.name }) else { continue }
        // Elements of a composite without value are not looked at.
        if inner.validations.isEmpty { continue }
        try check(element, inner, copy, path + layout.name + ".")
      }
      return
    }
    let (table, name) = (target.table(copy.destination.table), SQLName.quoted(column))
    if !attribute.isOptional, path.isEmpty {
      let missing = try connection.scalar(
        "SELECT r.Z_PK FROM \(table) r WHERE \(copy.madeRows("r")) AND r.\(name) IS NULL LIMIT 1")
      if missing != nil {
        throw MigrationErrors.missingMandatoryValues(url: url, entity: copy.destination.name, attribute: layout.name)
      }
    }
    guard !attribute.validations.isEmpty else { return }
    let evaluator = PredicateEvaluator()
    let rules = attribute.validations
    let statement = try connection.prepare(
      "SELECT r.\(name), r.Z_PK FROM \(table) r WHERE \(copy.madeRows("r")) AND r.\(name) IS NOT NULL")
    try statement.forEachRow { row in
      guard let value = try decoder.value(row.value(at: 0)) else { return }
      for rule in rules where try !evaluator.evaluate(rule.predicate, with: value) {
        throw invalid(
          copy, path + layout.name,
          "The object \(row.int64(at: 1)) would have '\(String(describing: value).prefix(80))', which does not meet "
            + "\(PredicatePrinter().format(rule.predicate)).")
      }
    }
  }

  // MARK: Relationships

  private func check(
    _ layout: RelationshipLayout, _ relationship: NSRelationshipDescription, _ copy: EntityCopy
  ) throws {
    let table = target.table(copy.destination.table)
    let least = max(relationship.minCount, relationship.isOptional ? 0 : 1)
    switch layout.place {
    case .foreignKey(let key):
      guard !relationship.isOptional else { return }
      let missing = try connection.scalar(
        "SELECT r.Z_PK FROM \(table) r WHERE \(copy.madeRows("r")) AND r.\(SQLName.quoted(key.column)) IS NULL LIMIT 1")
      if let missing {
        throw invalid(
          copy, layout.name,
          "The object \(missing.literal) would have no object there, and the relationship is required.")
      }
    case .inverseForeignKey(let far, let key):
      let counting = "SELECT COUNT(*) FROM \(target.table(far)) m WHERE m.\(SQLName.quoted(key.column)) = r.Z_PK"
      try checkCount(counting, least, relationship, copy, layout.name)
    case .joinTable(let end):
      let (near, opposite) = (SQLName.quoted(end.sourceColumn), SQLName.quoted(end.destinationColumn))
      let both = end.isReflexive ? " OR (m.\(opposite) = r.Z_PK AND m.\(near) <> r.Z_PK)" : ""
      let counting = "SELECT COUNT(*) FROM \(target.table(end.table)) m WHERE m.\(near) = r.Z_PK\(both)"
      try checkCount(counting, least, relationship, copy, layout.name)
    }
  }

  private func checkCount(
    _ counting: String, _ least: Int, _ relationship: NSRelationshipDescription, _ copy: EntityCopy, _ name: String
  ) throws {
    guard least > 0 || relationship.maxCount > 0 else { return }
    let tooFew = "(n < \(least)\(relationship.isOptional ? " AND n > 0" : ""))"
    let tooMany = relationship.maxCount > 0 ? "n > \(relationship.maxCount)" : "0"
    let found = try connection.rows(
      "SELECT k, n FROM (SELECT r.Z_PK AS k, (\(counting)) AS n FROM \(target.table(copy.destination.table)) r "
        + "WHERE \(copy.madeRows("r"))) WHERE \(tooFew) OR \(tooMany) LIMIT 1")
    guard let row = found.first else { return }
    let limit = relationship.maxCount > 0 ? "\(least) to \(relationship.maxCount)" : "at least \(least)"
    throw invalid(
      copy, name, "The object \(row[0].literal) would have \(row[1].literal) objects there, and \(limit) are wanted.")
  }

  private func invalid(_ copy: EntityCopy, _ property: String, _ reason: String) -> NSError {
    MigrationErrors.failed(
      url: url,
      reason:
        "'\(property)' of '\(copy.destination.name)' is not valid after the migration by '\(copy.name)'. \(reason)",
      suggestion: "Correct the mapping, or the source's data first.", entity: copy.destination.name, attribute: property
    )
  }

  // MARK: Uniqueness

  /// The first uniqueness constraint that rows violate, as error 134111; nil where none is.
  func violatedConstraint() throws -> NSError? {
    try DuplicateValues.first(in: target.schema, on: connection, database: target.database).map {
      MigrationErrors.constraintViolation(
        url: url, entity: $0.entity, properties: $0.properties, values: $0.summary)
    }
  }
}
