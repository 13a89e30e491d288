// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// One row of a store for an export.
package struct ExportedObject: Hashable, Sendable {
  package let entity: String
  /// `x-coredata://UUID/Entity/pN`
  package let id: String
  /// Values by property, sorted by name.
  package let values: [(name: String, value: ExportedValue)]

  package static func == (left: ExportedObject, right: ExportedObject) -> Bool {
    left.entity == right.entity && left.id == right.id
      && left.values.elementsEqual(right.values) { $0.name == $1.name && $0.value == $1.value }
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(id)
  }
}

/// One value of an export.
package indirect enum ExportedValue: Hashable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  /// All digits, without an exponent.
  case decimal(String)
  /// Seconds since the start of 2001.
  case date(Double)
  case string(String)
  case binary(Data)
  /// The identifier of one object.
  case reference(String)
  /// The identifiers of many: in order where the relationship is ordered, else sorted by entity and key.
  case references([String])
  /// The parts of a composite attribute, sorted by name.
  case composite([Part])

  /// An element of a composite attribute.
  package struct Part: Hashable, Sendable {
    package let name: String
    package let value: ExportedValue
  }
}

/// Decimal numbers as stores hold them: integers, or reals whose value is that of their shortest text.
enum DecimalText {
  /// The digits of a real without an exponent: `0.00001`, not `1e-05`.
  static func plain(_ value: Double) -> String {
    guard value.isFinite else { return String(value) }
    if let whole = Int64(exactly: value) { return String(whole) }
    return plain(String(value))
  }

  /// The greatest exponent of a real, plus its digits.
  private static let greatestExponent = 400

  /// The same number without an exponent; the text itself where it is not a number.
  static func plain(_ text: String) -> String {
    guard let mark = text.firstIndex(where: { $0 == "e" || $0 == "E" }),
      let exponent = Int(text[text.index(after: mark)...]), (-greatestExponent...greatestExponent).contains(exponent),
      Double(text) != nil
    else { return text }
    let isNegative = text.hasPrefix("-")
    let mantissa = text[..<mark].drop { $0 == "-" || $0 == "+" }
    let parts = mantissa.split(separator: ".", omittingEmptySubsequences: false)
    let fraction = parts.count > 1 ? parts[1] : ""
    var digits = String(parts[0] + fraction)
    var point = parts[0].count + exponent
    if point <= 0 {
      digits = String(repeating: "0", count: 1 - point) + digits
      point = 1
    }
    digits += String(repeating: "0", count: max(0, point - digits.count))
    let split = digits.index(digits.startIndex, offsetBy: point)
    var tail = digits[split...]
    while tail.last == "0" { tail.removeLast() }
    return (isNegative ? "-" : "") + digits[..<split] + (tail.isEmpty ? "" : "." + tail)
  }
}

/// The columns that are read for an entity's properties, and how each property is made from them.
struct ExportPlan {
  /// How one property is read from the current row.
  struct Step {
    let name: String
    let value: (SQLiteStatement, Int64, ObjectReferences) throws -> ExportedValue
  }

  private let entity: String
  private(set) var columns: [String] = []
  private(set) var steps: [Step] = []

  init(entity: String) {
    self.entity = entity
  }

  mutating func sort() {
    steps.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  mutating func add(_ attribute: AttributeLayout, name: String) {
    let value = reading(attribute)
    steps.append(Step(name: name) { statement, key, references in try value(statement, key, references) })
  }

  private mutating func reading(
    _ attribute: AttributeLayout
  ) -> (SQLiteStatement, Int64, ObjectReferences) throws -> ExportedValue {
    guard let column = attribute.column else {
      let parts = attribute.elements.sorted { $0.name < $1.name }.map { ($0.name, reading($0)) }
      return { statement, key, references in
        let values = try parts.map { ExportedValue.Part(name: $0.0, value: try $0.1(statement, key, references)) }
        return values.allSatisfy { $0.value == .null } ? .null : .composite(values)
      }
    }
    let index = position(of: column)
    let (kind, isExternal) = (attribute.kind, attribute.allowsExternalStorage)
    let (name, entity) = (attribute.name, entity)
    return { statement, key, references in
      let stored = StoredValue.exported(statement.value(at: index), as: kind)
      guard isExternal, case .binary(let data) = stored else { return stored }
      return try references.externalData(data, property: name, of: entity, key: key).map { .binary($0) } ?? .null
    }
  }

  mutating func add(_ relationship: RelationshipLayout, name: String) {
    let destination = relationship.destinationEntity
    if case .foreignKey(let key) = relationship.place, !relationship.isToMany {
      let index = position(of: key.column)
      let entityIndex = key.entityColumn.map { position(of: $0) }
      steps.append(
        Step(name: name) { statement, _, references in
          guard !statement.isNull(at: index) else { return .null }
          let number = entityIndex.flatMap { statement.isNull(at: $0) ? nil : Int(statement.int64(at: $0)) }
          return .reference(try references.reference(to: statement.int64(at: index), of: destination, number: number))
        })
    } else {
      steps.append(
        Step(name: name) { _, key, references in .references(try references.members(of: relationship, owner: key)) })
    }
  }

  /// Adds the columns of a table without a model, except housekeeping columns.
  mutating func addDeclared(_ tableColumns: [DatabaseCatalog.Column]) {
    let housekeeping: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
    for column in tableColumns where !housekeeping.contains(column.name) && !column.name.hasPrefix("Z_FOK_") {
      let index = position(of: column.name)
      let isDate = column.declaredType == "TIMESTAMP"
      let isDecimal = column.declaredType == "DECIMAL"
      steps.append(
        Step(name: column.name) { statement, _, _ in
          StoredValue.exported(statement.value(at: index), as: isDate ? .date : isDecimal ? .decimal : .undefined)
        })
    }
    sort()
  }

  private mutating func position(of column: String) -> Int {
    if let known = columns.firstIndex(of: column) { return known + 1 }
    columns.append(column)
    return columns.count
  }
}

/// Converts values of columns to exported values.
enum StoredValue {
  /// A value that is not of the attribute's type is exported as it is stored, so that nothing is lost.
  static func exported(_ value: SQLiteValue, as kind: AttributeKind) -> ExportedValue {
    switch (kind, value) {
    case (_, .null): .null
    case (.boolean, .integer(let number)): number == 0 || number == 1 ? .boolean(number == 1) : .integer(number)
    case (.date, .integer(let number)): .date(Double(number))
    case (.date, .real(let number)): .date(number)
    case (.decimal, .integer(let number)): .decimal(String(number))
    case (.decimal, .real(let number)): .decimal(DecimalText.plain(number))
    case (.decimal, .text(let text)): .decimal(DecimalText.plain(text))
    case (.double, .integer(let number)), (.float, .integer(let number)): .real(Double(number))
    case (.uuid, .blob(let data)) where data.count == 16:
      .string(data.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString)
    case (_, .integer(let number)): .integer(number)
    case (_, .real(let number)): .real(number)
    case (_, .text(let text)): .string(text)
    case (_, .blob(let data)): .binary(data)
    }
  }
}
