// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// Finds numbers that the new type of their attribute cannot hold.
///
/// Fractions are cut off and digits rounded, as conversions of numbers do; a value that would become another number
/// altogether is not changed in silence.
package struct NumberRanges {
  package let step: InPlaceStep
  package let connection: SQLiteConnection

  package init(
    step: InPlaceStep, connection: SQLiteConnection
  ) {
    self.step = step
    self.connection = connection
  }

  /// - Throws: `InPlaceProblem` for the first attribute with such values, with one of them.
  package func check() throws {
    for destination in step.destinationSchema.entities {
      guard let sourceName = step.mapping.sourceEntity(of: destination.name),
        let source = step.sourceSchema[sourceName]
      else { continue }
      for name in destination.attributes.keys.sorted() {
        guard let new = step.destination.attribute(name, of: destination.name),
          let oldName = step.mapping.sourceAttribute(of: name, in: destination.name),
          let old = step.source.attribute(oldName, of: sourceName), let layout = source.attributes[oldName]
        else { continue }
        try check(layout, old, new, source, entity: destination.name)
      }
    }
  }

  private func check(
    _ layout: AttributeLayout, _ old: AttributeDocument, _ new: AttributeDocument, _ source: EntityLayout,
    entity: String
  ) throws {
    guard let column = layout.column else {
      let elements = Pairing(old.elements, new.elements, name: \.name, declared: \.renamingIdentifier)
      for (oldElement, newElement) in elements.matched {
        guard let element = layout.elements.first(where: { $0.name == oldElement.name }) else { continue }
        try check(element, oldElement, newElement, source, entity: entity)
      }
      return
    }
    let conversion = NumberConversion(column: SQLName.quoted(column), from: old.kind, to: new.kind)
    guard let misfit = conversion.refused else { return }
    let rows =
      "FROM \(SQLName.quoted(source.table))" + InPlaceStep.whereClause(step.condition(source), "(\(misfit))")
    guard
      let example = try connection.rows("SELECT Z_PK, \(SQLName.quoted(column)) \(rows) ORDER BY Z_PK LIMIT 1").first
    else { return }
    let count = try connection.scalar("SELECT COUNT(*) \(rows)")?.integer ?? 1
    throw InPlaceProblem(
      entity: entity, property: new.name,
      reason:
        "'\(new.name)' of entity '\(entity)' becomes \(new.kind.title), which cannot hold the values of \(count) "
        + "\(count == 1 ? "object" : "objects"); that of \(source.name)/p\(example[0].literal) is \(example[1].shortLiteral).",
      suggestion:
        "Keep a type that holds all values, change these values first, or write a mapping model that says what becomes "
        + "of them.")
  }
}
