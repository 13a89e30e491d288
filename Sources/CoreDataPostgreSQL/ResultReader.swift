// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Creates the result dictionaries of a request from the rows of a statement.
struct ResultReader {
  private let columns: [Column]
  private let entities: StoredEntities

  private struct Column {
    let name: String
    let step: Step
    let position: Int
  }

  private enum Step {
    case attribute(Cell, NSAttributeDescription?)
    case flag
    case object(EntityLayout, hasNumber: Bool)
    case computed(SQLOperand.Kind, hasTest: Bool)
    case constant(Any?)
  }

  /// Creates a reader for the results of a statement.
  ///
  /// - Throws: `NotExpressibleInSQL` for attributes whose values are not stored in columns.
  init(_ select: ResultSelect, of entity: NSEntityDescription, entities: StoredEntities) throws {
    columns = try select.columns.map { column in
      let step: Step
      switch column.form {
      case .attribute(let layout, let path):
        step = try Self.attribute(layout, at: column.position, Self.description(path, of: entity))
      case .object(let layout, let hasNumber): step = .object(layout, hasNumber: hasNumber)
      case .computed(let kind, let hasTest): step = .computed(kind, hasTest: hasTest)
      case .constant(let value): step = .constant(value == .null ? nil : value.foundationValue())
      }
      return Column(name: column.name, step: step, position: column.position)
    }
    self.entities = entities
  }

  /// Returns the reader of an attribute. Dates are selected as seconds, and booleans as integers.
  private static func attribute(
    _ layout: AttributeLayout, at position: Int, _ description: NSAttributeDescription?
  ) throws -> Step {
    guard layout.column != nil else { throw NotExpressibleInSQL() }
    switch layout.kind {
    case .date: return .computed(.date, hasTest: false)
    case .boolean: return .flag
    default:
      var list = SelectList(columns: Array(repeating: "", count: position))
      return .attribute(Cell(layout, description, &list), description)
    }
  }

  private static func description(_ path: [String], of entity: NSEntityDescription) -> NSAttributeDescription? {
    var entity: NSEntityDescription? = entity
    for name in path.dropLast() { entity = entity?.relationshipsByName[name]?.destinationEntity }
    return path.last.flatMap { entity?.attributesByName[$0] }
  }

  /// Returns the dictionary of a row.
  ///
  /// - Throws: `NotExpressibleInSQL` for a value that is not of its attribute's type. The request is then evaluated
  ///   with objects, which report the value.
  func dictionary(_ rows: PostgreSQLRows, _ row: Int) throws -> NSDictionary {
    let result = NSMutableDictionary()
    for column in columns {
      if let value = try value(of: column, rows, row) { result[column.name] = value }
    }
    return result
  }

  /// Returns the values of a row, in the order of the columns.
  ///
  /// - Throws: The errors of `dictionary(_:_:)`.
  func values(_ rows: PostgreSQLRows, _ row: Int) throws -> [Any?] {
    try columns.map { try value(of: $0, rows, row) }
  }

  private func value(of column: Column, _ rows: PostgreSQLRows, _ row: Int) throws -> Any? {
    switch column.step {
    case .constant(let value): return value
    case .attribute(let cell, let attribute):
      guard let slot = cell.slot(rows, row) else { throw NotExpressibleInSQL() }
      guard case .archived(let data) = slot, let attribute else { return slot.publicValue }
      return Slot.unarchived(UnarchivedValue(TransformableValues.decode(data, of: attribute), from: data)).publicValue
    case .flag:
      return rows.isNull(row, column.position) ? nil : Slot.boolean(rows.int64(row, column.position) != 0).publicValue
    case .object(let layout, let hasNumber):
      if rows.isNull(row, column.position) { return nil }
      let stored = hasNumber && !rows.isNull(row, column.position + 1) ? rows.int64(row, column.position + 1) : 0
      let number = entities.number(ofRow: stored, like: layout) ?? layout.number
      guard let id = entities.id(entity: number, primaryKey: rows.int64(row, column.position)) else {
        throw NotExpressibleInSQL()
      }
      return id
    case .computed(let kind, let hasTest):
      if rows.isNull(row, column.position) {
        guard hasTest, rows.int64(row, column.position + 1) == 0 else { return nil }
        return kind == .date ? Date(timeIntervalSinceReferenceDate: .nan) : NSNumber(value: Double.nan)
      }
      return try Self.value(rows, row, column.position, kind)
    }
  }

  private static func value(
    _ rows: PostgreSQLRows, _ row: Int, _ column: Int, _ kind: SQLOperand.Kind
  ) throws -> Any? {
    switch kind {
    case .integer, .real:
      switch rows.value(row, column) {
      case .integer(let number): return NSNumber(value: number)
      case .boolean(let flag): return NSNumber(value: flag ? 1 : 0)
      case .real(let number): return NSNumber(value: number)
      default: throw NotExpressibleInSQL()
      }
    case .decimal, .calculated:
      guard let decimal = StoredDecimal.object(rows.numericText(row, column)) else { throw NotExpressibleInSQL() }
      return decimal
    case .date: return Date(timeIntervalSinceReferenceDate: rows.double(row, column))
    case .string: return rows.string(row, column)
    case .uri: return URL(string: rows.string(row, column))
    case .data: return rows.data(row, column)
    case .uuid: return rows.uuid(row, column)
    case .opaque: throw NotExpressibleInSQL()
    }
  }
}
