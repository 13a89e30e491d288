// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension RowTables {
  /// Applies the changes of a context atomically.
  ///
  /// - Throws: `RowConflicts` with every row that has changed since it was read; 133021 for duplicate values under a
  ///   uniqueness constraint; 134060 for a value that cannot be archived.
  package func apply(_ changes: [RowChange]) throws {
    try applying(changes) {
      for change in changes where change.kind == .delete { remove(change.id) }
      for change in changes where change.kind != .delete { try writeRow(change) }
      connect(changes)
    }
    compact()
  }

  /// Runs a body that writes rows, between the checks for conflicts and for uniqueness. Undoes its work after an error.
  private func applying(_ changes: [RowChange], _ body: () throws -> Void) throws {
    let conflicts = changes.compactMap(conflict)
    guard conflicts.isEmpty else { throw RowConflicts(conflicts: conflicts) }
    let mark = mark
    do {
      beginCheckingUniqueness()
      try body()
      try checkUniqueness()
    } catch {
      rollBack(to: mark)
      throw error
    }
  }

  private func conflict(_ change: RowChange) -> RowConflicts.Conflict? {
    let stored = row(change.id.key)
    let isExpected = change.kind == .insert ? stored == nil : stored.map { $0.version == change.old?.version } ?? false
    if isExpected { return nil }
    return RowConflicts.Conflict(id: change.id, expectedVersion: change.old?.version ?? 0, stored: stored)
  }

  private func writeRow(_ change: RowChange) throws {
    let plan = plan(change.id.entityDescription)
    let old = change.kind == .insert ? nil : row(change.id.key)
    var slots = old?.slots ?? plan.emptySlots
    for position in change.changed {
      switch plan.steps[position] {
      case .transient, .members: continue
      case .attribute(let attribute): slots[position] = try Self.stored(change.slot(at: position), of: attribute)
      case .toOne(let inverse):
        let before = slots[position]
        slots[position] = change.slot(at: position).withPermanentID
        if let inverse { move(change.id, from: before, to: slots[position], inverse) }
      }
    }
    let version = old.map { RowVersion.next(after: $0.version) } ?? 1
    setRow(change.id.key, RowSnapshot(id: change.id, version: version, slots: slots))
  }

  /// Returns a value in the form in which it is stored. Objects of transformable attributes are archived, so that
  /// contexts do not share them.
  package static func stored(_ slot: Slot, of attribute: NSAttributeDescription) throws -> Slot {
    switch slot {
    case .object(let value) where attribute.attributeType == .transformableAttributeType:
      return try TransformableValues.encode(value, of: attribute).map { .archived($0) } ?? .null
    case .unarchived(let value): return .archived(value.data)
    case .object(let value as NSDictionary): return .object(value.copy() as? NSDictionary ?? value)
    default: return slot
    }
  }

  private func move(_ id: NSManagedObjectID, from old: Slot, to new: Slot, _ inverse: Int) {
    if old.isSame(as: new) { return }
    if case .toOne(let owner) = old { removeMember(id, ListKey(owner: owner.key, relationship: inverse)) }
    if case .toOne(let owner) = new { addMember(id, ListKey(owner: owner.key, relationship: inverse)) }
  }

  private func addMember(_ id: NSManagedObjectID, _ key: ListKey) {
    let list = list(key)
    if list.contains(where: { $0.key == id.key }) { return }
    setList(key, list + [id])
  }

  private func removeMember(_ id: NSManagedObjectID, _ key: ListKey) {
    let list = list(key)
    let rest = list.filter { $0.key != id.key }
    if rest.count != list.count { setList(key, rest) }
  }

  /// Removes a row and all its memberships. To-one relationships of other rows to it are changed by those rows' own
  /// changes.
  private func remove(_ id: NSManagedObjectID) {
    guard let row = row(id.key) else { return }
    let plan = plan(row.id.entityDescription)
    for (position, step) in plan.steps.enumerated() {
      switch step {
      case .attribute, .transient, .toOne(nil): continue
      case .toOne(let inverse?): move(row.id, from: row.slots[position], to: .null, inverse)
      case .members(let number, let membership):
        let key = ListKey(owner: id.key, relationship: number)
        if case .ofToMany(let inverse) = membership {
          for member in list(key) { removeMember(row.id, ListKey(owner: member.key, relationship: inverse)) }
        }
        if !list(key).isEmpty { setList(key, []) }
      }
    }
    removeFromOneSidedLists(row.id)
    setRow(id.key, nil)
  }

  /// Changes the lists of members. Then sorts ordered lists, which requires all members to be present.
  private func connect(_ changes: [RowChange]) {
    var ordered: [(ListKey, [NSManagedObjectID])] = []
    for change in changes where change.kind != .delete {
      let plan = plan(change.id.entityDescription)
      for position in change.changed {
        guard case .members(let number, let membership) = plan.steps[position],
          case .toMany(let members) = change.slot(at: position)
        else { continue }
        let key = ListKey(owner: change.id.key, relationship: number)
        let wanted = members.ids.map(\.current)
        switch membership {
        case .ofToOne: break
        case .oneSided: connect(change, position, wanted, key) { _, _ in }
        case .ofToMany(let inverse):
          connect(change, position, wanted, key) { member, isAdded in
            let other = ListKey(owner: member.key, relationship: inverse)
            if isAdded { addMember(change.id, other) } else { removeMember(change.id, other) }
          }
        }
        if members.isOrdered { ordered.append((key, wanted)) }
      }
    }
    for (key, wanted) in ordered { arrange(key, as: wanted) }
  }

  /// Adds and removes the members that the context has added and removed. Members that other contexts have added since
  /// are kept.
  private func connect(
    _ change: RowChange, _ position: Int, _ wanted: [NSManagedObjectID], _ key: ListKey,
    _ alsoAtOtherEnd: (NSManagedObjectID, _ isAdded: Bool) -> Void
  ) {
    var before: [NSManagedObjectID] = []
    if change.kind == .update {
      if case .toMany(let members)? = change.old?.slots[position] { before = members.ids } else { before = list(key) }
    }
    let kept = Set(before.map(\.key)).intersection(wanted.map(\.key))
    for member in before where !kept.contains(member.key) {
      removeMember(member, key)
      alsoAtOtherEnd(member, false)
    }
    let added = wanted.filter { !kept.contains($0.key) && row($0.key) != nil }
    let known = Set(list(key).map(\.key))
    let new = added.filter { !known.contains($0.key) }
    if !new.isEmpty { setList(key, list(key) + new) }
    for member in added { alsoAtOtherEnd(member, true) }
  }

  private func arrange(_ key: ListKey, as wanted: [NSManagedObjectID]) {
    let current = list(key)
    let known = Set(current.map(\.key))
    let placed = Set(wanted.map(\.key))
    setList(key, wanted.filter { known.contains($0.key) } + current.filter { !placed.contains($0.key) })
  }

  // MARK: Copying

  /// Members that are added to lists together. Adding them one by one would copy each list as many times.
  private struct Additions {
    private var members: [ListKey: [NSManagedObjectID]] = [:]

    mutating func add(_ id: NSManagedObjectID, to key: ListKey) { members[key, default: []].append(id) }

    /// Adds the members that a list does not contain yet.
    func carryOut(in tables: RowTables) {
      for (key, ids) in members {
        let list = tables.list(key)
        var known = Set(list.map(\.key))
        tables.setList(key, list + ids.filter { known.insert($0.key).inserted })
      }
    }
  }

  /// Inserts rows, and adds them to the inverses of their to-one relationships.
  ///
  /// - Throws: as `apply(_:)`.
  package func insertCopies(_ rows: [RowChange]) throws {
    try applying(rows) {
      var additions = Additions()
      for row in rows { try insertCopy(row, &additions) }
      additions.carryOut(in: self)
    }
  }

  private func insertCopy(_ row: RowChange, _ additions: inout Additions) throws {
    let plan = plan(row.id.entityDescription)
    var slots = plan.emptySlots
    for position in row.changed {
      switch plan.steps[position] {
      case .transient, .members: continue
      case .attribute(let attribute): slots[position] = try Self.stored(row.slots[position], of: attribute)
      case .toOne(let inverse):
        slots[position] = row.slots[position].withPermanentID
        if let inverse, case .toOne(let owner) = slots[position] {
          additions.add(row.id, to: ListKey(owner: owner.key, relationship: inverse))
        }
      }
    }
    setRow(row.id.key, RowSnapshot(id: row.id, version: 1, slots: slots))
  }

  /// Adds the members of inserted rows, and sorts ordered lists.
  package func connectCopies(_ rows: [RowChange]) {
    var additions = Additions()
    var ordered: [(ListKey, [NSManagedObjectID])] = []
    for row in rows {
      let plan = plan(row.id.entityDescription)
      for position in row.changed {
        guard case .members(let number, let membership) = plan.steps[position],
          case .toMany(let members) = row.slots[position]
        else { continue }
        let key = ListKey(owner: row.id.key, relationship: number)
        if members.isOrdered { ordered.append((key, members.ids)) }
        if case .ofToOne = membership { continue }
        for member in members.ids where self.row(member.key) != nil {
          additions.add(member, to: key)
          if case .ofToMany(let inverse) = membership {
            additions.add(row.id, to: ListKey(owner: member.key, relationship: inverse))
          }
        }
      }
    }
    additions.carryOut(in: self)
    for (key, wanted) in ordered { arrange(key, as: wanted) }
  }

  // MARK: Loading

  /// Fills the tables with rows from a file.
  ///
  /// - Parameters:
  ///   - rows: the rows, whose to-one relationships determine which objects are related.
  ///   - members: the members of to-many relationships, in order.
  package func load(
    _ rows: [RowSnapshot], members: [(owner: NSManagedObjectID, relationship: String, ids: [NSManagedObjectID])]
  ) {
    for row in rows {
      setRow(row.id.key, row)
      reserve(from: row.id.key.number == .max ? .max : row.id.key.number + 1)
    }
    var additions = Additions()
    for row in rows {
      for (position, step) in plan(row.id.entityDescription).steps.enumerated() {
        guard case .toOne(let inverse?) = step, case .toOne(let owner) = row.slots[position] else { continue }
        additions.add(row.id, to: ListKey(owner: owner.key, relationship: inverse))
      }
    }
    additions.carryOut(in: self)
    for (owner, name, ids) in members {
      let plan = plan(owner.entityDescription)
      guard let position = plan.table.position(of: name),
        case .members(let number, let membership) = plan.steps[position]
      else { continue }
      let key = ListKey(owner: owner.key, relationship: number)
      var seen: Set<ObjectKey> = []
      let wanted = ids.filter { self.row($0.key) != nil && seen.insert($0.key).inserted }
      switch membership {
      case .ofToOne: arrange(key, as: wanted)
      case .oneSided: setList(key, wanted)
      case .ofToMany(let inverse):
        // The other end may have added members already.
        let others = list(key).filter { !seen.contains($0.key) }
        setList(key, wanted + others)
        for member in wanted { addMember(owner, ListKey(owner: member.key, relationship: inverse)) }
      }
    }
    forgetChanges()
  }
}

extension MemoryRowPlan {
  /// The slots of a row with no values.
  package var emptySlots: [Slot] {
    var slots = steps.map { step -> Slot in
      if case .members = step { return .unread }
      return .null
    }
    for (position, value) in table.transientDefaults { slots[position] = value }
    return slots
  }
}

extension Slot {
  fileprivate var withPermanentID: Slot {
    if case .toOne(let id) = self { return .toOne(id.current) }
    return self
  }
}
