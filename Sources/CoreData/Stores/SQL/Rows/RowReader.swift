// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Reads rows of one table, for an entity and optionally its sub-entities.
///
/// The columns to select, and the steps by which the rows of each entity are read, are the same for all engines. Each
/// engine packs rows in an extension, from its own form of a row.
package final class RowReader {
  /// The columns that a statement must select, in this order.
  package let columns: [String]
  /// The text of the statement that reads a row. Its only parameter is the primary key, as the engine writes it.
  package private(set) lazy var rowSelect: String = {
    let list = columns.map { "t0.\(SQLName.quoted($0))" }.joined(separator: ", ")
    let key = entities.schema.dialect == .sqlite ? "?1" : "$1"
    return "SELECT \(list) FROM \(SQLName.quoted(entity.table)) t0 WHERE t0.Z_PK = \(key)"
  }()
  package let entity: EntityLayout
  package let entities: StoredEntities
  /// The files of large values; nil for a store without files.
  let external: ExternalData?
  /// The plans, by entity number; nil for other entities.
  private let plans: [Plan?]
  private let packer = RowPacker()

  /// SQLite's statement of `rowSelect`, kept for the next fault; nil while it is in use.
  var idleRowStatement: SQLiteStatement?
  /// Whether values whose files cannot be read become `UnreadableValue`s instead of errors.
  var toleratesUnreadableFiles = false

  /// The way in which the rows of one entity are read.
  package final class Plan {
    package let number: Int
    package let entity: NSEntityDescription
    package let table: SlotTable
    package let steps: ContiguousArray<RowStep>
    /// The steps for the common kinds of values in SQLite.
    let quick: ContiguousArray<QuickStep>
    fileprivate let transientDefaults: [(position: Int, value: Slot)]
    private var knownLayout: RowLayout?

    fileprivate init(
      _ number: Int, _ entity: NSEntityDescription, _ steps: [RowStep], _ entities: StoredEntities
    ) {
      self.number = number
      self.entity = entity
      self.steps = ContiguousArray(steps)
      quick = ContiguousArray(steps.map { QuickStep($0, entities) })
      table = entity.slotTable
      transientDefaults = table.transientDefaults
    }

    fileprivate func layout(_ identities: RowIdentities) -> RowLayout {
      if let knownLayout, knownLayout.identities === identities { return knownLayout }
      let made = RowLayout(entity: entity, number: number, identities: identities)
      knownLayout = made
      return made
    }
  }

  init(entity: EntityLayout, includesSubentities: Bool, entities: StoredEntities, external: ExternalData?) {
    self.entity = entity
    self.entities = entities
    self.external = external
    let leading = ["Z_PK", "Z_ENT", "Z_OPT"]
    var list = SelectList(columns: leading.map(entities.schema.dialect.spelling(of:)))
    let numbers = includesSubentities ? entity.numbers : [entity.number]
    var plans: [Plan?] = Array(repeating: nil, count: (numbers.max() ?? 0) + 1)
    for number in numbers {
      guard let layout = entities.schema.entity(number: number),
        let description = entities.description(number: number)
      else { continue }
      let steps = description.slotTable.names.map {
        RowStep(property: $0, of: layout, description, entities: entities, &list)
      }
      plans[number] = Plan(number, description, steps, entities)
    }
    columns = list.columns
    self.plans = plans
  }

  /// Returns the plan for a row.
  ///
  /// - Parameter stored: the entity number in the row.
  /// - Throws: `RowProblem` if the row is of another entity.
  @inline(__always)
  package func plan(ofRow stored: Int64, primaryKey: Int64) throws -> Plan {
    guard let found = entities.number(ofRow: stored, like: entity), plans.indices.contains(found),
      let plan = plans[found]
    else { throw unknownEntity(stored, primaryKey) }
    return plan
  }

  /// Ends the row that is being packed, after its slots.
  package func end(_ packer: RowPacker, _ plan: Plan, primaryKey: Int64, version: Int64) throws {
    for transient in plan.transientDefaults { packer.pack(transient.value, at: transient.position) }
    try packer.end(primaryKey: primaryKey, version: version, entity: plan.number) {
      guard let identities = entities.identities else { throw unknownEntity(Int64(plan.number), primaryKey) }
      return plan.layout(identities)
    }
  }

  /// Makes a snapshot of the row that a body packs.
  package func snapshot(_ pack: (RowPacker) throws -> Void) throws -> RowSnapshot {
    packer.removeAll()
    try pack(packer)
    return RowSnapshot(packer.row(at: 0))
  }

  /// Returns the problem of a value that does not have its property's type.
  ///
  /// - Parameters:
  ///   - found: the value, for the error.
  ///   - element: the element of a composite attribute; nil for the property itself.
  package func unreadable(
    _ found: String, _ plan: Plan, at position: Int, element: String? = nil, primaryKey: Int64
  ) -> RowProblem {
    RowProblem(
      kind: .unreadableValue(found: found), table: entity.table, primaryKey: primaryKey,
      property: element ?? plan.table.names[position])
  }

  private func unknownEntity(_ number: Int64, _ primaryKey: Int64) -> RowProblem {
    RowProblem(kind: .unknownEntity(number: number), table: entity.table, primaryKey: primaryKey, property: "")
  }
}

/// The readers of a connection.
package final class RowReaders {
  private struct Key: Hashable {
    let entity: ObjectIdentifier
    let includesSubentities: Bool
  }

  private let entities: StoredEntities
  private let external: ExternalData?
  private var readers: [Key: RowReader] = [:]
  /// The most recent reader, because faults come grouped by entity.
  private var last: (key: Key, reader: RowReader)?

  /// - Parameter external: the files of large values; nil for a store without files.
  package init(_ entities: StoredEntities, external: ExternalData?) {
    (self.entities, self.external) = (entities, external)
  }

  /// - Throws: `SchemaProblem` if the store does not have the entity.
  package func reader(for entity: NSEntityDescription, includesSubentities: Bool) throws -> RowReader {
    let key = Key(entity: ObjectIdentifier(entity), includesSubentities: includesSubentities)
    if let last, last.key == key { return last.reader }
    let reader =
      try readers[key]
      ?? RowReader(
        entity: entities.layout(of: entity), includesSubentities: includesSubentities, entities: entities,
        external: external)
    readers[key] = reader
    last = (key, reader)
    return reader
  }
}

/// The columns of a statement, without duplicates.
struct SelectList {
  private(set) var columns: [String]

  init(columns: [String]) {
    self.columns = columns
  }

  mutating func position(of column: String) -> Int {
    if let position = columns.firstIndex(of: column) { return position }
    columns.append(column)
    return columns.count - 1
  }
}

/// The way in which a slot is read from a row's columns.
package enum RowStep {
  /// An attribute, with the column that holds what its column cannot represent: the column itself if there is none.
  case attribute(ColumnCoding, column: Int, remainder: Int)
  case composite(Elements)
  case toOne(column: Int, entityColumn: Int?, destination: Int)
  /// A to-many relationship, which is read on demand.
  case unread
  /// A transient attribute, or a relationship to another store.
  case null

  /// The elements of a composite attribute. A class, so that copying other steps needs no reference counting.
  package final class Elements {
    package let steps: [(name: String, step: RowStep, description: NSAttributeDescription?)]

    init(_ steps: [(name: String, step: RowStep, description: NSAttributeDescription?)]) {
      self.steps = steps
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
    guard case .foreignKey(let key) = relationship.storage, !relationship.isToMany else {
      self = .unread
      return
    }
    self = .toOne(
      column: list.position(of: key.column), entityColumn: key.entityColumn.map { list.position(of: $0) },
      destination: entities.schema[relationship.destinationEntity]?.number ?? 0)
  }

  private init(_ attribute: AttributeLayout, _ description: NSAttributeDescription?, _ list: inout SelectList) {
    if let column = attribute.column, let coding = ColumnCoding(attribute) {
      let position = list.position(of: column)
      let remainder = attribute.remainderColumn.map { list.position(of: $0) } ?? position
      self = .attribute(coding, column: position, remainder: remainder)
    } else {
      self = .composite(
        Elements(
          attribute.elements.map { element in
            let part = (description as? NSCompositeAttributeDescription)?.element(element.name)
            return (element.name, RowStep(element, part, &list), part)
          }))
    }
  }
}
