// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The way in which one kind of attribute value is stored in a column.
package enum ColumnCoding {
  case integer
  case boolean
  case double
  case float
  case date
  case decimal
  case string
  case uri
  case uuid
  case data
  /// Data that may be stored in a separate file.
  case externalData
  case archived

  package init?(_ layout: AttributeLayout) {
    switch layout.kind {
    case .integer16, .integer32, .integer64: self = .integer
    case .boolean: self = .boolean
    case .double: self = .double
    case .float: self = .float
    case .date: self = .date
    case .decimal: self = .decimal
    case .string: self = .string
    case .uri: self = .uri
    case .uuid: self = .uuid
    case .binaryData: self = layout.allowsExternalStorage ? .externalData : .data
    case .transformable: self = .archived
    case .undefined, .objectID, .composite: return nil
    }
  }

  /// Reads the value of a column; nil if it is not of this kind.
  ///
  /// Integers and reals are interchangeable, since SQLite stores whole reals as integers.
  func slot(at index: Int, of statement: SQLiteStatement, external: ExternalData?) throws -> Slot? {
    let type = statement.type(at: index)
    if type == .null { return .null }
    let isNumber = type == .integer || type == .real
    switch self {
    case .integer:
      if type == .integer { return .integer(statement.int64(at: index)) }
      return type == .real ? DecimalConversion.integer(statement.double(at: index)).map { .integer($0) } : nil
    case .boolean: return isNumber ? .boolean(statement.int64(at: index) != 0) : nil
    case .double: return isNumber ? .double(statement.double(at: index)) : nil
    case .float: return isNumber ? .float(Float(statement.double(at: index))) : nil
    case .date: return isNumber ? .date(statement.double(at: index)) : nil
    case .decimal:
      switch type {
      case .integer: return .object(NSDecimalNumber(decimal: Decimal(statement.int64(at: index))))
      case .real: return StoredDecimal.object(statement.double(at: index)).map { .object($0) }
      default: return statement.text(at: index).flatMap { StoredDecimal.object($0) }.map { .object($0) }
      }
    case .string: return statement.text(at: index).map { .string($0) }
    case .uri: return statement.text(at: index).flatMap { URL(string: $0) }.map { .object($0 as NSURL) }
    case .uuid: return type == .blob ? statement.withBlob(at: index, Self.uuid) : nil
    case .data: return statement.blob(at: index).map { .data($0) }
    case .externalData: return try statement.blob(at: index).map { .data(try external?.value(of: $0) ?? $0) }
    case .archived: return statement.blob(at: index).map { .archived($0) }
    }
  }

  /// Packs the value of a column. Returns false if it is not of this kind.
  func pack(
    column index: Int, of statement: SQLiteStatement, at position: Int, into packer: RowPacker, external: ExternalData?
  ) throws -> Bool {
    let column = statement.column(at: index)
    switch (self, column.type) {
    case (_, .null): break
    case (.integer, .integer): packer.pack(integer: column.int64, at: position)
    case (.boolean, .integer), (.boolean, .real): packer.pack(boolean: column.int64 != 0, at: position)
    case (.double, .integer), (.double, .real): packer.pack(double: column.double, at: position)
    case (.float, .integer), (.float, .real): packer.pack(float: Float(column.double), at: position)
    case (.date, .integer), (.date, .real): packer.pack(date: column.double, at: position)
    case (.string, _): packer.pack(string: column.text, at: position)
    case (.data, _): packer.pack(data: column.blob, at: position)
    case (.archived, _): packer.pack(archived: column.blob, at: position)
    case (.uuid, .blob):
      let bytes = column.blob
      guard bytes.count == 16 else { return false }
      packer.pack(uuid: bytes, at: position)
    default:
      guard let slot = try slot(at: index, of: statement, external: external) else { return false }
      packer.pack(slot, at: position)
    }
    return true
  }

  /// Converts a stored value; nil if it is not of this kind.
  package func slot(of stored: SQLiteValue, external: ExternalData?) throws -> Slot? {
    switch (self, stored) {
    case (_, .null): return .null
    case (.integer, .integer(let value)): return .integer(value)
    case (.integer, .real(let value)): return DecimalConversion.integer(value).map { .integer($0) }
    case (.boolean, .integer(let value)): return .boolean(value != 0)
    case (.boolean, .real(let value)): return .boolean(value.rounded(.towardZero) != 0)
    case (.double, _): return stored.real.map { .double($0) }
    case (.float, _): return stored.real.map { .float(Float($0)) }
    case (.date, _): return stored.real.map { .date($0) }
    case (.decimal, .integer(let value)): return .object(NSDecimalNumber(decimal: Decimal(value)))
    case (.decimal, .real(let value)):
      return StoredDecimal.object(value).map { .object($0) }
    case (.decimal, .text(let value)): return StoredDecimal.object(value).map { .object($0) }
    case (.string, .text(let value)): return .string(value)
    case (.uri, .text(let value)): return URL(string: value).map { .object($0 as NSURL) }
    case (.uuid, .blob(let value)): return value.withUnsafeBytes(Self.uuid)
    case (.data, .blob(let value)): return .data(value)
    case (.externalData, .blob(let value)): return .data(try external?.value(of: value) ?? value)
    case (.archived, .blob(let value)): return .archived(value)
    default: return nil
    }
  }

  private static func uuid(_ bytes: UnsafeRawBufferPointer) -> Slot? {
    guard bytes.count == 16 else { return nil }
    return .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)))
  }

  /// Returns the column value of a slot in SQLite; nil if the slot is not of this kind.
  ///
  /// - Parameter external: the files of large values; nil for a store without files.
  func value(of slot: Slot, external: ExternalData?) throws -> SQLiteValue? {
    switch (self, slot) {
    case (_, .null): return .null
    case (.integer, .integer(let value)): return .integer(value)
    case (.integer, .boolean(let value)), (.boolean, .boolean(let value)): return .integer(value ? 1 : 0)
    case (.boolean, .integer(let value)): return .integer(value)
    case (.double, .double(let value)), (.date, .date(let value)): return .real(value)
    case (.double, .float(let value)), (.float, .float(let value)): return .real(Double(value))
    case (.float, .double(let value)): return .real(Double(Float(value)))
    case (.decimal, .object(let value as NSDecimalNumber)): return StoredDecimal.number(value)
    case (.string, .string(let value)): return .text(value)
    case (.uri, .object(let value as NSURL)): return .text(value.absoluteString)
    case (.uuid, .uuid(let value)): return .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
    case (.data, .data(let value)): return .blob(value)
    case (.externalData, .data(let value)): return .blob(try external?.stored(value) ?? value)
    case (.archived, .archived(let value)), (.archived, .data(let value)): return .blob(value)
    case (.archived, .unarchived(let value)): return .blob(value.data)
    default: return nil
    }
  }
}
