// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the objects of a save that have the same values under a uniqueness constraint as other objects of the save, or
/// as rows of the store.
struct ConstraintSearch {
  private struct Group {
    let entity: NSEntityDescription
    let constraint: [String]
    let values: [Any]
    var objects: [NSManagedObject]
  }

  private struct Key: Hashable {
    let entity: String
    let constraint: [String]
    let values: [AnyHashable]
  }

  let context: NSManagedObjectContext
  let store: any RowStore

  /// - Throws: the store's errors.
  func conflicts() throws -> [NSConstraintConflict] {
    try groups().compactMap { group in
      let rows = try rows(of: group)
      guard rows.count + group.objects.count > 1 else { return nil }
      return NSConstraintConflict(
        constraint: group.constraint, database: rows.first, databaseSnapshot: rows.first?.snapshot?.values,
        conflicting: group.objects,
        conflictingSnapshots: group.objects.map { RowSnapshot.values(in: $0.slots, of: $0.table) })
    }
  }

  private func groups() -> [Group] {
    var groups: [Group] = []
    var positions: [Key: Int] = [:]
    for object in context.changedInOrder where !object.isDeleted && object.isRealized && !object.isInaccessible {
      guard object.identifier.persistentStore === store else { continue }
      for (entity, constraint) in ConstraintSearch.constraints(of: object.entity) {
        guard let values = ConstraintSearch.values(of: object, at: constraint), changes(object, constraint) else {
          continue
        }
        let key = Key(entity: entity.name ?? "", constraint: constraint, values: values.map(\.key))
        if let position = positions[key] {
          groups[position].objects.append(object)
        } else {
          positions[key] = groups.count
          groups.append(
            Group(entity: entity, constraint: constraint, values: values.map(\.value), objects: [object]))
        }
      }
    }
    return groups
  }

  /// Returns whether the save writes a value of a constraint.
  private func changes(_ object: NSManagedObject, _ constraint: [String]) -> Bool {
    if object.isInserted { return true }
    let changed = object.changedStoredSlots()
    let locations = UniqueValueLocation.locations(of: constraint, in: object.table) ?? []
    return locations.contains { changed.contains($0.position) }
  }

  /// Returns the constraints of an entity, each with the ancestor that declares it.
  private static func constraints(of entity: NSEntityDescription) -> [(NSEntityDescription, [String])] {
    var found: [(NSEntityDescription, [String])] = []
    var next: NSEntityDescription? = entity
    while let entity = next {
      for constraint in entity.uniquenessConstraints {
        let names = constraint.compactMap { ($0 as? NSPropertyDescription)?.name ?? $0 as? String }
        // The topmost declaration covers those of sub-entities.
        guard let locations = UniqueValueLocation.locations(of: names, in: entity.slotTable) else { continue }
        let paths = locations.map(\.path)
        found.removeAll { $0.1 == paths }
        found.append((entity, paths))
      }
      next = entity.superentity
    }
    return found
  }

  /// Returns an object's values for a constraint; nil if one is missing, because such values never violate it.
  private static func values(
    of object: NSManagedObject, at constraint: [String]
  ) -> [(key: AnyHashable, value: Any)]? {
    var values: [(key: AnyHashable, value: Any)] = []
    for location in UniqueValueLocation.locations(of: constraint, in: object.table) ?? [] {
      switch location.value(in: object.slots[location.position]) {
      // Equal strings may differ in their bytes, by which stores compare them.
      case .string(let text): values.append((Data(text.utf8), text))
      // Decimal numbers have no usable hash in Foundation on Linux.
      case .object(let number as NSDecimalNumber): values.append((number.decimalValue, number))
      case .toOne(let id):
        guard let destination = object.context?.object(for: id) else { return nil }
        values.append((id.current, destination))
      case let slot:
        guard let value = slot.publicValue, let key = value as? AnyHashable else { return nil }
        values.append((key, value))
      }
    }
    return values
  }

  /// Returns the objects of stored rows that have a group's values and keep them in this save.
  private func rows(of group: Group) throws -> [NSManagedObject] {
    let format = Array(repeating: "%K == %@", count: group.constraint.count).joined(separator: " AND ")
    var specification = FetchSpecification()
    specification.entity = group.entity
    specification.entityName = group.entity.name
    specification.includesPendingChanges = false
    specification.predicate = NSPredicate(
      format: format, argumentArray: zip(group.constraint, group.values).flatMap { [$0, $1] as [Any] })
    let found = try context.results(of: specification, affectedStores: [store]).compactMap { $0 as? NSManagedObject }
    let keys = group.objects.first.flatMap { ConstraintSearch.values(of: $0, at: group.constraint) }?.map(\.key)
    return found.filter { object in
      guard !object.isDeleted, !group.objects.contains(object) else { return false }
      object.fireFault()
      return ConstraintSearch.values(of: object, at: group.constraint)?.map(\.key) == keys
    }
  }
}

/// Resolves a conflict between objects with the same values under a uniqueness constraint.
struct ConstraintResolution {
  private let policy: NSMergePolicyType
  private let conflict: NSConstraintConflict
  private let context: NSManagedObjectContext
  /// The object that keeps the values.
  private let kept: NSManagedObject

  private var isStoreFirst: Bool {
    policy == .mergeByPropertyStoreTrumpMergePolicyType || policy == .rollbackMergePolicyType
  }

  /// Creates the resolution; nil if resolving an earlier conflict has resolved this one.
  init?(policy: NSMergePolicyType, conflict: NSConstraintConflict) {
    let objects = conflict.conflictingObjects.filter { $0.context != nil && !$0.isDeleted }
    let stored = conflict.databaseObject.flatMap { $0.context == nil || $0.isDeleted ? nil : $0 }
    guard let kept = stored ?? objects.first(where: { !$0.isInserted }) ?? objects.first, let context = kept.context
    else { return nil }
    self.policy = policy
    self.conflict = conflict
    self.context = context
    self.kept = kept
  }

  /// - Throws: 133021 if only deleting a stored object could resolve the conflict; validation errors.
  func resolve() throws {
    kept.fireFault()
    var hasChanged = false
    for object in conflict.conflictingObjects where object !== kept && object.context === context && !object.isDeleted {
      if object.isInserted {
        merge(object)
        hasChanged = true
      } else {
        try revert(object)
      }
    }
    guard hasChanged else { return }
    kept.awake(fromSnapshotEvents: .mergePolicy)
    if kept.isInserted { try kept.validateForInsert() } else { try kept.validateForUpdate() }
  }

  /// Restores a stored object's values for the constraint from the store.
  private func revert(_ object: NSManagedObject) throws {
    guard isStoreFirst, let snapshot = object.snapshot else { throw ObjectGraphErrors.constraintConflict([conflict]) }
    let before = RelationshipSettlement.Conflicting(object, row: snapshot)
    if policy == .rollbackMergePolicyType {
      context.forgetChanges(of: object)
      object.turnIntoFault(keeping: snapshot)
      object.holds?.update()
    } else {
      for location in UniqueValueLocation.locations(of: conflict.constraint, in: object.table) ?? [] {
        object.setSlot(snapshot.slots[location.position], at: location.position)
        object.noteChange()
      }
      object.holds?.update()
      object.awake(fromSnapshotEvents: .mergePolicy)
    }
    try RelationshipSettlement(in: context, policy: policy).run([before])
  }

  /// Drops a new object in favour of the kept one.
  private func merge(_ object: NSManagedObject) {
    if !isStoreFirst { moveAttributes(of: object) }
    for position in object.table.firstRelationship..<object.table.count { moveRelationship(of: object, at: position) }
    redirectReferences(to: object)
    context.forgetUnsaved([object])
    kept.noteChange()
    kept.holds?.update()
  }

  private func moveAttributes(of object: NSManagedObject) {
    for position in 0..<object.table.firstRelationship {
      guard let own = kept.table.position(of: object.table.names[position]), own < kept.table.firstRelationship,
        policy == .overwriteMergePolicyType || !object.slots[position].isNull
      else { continue }
      kept.setSlot(object.slots[position], at: own)
    }
  }

  /// Moves the destinations of the dropped object to the kept one, as far as the policy allows.
  private func moveRelationship(of object: NSManagedObject, at position: Int) {
    guard let relationship = object.table.relationship(at: position) else { return }
    let destinations = object.linkedObjects(at: position).filter { $0 !== object && $0 !== kept }
    for destination in object.linkedObjects(at: position) { object.remove(destination, at: position, of: relationship) }
    // Entities that inherit from the one with the constraint may have relationships of one name to others.
    guard let own = kept.table.position(of: relationship.name), let target = kept.table.relationship(at: own),
      let destination = target.destinationEntity, relationship.destinationEntity?.isKindOf(entity: destination) == true
    else { return }
    if target.isToMany {
      if policy == .overwriteMergePolicyType { kept.setMembers(destinations, at: own, of: target) }
      for destination in destinations { kept.add(destination, at: own, of: target) }
    } else if policy == .overwriteMergePolicyType || (!isStoreFirst && !destinations.isEmpty) {
      kept.setDestination(destinations.first, at: own, of: target)
    }
  }

  /// Repoints one-way relationships to the surviving object.
  private func redirectReferences(to object: NSManagedObject) {
    let key = object.identifier.key
    for other in context.changedInOrder where other !== object && other.isRealized {
      for position in other.table.firstRelationship..<other.table.count {
        guard let relationship = other.table.relationship(at: position), relationship.inverseRelationship == nil else {
          continue
        }
        switch other.slots[position] {
        case .toOne(let id) where id.current.key == key: other.setSlot(.toOne(kept.identifier), at: position)
        case .toMany(let members) where members.contains(object.identifier):
          let ids = members.ids.map { $0.current.key == key ? kept.identifier : $0 }
          other.setSlot(.toMany(ToMany(ids, isOrdered: members.isOrdered)), at: position)
        default: continue
        }
      }
      other.holds?.update()
    }
  }
}
