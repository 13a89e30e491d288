// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite

/// Finds numbers that the new type of their attribute cannot hold.
///
/// Fractions are cut off and digits rounded, as conversions of numbers do; a value that would become another number
/// altogether is not changed in silence.
struct NumberRanges {
  let step: InPlaceStep
  let connection: SQLiteConnection

  /// - Throws: `InPlaceProblem` for the first attribute with such values, with one of them.
  func check() throws {
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
    guard let misfit = Self.misfit(of: SQLName.quoted(column), from: old.kind, to: new.kind) else { return }
    let condition = step.condition(source).isEmpty ? " WHERE" : step.condition(source) + " AND"
    let rows = "FROM \(SQLName.quoted(source.table))\(condition) (\(misfit))"
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

  /// The condition of values that cannot be converted; nil where all can.
  private static func misfit(of column: String, from old: AttributeKind, to new: AttributeKind) -> String? {
    guard old != new, old.isNumeric, new.isNumeric, old != .boolean else { return nil }
    var conditions: [String] = []
    // A decimal that is no number stands there as text.
    if old == .decimal { conditions.append("typeof(\(column)) = 'text'") }
    let isReal = [.double, .float, .decimal].contains(old)
    switch new {
    case .integer16: conditions.append("\(column) >= 32768 OR \(column) <= -32769")
    case .integer32 where old != .integer16: conditions.append("\(column) >= 2147483648 OR \(column) <= -2147483649")
    case .integer64 where isReal:
      conditions.append("\(column) >= 9223372036854775808.0 OR \(column) < -9223372036854775808.0")
    case .float where old == .double || old == .decimal:
      conditions.append("ABS(\(column)) > 3.4028235677973366e38 AND ABS(\(column)) <= 1.7976931348623157e308")
    // A decimal has 38 digits, shifted by up to 127.
    case .decimal where isReal: conditions.append("ABS(\(column)) >= 1e165")
    default: break
    }
    return conditions.isEmpty ? nil : conditions.map { "(\($0))" }.joined(separator: " OR ")
  }
}
