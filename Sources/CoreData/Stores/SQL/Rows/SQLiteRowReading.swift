// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension RowReader {
  /// Runs a read. If a value's file cannot be read, repeats the read with `UnreadableValue`s.
  ///
  /// A save by another connection may have replaced the file since the row was read. The second read then sees the new
  /// row.
  ///
  /// - Parameter body: reads with this reader, and has no lasting effect if it throws.
  func tolerating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let problem as RowProblem {
      guard case .unreadableFile(_, _, true) = problem.kind else { throw problem }
      toleratesUnreadableFiles = true
      defer { toleratesUnreadableFiles = false }
      return try body()
    }
  }

  /// Reads the row with a primary key; nil if there is none.
  ///
  /// - Parameter connection: the connection that this reader belongs to.
  func row(_ primaryKey: Int64, _ connection: SQLiteConnection) throws -> RowSnapshot? {
    let statement = try idleRowStatement ?? connection.prepare(rowSelect, persistent: true)
    idleRowStatement = nil
    defer {
      statement.reset()
      idleRowStatement = statement
    }
    try statement.bind(primaryKey, at: 1)
    return try statement.step() ? try snapshot { try pack(statement, into: $0) } : nil
  }

  /// Packs a statement's current row.
  ///
  /// - Throws: `RowProblem` if the row is of another entity, or a value has the wrong type.
  func pack(_ statement: SQLiteStatement, into packer: RowPacker) throws {
    let row = statement.row
    let primaryKey = row.column(at: 0).int64
    let plan = try plan(ofRow: row.column(at: 1).int64, primaryKey: primaryKey)
    let count = plan.quick.count
    packer.begin(slotCount: count)
    var position = 0
    do {
      while position < count {
        if plan.quick[position].pack(row, at: position, into: packer) {
          position += 1
          continue
        }
        do {
          try plan.steps[position].pack(statement, at: position, into: packer, entities: entities, external: external)
        } catch let file as RowStep.UnreadableFile {
          let problem = RowProblem(
            kind: .unreadableFile(
              entity: plan.entity.name ?? entity.name, reason: file.cause.description, isLasting: file.cause.isLasting),
            table: entity.table, primaryKey: primaryKey, property: file.element ?? plan.table.names[position])
          guard toleratesUnreadableFiles, file.cause.isLasting else { throw problem }
          packer.pack(.object(UnreadableValue(problem, rest: file.rest)), at: position)
        }
        position += 1
      }
    } catch let problem as RowStep.Unreadable {
      throw unreadable(problem.found, plan, at: position, element: problem.element, primaryKey: primaryKey)
    }
    try end(packer, plan, primaryKey: primaryKey, version: row.column(at: 2).int64)
  }
}

/// The way in which a slot of a common kind is read, without reference counting.
struct QuickStep {
  private enum Kind: UInt8 {
    case string, integer, date, double, toOne, unread, null, other
  }

  private let kind: Kind
  private let column: Int32
  /// The entity of the relationship's destination.
  private let entity: Int32

  init(_ step: RowStep, _ entities: StoredEntities) {
    if case .toOne(let column, nil, let declared) = step,
      let destination = entities.destination(0, declared: declared)
    {
      (kind, self.column, entity) = (.toOne, Int32(column), Int32(destination))
      return
    }
    entity = 0
    switch step {
    case .unread: (kind, column) = (.unread, 0)
    case .null: (kind, column) = (.null, 0)
    case .attribute(.string, let column, _): (kind, self.column) = (.string, Int32(column))
    case .attribute(.integer, let column, _): (kind, self.column) = (.integer, Int32(column))
    case .attribute(.date, let column, _): (kind, self.column) = (.date, Int32(column))
    case .attribute(.double, let column, _): (kind, self.column) = (.double, Int32(column))
    default: (kind, column) = (.other, 0)
    }
  }

  /// Packs a row's slot.
  ///
  /// - Returns: false if the slot is not of a common kind, or its value has the wrong type.
  @inline(__always)
  func pack(_ row: SQLiteCurrentRow, at position: Int, into packer: RowPacker) -> Bool {
    switch kind {
    case .other: return false
    case .null: return true
    case .unread:
      packer.packUnread(at: position)
      return true
    case .string, .integer, .date, .double, .toOne: break
    }
    let value = row.column(at: column)
    switch (kind, value.type) {
    case (_, .null): break
    case (.string, .text): packer.pack(string: value.text, at: position)
    case (.integer, .integer): packer.pack(integer: value.int64, at: position)
    case (.date, .real), (.date, .integer): packer.pack(date: value.double, at: position)
    case (.double, .real), (.double, .integer): packer.pack(double: value.double, at: position)
    case (.toOne, .integer): packer.pack(destination: value.int64, entity: Int(entity), at: position)
    default: return false
    }
    return true
  }
}

extension RowStep {
  /// An error for a value that does not have its property's type.
  struct Unreadable: Error {
    /// The element of a composite attribute; nil for the property itself.
    var element: String?
    let found: String
  }

  /// An error for a value whose file cannot be read. Caught where the row is read, on the same thread.
  struct UnreadableFile: Error, @unchecked Sendable {
    let cause: ExternalData.UnreadableFile
    /// The element of a composite attribute; nil for the property itself.
    var element: String?
    /// The other elements of a composite attribute.
    var rest: NSDictionary?
  }

  /// Packs the slot of a statement's current row.
  func pack(
    _ statement: SQLiteStatement, at position: Int, into packer: RowPacker, entities: StoredEntities,
    external: ExternalData?
  ) throws {
    switch self {
    case .null: break
    case .unread: packer.packUnread(at: position)
    case .attribute(let coding, let column, _):
      do {
        guard try coding.pack(column: column, of: statement, at: position, into: packer, external: external) else {
          throw Unreadable(found: statement.value(at: column).shortLiteral)
        }
      } catch let file as ExternalData.UnreadableFile {
        throw UnreadableFile(cause: file)
      }
    case .composite: packer.pack(try slot(of: statement, external: external), at: position)
    case .toOne(let column, let entityColumn, let destination):
      if statement.isNull(at: column) { break }
      let number = entityColumn.map { Int(statement.int64(at: $0)) } ?? 0
      guard let known = entities.destination(number, declared: destination) else {
        throw Unreadable(found: "a row of entity number \(number)")
      }
      packer.pack(destination: statement.int64(at: column), entity: known, at: position)
    }
  }

  private func slot(of statement: SQLiteStatement, external: ExternalData?) throws -> Slot {
    switch self {
    case .null: return .null
    case .unread: return .unread
    case .attribute(let coding, let column, _):
      do {
        if let slot = try coding.slot(at: column, of: statement, external: external) { return slot }
      } catch let file as ExternalData.UnreadableFile {
        throw UnreadableFile(cause: file)
      }
      throw Unreadable(found: statement.value(at: column).shortLiteral)
    case .composite(let elements):
      let value = NSMutableDictionary()
      var unreadable: UnreadableFile?
      for (name, step, description) in elements.steps {
        let slot: Slot
        do {
          slot = try step.slot(of: statement, external: external)
        } catch let problem as Unreadable {
          throw Unreadable(element: problem.element ?? name, found: problem.found)
        } catch let file as UnreadableFile {
          unreadable = UnreadableFile(cause: file.cause, element: file.element ?? name)
          if let rest = file.rest { value[name as NSString] = rest }
          continue
        }
        if let element = slot.partValue(of: description) { value[name as NSString] = element }
      }
      if var unreadable {
        unreadable.rest = value
        throw unreadable
      }
      return Slot(composite: value)
    case .toOne: trap("The elements of a composite attribute are attributes.")
    }
  }
}
