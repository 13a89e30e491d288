// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// How rows of one entity are written, with the prepared statements. Made once for an open store.
final class RowPlan {
  /// What a slot writes to its row.
  enum Step {
    case column(ColumnCoding, AttributeLayout, parameter: Int)
    /// A composite attribute: several columns.
    case columns(AttributeLayout)
    case key(RelationshipLayout, ForeignKeyLayout, parameter: Int)
    /// A transient attribute, or a relationship without a column in the row.
    case nothing

    /// Whether the value that is written can be neither a file nor an object of the program's.
    fileprivate var isPlain: Bool {
      switch self {
      case .column(.archived, _, _), .column(.externalData, _, _), .columns: false
      case .column, .key, .nothing: true
      }
    }
  }

  /// The first three parameters are the key, the entity and the version.
  private static let firstParameter = 4
  /// The number of update statements that are kept, one for each set of changed slots.
  private static let statementLimit = 32

  let entity: NSEntityDescription
  let layout: EntityLayout
  /// By slot.
  let steps: [Step]
  /// The columns whose values may be files.
  let filed: [(position: Int, column: String)]
  /// The slots of relationships that are stored outside the row.
  let outside: [(position: Int, relationship: RelationshipLayout)]
  /// Whether a relationship stores the position of the row, or of its members, in an order.
  let hasPlaces: Bool
  /// Whether no value is a file, or an object of the program's.
  private let isPlain: Bool
  private let connection: SQLiteConnection
  private let indexes: [String: Int]
  private var insertion: SQLiteStatement?
  private var deletion: SQLiteStatement?
  private var updates: [SlotSet: SQLiteStatement] = [:]

  init(_ entity: NSEntityDescription, _ layout: EntityLayout, _ connection: SQLiteConnection) {
    self.entity = entity
    self.layout = layout
    self.connection = connection
    let table = entity.slotTable
    var indexes: [String: Int] = [:]
    steps = table.names.map { name in
      let step = RowPlan.step(of: name, in: layout, parameter: indexes.count + RowPlan.firstParameter)
      for column in RowPlan.columns(of: step) { indexes[column] = indexes.count + RowPlan.firstParameter }
      return step
    }
    self.indexes = indexes
    filed = table.names.enumerated().compactMap { position, name in
      guard let attribute = layout.attributes[name], attribute.allowsExternalStorage else { return nil }
      return attribute.column.map { (position, $0) }
    }
    outside = table.names.enumerated().compactMap { position, name in
      layout.relationships[name].flatMap { RowPlan.isOutside($0) ? (position, $0) : nil }
    }
    hasPlaces = outside.contains { RowPlan.hasPlaces($0.relationship) }
    isPlain = filed.isEmpty && steps.allSatisfy(\.isPlain)
  }

  private static func step(of name: String, in layout: EntityLayout, parameter: Int) -> Step {
    if let attribute = layout.attributes[name] {
      guard attribute.column != nil, let coding = ColumnCoding(attribute) else { return .columns(attribute) }
      return .column(coding, attribute, parameter: parameter)
    }
    if let relationship = layout.relationships[name], case .foreignKey(let key) = relationship.place {
      return .key(relationship, key, parameter: parameter)
    }
    return .nothing
  }

  /// The columns of a row that a step writes.
  static func columns(of step: Step) -> [String] {
    switch step {
    case .column(_, let attribute, _), .columns(let attribute): attribute.columns
    case .key(_, let key, _): [key.column] + (key.entityColumn.map { [$0] } ?? [])
    case .nothing: []
    }
  }

  /// Whether a change of the relationship is written outside the row. If it has an inverse, its members write their own
  /// columns.
  private static func isOutside(_ relationship: RelationshipLayout) -> Bool {
    switch relationship.place {
    case .foreignKey(let key): key.orderColumn != nil
    case .inverseForeignKey: relationship.inverseName == nil || relationship.isOrdered
    case .joinTable: true
    }
  }

  private static func hasPlaces(_ relationship: RelationshipLayout) -> Bool {
    switch relationship.place {
    case .foreignKey(let key): key.orderColumn != nil
    case .inverseForeignKey: relationship.isOrdered
    case .joinTable(let end): end.orderColumn != nil || end.inverseOrderColumn != nil
    }
  }

  /// Whether any of some slots has a column in the row.
  func hasColumns(_ positions: SlotSet) -> Bool {
    positions.contains { position in
      if case .nothing = steps[position] { return false }
      return true
    }
  }

  /// Whether a change is a new row, and writing it concerns no other row, no file, and none of the program's code.
  func isAlone(_ change: RowChange) -> Bool {
    change.kind == .insert && isPlain && !writesOutside(change.changed)
  }

  /// Whether a change of some slots is written outside the row.
  func writesOutside(_ changed: SlotSet) -> Bool { outside.contains { changed.contains($0.position) } }

  /// Returns the statement that inserts a row. Its parameters are key, entity and version, and then the columns.
  func insertStatement() throws -> SQLiteStatement {
    if let insertion { return insertion }
    let columns = indexes.sorted { $0.value < $1.value }.map(\.key)
    let names = (["Z_PK", "Z_ENT", "Z_OPT"] + columns).map(SQLName.quoted).joined(separator: ", ")
    let marks = (1...columns.count + 3).map { "?\($0)" }.joined(separator: ", ")
    let made = try connection.prepare(
      "INSERT INTO \(SQLName.quoted(layout.table)) (\(names)) VALUES (\(marks))", persistent: true)
    insertion = made
    return made
  }

  /// Returns the statement that updates some slots of a row. Parameter 1 is the key, 2 the new version and 3 the old one; the
  /// columns have the same parameters as in `insertStatement()`.
  func updateStatement(_ changed: SlotSet) throws -> SQLiteStatement {
    if let known = updates[changed] { return known }
    let assignments = changed.flatMap { RowPlan.columns(of: steps[$0]) }
      .compactMap { column in indexes[column].map { "\(SQLName.quoted(column)) = ?\($0)" } }
    let made = try connection.prepare(
      "UPDATE \(SQLName.quoted(layout.table)) SET \((assignments + ["Z_OPT = ?2"]).joined(separator: ", ")) "
        + "WHERE Z_PK = ?1 AND \(RowVersion.stored) = ?3", persistent: true)
    if updates.count >= RowPlan.statementLimit { updates = [:] }
    updates[changed] = made
    return made
  }

  /// Returns the statement that deletes a row. Its parameters are the key and the old version.
  func deleteStatement() throws -> SQLiteStatement {
    if let deletion { return deletion }
    let made = try connection.prepare(
      "DELETE FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?1 AND \(RowVersion.stored) = ?2", persistent: true)
    deletion = made
    return made
  }

  /// The parameter of a column.
  func index(of column: String) -> Int { indexes[column] ?? 0 }
}

/// The row plans of an open store's entities.
final class RowPlans {
  private let entities: StoredEntities
  private let connection: SQLiteConnection
  private var plans: [ObjectIdentifier: RowPlan] = [:]
  /// The most recent plan: changes come entity by entity.
  private var last: RowPlan?

  init(entities: StoredEntities, connection: SQLiteConnection) {
    self.entities = entities
    self.connection = connection
  }

  /// - Throws: `SchemaProblem` when the store does not have the entity.
  func plan(for entity: NSEntityDescription) throws -> RowPlan {
    if let last, last.entity === entity { return last }
    let plan = try plans[ObjectIdentifier(entity)] ?? RowPlan(entity, entities.layout(of: entity), connection)
    plans[ObjectIdentifier(entity)] = plan
    last = plan
    return plan
  }
}

/// How one kind of attribute value is stored in a column.
enum ColumnCoding {
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
  /// Data that may be in a file of its own.
  case externalData
  case archived

  init?(_ layout: AttributeLayout) {
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

  /// Reads the value of a column; nil when it is not of this kind.
  ///
  /// Any number will do, since SQLite stores whole reals as integers.
  func slot(at index: Int, of statement: SQLiteStatement, external: ExternalData) throws -> Slot? {
    let type = statement.type(at: index)
    if type == .null { return .null }
    let isNumber = type == .integer || type == .real
    switch self {
    case .integer:
      if type == .integer { return .integer(statement.int64(at: index)) }
      return type == .real ? Self.whole(statement.double(at: index)).map { .integer($0) } : nil
    case .boolean: return isNumber ? .boolean(statement.int64(at: index) != 0) : nil
    case .double: return isNumber ? .double(statement.double(at: index)) : nil
    case .float: return isNumber ? .float(Float(statement.double(at: index))) : nil
    case .date: return isNumber ? .date(statement.double(at: index)) : nil
    case .decimal: return decimal(statement.text(at: index)).map { .object($0) }
    case .string: return statement.text(at: index).map { .string($0) }
    case .uri: return statement.text(at: index).flatMap { URL(string: $0) }.map { .object($0 as NSURL) }
    case .uuid: return type == .blob ? statement.withBlob(at: index, Self.uuid) : nil
    case .data: return statement.blob(at: index).map { .data($0) }
    case .externalData: return try statement.blob(at: index).map { .data(try external.value(of: $0)) }
    case .archived: return statement.blob(at: index).map { .archived($0) }
    }
  }

  /// Packs the value of a column; false when it is not of this kind.
  func pack(
    column index: Int, of statement: SQLiteStatement, at position: Int, into packer: RowPacker, external: ExternalData
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

  /// Converts a stored value; nil when it is not of this kind.
  func slot(of stored: SQLiteValue, external: ExternalData) throws -> Slot? {
    switch (self, stored) {
    case (_, .null): return .null
    case (.integer, .integer(let value)): return .integer(value)
    case (.integer, .real(let value)): return Self.whole(value).map { .integer($0) }
    case (.boolean, .integer(let value)): return .boolean(value != 0)
    case (.boolean, .real(let value)): return .boolean(value.rounded(.towardZero) != 0)
    case (.double, _): return stored.real.map { .double($0) }
    case (.float, _): return stored.real.map { .float(Float($0)) }
    case (.date, _): return stored.real.map { .date($0) }
    case (.decimal, .integer(let value)): return .object(NSDecimalNumber(value: value))
    case (.decimal, .real(let value)): return decimal(String(format: "%.15g", value)).map { .object($0) }
    case (.decimal, .text(let value)): return decimal(value).map { .object($0) }
    case (.string, .text(let value)): return .string(value)
    case (.uri, .text(let value)): return URL(string: value).map { .object($0 as NSURL) }
    case (.uuid, .blob(let value)): return value.withUnsafeBytes(Self.uuid)
    case (.data, .blob(let value)): return .data(value)
    case (.externalData, .blob(let value)): return .data(try external.value(of: value))
    case (.archived, .blob(let value)): return .archived(value)
    default: return nil
    }
  }

  /// Truncates a real; nil where the integer would overflow.
  private static func whole(_ real: Double) -> Int64? { Int64(exactly: real.rounded(.towardZero)) }

  /// Parses the text of a number. For reals SQLite returns the shortest text with 15 digits, which is the number as written.
  private func decimal(_ text: String?) -> NSDecimalNumber? {
    if text == StoredDecimal.notANumber { return .notANumber }
    return text.flatMap(StoredDecimal.decimal).map { NSDecimalNumber(decimal: $0) }
  }

  private static func uuid(_ bytes: UnsafeRawBufferPointer) -> Slot? {
    guard bytes.count == 16 else { return nil }
    return .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)))
  }

  /// Returns the column value of a slot; nil when the slot is not of this kind.
  func value(of slot: Slot, external: ExternalData) throws -> SQLiteValue? {
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
    case (.externalData, .data(let value)): return .blob(try external.stored(value))
    case (.archived, .archived(let value)), (.archived, .data(let value)): return .blob(value)
    case (.archived, .unarchived(let value)): return .blob(value.data)
    default: return nil
    }
  }
}
