// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A plan for writing the rows of one entity. Created once per open store.
final class PostgreSQLRowPlan {
  /// The columns that a slot writes.
  enum Step {
    case attribute(AttributeCells)
    // Indirect, so that copying a step retains a single reference.
    indirect case key(RelationshipLayout, ForeignKeyLayout)
    /// A transient attribute, or a relationship without a column in the row.
    case nothing
  }

  let entity: NSEntityDescription
  let layout: EntityLayout
  /// The steps by slot.
  let steps: [Step]
  /// The columns of an inserted row, in writing order.
  let columns: [String]
  private var updates: [SlotSet: String] = [:]

  init(_ entity: NSEntityDescription, _ layout: EntityLayout) {
    self.entity = entity
    self.layout = layout
    steps = entity.slotTable.names.map { name in
      if let attribute = layout.attributes[name] { return .attribute(AttributeCells(attribute)) }
      if let relationship = layout.relationships[name], case .foreignKey(let key) = relationship.place {
        return .key(relationship, key)
      }
      return .nothing
    }
    columns = ["z_pk", "z_ent", "z_opt"] + steps.flatMap(\.columns)
  }

  /// Returns the statement that updates some slots of a row. `$1` is the key, `$2` the new version, `$3` the old
  /// version; the values follow.
  func update(_ changed: SlotSet) -> String {
    if let known = updates[changed] { return known }
    var parameter = 3
    var assignments = ["z_opt = $2"]
    for position in changed {
      for column in steps[position].columns {
        parameter += 1
        assignments.append("\(SQLName.quoted(column)) = $\(parameter)")
      }
    }
    let made =
      "UPDATE \(SQLName.quoted(layout.table)) SET \(assignments.joined(separator: ", ")) WHERE z_pk = $1 AND z_opt = $3"
    updates[changed] = made
    return made
  }

  /// The statement that inserts a row, with a parameter for each of `columns`.
  private(set) lazy var insert: String = {
    let marks = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    let names = columns.map(SQLName.quoted).joined(separator: ", ")
    return "INSERT INTO \(SQLName.quoted(layout.table)) (\(names)) VALUES (\(marks))"
  }()
}

extension PostgreSQLRowPlan.Step {
  /// The columns that the step writes.
  var columns: [String] {
    switch self {
    case .attribute(let cells): cells.columns
    case .key(_, let key): [key.column] + (key.entityColumn.map { [$0] } ?? [])
    case .nothing: []
    }
  }
}

/// Writes an attribute's value to its columns. A class, so that it is not copied for each value of a row.
final class AttributeCells {
  let attribute: AttributeLayout
  /// The elements of a composite attribute.
  let elements: [AttributeCells]
  let columns: [String]

  init(_ attribute: AttributeLayout) {
    self.attribute = attribute
    elements = attribute.column == nil ? attribute.elements.map(AttributeCells.init) : []
    if let column = attribute.column {
      columns = [column] + (attribute.remainderColumn.map { [$0] } ?? [])
    } else {
      columns = elements.flatMap(\.columns)
    }
  }
}

/// A destination for the values of columns, in their order.
protocol ColumnSink {
  mutating func null() throws
  mutating func put(integer: Int64) throws
  /// Puts an integer into a column of the smaller type, which stores entity numbers and versions.
  mutating func put(smaller: Int64) throws
  mutating func put(boolean: Bool) throws
  mutating func put(double: Double) throws
  mutating func put(float: Float) throws
  mutating func put(microseconds: Int64) throws
  mutating func put(decimal: Decimal) throws
  mutating func put(string: String) throws
  mutating func put(data: Data) throws
  mutating func put(uuid: UUID) throws
}

/// The reason why a value cannot be written.
enum UnwritableValue: Error {
  case wrongType(found: String)
  /// A text contains U+0000, which PostgreSQL cannot store.
  case zeroCharacter
}

extension AttributeCells {
  /// Writes the value of a slot to its columns.
  ///
  /// - Throws: `UnwritableValue`; the errors of the sink.
  @inline(__always)
  func write(
    _ slot: Slot, _ description: @autoclosure () -> NSAttributeDescription?, to sink: inout some ColumnSink
  ) throws {
    switch (attribute.kind, slot) {
    case (.string, .string(let value)): try sink.put(string: value)
    case (.integer16, .integer(let value)), (.integer32, .integer(let value)), (.integer64, .integer(let value)):
      try sink.put(integer: value)
    case (.date, .date(let value)): try writeDate(value, to: &sink)
    case (.double, .double(let value)): try writeDouble(value, to: &sink)
    default: try writeOther(slot, description(), to: &sink)
    }
  }

  private func writeDate(_ value: Double, to sink: inout some ColumnSink) throws {
    // NaN is written as NULL, as in SQLite stores.
    guard let date = StoredDate(seconds: value) else {
      try sink.null()
      try sink.null()
      return
    }
    try sink.put(microseconds: date.timestamp)
    if let remainder = date.remainder { try sink.put(double: remainder) } else { try sink.null() }
  }

  private func writeDouble(_ value: Double, to sink: inout some ColumnSink) throws {
    if value.isNaN { try sink.null() } else { try sink.put(double: value) }
  }

  private func writeOther(
    _ slot: Slot, _ description: NSAttributeDescription?, to sink: inout some ColumnSink
  ) throws {
    if attribute.column == nil { return try writeElements(of: slot, description, to: &sink) }
    switch (attribute.kind, slot) {
    case (.date, .null):
      try sink.null()
      try sink.null()
    case (_, .null): try sink.null()
    case (.integer16, .boolean(let value)), (.integer32, .boolean(let value)), (.integer64, .boolean(let value)):
      try sink.put(integer: value ? 1 : 0)
    case (.boolean, .boolean(let value)): try sink.put(boolean: value)
    case (.boolean, .integer(let value)): try sink.put(boolean: value != 0)
    case (.double, .float(let value)): try writeDouble(Double(value), to: &sink)
    case (.float, .float(let value)): if value.isNaN { try sink.null() } else { try sink.put(float: value) }
    case (.float, .double(let value)): if value.isNaN { try sink.null() } else { try sink.put(float: Float(value)) }
    case (.decimal, .object(let value as NSDecimalNumber)): try sink.put(decimal: value.decimalValue)
    case (.uri, .object(let value as NSURL)):
      try sink.put(string: value.absoluteString)
    case (.uuid, .uuid(let value)): try sink.put(uuid: value)
    case (.binaryData, .data(let value)): try sink.put(data: value)
    case (.transformable, .archived(let value)), (.transformable, .data(let value)): try sink.put(data: value)
    case (.transformable, .unarchived(let value)): try sink.put(data: value.data)
    case (.transformable, .object(let value)):
      guard let description else { throw UnwritableValue.wrongType(found: "\(slot)") }
      if let data = try TransformableValues.encode(value, of: description) {
        try sink.put(data: data)
      } else {
        try sink.null()
      }
    default: throw UnwritableValue.wrongType(found: "\(slot)")
    }
  }

  private func writeElements(
    of slot: Slot, _ description: NSAttributeDescription?, to sink: inout some ColumnSink
  ) throws {
    let values: NSDictionary
    switch slot {
    case .null: values = [:]
    case .object(let object as NSDictionary): values = object
    default: throw UnwritableValue.wrongType(found: "\(slot)")
    }
    let descriptions = (description as? NSCompositeAttributeDescription)?.elements ?? []
    for element in elements {
      let description = descriptions.first { $0.name == element.attribute.name }
      guard let description, let slot = Slot(values[element.attribute.name as NSString], for: description) else {
        throw UnwritableValue.wrongType(found: "\(slot)")
      }
      try element.write(slot, description, to: &sink)
    }
  }
}

/// The row plans of an open store's entities.
final class PostgreSQLRowPlans {
  private let entities: StoredEntities
  private var plans: [ObjectIdentifier: PostgreSQLRowPlan] = [:]
  /// The most recently used plan, because consecutive changes mostly belong to one entity.
  private var last: PostgreSQLRowPlan?

  init(entities: StoredEntities) {
    self.entities = entities
  }

  /// Returns the plan for an entity.
  ///
  /// - Throws: `SchemaProblem` if the store does not have the entity.
  func plan(for entity: NSEntityDescription) throws -> PostgreSQLRowPlan {
    if let last, last.entity === entity { return last }
    let plan = try plans[ObjectIdentifier(entity)] ?? PostgreSQLRowPlan(entity, entities.layout(of: entity))
    plans[ObjectIdentifier(entity)] = plan
    last = plan
    return plan
  }
}
