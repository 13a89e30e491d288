// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Makes snapshots from the rows of one table, for an entity and optionally its sub-entities.
final class PostgreSQLRowReader {
  /// The columns that a statement must select, in this order.
  let columns: [String]
  /// The text of the statement that reads the row with the key `$1`.
  private(set) lazy var rowSelect =
    "SELECT \(columns.map(SQLName.quoted).joined(separator: ", ")) FROM \(SQLName.quoted(entity.table)) WHERE z_pk = $1"
  private let entity: EntityLayout
  /// The plans by entity number; nil for entities that the reader does not include.
  private let plans: [Plan?]
  private let entities: StoredEntities
  private let packer = RowPacker()

  private final class Plan {
    let number: Int
    let entity: NSEntityDescription
    let table: SlotTable
    let transientDefaults: [(position: Int, value: Slot)]
    let cells: ContiguousArray<Cell>
    private var knownLayout: RowLayout?

    init(_ number: Int, _ entity: NSEntityDescription, _ cells: ContiguousArray<Cell>) {
      self.number = number
      self.entity = entity
      table = entity.slotTable
      transientDefaults = table.transientDefaults
      self.cells = cells
    }

    func layout(_ identities: RowIdentities) -> RowLayout {
      if let knownLayout, knownLayout.identities === identities { return knownLayout }
      let made = RowLayout(entity: entity, number: number, identities: identities)
      knownLayout = made
      return made
    }
  }

  init(entity: EntityLayout, includesSubentities: Bool, entities: StoredEntities) {
    self.entity = entity
    self.entities = entities
    var list = SelectList(columns: ["z_pk", "z_ent", "z_opt"])
    let numbers = includesSubentities ? entity.numbers : [entity.number]
    var plans: [Plan?] = Array(repeating: nil, count: (numbers.max() ?? 0) + 1)
    for number in numbers {
      guard let layout = entities.schema.entity(number: number),
        let description = entities.description(number: number)
      else { continue }
      let cells = description.slotTable.names.map {
        Cell(property: $0, of: layout, description, entities: entities, &list)
      }
      plans[number] = Plan(number, description, ContiguousArray(cells))
    }
    columns = list.columns
    self.plans = plans
  }

  /// Returns the snapshot of a row.
  ///
  /// - Throws: `RowProblem` if the row belongs to another entity or a value cannot be read.
  func snapshot(_ rows: PostgreSQLRows, _ row: Int) throws -> RowSnapshot {
    packer.removeAll()
    try pack(rows, row, into: packer)
    return RowSnapshot(packer.row(at: 0))
  }

  /// Packs a row.
  ///
  /// - Throws: The errors of `snapshot(_:_:)`.
  func pack(_ rows: PostgreSQLRows, _ row: Int, into packer: RowPacker) throws {
    let primaryKey = rows.int64(row, 0)
    let number = rows.int64(row, 1)
    guard let found = entities.number(ofRow: number, like: entity), plans.indices.contains(found),
      let plan = plans[found]
    else {
      throw RowProblem(kind: .unknownEntity(number: number), table: entity.table, primaryKey: primaryKey, property: "")
    }
    packer.begin(slotCount: plan.cells.count)
    for position in plan.cells.indices {
      guard plan.cells[position].pack(rows, row, at: position, into: packer, entities) else {
        throw RowProblem(
          kind: .unreadableValue(found: plan.cells[position].words(rows, row)), table: entity.table,
          primaryKey: primaryKey, property: plan.table.names[position])
      }
    }
    for transient in plan.transientDefaults { packer.pack(transient.value, at: transient.position) }
    try packer.end(primaryKey: primaryKey, version: rows.int64(row, 2), entity: found) {
      guard let identities = entities.identities else {
        throw RowProblem(
          kind: .unknownEntity(number: number), table: entity.table, primaryKey: primaryKey, property: "")
      }
      return plan.layout(identities)
    }
  }
}

/// Describes how to read a slot from the columns of a row.
enum Cell {
  case integer(Int)
  case boolean(Int)
  case double(Int)
  case float(Int)
  /// A date: the column of the timestamp, and the column of the remainder that a timestamp cannot represent.
  case date(Int, remainder: Int)
  case decimal(Int)
  case string(Int)
  case uri(Int)
  case uuid(Int)
  case data(Int)
  case archived(Int)
  case composite(Elements)
  case toOne(column: Int, entityColumn: Int?, destination: Int)
  /// A to-many relationship, which is read on demand.
  case unread
  /// A transient attribute, or a relationship to another store.
  case null

  /// The elements of a composite attribute. A class, so that other cells are copied without reference counting.
  final class Elements {
    let cells: [(name: String, cell: Cell, description: NSAttributeDescription?)]

    init(_ cells: [(name: String, cell: Cell, description: NSAttributeDescription?)]) {
      self.cells = cells
    }
  }

  init(
    property name: String, of layout: EntityLayout, _ entity: NSEntityDescription, entities: StoredEntities,
    _ list: inout SelectList
  ) {
    if let attribute = layout.attributes[name] {
      self.init(attribute, entity.attributesByName[name], &list)
      return
    }
    guard let relationship = layout.relationships[name] else {
      self = .null
      return
    }
    guard case .foreignKey(let key) = relationship.place, !relationship.isToMany else {
      self = .unread
      return
    }
    self = .toOne(
      column: list.position(of: key.column), entityColumn: key.entityColumn.map { list.position(of: $0) },
      destination: entities.schema[relationship.destinationEntity]?.number ?? 0)
  }

  init(_ attribute: AttributeLayout, _ description: NSAttributeDescription?, _ list: inout SelectList) {
    guard let name = attribute.column else {
      self = .composite(
        Elements(
          attribute.elements.map { element in
            let part = (description as? NSCompositeAttributeDescription)?.element(element.name)
            return (element.name, Cell(element, part, &list), part)
          }))
      return
    }
    let column = list.position(of: name)
    switch attribute.kind {
    case .integer16, .integer32, .integer64: self = .integer(column)
    case .boolean: self = .boolean(column)
    case .double: self = .double(column)
    case .float: self = .float(column)
    case .date:
      self = .date(column, remainder: attribute.remainderColumn.map { list.position(of: $0) } ?? column)
    case .decimal: self = .decimal(column)
    case .string: self = .string(column)
    case .uri: self = .uri(column)
    case .uuid: self = .uuid(column)
    case .binaryData: self = .data(column)
    case .transformable, .undefined, .objectID, .composite: self = .archived(column)
    }
  }

  /// Packs the slot of a row. Returns false if the value cannot be read.
  @inline(__always)
  func pack(
    _ rows: PostgreSQLRows, _ row: Int, at position: Int, into packer: RowPacker, _ entities: StoredEntities
  ) -> Bool {
    switch self {
    case .null: return true
    case .unread: packer.packUnread(at: position)
    case .string(let column):
      if !rows.isNull(row, column) { packer.pack(string: rows.bytes(row, column), at: position) }
    case .integer(let column):
      if !rows.isNull(row, column) { packer.pack(integer: rows.int64(row, column), at: position) }
    case .boolean(let column):
      if !rows.isNull(row, column) { packer.pack(boolean: rows.bool(row, column), at: position) }
    case .double(let column):
      if !rows.isNull(row, column) { packer.pack(double: rows.double(row, column), at: position) }
    case .float(let column):
      if !rows.isNull(row, column) { packer.pack(float: Float(rows.double(row, column)), at: position) }
    case .date(let column, let remainder):
      if let date = Self.date(rows, row, column, remainder) { packer.pack(date: date, at: position) }
    case .data(let column):
      if !rows.isNull(row, column) { packer.pack(data: rows.bytes(row, column), at: position) }
    case .archived(let column):
      if !rows.isNull(row, column) { packer.pack(archived: rows.bytes(row, column), at: position) }
    case .uuid(let column):
      if !rows.isNull(row, column) { packer.pack(uuid: rows.bytes(row, column), at: position) }
    case .toOne(let column, let entityColumn, let destination):
      if rows.isNull(row, column) { return true }
      let number = entityColumn.map { rows.isNull(row, $0) ? 0 : Int(rows.int64(row, $0)) } ?? 0
      guard let known = entities.destination(number, declared: destination) else { return false }
      packer.pack(destination: rows.int64(row, column), entity: known, at: position)
    case .decimal, .uri, .composite:
      guard let slot = slot(rows, row) else { return false }
      packer.pack(slot, at: position)
    }
    return true
  }

  private static func date(_ rows: PostgreSQLRows, _ row: Int, _ column: Int, _ remainder: Int) -> Double? {
    if rows.isNull(row, column) { return nil }
    return StoredDate(
      timestamp: rows.microseconds(row, column),
      remainder: rows.isNull(row, remainder) ? nil : rows.double(row, remainder)
    ).seconds
  }

  /// Returns the slot of an attribute, or nil if the value cannot be read.
  func slot(_ rows: PostgreSQLRows, _ row: Int) -> Slot? {
    switch self {
    case .null: return .null
    case .unread: return .unread
    case .integer(let column), .boolean(let column), .double(let column), .float(let column), .date(let column, _),
      .decimal(let column), .string(let column), .uri(let column), .uuid(let column), .data(let column),
      .archived(let column):
      if rows.isNull(row, column) { return .null }
    case .composite, .toOne: break
    }
    switch self {
    case .null, .unread, .toOne: return nil
    case .integer(let column): return .integer(rows.int64(row, column))
    case .boolean(let column): return .boolean(rows.bool(row, column))
    case .double(let column): return .double(rows.double(row, column))
    case .float(let column): return .float(Float(rows.double(row, column)))
    case .date(let column, let remainder): return Self.date(rows, row, column, remainder).map { .date($0) }
    case .decimal(let column): return StoredDecimal.object(rows.numericText(row, column)).map { .object($0) }
    case .string(let column): return .string(rows.string(row, column))
    case .uri(let column): return URL(string: rows.string(row, column)).map { .object($0 as NSURL) }
    case .uuid(let column): return .uuid(rows.uuid(row, column))
    case .data(let column): return .data(rows.data(row, column))
    case .archived(let column): return .archived(rows.data(row, column))
    case .composite(let elements):
      let value = NSMutableDictionary()
      for (name, cell, description) in elements.cells {
        guard let slot = cell.slot(rows, row) else { return nil }
        if let element = slot.partValue(of: description) { value[name as NSString] = element }
      }
      return Slot(composite: value)
    }
  }

  /// Returns a description of the stored value, for errors.
  func words(_ rows: PostgreSQLRows, _ row: Int) -> String {
    switch self {
    case .toOne(_, let entityColumn?, _): "a row of entity number \(rows.int64(row, entityColumn))"
    case .decimal(let column): "'\(rows.numericText(row, column).prefix(50))'"
    case .uri(let column): "'\(rows.string(row, column).prefix(50))'"
    default: "a value of another type"
    }
  }
}
