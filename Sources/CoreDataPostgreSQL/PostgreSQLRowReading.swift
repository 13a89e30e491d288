// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

extension RowReader {
  /// Packs a row.
  ///
  /// - Throws: `RowProblem` if the row belongs to another entity or a value cannot be read.
  func pack(_ rows: PostgreSQLRows, _ row: Int, into packer: RowPacker) throws {
    let primaryKey = rows.int64(row, 0)
    let plan = try plan(ofRow: rows.int64(row, 1), primaryKey: primaryKey)
    packer.begin(slotCount: plan.steps.count)
    for position in plan.steps.indices {
      guard plan.steps[position].pack(rows, row, at: position, into: packer, entities) else {
        throw unreadable(plan.steps[position].storedText(rows, row), plan, at: position, primaryKey: primaryKey)
      }
    }
    try end(packer, plan, primaryKey: primaryKey, version: rows.int64(row, 2))
  }
}

extension RowStep {
  /// Packs the slot of a row. Returns false if the value cannot be read.
  @inline(__always)
  fileprivate func pack(
    _ rows: PostgreSQLRows, _ row: Int, at position: Int, into packer: RowPacker, _ entities: StoredEntities
  ) -> Bool {
    switch self {
    case .null: return true
    case .unread: packer.packUnread(at: position)
    case .attribute(let coding, let column, let remainder):
      if rows.isNull(row, column) { return true }
      switch coding {
      case .string: packer.pack(string: rows.bytes(row, column), at: position)
      case .integer: packer.pack(integer: rows.int64(row, column), at: position)
      case .boolean: packer.pack(boolean: rows.bool(row, column), at: position)
      case .double: packer.pack(double: rows.double(row, column), at: position)
      case .float: packer.pack(float: Float(rows.double(row, column)), at: position)
      case .date: packer.pack(date: Self.date(rows, row, column, remainder), at: position)
      case .data, .externalData: packer.pack(data: rows.bytes(row, column), at: position)
      case .archived: packer.pack(archived: rows.bytes(row, column), at: position)
      case .uuid: packer.pack(uuid: rows.bytes(row, column), at: position)
      case .decimal, .uri:
        guard let slot = slot(rows, row) else { return false }
        packer.pack(slot, at: position)
      }
    case .toOne(let column, let entityColumn, let destination):
      if rows.isNull(row, column) { return true }
      let number = entityColumn.map { rows.isNull(row, $0) ? 0 : Int(rows.int64(row, $0)) } ?? 0
      guard let known = entities.destination(number, declared: destination) else { return false }
      packer.pack(destination: rows.int64(row, column), entity: known, at: position)
    case .composite:
      guard let slot = slot(rows, row) else { return false }
      packer.pack(slot, at: position)
    }
    return true
  }

  private static func date(_ rows: PostgreSQLRows, _ row: Int, _ column: Int, _ remainder: Int) -> Double {
    // Without a column for the remainder, its position is that of the timestamp.
    let hasRemainder = remainder != column && !rows.isNull(row, remainder)
    return StoredDate(
      timestamp: rows.microseconds(row, column), remainder: hasRemainder ? rows.double(row, remainder) : nil
    ).seconds
  }

  /// Returns the slot of an attribute, or nil if the value cannot be read.
  private func slot(_ rows: PostgreSQLRows, _ row: Int) -> Slot? {
    switch self {
    case .null: return .null
    case .unread: return .unread
    case .toOne: return nil
    case .attribute(let coding, let column, let remainder):
      if rows.isNull(row, column) { return .null }
      switch coding {
      case .integer: return .integer(rows.int64(row, column))
      case .boolean: return .boolean(rows.bool(row, column))
      case .double: return .double(rows.double(row, column))
      case .float: return .float(Float(rows.double(row, column)))
      case .date: return .date(Self.date(rows, row, column, remainder))
      case .decimal: return StoredDecimal.object(rows.numericText(row, column)).map { .object($0) }
      case .string: return .string(rows.string(row, column))
      case .uri: return URL(string: rows.string(row, column)).map { .object($0 as NSURL) }
      case .uuid: return .uuid(rows.uuid(row, column))
      case .data, .externalData: return .data(rows.data(row, column))
      case .archived: return .archived(rows.data(row, column))
      }
    case .composite(let elements):
      let value = NSMutableDictionary()
      for (name, step, description) in elements.steps {
        guard let slot = step.slot(rows, row) else { return nil }
        if let element = slot.partValue(of: description) { value[name as NSString] = element }
      }
      return Slot(composite: value)
    }
  }

  /// Returns a description of the stored value, for errors.
  fileprivate func storedText(_ rows: PostgreSQLRows, _ row: Int) -> String {
    switch self {
    case .toOne(_, let entityColumn?, _): "a row of entity number \(rows.int64(row, entityColumn))"
    case .attribute(.decimal, let column, _): "'\(rows.numericText(row, column).prefix(50))'"
    case .attribute(.uri, let column, _): "'\(rows.string(row, column).prefix(50))'"
    default: "a value of another type"
    }
  }
}
