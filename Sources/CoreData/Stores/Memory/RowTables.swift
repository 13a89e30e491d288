// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The rows of a store that is kept in memory.
///
/// A row holds the values of attributes and to-one relationships. The members of to-many relationships are in separate
/// lists. If the inverse is a to-one relationship, the inverse alone determines membership, and the list only holds the
/// order. So the changes of several contexts to one relationship do not overwrite each other.
///
/// Every change is recorded until `forgetChanges()`, so that it can be undone.
package final class RowTables {
  /// The members of a relationship of an object.
  package struct ListKey: Hashable {
    package let owner: ObjectKey
    /// The number assigned to the relationship's name.
    package let relationship: Int
  }

  private struct Table {
    var rows: [Int64: RowSnapshot] = [:]
    /// The keys of `rows` in ascending order, possibly including those of removed rows.
    var numbers: [Int64] = []

    mutating func set(_ number: Int64, _ row: RowSnapshot?) {
      rows[number] = row
      if row == nil { return }
      guard let last = numbers.last, last >= number else { return numbers.append(number) }
      var (low, high) = (0, numbers.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[middle] < number { low = middle + 1 } else { high = middle }
      }
      if numbers[low] != number { numbers.insert(number, at: low) }
    }
  }

  private enum Change {
    case row(ObjectKey, RowSnapshot?)
    case list(ListKey, [NSManagedObjectID]?)
  }

  package let model: NSManagedObjectModel
  package unowned var store: NSPersistentStore
  /// The number of the next new row.
  package private(set) var nextNumber: Int64 = 1
  private var plans: [ObjectIdentifier: MemoryRowPlan] = [:]
  private var tables: [UInt32: Table] = [:]
  private var lists: [ListKey: [NSManagedObjectID]] = [:]
  private var relationshipNumbers: [String: Int] = [:]
  /// The relationships without an inverse.
  private var oneSided: Set<Int> = []
  /// The rows by their values under each uniqueness constraint.
  private var uniqueRows: [UniqueKey: [NSManagedObjectID]] = [:]
  private var touchedKeys: Set<UniqueKey> = []
  private var changes: [Change] = []

  /// Creates tables without rows.
  package init(_ model: NSManagedObjectModel, store: NSPersistentStore) {
    self.model = model
    self.store = store
    let roots = Self.roots(of: model)
    for entity in model.entities {
      var root = entity
      while let parent = root.superentity { root = parent }
      plans[ObjectIdentifier(entity)] = MemoryRowPlan(entity, root: roots[root.name ?? ""] ?? 0) {
        number(ofRelationship: $0)
      }
    }
    for plan in plans.values {
      for case .members(let relationship, .oneSided) in plan.steps { oneSided.insert(relationship) }
    }
  }

  /// Returns the numbers of the root entities of a model.
  package static func roots(of model: NSManagedObjectModel) -> [String: UInt32] {
    let names = model.entities.filter { $0.superentity == nil }.compactMap(\.name).sorted()
    return Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, UInt32($0 + 1)) })
  }

  private func number(ofRelationship name: String) -> Int {
    if let known = relationshipNumbers[name] { return known }
    relationshipNumbers[name] = relationshipNumbers.count
    return relationshipNumbers.count - 1
  }

  /// Returns the plan for storing an entity's rows. The entity must belong to the model.
  package func plan(_ entity: NSEntityDescription) -> MemoryRowPlan {
    if let plan = plans[ObjectIdentifier(entity)] { return plan }
    // An identifier's entity may belong to an equal model.
    if let own = model.entitiesByName[entity.name ?? ""], let plan = plans[ObjectIdentifier(own)] { return plan }
    trap("The entity '\(entity.name ?? "")' is not in the store's model.")
  }

  /// Returns the identifier of a row.
  package func id(_ entity: NSEntityDescription, _ number: Int64) -> NSManagedObjectID {
    NSManagedObjectID(
      entity: entity, key: ObjectKey(store: store.number, root: plan(entity).root, number: number),
      store: store.reference)
  }

  /// Reserves numbers for new rows, and returns the first.
  ///
  /// - Throws: 134070 if no numbers are left.
  package func reserve(_ count: Int) throws -> Int64 {
    let first = nextNumber
    let (next, overflow) = first.addingReportingOverflow(Int64(count))
    guard !overflow else {
      throw StoreErrors.operationFailed(
        url: store.url, reason: "No identifiers are left for new objects: the last one in the store is \(first - 1).")
    }
    nextNumber = next
    return first
  }

  /// Makes new rows get numbers from the given one on.
  package func reserve(from number: Int64) { nextNumber = max(nextNumber, number) }

  // MARK: Reading

  package func row(_ key: ObjectKey) -> RowSnapshot? { tables[key.root]?.rows[key.number] }

  /// Returns the rows of an entity, in the order of their numbers.
  package func rows(of entity: NSEntityDescription, includesSubentities: Bool) -> [RowSnapshot] {
    let plan = plan(entity)
    guard let table = tables[plan.root] else { return [] }
    let isWhole = includesSubentities && entity.superentity == nil
    return table.numbers.compactMap { number in
      guard let row = table.rows[number] else { return nil }
      let found = row.id.entityDescription
      if isWhole || found === plan.entity { return row }
      return includesSubentities && found.isKindOf(entity: plan.entity) ? row : nil
    }
  }

  /// All rows, in the order of their numbers.
  package var allRows: [RowSnapshot] {
    tables.values.flatMap(\.rows.values).sorted { $0.id.key.number < $1.id.key.number }
  }

  /// Returns the members of a to-many relationship.
  package func members(of relationship: String, owner: ObjectKey) -> [NSManagedObjectID] {
    relationshipNumbers[relationship].flatMap { lists[ListKey(owner: owner, relationship: $0)] } ?? []
  }

  package func list(_ key: ListKey) -> [NSManagedObjectID] { lists[key] ?? [] }

  // MARK: Changing

  /// The number of changes that can be undone.
  package var mark: Int { changes.count }

  /// Undoes all changes after a mark.
  package func rollBack(to mark: Int) {
    while changes.count > mark, let change = changes.popLast() {
      switch change {
      case .row(let key, let row): replace(key, by: row)
      case .list(let key, let list): lists[key] = list
      }
    }
  }

  /// Makes all changes final.
  package func forgetChanges() { changes = [] }

  /// Replaces or removes a row.
  package func setRow(_ key: ObjectKey, _ row: RowSnapshot?) {
    changes.append(.row(key, self.row(key)))
    replace(key, by: row)
  }

  /// Replaces a list of members.
  package func setList(_ key: ListKey, _ list: [NSManagedObjectID]) {
    changes.append(.list(key, lists[key]))
    lists[key] = list.isEmpty ? nil : list
  }

  /// Removes a row from the lists of all relationships without an inverse.
  package func removeFromOneSidedLists(_ id: NSManagedObjectID) {
    guard !oneSided.isEmpty else { return }
    for (key, list) in lists where oneSided.contains(key.relationship) && list.contains(where: { $0.key == id.key }) {
      setList(key, list.filter { $0.key != id.key })
    }
  }

  private func replace(_ key: ObjectKey, by row: RowSnapshot?) {
    if let old = self.row(key) {
      for unique in plan(old.id.entityDescription).uniqueKeys(of: old) {
        uniqueRows[unique]?.removeAll { $0.key == key }
        if uniqueRows[unique]?.isEmpty == true { uniqueRows[unique] = nil }
      }
    }
    tables[key.root, default: Table()].set(key.number, row)
    guard let row else { return }
    for unique in plan(row.id.entityDescription).uniqueKeys(of: row) {
      uniqueRows[unique, default: []].append(row.id)
      touchedKeys.insert(unique)
    }
  }

  /// Removes the numbers of removed rows once they are the majority.
  package func compact() {
    for (root, table) in tables where table.numbers.count > 2 * table.rows.count + 64 {
      tables[root]?.numbers = table.numbers.filter { table.rows[$0] != nil }
    }
  }

  /// Makes the next `checkUniqueness()` check all changes from now on.
  package func beginCheckingUniqueness() { touchedKeys = [] }

  /// Throws 133021 if changed rows have duplicate values under a uniqueness constraint.
  package func checkUniqueness() throws {
    for key in touchedKeys {
      guard let rows = uniqueRows[key], rows.count > 1, let row = rows.first else { continue }
      throw MemoryStoreErrors.notUnique(
        entity: row.entityDescription.name ?? "", properties: key.names, ids: rows, url: store.url)
    }
  }
}

/// The plan for storing an entity's rows in `RowTables`.
package final class MemoryRowPlan {
  /// Which end determines the members of a to-many relationship.
  package enum Membership {
    /// The inverse, which is a to-one relationship.
    case ofToOne
    /// Both ends; the associated value is the number of the inverse.
    case ofToMany(inverse: Int)
    case oneSided
  }

  package enum Step {
    case attribute(NSAttributeDescription)
    /// A to-one relationship, with the number of its inverse if that is a to-many relationship.
    case toOne(inverse: Int?)
    case members(Int, Membership)
    case transient
  }

  package let entity: NSEntityDescription
  package let root: UInt32
  /// By slot.
  package let steps: [Step]
  package let table: SlotTable
  private let constraints: [(owner: String, names: [String], locations: [UniqueValueLocation])]

  package init(_ entity: NSEntityDescription, root: UInt32, number: (String) -> Int) {
    self.entity = entity
    self.root = root
    let table = entity.slotTable
    self.table = table
    steps = table.properties.indices.map { position in
      if table.isTransient(at: position) { return .transient }
      switch table.properties[position] {
      case .attribute(let attribute): return .attribute(attribute)
      case .relationship(let relationship):
        let inverse = relationship.inverseRelationship.flatMap { $0.isTransient ? nil : $0 }
        guard relationship.isToMany else {
          return .toOne(inverse: inverse.flatMap { $0.isToMany ? number($0.name) : nil })
        }
        let own = number(relationship.name)
        guard let inverse else { return .members(own, .oneSided) }
        return .members(own, inverse.isToMany ? .ofToMany(inverse: number(inverse.name)) : .ofToOne)
      }
    }
    var constraints: [(String, [String], [UniqueValueLocation])] = []
    var owner: NSEntityDescription? = entity
    while let current = owner {
      for constraint in current.uniquenessConstraints {
        let names = constraint.compactMap { ($0 as? NSPropertyDescription)?.name ?? $0 as? String }
        if let locations = UniqueValueLocation.locations(of: names, in: table) {
          constraints.append((current.name ?? "", names, locations))
        }
      }
      owner = current.superentity
    }
    self.constraints = constraints
  }

  /// Returns the values of a row that must be unique. Rows with a missing value are not compared.
  package func uniqueKeys(of row: RowSnapshot) -> [UniqueKey] {
    constraints.compactMap { constraint in
      let values = constraint.locations.compactMap { UniqueKey.Value($0.value(in: row.slots[$0.position])) }
      guard values.count == constraint.locations.count else { return nil }
      return UniqueKey(owner: constraint.owner, names: constraint.names, values: values)
    }
  }
}

/// The values of a row under a uniqueness constraint.
package struct UniqueKey: Hashable {
  package enum Value: Hashable {
    case integer(Int64)
    case real(Double)
    /// Strings are compared by their bytes, as in SQLite.
    case bytes(Data)
    /// Decimal values, because `NSDecimalNumber` has no usable hash in Foundation on Linux.
    case decimal(Decimal)
    case object(NSObject)
    case id(ObjectKey)

    package init?(_ slot: Slot) {
      switch slot {
      case .null, .unread, .toMany: return nil
      case .integer(let value): self = .integer(value)
      case .boolean(let value): self = .integer(value ? 1 : 0)
      case .double(let value), .date(let value): self = .real(value)
      case .float(let value): self = .real(Double(value))
      case .string(let value): self = .bytes(Data(value.utf8))
      case .data(let value), .archived(let value): self = .bytes(value)
      case .uuid(let value): self = .bytes(withUnsafeBytes(of: value.uuid) { Data($0) })
      case .object(let value as NSDecimalNumber): self = .decimal(value.decimalValue)
      case .object(let value): self = .object(value)
      case .unarchived(let value): self = .bytes(value.data)
      case .toOne(let id): self = .id(id.current.key)
      }
    }
  }

  /// The entity that declares the constraint, which also applies to its sub-entities.
  package let owner: String
  package let names: [String]
  package let values: [Value]
}
