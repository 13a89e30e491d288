// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Writes row changes in the transaction of its caller.
struct RowWriter {
  let connection: SQLiteConnection
  let entities: StoredEntities
  let external: ExternalData
  let plans: RowPlans

  init(connection: SQLiteConnection, entities: StoredEntities, external: ExternalData, plans: RowPlans) {
    (self.connection, self.entities, self.external, self.plans) = (connection, entities, external, plans)
  }

  /// Writes the changes: deletions first, to free unique values, then updates, insertions, and the relationships that are
  /// stored outside the rows.
  ///
  /// - Throws: `RowConflicts` with every row that has changed since it was read; the caller must roll back.
  func write(_ changes: [RowChange]) throws {
    var conflicts: [RowConflicts.Conflict] = []
    var isVacated = false
    // The positions of changes of relationships that are stored outside the rows.
    var outside: [Int] = []
    let order = WritingOrder(changes)
    for (kind, positions) in order.positions {
      // Indexing avoids copies of changes, each of which holds the row before and after.
      for (index, position) in positions.enumerated() {
        let plan = try plans.plan(for: changes[position].id.entityDescription)
        let isDone: Bool
        switch kind {
        case .delete: isDone = try delete(changes[position], plan)
        case .update:
          try noteReplacedFiles(of: changes[position], plan, all: false)
          do {
            isDone = try update(changes[position], plan)
          } catch let error as SQLiteError where error.isUniqueConstraint && !isVacated {
            isVacated = true
            try vacateUniqueColumns(positions[index...].map { changes[$0] })
            isDone = try update(changes[position], plan)
          }
        case .insert:
          try insert(changes[position], plan)
          isDone = true
        }
        if !isDone { conflicts.append(try conflict(changes[position], plan.layout)) }
        if kind != .delete, plan.writesOutside(changes[position].changed) { outside.append(position) }
      }
    }
    guard conflicts.isEmpty else { throw RowConflicts(conflicts: conflicts) }
    if outside.isEmpty { return }
    // In the order of the changes, as the program made them.
    outside.sort()
    try writeRelationships(of: outside.map { changes[$0] })
  }

  /// Inserts rows without what is stored beside them, which `connectCopies(_:)` writes.
  func insertCopies(_ rows: [RowChange]) throws {
    for position in rows.indices {
      try insert(rows[position], try plans.plan(for: rows[position].id.entityDescription))
    }
  }

  /// Writes the members of relationships of rows that have none yet.
  func connectCopies(_ rows: [RowChange]) throws { try writeRelationships(of: rows, positionsFollow: true) }

  /// The positions of changes in the order in which they are written.
  private struct WritingOrder {
    /// By kind. Those of a kind are in the order of their rows in the tables: changing one page after the other takes
    /// less than coming back to pages that the cache has given up.
    private(set) var positions: [(kind: RowChange.Kind, positions: [Int])]

    init(_ changes: [RowChange]) {
      var (deleted, updated, inserted): ([Int], [Int], [Int]) = ([], [], [])
      for position in changes.indices {
        switch changes[position].kind {
        case .delete: deleted.append(position)
        case .update: updated.append(position)
        case .insert: inserted.append(position)
        }
      }
      func isBefore(_ one: Int, _ other: Int) -> Bool {
        let (one, other) = (changes[one].id.key, changes[other].id.key)
        return (one.root, one.number) < (other.root, other.number)
      }
      positions = [(.delete, deleted), (.update, updated), (.insert, inserted)]
      for kind in positions.indices {
        let found = positions[kind].positions
        let isSorted = found.indices.dropFirst().allSatisfy { !isBefore(found[$0], found[$0 - 1]) }
        if !isSorted { positions[kind].positions.sort(by: isBefore) }
      }
    }
  }

  /// Whether the changes search for rows by other values than their primary keys.
  func isSearching(for changes: [RowChange]) throws -> Bool {
    for position in changes.indices {
      let kind = changes[position].kind
      if kind == .delete { return true }
      let plan = try plans.plan(for: changes[position].id.entityDescription)
      if kind == .update ? !plan.outside.isEmpty : plan.hasPlaces { return true }
    }
    return false
  }

  private func insert(_ change: RowChange, _ plan: RowPlan) throws {
    let statement = try plan.insertStatement()
    try run(statement) {
      try statement.bind(change.id.key.number, at: 1)
      try statement.bind(Int64(plan.layout.number), at: 2)
      try statement.bind(1 as Int64, at: 3)
      try bindColumns(of: change, plan, to: statement)
    }
  }

  /// - Returns: whether the row was unchanged since it was read.
  private func update(_ change: RowChange, _ plan: RowPlan) throws -> Bool {
    let version = change.old?.version ?? 0
    let statement = try plan.updateStatement(change.changed)
    try run(statement) {
      try statement.bind(change.id.key.number, at: 1)
      try statement.bind(RowVersion.next(after: version), at: 2)
      try statement.bind(version, at: 3)
      try bindColumns(of: change, plan, to: statement)
    }
    return connection.changes == 1
  }

  /// Clears the unique columns of rows that are about to get other values there, since SQLite enforces uniqueness
  /// statement by statement: otherwise two rows could not exchange values in one save.
  private func vacateUniqueColumns(_ updates: [RowChange]) throws {
    let unique = entities.schema.indexes.filter(\.isUnique)
    for change in updates {
      let plan = try plans.plan(for: change.id.entityDescription)
      let indexed = Set(unique.filter { $0.table == plan.layout.table }.flatMap { $0.elements.map(\.column) })
      let columns = change.changed.flatMap { RowPlan.columns(of: plan.steps[$0]) }.filter(indexed.contains)
      guard !columns.isEmpty else { continue }
      let cleared = columns.map { "\(SQLName.quoted($0)) = NULL" }.joined(separator: ", ")
      // The update that follows reports a row of another version.
      try connection.run(
        "UPDATE \(SQLName.quoted(plan.layout.table)) SET \(cleared) WHERE Z_PK = ? AND \(RowVersion.stored) = ?",
        [.integer(change.id.key.number), .integer(change.old?.version ?? 0)])
    }
  }

  /// Runs a statement of a plan, and clears it for the next use.
  private func run(_ statement: SQLiteStatement, _ bind: () throws -> Void) throws {
    defer {
      statement.reset()
      statement.clearBindings()
    }
    try bind()
    while try statement.step() {}
  }

  private func delete(_ change: RowChange, _ plan: RowPlan) throws -> Bool {
    try noteReplacedFiles(of: change, plan, all: true)
    let layout = plan.layout
    let statement = try plan.deleteStatement()
    try run(statement) {
      try statement.bind(change.id.key.number, at: 1)
      try statement.bind(change.old?.version ?? 0, at: 2)
    }
    guard connection.changes == 1 else { return false }
    try forgetRelationships(of: .integer(change.id.key.number), layout)
    return true
  }

  private func conflict(_ change: RowChange, _ layout: EntityLayout) throws -> RowConflicts.Conflict {
    let reader = RowReader(entity: layout, includesSubentities: false, entities: entities, external: external)
    let columns = reader.columns.map(SQLName.quoted).joined(separator: ", ")
    let stored = try connection.cached(
      "SELECT \(columns) FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?"
    ) { statement -> RowSnapshot? in
      try statement.bind(change.id.key.number, at: 1)
      return try statement.step() ? try reader.snapshot(statement) : nil
    }
    return RowConflicts.Conflict(id: change.id, expectedVersion: change.old?.version ?? 0, stored: stored)
  }

  /// Marks the files as unused whose names are in columns that are about to change.
  private func noteReplacedFiles(of change: RowChange, _ plan: RowPlan, all: Bool) throws {
    for (position, column) in plan.filed where all || change.changed.contains(position) {
      let sql = "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(plan.layout.table)) WHERE Z_PK = ?"
      if let bytes = try connection.scalar(sql, [.integer(change.id.key.number)])?.blob { external.willReplace(bytes) }
    }
  }

  /// A column and its value.
  typealias ColumnValue = (column: String, value: SQLiteValue)

  /// Binds the changed values of the row itself to a plan's statement. To-many relationships have none.
  func bindColumns(of change: RowChange, _ plan: RowPlan, to statement: SQLiteStatement) throws {
    if !plan.hasColumns(change.changed) { return }
    try bindColumns(of: change.slots, at: change.changed, row: change.id.key.number, plan, to: statement)
  }

  /// Binds some of the values of a row to a plan's statement.
  func bindColumns(
    of slots: [Slot], at positions: SlotSet, row: Int64, _ plan: RowPlan, to statement: SQLiteStatement
  ) throws {
    for position in positions {
      let slot = slots[position]
      switch plan.steps[position] {
      case .nothing: continue
      case .column(let coding, let attribute, let index):
        switch (coding, slot) {
        case (.string, .string(let value)): try statement.bind(value, at: index)
        case (.integer, .integer(let value)): try statement.bind(value, at: index)
        case (.double, .double(let value)), (.date, .date(let value)): try statement.bind(value, at: index)
        default:
          let value = try columnValue(
            of: slot, attribute, coding, description: plan.entity.slotTable.attribute(at: position), in: plan.layout,
            row: row)
          try statement.bind(value, at: index)
        }
      case .columns(let attribute):
        let values = try columnValues(
          of: slot, attribute, description: plan.entity.slotTable.attribute(at: position), in: plan.layout, row: row)
        for (column, value) in values { try statement.bind(value, at: plan.index(of: column)) }
      case .key(let relationship, let key, let index):
        let (number, entity) = try keyValues(of: slot, relationship, key, in: plan.layout, row: row)
        try statement.bind(number, at: index)
        if key.entityColumn != nil { try statement.bind(entity, at: index + 1) }
      }
    }
  }

  /// Returns the columns of an attribute, with the values to store.
  func columnValues(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64
  ) throws -> [ColumnValue] {
    guard let column = attribute.column, let coding = ColumnCoding(attribute) else {
      return try elementValues(of: slot, attribute, description: description, in: layout, row: row)
    }
    let value = try columnValue(of: slot, attribute, coding, description: description, in: layout, row: row)
    return [(column, value)]
  }

  private func columnValue(
    of slot: Slot, _ attribute: AttributeLayout, _ coding: ColumnCoding, description: NSAttributeDescription?,
    in layout: EntityLayout, row: Int64
  ) throws -> SQLiteValue {
    var slot = slot
    if case .archived = coding, case .object(let value) = slot, let description {
      slot = try TransformableValues.encode(value, of: description).map { .archived($0) } ?? .null
    }
    guard let value = try coding.value(of: slot, external: external) else {
      throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    return value
  }

  private func elementValues(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64
  ) throws -> [ColumnValue] {
    let values: NSDictionary
    switch slot {
    case .null: values = [:]
    case .object(let object as NSDictionary): values = object
    default: throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    let descriptions = (description as? NSCompositeAttributeDescription)?.elements ?? []
    return try attribute.elements.flatMap { element -> [ColumnValue] in
      guard let description = descriptions.first(where: { $0.name == element.name }) else { return [] }
      guard let slot = Slot(values[element.name as NSString], for: description) else {
        throw unwritable(.null, "\(attribute.name).\(element.name)", in: layout, row: row)
      }
      return try columnValues(of: slot, element, description: description, in: layout, row: row)
    }
  }

  private func keyValues(
    of slot: Slot, _ relationship: RelationshipLayout, _ key: ForeignKeyLayout, in layout: EntityLayout, row: Int64
  ) throws -> (number: SQLiteValue, entity: SQLiteValue) {
    switch slot {
    case .null: return (.null, .null)
    case .toOne(let id):
      guard entities.owns(id) else { throw unwritable(slot, relationship.name, in: layout, row: row) }
      let entity: SQLiteValue =
        key.entityColumn == nil ? .null : .integer(Int64(try plans.plan(for: id.entity).layout.number))
      return (.integer(id.key.number), entity)
    default: throw unwritable(slot, relationship.name, in: layout, row: row)
    }
  }

  private func unwritable(_ slot: Slot, _ property: String, in layout: EntityLayout, row: Int64) -> RowProblem {
    RowProblem(kind: .unwritableValue(found: "\(slot)"), table: layout.table, primaryKey: row, property: property)
  }

  /// Writes the parts of relationships outside the changed rows: join tables, keys of relationships without inverse, and
  /// positions in ordered relationships.
  ///
  /// - Parameters:
  ///   - changes: insertions and updates.
  ///   - positionsFollow: whether other changes write the positions in ordered relationships of members that these write.
  private func writeRelationships(of changes: [RowChange], positionsFollow: Bool = false) throws {
    // Positions come last: they belong to rows whose keys must be there.
    var ordered: [(RelationshipLayout, owner: Int64, members: [NSManagedObjectID])] = []
    let arranged = try arrangedOwners(of: changes)
    for change in changes {
      let plan = try plans.plan(for: change.id.entityDescription)
      let owner = change.id.key.number
      for (position, relationship) in plan.outside where change.changed.contains(position) {
        switch change.slots[position] {
        case .toMany(let members) where relationship.isToMany:
          let before = try membersBefore(change, position, relationship)
          try replace(
            before, by: members.ids, of: relationship, owner: owner, positionsFollow ? nil : arranged)
          if relationship.isOrdered { ordered.append((relationship, owner, members.ids)) }
        case .toOne(let id):
          guard case .foreignKey(let key) = relationship.place, let order = key.orderColumn else { continue }
          let place = ArrangedOwner(table: plan.layout.table, column: key.column, owner: id.key.number)
          if !arranged.contains(place) {
            try appendToOrder(plan.layout.table, key: key.column, order: order, row: owner)
          } else if change.kind == .update {
            try forgetOrder(plan.layout.table, order: order, row: owner)
          }
        case .null:
          guard case .foreignKey(let key) = relationship.place, let order = key.orderColumn else { continue }
          try forgetOrder(plan.layout.table, order: order, row: owner)
        default: continue
        }
      }
    }
    for (relationship, owner, members) in ordered { try arrange(members, of: relationship, owner: owner) }
  }

  /// An object whose own change gives all its ordered members their positions.
  private struct ArrangedOwner: Hashable {
    let table: String
    /// The column with the object's key, in the members' rows or in a join table.
    let column: String
    let owner: Int64
  }

  private func arrangedOwners(of changes: [RowChange]) throws -> Set<ArrangedOwner> {
    var owners: Set<ArrangedOwner> = []
    for change in changes {
      let plan = try plans.plan(for: change.id.entityDescription)
      for (position, relationship) in plan.outside where change.changed.contains(position) {
        guard case .toMany = change.slots[position], relationship.isOrdered else { continue }
        let owner = change.id.key.number
        switch relationship.place {
        case .foreignKey: continue
        case .inverseForeignKey(let table, let key):
          owners.insert(ArrangedOwner(table: table, column: key.column, owner: owner))
        case .joinTable(let end):
          owners.insert(ArrangedOwner(table: end.table, column: end.sourceColumn, owner: owner))
        }
      }
    }
    return owners
  }

  /// Removes references to a deleted row from rows that have no change of their own.
  func forgetRelationships(of key: SQLiteValue, _ layout: EntityLayout) throws {
    for relationship in layout.relationships.values {
      switch relationship.place {
      case .foreignKey: continue
      case .inverseForeignKey(let table, let foreign):
        guard relationship.inverseName == nil else { continue }
        let column = SQLName.quoted(foreign.column)
        try connection.run("UPDATE \(SQLName.quoted(table)) SET \(column) = NULL WHERE \(column) = ?", [key])
      case .joinTable(let end):
        let (table, source) = (SQLName.quoted(end.table), SQLName.quoted(end.sourceColumn))
        try connection.run("DELETE FROM \(table) WHERE \(source) = ?", [key])
        if end.isReflexive {
          try connection.run("DELETE FROM \(table) WHERE \(SQLName.quoted(end.destinationColumn)) = ?", [key])
        }
      }
    }
  }

  private func membersBefore(
    _ change: RowChange, _ position: Int, _ relationship: RelationshipLayout
  ) throws -> [NSManagedObjectID] {
    if change.kind == .insert { return [] }
    if case .toMany(let members)? = change.old?.slots[position] { return members.ids }
    return try MemberReader(connection: connection, entities: entities)
      .members(of: relationship, primaryKey: change.id.key.number)
  }

  private func replace(
    _ before: [NSManagedObjectID], by after: [NSManagedObjectID], of relationship: RelationshipLayout, owner: Int64,
    _ arranged: Set<ArrangedOwner>?
  ) throws {
    let kept = Set(before.map(\.key)).intersection(after.map(\.key))
    let removed = before.filter { !kept.contains($0.key) }.map(\.key.number)
    let added = after.filter { !kept.contains($0.key) }.map(\.key.number)
    switch relationship.place {
    case .foreignKey: return
    case .inverseForeignKey(let table, let key):
      // If there is an inverse, the members' own changes write the column.
      guard relationship.inverseName == nil else { return }
      let (table, column) = (SQLName.quoted(table), SQLName.quoted(key.column))
      for member in removed {
        try connection.run(
          "UPDATE \(table) SET \(column) = NULL WHERE Z_PK = ? AND \(column) = ?", [.integer(member), .integer(owner)])
      }
      for member in added {
        try connection.run(
          "UPDATE \(table) SET \(column) = ? WHERE Z_PK = ?", [.integer(owner), .integer(member)])
      }
    case .joinTable(let end):
      for member in removed { try disconnect(end, owner, member) }
      for member in added { try connect(end, owner, member, arranged) }
    }
  }

  /// Adds a pair to a join table, unless the inverse's change has already added it. Members that are arranged afterwards get no
  /// positions here.
  ///
  /// - Parameter arranged: nil if all are.
  private func connect(_ end: JoinEnd, _ owner: Int64, _ member: Int64, _ arranged: Set<ArrangedOwner>?) throws {
    let table = SQLName.quoted(end.table)
    let (source, target) = (SQLName.quoted(end.sourceColumn), SQLName.quoted(end.destinationColumn))
    if end.isReflexive {
      let sql = "SELECT 1 FROM \(table) WHERE \(source) = ? AND \(target) = ?"
      if try connection.scalar(sql, [.integer(member), .integer(owner)]) != nil { return }
    }
    var columns = [source, target]
    var values = ["?1", "?2"]
    let inverse = ArrangedOwner(table: end.table, column: end.destinationColumn, owner: member)
    if let order = end.inverseOrderColumn.map(SQLName.quoted), arranged?.contains(inverse) == false {
      columns.append(order)
      values.append("(SELECT \(OrderKeys.next(order)) FROM \(table) WHERE \(target) = ?2)")
    }
    try connection.run(
      "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))",
      [.integer(owner), .integer(member)])
  }

  private func disconnect(_ end: JoinEnd, _ owner: Int64, _ member: Int64) throws {
    let sql =
      "DELETE FROM \(SQLName.quoted(end.table)) WHERE \(SQLName.quoted(end.sourceColumn)) = ? "
      + "AND \(SQLName.quoted(end.destinationColumn)) = ?"
    try connection.run(sql, [.integer(owner), .integer(member)])
    if end.isReflexive { try connection.run(sql, [.integer(member), .integer(owner)]) }
  }

  /// Clears the position of a row in an order.
  private func forgetOrder(_ table: String, order: String, row: Int64) throws {
    try connection.run(
      "UPDATE \(SQLName.quoted(table)) SET \(SQLName.quoted(order)) = NULL WHERE Z_PK = ?", [.integer(row)])
  }

  /// Moves a row whose key has changed to the end of the rows with that key.
  private func appendToOrder(_ table: String, key: String, order: String, row: Int64) throws {
    let (table, key, order) = (SQLName.quoted(table), SQLName.quoted(key), SQLName.quoted(order))
    try connection.run(
      "UPDATE \(table) SET \(order) = (SELECT \(OrderKeys.next("o.\(order)")) FROM \(table) o "
        + "WHERE o.\(key) = \(table).\(key) AND o.Z_PK <> ?1) WHERE Z_PK = ?1", [.integer(row)])
  }

  /// Gives members positions in the given order, and keeps the positions that already fit.
  private func arrange(_ members: [NSManagedObjectID], of relationship: RelationshipLayout, owner: Int64) throws {
    let (table, member, column, filter): (String, String, String, String)
    switch relationship.place {
    case .foreignKey: return
    case .inverseForeignKey(let name, let key):
      guard let order = key.orderColumn else { return }
      (table, member, column, filter) = (name, "Z_PK", order, key.column)
    case .joinTable(let end):
      guard let order = end.orderColumn else { return }
      (table, member, column, filter) = (end.table, end.destinationColumn, order, end.sourceColumn)
    }
    let (quotedTable, quotedMember) = (SQLName.quoted(table), SQLName.quoted(member))
    let (quotedColumn, quotedFilter) = (SQLName.quoted(column), SQLName.quoted(filter))
    let rows = try connection.rows(
      "SELECT \(quotedMember), \(quotedColumn) FROM \(quotedTable) WHERE \(quotedFilter) = ?", [.integer(owner)])
    let current = Dictionary(
      rows.compactMap { row in row[0].integer.map { ($0, row[1].integer) } }, uniquingKeysWith: { first, _ in first })
    let keys = OrderKeys.arranged(members.map { current[$0.key.number] ?? nil })
    for (id, place) in zip(members, keys) where (current[id.key.number] ?? nil) != place {
      try connection.run(
        "UPDATE \(quotedTable) SET \(quotedColumn) = ? WHERE \(quotedMember) = ? AND \(quotedFilter) = ?",
        [.integer(place), .integer(id.key.number), .integer(owner)])
    }
  }
}

/// The positions in `Z_FOK_` columns: 2048, 3072, 4096 …, with gaps for later insertions.
enum OrderKeys {
  static let first: Int64 = 2048
  static let step: Int64 = 1024

  /// SQL for the position after the last one in a column. The result is an integer even where a file has other values, or no
  /// room after the last one; such positions are renumbered the next time the order is written.
  static func next(_ column: String) -> String {
    "MIN(CAST(IFNULL(MAX(\(column)), \(first - step)) AS INTEGER), \(Int64.max - step)) + \(step)"
  }

  /// Returns ascending positions for a list. Ascending positions are kept, and new members get positions between their
  /// neighbours; where there is no gap left, all are renumbered.
  static func arranged(_ current: [Int64?]) -> [Int64] {
    let fixed = current.compactMap { $0 }
    let isGrowing = zip(fixed, fixed.dropFirst()).allSatisfy { $0 < $1 }
    guard isGrowing, !fixed.isEmpty else { return renumbered(current.count) }
    var keys: [Int64] = []
    var position = 0
    while position < current.count {
      if let key = current[position] {
        keys.append(key)
        position += 1
        continue
      }
      let end = current[position...].firstIndex { $0 != nil } ?? current.count
      let count = Int64(end - position)
      let lower = keys.last ?? 0
      if end == current.count {
        guard lower <= Int64.max - count * step else { return renumbered(current.count) }
        keys += (1...count).map { lower + $0 * step }
      } else {
        // In a damaged file the distance can overflow.
        guard let upper = current[end], case (let distance, false) = upper.subtractingReportingOverflow(lower),
          distance / (count + 1) > 0
        else { return renumbered(current.count) }
        keys += (1...count).map { lower + distance / (count + 1) * $0 }
      }
      position = end
    }
    return keys
  }

  private static func renumbered(_ count: Int) -> [Int64] {
    (0..<count).map { first + Int64($0) * step }
  }
}
