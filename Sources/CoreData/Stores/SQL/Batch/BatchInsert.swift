// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Inserts rows one after another, so that memory use does not depend on their number.
final class BatchInsert {
  /// The values of an object to insert.
  struct Values {
    /// The slots, by the positions of the entity's `SlotTable`.
    let slots: [Slot]
    /// The positions of the given values, as opposed to defaults.
    let given: SlotSet
  }

  private let run: BatchRun
  let entity: NSEntityDescription
  private let plan: RowPlan
  private let policy: NSMergePolicyType
  private let keepsIdentifiers: Bool
  /// The positions of required attributes, except derived ones.
  private let required: [Int]
  /// The positions of stored attributes.
  private let stored: [Int]
  private let hasDerived: Bool
  private let insertion: any BatchRowInsertion
  private let entityNumber: Int64
  private let slotTable: SlotTable
  /// Rows with derived attributes.
  private let inserted: BatchRows
  private let updated: BatchRows
  /// The number of rows that were inserted or updated.
  private(set) var count = 0
  /// The identifiers of these rows, if the request needs them.
  private(set) var identifiers: [NSManagedObjectID] = []
  private var hasUpdated = false
  /// The keys of inserted rows that have not been recorded yet.
  private var unrecorded: [Int64] = []
  /// The maximum number of keys to record together.
  private static let recordLimit = 10_000
  /// The uniqueness constraints of the table.
  private let constraints: [IndexLayout]
  /// Values to insert, for which existing rows with the same unique values have not been searched yet.
  private var waiting: [Values] = []
  /// The maximum number of values whose existing rows are searched together.
  private static let searchLimit = 500
  /// Whether existing rows with the same values are searched before each insertion.
  private let searchesFirst: Bool

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
    insertion = try run.engine.insertion(of: plan)
    entityNumber = Int64(plan.layout.number)
    let table = entity.slotTable
    slotTable = table
    stored = (0..<table.firstRelationship).filter { !table.isTransient(at: $0) }
    required = stored.filter { position in
      guard let attribute = table.attribute(at: position) else { return false }
      return !attribute.isOptional && !(attribute is NSDerivedAttributeDescription)
    }
    hasDerived = !run.derivations.rules(of: entity).isEmpty
    let tableName = plan.layout.table
    constraints = run.entities.schema.indexes.filter { $0.isUnique && $0.table == tableName }
    searchesFirst = !insertion.findsDuplicates && !constraints.isEmpty && policy != .errorMergePolicyType
    inserted = try run.rows()
    updated = try run.rows()
    if searchesFirst {
      // If another process inserted a row with the same values after the search, the two could no longer be merged.
      let others = BatchDerivations(run).tables(affectedBy: plan.layout)
      // Other writers usually change referenced objects before inserting the objects that refer to them, so lock the
      // tables in that order.
      try run.engine.excludeWriters(of: others.subtracting([tableName]).sorted() + [tableName])
    }
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

  /// Makes the values of an object from all its slots.
  ///
  /// - Throws: as `values(_:)`.
  func values(_ slots: [Slot]) throws -> Values {
    let table = slotTable
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

  /// Inserts a row, or updates the row with the same unique values according to the merge policy.
  ///
  /// - Throws: 1570 for a missing value; the engine's error for duplicate values, immediately or later.
  func insert(_ values: Values) throws {
    if searchesFirst {
      waiting.append(values)
      if waiting.count == Self.searchLimit { try insertWaiting() }
      return
    }
    guard let missing = missing(values) else {
      do {
        return try insertRow(values)
      } catch  where insertion.isNotUnique(error) && policy != .errorMergePolicyType {
        guard try merge(values, with: rowsWithSameValues(values)) != .none else { throw error }
        return
      }
    }
    if try policy == .errorMergePolicyType || merge(values, with: rowsWithSameValues(values)) == .none {
      throw missingValue(missing)
    }
  }

  /// Returns the position of a required attribute without a value; nil if there is none.
  private func missing(_ values: Values) -> Int? { required.first { values.slots[$0].isNull } }

  private func missingValue(_ position: Int) -> NSError {
    BatchErrors.missingValue(entity.slotTable.names[position], of: plan.layout.name)
  }

  /// Inserts rows for the waiting values, or merges them with rows that have the same values.
  private func insertWaiting() throws {
    var rest = waiting[...]
    waiting = []
    while !rest.isEmpty {
      try insertion.flush()
      let (found, end) = try rowsWithSameValues(rest)
      for position in rest.startIndex..<end {
        let values = rest[position]
        rest.removeFirst()
        let merging = try merge(values, with: found[position] ?? [])
        if merging == .none {
          if let missing = missing(values) { throw missingValue(missing) }
          try insertRow(values)
        }
        // The row may have new values under another constraint, so search again for the remaining values.
        if merging == .updated, constraints.count > 1 { break }
      }
    }
  }

  private func insertRow(_ values: Values) throws {
    var filled = SlotSet()
    for position in stored where !values.slots[position].isNull { filled.insert(position) }
    let key = try insertion.nextKey()
    try insertion.insert(values.slots, at: filled, key: key)
    if run.history != nil || hasDerived {
      unrecorded.append(key)
      if unrecorded.count == Self.recordLimit { try recordInserted() }
    }
    count += 1
    if keepsIdentifiers, let id = run.entities.id(entity: Int(entityNumber), primaryKey: key) {
      identifiers.append(id)
    }
  }

  /// Records the rows that were inserted since the last call.
  private func recordInserted() throws {
    if unrecorded.isEmpty { return }
    try run.history?.record(.insert, entity: Int(entityNumber), keys: unrecorded)
    if hasDerived { try inserted.add(unrecorded, of: plan.layout) }
    unrecorded.removeAll(keepingCapacity: true)
  }

  private func note(_ id: NSManagedObjectID) {
    count += 1
    if keepsIdentifiers { identifiers.append(id) }
  }

  /// An existing row with the same unique values as a row to insert.
  private struct FoundRow {
    let key: Int64
    let entity: Int64
    let version: Int64
  }

  private enum Merging {
    /// There is not exactly one such row, or its entity does not inherit from the request's.
    case none
    case unchanged
    case updated
  }

  /// Merges values with the row that has the same unique values.
  private func merge(_ values: Values, with found: [FoundRow]) throws -> Merging {
    guard let row = found.first, found.count == 1,
      let number = run.entities.number(ofRow: row.entity, like: plan.layout), plan.layout.numbers.contains(number),
      let existing = run.entities.description(number: number),
      let id = run.entities.id(entity: number, primaryKey: row.key)
    else { return .none }
    switch policy {
    case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType, .errorMergePolicyType: return .unchanged
    case .mergeByPropertyObjectTrumpMergePolicyType:
      try update(id, existing, row.version, values, stored.filter { values.given.contains($0) })
    case .overwriteMergePolicyType:
      if let missing = missing(values) { throw missingValue(missing) }
      try update(id, existing, row.version, values, stored)
    }
    return .updated
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
    try recordInserted()
    let change = RowChange(kind: .update, id: id, old: nil, slots: slots, changed: changed)
    try insertion.update(change, from: version)
    let names = Set(changed.map { table.names[$0] })
    try run.recordUpdate(of: names, entity: plan.layout.number, key: id.key.number)
    hasUpdated = true
    if hasDerived { try updated.add([id.key.number], of: plan.layout) }
    note(id)
  }

  /// A column and value that a uniqueness constraint compares. The remainder of a date may be null.
  private typealias UniqueValue = (column: String, value: BoundSQL, isRemainder: Bool)

  /// Returns the values that a constraint compares; nil if one of them is missing, because such rows are never equal.
  private func uniqueValues(_ values: Values, _ constraint: IndexLayout) throws -> [UniqueValue]? {
    var wanted: [UniqueValue] = []
    for element in constraint.elements {
      let columns = try columnValues(withColumn: element.column, values)
      guard let found = columns.first(where: { $0.name == element.column }), !found.value.isNull else { return nil }
      wanted.append((found.name, found.sql, false))
      let stored = plan.layout.attributes.values.lazy.compactMap { $0.leaf(withColumn: element.column) }.first
      if let remainder = stored?.remainderColumn, let found = columns.first(where: { $0.name == remainder }) {
        wanted.append((found.name, "CAST(\(found.sql) AS DOUBLE PRECISION)", true))
      }
    }
    return wanted
  }

  /// Returns the columns and values of the attribute with a given column; empty if the entity has no such attribute.
  private func columnValues(withColumn column: String, _ values: Values) throws -> [ColumnValue] {
    let table = entity.slotTable
    for position in stored {
      guard let attribute = plan.layout.attributes[table.names[position]], attribute.columns.contains(column) else {
        continue
      }
      return try run.values.columns(
        of: values.slots[position], attribute, description: table.attribute(at: position), in: plan.layout, row: 0)
    }
    return []
  }

  /// Returns the rows that have the same values under a uniqueness constraint.
  private func rowsWithSameValues(_ values: Values) throws -> [FoundRow] {
    var found: [Int64: FoundRow] = [:]
    for constraint in constraints {
      guard let wanted = try uniqueValues(values, constraint) else { continue }
      let test = wanted.map { wanted -> BoundSQL in
        wanted.isRemainder
          ? "COALESCE(\(column: wanted.column), 0) = COALESCE(\(wanted.value), 0)"
          : "\(column: wanted.column) = \(wanted.value)"
      }.joined(" AND ")
      let rows = try run.database.rows(
        "SELECT Z_PK, Z_ENT, \(RowVersion.stored) FROM \(SQLName.quoted(plan.layout.table)) WHERE \(test.sql)",
        test.values)
      for row in rows {
        let key = row[0].integer ?? 0
        found[key] = FoundRow(key: key, entity: row[1].integer ?? 0, version: row[2].integer ?? 0)
      }
    }
    return Array(found.values)
  }

  /// Returns the rows that have the same values under a uniqueness constraint as elements of a list, by position in the
  /// list. Also returns the position of the first element equal to an earlier one, or the end of the list. The database
  /// makes all comparisons.
  private func rowsWithSameValues(_ list: ArraySlice<Values>) throws -> (rows: [Int: [FoundRow]], end: Int) {
    var found: [Int: [Int64: FoundRow]] = [:]
    var end = list.endIndex
    for constraint in constraints {
      var lines: [BoundSQL] = []
      var columns: [UniqueValue] = []
      for position in list.indices {
        guard let wanted = try uniqueValues(list[position], constraint) else { continue }
        columns = wanted
        lines.append("(\(value: .integer(Int64(position))), \(wanted.map(\.value).joined(", ")))")
      }
      if lines.isEmpty { continue }
      let names = columns.indices.map { "C\($0)" }
      let given: BoundSQL = "WITH w(N, \(raw: names.joined(separator: ", "))) AS (VALUES \(lines.joined(", ")))"
      func test(_ left: (UniqueValue, String) -> String, _ right: (String) -> String) -> String {
        zip(columns, names).map { column, name in
          let (left, right) = (left(column, name), right(name))
          return column.isRemainder ? "COALESCE(\(left), 0) = COALESCE(\(right), 0)" : "\(left) = \(right)"
        }.joined(separator: " AND ")
      }
      let isStored = test({ column, _ in "t.\(SQLName.quoted(column.column))" }, { "w.\($0)" })
      try run.database.forEachRow(
        "\(given.sql) SELECT w.N, t.Z_PK, t.Z_ENT, \(RowVersion.stored) FROM w "
          + "JOIN \(SQLName.quoted(plan.layout.table)) t ON \(isStored)", given.values
      ) { row in
        let (position, key) = (Int(row.int64(at: 0)), row.int64(at: 1))
        found[position, default: [:]][key] = FoundRow(
          key: key, entity: row.int64(at: 2), version: row.int64(at: 3))
      }
      let isRepeated = test({ "a.\($1)" }, { "b.\($0)" })
      let repeated = try run.database.scalar(
        "\(given.sql) SELECT MIN(b.N) FROM w a JOIN w b ON \(isRepeated) AND a.N < b.N", given.values)
      if let repeated = repeated?.integer { end = min(end, Int(repeated)) }
    }
    return (found.mapValues { Array($0.values) }, end)
  }

  /// Computes derived values, and reserves the keys of the inserted rows.
  func finish() throws {
    try insertWaiting()
    try insertion.finish()
    try recordInserted()
    let derived = BatchDerivations(run)
    if hasDerived {
      try derived.updateRows(inserted)
      try derived.updateRows(updated)
    }
    if hasUpdated { try derived.updateOthers(affected: plan.layout) }
  }
}

extension AttributeLayout {
  /// Returns the attribute, or the element of a composite attribute, with a given column.
  fileprivate func leaf(withColumn name: String) -> AttributeLayout? {
    column == name ? self : elements.lazy.compactMap { $0.leaf(withColumn: name) }.first
  }
}
