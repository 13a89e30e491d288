// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Inserts rows one after another, so that the memory needed does not depend on their number.
final class BatchInsert {
  /// The values of an object to insert.
  struct Values {
    /// By the positions of the entity's `SlotTable`.
    let slots: [Slot]
    /// The positions of values that were given, and are not defaults.
    let given: SlotSet
  }

  private let run: BatchRun
  private let entity: NSEntityDescription
  private let plan: RowPlan
  private let policy: NSMergePolicyType
  private let keepsIdentifiers: Bool
  /// The positions of required attributes that are not derived.
  private let required: [Int]
  /// The positions of stored attributes.
  private let stored: [Int]
  private let hasDerived: Bool
  private let writer: RowWriter
  private let entityNumber: Int64
  /// The class of the objects that a handler fills.
  private lazy var objectClass = ManagedObjectClasses.of(entity)
  private let slotTable: SlotTable
  private var nextKey: Int64
  private let firstKey: Int64
  /// Rows with derived attributes.
  private let inserted: BatchRows
  private let updated: BatchRows
  /// The number of rows that were inserted or updated.
  private(set) var count = 0
  /// The identifiers of these rows, if they are kept.
  private(set) var identifiers: [NSManagedObjectID] = []
  private var hasUpdated = false

  /// - Throws: 134060 for an abstract entity.
  init(
    _ run: BatchRun, _ entity: NSEntityDescription, policy: NSMergePolicyType, keepsIdentifiers: Bool
  ) throws {
    if entity.isAbstract {
      throw BatchErrors.badRequest(
        "'\(entity.name ?? "")' is abstract: only entities that inherit from it have objects.", entity: entity.name,
        suggestion: "Insert objects of one of its sub-entities.")
    }
    self.run = run
    self.entity = entity
    self.policy = policy
    self.keepsIdentifiers = keepsIdentifiers
    plan = try run.plans.plan(for: entity)
    writer = run.writer
    entityNumber = Int64(plan.layout.number)
    let table = entity.slotTable
    slotTable = table
    stored = (0..<table.firstRelationship).filter { !table.isTransient(at: $0) }
    required = stored.filter { position in
      guard let attribute = table.attribute(at: position) else { return false }
      return !attribute.isOptional && !(attribute is NSDerivedAttributeDescription)
    }
    hasDerived = !run.derivations.rules(of: entity).isEmpty
    let layout = plan.layout
    let kept =
      try run.connection.scalar(
        "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", [.integer(Int64(layout.rootNumber))])?.integer ?? 0
    let present = try run.connection.scalar("SELECT MAX(Z_PK) FROM \(SQLName.quoted(layout.table))")?.integer ?? 0
    let last = max(kept, present, 0)
    guard last < .max else {
      throw StoreErrors.keysExhausted(url: nil, entity: layout.name, table: layout.table, last: last)
    }
    nextKey = last + 1
    firstKey = nextKey
    inserted = try run.rows()
    updated = try run.rows()
  }

  /// Makes the values of an object from a dictionary.
  ///
  /// - Throws: 134060 for a key that is not a stored attribute; 1550, 1610 or 1620 for a value that is not valid.
  func values(_ dictionary: some Sequence<(key: String, value: Any)>) throws -> Values {
    let table = slotTable
    var slots = table.defaults
    var given = SlotSet()
    for (key, value) in dictionary {
      guard let position = table.position(of: key), let attribute = table.attribute(at: position) else {
        throw unusable(key)
      }
      let slot = try Slot.checked(value, for: attribute, entity: plan.layout.name)
      slots[position] = slot
      given.insert(position)
    }
    return Values(slots: slots, given: given)
  }

  /// Returns the next object that a handler fills; nil if there are no more.
  func nextObject(_ handler: (NSManagedObject) -> Bool) -> NSManagedObject? {
    let object = objectClass.init(entity: entity, insertInto: nil)
    return handler(object) ? nil : object
  }

  private func unusable(_ key: String) -> NSError {
    let name = plan.layout.name
    let reason =
      entity.relationshipsByName[key] == nil
      ? "The entity '\(name)' has no attribute '\(key)'."
      : "'\(key)' of '\(name)' is a relationship, which a batch insertion cannot set."
    return BatchErrors.badRequest(
      reason, entity: name, property: key,
      suggestion: "Use names of attributes: \(entity.attributesByName.keys.sorted().joined(separator: ", ")).")
  }

  /// Makes the values of an object from an object without a context.
  ///
  /// - Throws: as `values(_:)`.
  func values(of object: NSManagedObject) throws -> Values {
    let table = slotTable
    let slots = object.slots
    var given = SlotSet()
    for position in 0..<table.count {
      if table.defaults[position].isNull {
        if slots[position].isNull { continue }
      } else if slots[position].isSame(as: table.defaults[position]) {
        continue
      }
      if position >= table.firstRelationship { throw unusable(table.names[position]) }
      if table.kinds[position].hasRange, !slots[position].isInRange(of: table.kinds[position]),
        let attribute = table.attribute(at: position)
      {
        _ = try Slot.checked(slots[position].publicValue, for: attribute, entity: plan.layout.name)
        continue
      }
      given.insert(position)
    }
    return Values(slots: slots, given: given)
  }

  /// Inserts a row, or updates the row that has the same unique values, as the merge policy says.
  ///
  /// - Throws: 1570 for a missing value; 133021 for values that are not unique.
  func insert(_ values: Values) throws {
    let missing = required.first { values.slots[$0].isNull }
    if missing == nil {
      let mark = run.external.mark
      do {
        return try insertRow(values)
      } catch let error as SQLiteError where error.isUniqueConstraint && policy != .errorMergePolicyType {
        run.external.didRollBack(to: mark)
        guard try merge(values) else { throw error }
      }
    } else if let missing, try policy == .errorMergePolicyType || !merge(values) {
      throw BatchErrors.missingValue(entity.slotTable.names[missing], of: plan.layout.name)
    }
  }

  private func insertRow(_ values: Values) throws {
    guard nextKey < .max else {
      throw StoreErrors.keysExhausted(
        url: nil, entity: plan.layout.name, table: plan.layout.table, last: nextKey)
    }
    var filled = SlotSet()
    for position in stored where !values.slots[position].isNull { filled.insert(position) }
    let statement = try plan.insertStatement()
    try execute(statement) {
      try statement.bind(nextKey, at: 1)
      try statement.bind(entityNumber, at: 2)
      try statement.bind(1 as Int64, at: 3)
      try writer.bindColumns(of: values.slots, at: filled, row: nextKey, plan, to: statement)
    }
    if let history = run.history {
      try history.record(.insert, entity: Int(entityNumber), key: nextKey)
    }
    if hasDerived { try inserted.add(entity: plan.layout, key: nextKey) }
    count += 1
    if keepsIdentifiers, let id = run.entities.id(entity: Int(entityNumber), primaryKey: nextKey) {
      identifiers.append(id)
    }
    nextKey += 1
  }

  private func note(_ id: NSManagedObjectID) {
    count += 1
    if keepsIdentifiers { identifiers.append(id) }
  }

  private func execute(_ statement: SQLiteStatement, _ bind: () throws -> Void) throws {
    defer {
      statement.reset()
      statement.clearBindings()
    }
    try bind()
    while try statement.step() {}
  }

  /// Merges the values with the row that has the same unique values.
  ///
  /// - Returns: whether there is exactly one such row, of the same entity or one that inherits from it.
  private func merge(_ values: Values) throws -> Bool {
    let found = try rowsWithSameValues(values)
    guard let row = found.first, found.count == 1,
      let number = run.entities.number(ofRow: row.entity, like: plan.layout), plan.layout.numbers.contains(number),
      let existing = run.entities.description(number: number),
      let id = run.entities.id(entity: number, primaryKey: row.key)
    else { return false }
    switch policy {
    case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType, .errorMergePolicyType: return true
    case .mergeByPropertyObjectTrumpMergePolicyType:
      try update(id, existing, row.version, values, stored.filter { values.given.contains($0) })
    case .overwriteMergePolicyType:
      if let missing = required.first(where: { values.slots[$0].isNull }) {
        throw BatchErrors.missingValue(entity.slotTable.names[missing], of: plan.layout.name)
      }
      try update(id, existing, row.version, values, stored)
    }
    return true
  }

  private func update(
    _ id: NSManagedObjectID, _ existing: NSEntityDescription, _ version: Int64, _ values: Values, _ positions: [Int]
  ) throws {
    let plan = try run.plans.plan(for: existing)
    let (source, table) = (entity.slotTable, existing.slotTable)
    var slots = [Slot](repeating: .null, count: table.count)
    var changed = SlotSet()
    for position in positions {
      guard let target = table.position(of: source.names[position]) else { continue }
      if values.slots[position].isNull, required.contains(position) {
        throw BatchErrors.missingValue(source.names[position], of: plan.layout.name)
      }
      slots[target] = values.slots[position]
      changed.insert(target)
    }
    for (position, column) in plan.filed where changed.contains(position) {
      let sql = "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(plan.layout.table)) WHERE Z_PK = ?"
      if let bytes = try run.connection.scalar(sql, [.integer(id.key.number)])?.blob {
        run.external.willReplace(bytes)
      }
    }
    let change = RowChange(kind: .update, id: id, old: nil, slots: slots, changed: changed)
    let statement = try plan.updateStatement(changed)
    try execute(statement) {
      try statement.bind(id.key.number, at: 1)
      try statement.bind(RowVersion.next(after: version), at: 2)
      try statement.bind(version, at: 3)
      try writer.bindColumns(of: change, plan, to: statement)
    }
    let names = Set(changed.map { table.names[$0] })
    try run.recordUpdate(of: names, entity: plan.layout.number, key: id.key.number)
    hasUpdated = true
    if hasDerived { try updated.add(entity: plan.layout, key: id.key.number) }
    note(id)
  }

  /// Returns the rows that have the same values under a uniqueness constraint.
  private func rowsWithSameValues(_ values: Values) throws -> [(key: Int64, entity: Int64, version: Int64)] {
    var found: [Int64: (key: Int64, entity: Int64, version: Int64)] = [:]
    for index in run.entities.schema.indexes where index.isUnique && index.table == plan.layout.table {
      let wanted = try index.elements.map { try value(of: $0.column, values) }
      // Rows with a missing value never violate a constraint.
      guard wanted.allSatisfy({ $0 != nil && $0 != .null }) else { continue }
      let test = index.elements.map { "\(SQLName.quoted($0.column)) = ?" }.joined(separator: " AND ")
      let rows = try run.connection.rows(
        "SELECT Z_PK, Z_ENT, \(RowVersion.stored) FROM \(SQLName.quoted(plan.layout.table)) WHERE \(test)",
        wanted.compactMap { $0 })
      for row in rows {
        let key = row[0].integer ?? 0
        found[key] = (key, row[1].integer ?? 0, row[2].integer ?? 0)
      }
    }
    return Array(found.values)
  }

  /// Returns the value of a column; nil for one that no attribute of the entity has.
  private func value(of column: String, _ values: Values) throws -> SQLiteValue? {
    let table = entity.slotTable
    for position in stored {
      guard let attribute = plan.layout.attributes[table.names[position]], attribute.columns.contains(column) else {
        continue
      }
      let columns = try writer.columnValues(
        of: values.slots[position], attribute, description: table.attribute(at: position), in: plan.layout, row: 0)
      return columns.first { $0.column == column }?.value
    }
    return nil
  }

  /// Computes what is derived from the rows, and reserves their keys.
  func finish() throws {
    if nextKey > firstKey {
      try run.connection.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?",
        [.integer(nextKey - 1), .integer(Int64(plan.layout.rootNumber))])
    }
    let derived = BatchDerivations(run)
    if hasDerived {
      try derived.updateRows(inserted)
      try derived.updateRows(updated)
    }
    if hasUpdated { try derived.updateOthers(affected: plan.layout) }
  }
}
