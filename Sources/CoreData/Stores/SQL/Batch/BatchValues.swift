// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Computes the new values of an attribute for a set of rows, from the old values of the rows.
struct BatchValues {
  let run: BatchRun
  let layout: EntityLayout
  let attribute: NSAttributeDescription

  private var stored: AttributeLayout? { layout.attributes[attribute.name] }

  /// Sets a column of a set of rows to the value of an expression: in SQL where possible, otherwise row by row.
  ///
  /// - Throws: 1550 for a value of another type, 1610 or 1620 for a number that is out of range, 134060 for an
  ///   expression that cannot be evaluated in either way.
  func compute(_ expression: ExpressionSyntax, in rows: BatchRows, position: Int) throws {
    do {
      let value = try sql(expression) { alias in "\(alias).Z_PK = \(rows.name).Z_PK" }
      try run.database.calculating {
        try run.database.run(
          "UPDATE \(rows.table) SET V\(position) = (\(value.sql)) WHERE ROOT = \(layout.rootNumber)", value.values)
        try checkRange(rows, position)
      }
    } catch is NotExpressibleInSQL {
      try computeInMemory(expression, in: rows, position: position)
    }
  }

  /// Returns a query for the value of an expression in the rows that match a condition.
  ///
  /// - Throws: `NotExpressibleInSQL`.
  func sql(_ expression: ExpressionSyntax, where condition: (_ alias: String) -> String) throws -> BoundSQL {
    let names = AliasNames()
    let scope = SQLScope(entity: layout, names: names)
    let value = try operand(expression, scope, names)
    return """
      SELECT \(value) FROM \(column: layout.table) \(raw: scope.alias)\(raw: scope.joins) \
      WHERE \(raw: condition(scope.alias))
      """
  }

  /// Translates an expression over a row to SQL, with the attribute's type.
  ///
  /// - Throws: `NotExpressibleInSQL`, including for a value of another type.
  func operand(_ expression: ExpressionSyntax, _ scope: SQLScope, _ names: AliasNames) throws -> BoundSQL {
    guard let stored, stored.column != nil else { throw NotExpressibleInSQL() }
    let builder = PredicateSQL(schema: run.entities.schema, objects: run.entities, aliases: names)
    let wanted = SQLOperand.Kind(stored)
    guard case .value(let scalar) = try builder.operand(expression.withInnerOperator, SQLNames(evaluated: scope)),
      scalar.kind == wanted, scalar.kind != .opaque
    else { throw NotExpressibleInSQL() }
    let value = scalar.sql
    switch stored.kind {
    case .integer16, .integer32, .integer64:
      // PostgreSQL would round instead.
      let truncates = run.database.dialect == .postgreSQL && scalar.form != .whole
      return truncates ? "CAST(TRUNC(\(value)) AS BIGINT)" : "CAST(\(value) AS BIGINT)"
    case .boolean: return "(\(value) <> 0)"
    default: return value
    }
  }

  private func checkRange(_ rows: BatchRows, _ position: Int) throws {
    let range: ClosedRange<Int64>
    switch stored?.kind {
    case .integer16: range = Int64(Int16.min)...Int64(Int16.max)
    case .integer32: range = Int64(Int32.min)...Int64(Int32.max)
    default: return
    }
    let sql = "SELECT V\(position) FROM \(rows.table) WHERE V\(position) NOT BETWEEN ? AND ? LIMIT 1"
    if let found = try run.database.scalar(sql, [.integer(range.lowerBound), .integer(range.upperBound)])?.integer {
      throw BatchErrors.outOfRange(attribute.name, of: layout.name, isTooLarge: found > range.upperBound)
    }
  }

  /// Evaluates an expression over the attributes of each row.
  private func computeInMemory(_ expression: ExpressionSyntax, in rows: BatchRows, position: Int) throws {
    try rows.forEachKeys(root: layout.rootNumber) { keys in
      try run.engine.forEachRow(keys, of: layout) { key, row in
        try set(try value(of: expression, row), in: rows, position: position, key: key)
      }
    }
  }

  private func value(of expression: ExpressionSyntax, _ row: RowSnapshot) throws -> Slot {
    let value: Any?
    do {
      value = try PredicateEvaluator().value(expression, with: RowValues(row: row))
    } catch let error as EvaluationError {
      throw BatchErrors.badRequest(
        "The expression for '\(attribute.name)' cannot be evaluated: \(error)", entity: layout.name,
        property: attribute.name, suggestion: "Use attributes of the object, constants, and functions of them.")
    }
    return try Slot.checked(value, for: attribute, entity: layout.name)
  }

  /// Sets the computed value of one row.
  func set(_ slot: Slot, in rows: BatchRows, position: Int, key: Int64) throws {
    guard let stored else { return }
    let value: BoundSQL
    if case .date(let seconds) = slot {
      value = "\(value: .real(seconds))"
    } else if stored.column != nil,
      let found = try run.values.columns(of: slot, stored, description: attribute, in: layout, row: key).first
    {
      value = found.sql
    } else {
      throw BatchErrors.badRequest(
        "'\(attribute.name)' of '\(layout.name)' is a composite attribute, which an expression cannot compute.",
        entity: layout.name, property: attribute.name, suggestion: "Give a constant value.")
    }
    let update: BoundSQL = """
      UPDATE \(raw: rows.table) SET V\(raw: "\(position)") = \(value) \
      WHERE ROOT = \(value: .integer(Int64(layout.rootNumber))) AND Z_PK = \(value: .integer(key))
      """
    try run.database.run(update.sql, update.values)
  }
}

extension Slot {
  /// Creates the slot for a value given to a batch request.
  ///
  /// - Throws: 1550 for a value of another type, 1610 or 1620 for a number that is out of range.
  static func checked(_ value: Any?, for attribute: NSAttributeDescription, entity: String) throws -> Slot {
    guard let slot = Slot(value, for: attribute) else {
      throw BatchErrors.wrongType(
        value, attribute.name, of: entity, expected: "values of the attribute's type, \(attribute.attributeType)")
    }
    guard slot.isInRange(of: attribute.attributeType) else {
      var isTooLarge = true
      if case .integer(let number) = slot { isTooLarge = number > 0 }
      throw BatchErrors.outOfRange(attribute.name, of: entity, isTooLarge: isTooLarge)
    }
    return slot
  }
}

/// The attributes of a row, read by expressions.
private struct RowValues: KeyValueReading {
  let row: RowSnapshot

  func value(forKeyPathComponent key: String) throws -> Any? {
    let table = row.entity.slotTable
    guard let position = table.position(of: key), let attribute = table.attribute(at: position) else {
      throw EvaluationError.unknownKey(key, object: "The row of '\(row.entity.name ?? "")'")
    }
    switch row.slots[position] {
    case .archived(let data): return TransformableValues.decode(data, of: attribute)
    case .object(let value as UnreadableValue): throw value.problem
    case let slot: return slot.publicValue
    }
  }
}

extension ExpressionSyntax {
  /// A key path whose collection operator follows the relationship, as in `items.@sum.price`. Derived attributes have
  /// the operator at the end.
  fileprivate var withInnerOperator: ExpressionSyntax {
    guard case .keyPath(let path) = self else { return self }
    let keys = path.split(separator: ".").map(String.init)
    guard let last = keys.last, last.hasPrefix("@"), keys.count > 2 else { return self }
    return .keyPath(([keys[0], last] + keys[1..<(keys.count - 1)]).joined(separator: "."))
  }
}
