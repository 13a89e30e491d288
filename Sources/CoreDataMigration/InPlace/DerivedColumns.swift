// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Recomputes derived attributes when all rows are in place: they may be new, or their source values may have changed.
///
/// The forms that Core Data supports are written as SQL: key paths, aggregates over a to-many relationship, one of the text
/// functions, and `now()`, which is set only where there is no value. Any other expression is computed when its object is
/// next saved.
package struct DerivedColumns {
  /// The SQL function that calls a text function. Its arguments are the function's name and the text.
  package static let textFunction = "Z_MIGRATION_TEXT"

  package let step: InPlaceStep

  /// Registers the text function.
  package static func register(in connection: SQLiteConnection, _ values: some ProgramValues) throws {
    try connection.register(function: textFunction, argumentCount: 2) { arguments in
      guard let name = arguments.first?.text, let text = arguments.last?.text else { return .null }
      return try values.text(name, of: text).map { .text($0) } ?? .null
    }
  }

  package func statements() -> [MigrationStatement] {
    let statements = step.destinationSchema.entities.flatMap { entity in
      entity.attributes.values.sorted { $0.name < $1.name }.compactMap { statement(for: $0, of: entity) }
    }
    // A derived value may depend on another one.
    return statements.count > 1 ? statements + statements : statements
  }

  private func statement(for attribute: AttributeLayout, of entity: EntityLayout) -> MigrationStatement? {
    guard !entity.isAbstract, let column = attribute.column.map(SQLName.quoted),
      let expression = step.destination.attribute(attribute.name, of: entity.name)?.derivation.map(
        PredicatePrinter.withOperators)
    else { return nil }
    let table = SQLName.quoted(entity.table)
    let hierarchy = step.destinationSchema.entity(number: entity.rootNumber)?.numbers ?? []
    let own = hierarchy.count == 1 ? "" : "Z_ENT = \(entity.number) AND "
    if case .function(nil, "now", _) = expression {
      return MigrationStatement(
        eachRowOf: entity.table, "UPDATE \(table) SET \(column) = ?",
        [.real(Date().timeIntervalSinceReferenceDate)], where: "\(own)\(column) IS NULL", in: entity.table)
    }
    guard let value = value(of: expression, entity, kind: attribute.kind) else { return nil }
    return MigrationStatement(
      eachRowOf: entity.table, "UPDATE \(table) SET \(column) = \(value)",
      where: "\(own)\(column) IS NOT \(value)", in: entity.table)
  }

  private func value(of expression: ExpressionSyntax, _ entity: EntityLayout, kind: AttributeKind) -> String? {
    switch expression {
    case .keyPath(let path):
      let names = path.split(separator: ".").map(String.init)
      guard let found = value(at: names[...], of: entity, row: SQLName.quoted(entity.table), depth: 0) else {
        return nil
      }
      if found.kind == kind { return found.sql }
      guard found.kind.isNumeric, kind.isNumeric, kind != .boolean else { return nil }
      let isWhole = [.integer16, .integer32, .integer64].contains(kind)
      return isWhole ? "CAST(\(found.sql) AS INTEGER)" : found.sql
    case .function(nil, let name, let arguments)
    where ["canonical:", "uppercase:", "lowercase:"].contains(name) && arguments.count == 1 && kind == .string:
      return value(of: arguments[0], entity, kind: .string).map { "\(Self.textFunction)('\(name)', \($0))" }
    default: return nil
    }
  }

  /// The value at the end of a key path, as a scalar of a query over a row, and its type.
  private func value(
    at path: ArraySlice<String>, of entity: EntityLayout, row: String, depth: Int
  ) -> (sql: String, kind: AttributeKind)? {
    guard let name = path.first else { return nil }
    let rest = path.dropFirst()
    if let attribute = entity.attributes[name] {
      guard rest.isEmpty, let column = attribute.column, !attribute.allowsExternalStorage else { return nil }
      return ("\(row).\(SQLName.quoted(column))", attribute.kind)
    }
    guard let relationship = entity.relationships[name],
      let destination = step.destinationSchema[relationship.destinationEntity]
    else { return nil }
    let alias = "d\(depth)"
    switch relationship.place {
    case .foreignKey(let key):
      guard let value = value(at: rest, of: destination, row: alias, depth: depth + 1) else { return nil }
      let condition = "\(alias).Z_PK = \(row).\(SQLName.quoted(key.column))"
      return ("(SELECT \(value.sql) FROM \(SQLName.quoted(destination.table)) \(alias) WHERE \(condition))", value.kind)
    case .inverseForeignKey, .joinTable:
      let members = RelationshipPairs(of: relationship, in: step.destinationSchema)
        .memberRows(of: destination, as: alias, owner: "\(row).Z_PK")
      return aggregate(rest, of: destination, alias, members, depth)
    }
  }

  private func aggregate(
    _ path: ArraySlice<String>, of entity: EntityLayout, _ alias: String, _ rows: String, _ depth: Int
  ) -> (sql: String, kind: AttributeKind)? {
    if Array(path) == ["@count"] { return ("(SELECT COUNT(*) \(rows))", .integer64) }
    // Both `books.@sum.pages` and `books.pages.@sum` are written.
    guard let position = path.firstIndex(where: { $0.hasPrefix("@") }) else { return nil }
    var names = path
    let name = names.remove(at: position)
    let functions = ["@sum": "SUM", "@min": "MIN", "@max": "MAX", "@avg": "AVG"]
    guard let function = functions[name],
      let value = value(at: names, of: entity, row: alias, depth: depth + 1),
      value.kind.isNumeric || value.kind == .date
    else { return nil }
    let sql = "(SELECT \(function)(\(value.sql)) \(rows))"
    return (function == "SUM" ? "IFNULL(\(sql), 0)" : sql, function == "AVG" ? .double : value.kind)
  }
}

/// Values that an in-place migration needs from the program: those of value transformers and of predicate functions.
package protocol ProgramValues {
  /// The default value of a transformable attribute as a save would write it; nil where that is no value.
  ///
  /// - Throws: `UnwritableDefault`.
  func archivedDefault(of attribute: AttributeDocument) throws -> Data?

  /// The result of a predicate function for a text.
  func text(_ function: String, of text: String) throws -> String?
}

/// A default value that cannot be written.
package struct UnwritableDefault: Error {
  /// The reason in a sentence; empty where it is not known.
  package let reason: String

  package init(reason: String) { self.reason = reason }
}
