// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Makes the dictionaries of a request from the rows of a statement.
///
/// The statement selects dates as seconds and Booleans as integers, whatever the types of their columns.
struct DictionaryReader {
  private let columns: [Column]
  private let entities: StoredEntities
  private let external: ExternalData?

  private struct Column {
    let name: String
    let step: Step
    let position: Int
  }

  private enum Step {
    case attribute(ColumnCoding, NSAttributeDescription?)
    case object(EntityLayout, hasNumber: Bool)
    case computed(SQLOperand.Kind, hasTest: Bool)
    case constant(Any?)
  }

  /// - Throws: `NotExpressibleInSQL` for attributes whose values are not stored in columns.
  init(_ select: ResultSelect, of entity: NSEntityDescription, entities: StoredEntities, external: ExternalData?)
    throws
  {
    columns = try select.columns.map { column in
      let step: Step
      switch column.form {
      case .attribute(let layout, let path):
        guard let coding = ColumnCoding(layout) else { throw NotExpressibleInSQL() }
        step = .attribute(coding, Self.attribute(path, of: entity))
      case .object(let layout, let hasNumber): step = .object(layout, hasNumber: hasNumber)
      case .computed(let kind, let hasTest): step = .computed(kind, hasTest: hasTest)
      case .constant(let value): step = .constant(value == .null ? nil : value.foundationValue())
      }
      return Column(name: column.name, step: step, position: column.position)
    }
    self.entities = entities
    self.external = external
  }

  private static func attribute(_ path: [String], of entity: NSEntityDescription) -> NSAttributeDescription? {
    var entity: NSEntityDescription? = entity
    for name in path.dropLast() { entity = entity?.relationshipsByName[name]?.destinationEntity }
    return path.last.flatMap { entity?.attributesByName[$0] }
  }

  /// Makes the dictionary of a row.
  ///
  /// - Throws: `NotExpressibleInSQL` for a value that does not have its attribute's type. Reading the objects then
  ///   reports the value.
  func dictionary(_ row: any SQLRowValues) throws -> NSDictionary {
    let result = NSMutableDictionary()
    for column in columns {
      if let value = try value(of: column, row) { result[column.name] = value }
    }
    return result
  }

  /// Returns the values of a row, in the order of the columns.
  ///
  /// - Throws: as `dictionary(_:)`.
  func values(_ row: any SQLRowValues) throws -> [Any?] { try columns.map { try value(of: $0, row) } }

  private func value(of column: Column, _ row: any SQLRowValues) throws -> Any? {
    switch column.step {
    case .constant(let value): return value
    case .attribute(let coding, let attribute):
      let slot = try slot(coding, at: column.position, row)
      guard case .archived(let data) = slot, let attribute else { return slot.publicValue }
      return Slot.unarchived(UnarchivedValue(TransformableValues.decode(data, of: attribute), from: data)).publicValue
    case .object(let layout, let hasNumber): return try identifier(layout, hasNumber, at: column.position, row)
    case .computed(let kind, let hasTest):
      let stored = row.value(at: column.position)
      guard stored == .null, hasTest, row.int64(at: column.position + 1) == 0 else {
        return try value(of: stored, kind)
      }
      return kind == .date ? Date(timeIntervalSinceReferenceDate: .nan) : NSNumber(value: Double.nan)
    }
  }

  private func slot(_ coding: ColumnCoding, at position: Int, _ row: any SQLRowValues) throws -> Slot {
    do {
      if let slot = try coding.slot(of: row.value(at: position), external: external) { return slot }
    } catch is ExternalData.UnreadableFile {
      // Reading the object reports which file it is.
    }
    throw NotExpressibleInSQL()
  }

  private func identifier(
    _ layout: EntityLayout, _ hasNumber: Bool, at position: Int, _ row: any SQLRowValues
  ) throws -> NSManagedObjectID? {
    if row.isNull(at: position) { return nil }
    let key = row.int64(at: position)
    let stored = hasNumber ? row.int64(at: position + 1) : 0
    let number = entities.number(ofRow: stored, like: layout) ?? layout.number
    guard let id = entities.id(entity: number, primaryKey: key) else { throw NotExpressibleInSQL() }
    return id
  }

  private func value(of stored: SQLiteValue, _ kind: SQLOperand.Kind) throws -> Any? {
    switch (kind, stored) {
    case (_, .null): return nil
    case (.decimal, _):
      guard let number = ValueFunction.argument(stored, letter: "d") else { throw NotExpressibleInSQL() }
      return number
    case (.calculated, _):
      // Only SQLite's functions return numbers of other kinds here.
      return ValueFunction.argument(stored, letter: entities.schema.dialect == .sqlite ? "c" : "d")
    case (.date, _): return ValueFunction.argument(stored, letter: "t")
    case (.integer, .integer(let number)), (.real, .integer(let number)): return NSNumber(value: number)
    case (.integer, .real(let number)), (.real, .real(let number)): return NSNumber(value: number)
    case (.string, .text(let text)): return text
    case (.uri, .text(let text)): return URL(string: text)
    case (.data, .blob(let data)): return data
    case (.uuid, .blob(let data)) where data.count == 16:
      return data.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    default: throw NotExpressibleInSQL()
    }
  }
}
