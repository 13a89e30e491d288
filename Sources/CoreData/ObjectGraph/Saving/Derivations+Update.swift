// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension Derivations {
  /// Computes derived attributes during one save.
  struct Update {
    private let context: NSManagedObjectContext
    private let derivations: Derivations
    /// The attributes of objects that have already been set to the time of this save.
    private var timed: Set<String> = []
    /// Objects whose values may differ from those that derived attributes were computed from, whether or not they have
    /// changes.
    private var renewed: Set<NSManagedObject> = []

    init(in context: NSManagedObjectContext) {
      self.context = context
      derivations = context.coordinator.derivations
    }

    /// Recomputes values from the current rows, after conflicts have been resolved.
    ///
    /// Unchanged objects are read again if derived attributes of others depend on them, because other contexts may have
    /// changed them.
    ///
    /// - Parameter objects: the objects that were in conflict.
    mutating func renew(_ objects: [NSManagedObject]) {
      guard !derivations.dependents.isEmpty else { return }
      let sources = derivations.dependents.flatMap { $0.path.compactMap(\.destinationEntity) + [$0.path[0].entity] }
      let known = Set(sources.map(ObjectIdentifier.init))
      for object in context.registry.objects where !object.hasChanges && (object.isRealized || object.snapshot != nil) {
        let isSource = sequence(first: object.entity, next: { $0.superentity }).contains {
          known.contains(ObjectIdentifier($0))
        }
        if isSource { _ = context.renew(object, keepingChanges: true) }
      }
      renewed = Set(objects.filter { $0.context === context && !$0.isInaccessible })
    }

    /// Updates the derived attributes of all changed objects, and of the objects that depend on them.
    ///
    /// - Returns: whether any value has changed.
    /// - Throws: 134060 for an expression that cannot be evaluated.
    mutating func run() throws -> Bool {
      guard !derivations.isEmpty else { return false }
      var hasChanged = false
      for _ in 0..<Derivations.maximumDepth {
        guard try runOnce() else { return hasChanged }
        hasChanged = true
      }
      return hasChanged
    }

    private mutating func runOnce() throws -> Bool {
      var work: [(NSManagedObject, [Rule])] = []
      for object in context.changedInOrder where !object.isDeleted && !object.isInaccessible {
        let rules = derivations.rules(of: object.entity)
        guard !rules.isEmpty else { continue }
        work.append((object, rules.filter { concerns($0, object) || renewed.contains(object) && !$0.isTimed }))
      }
      for object in renewed where !object.hasChanges {
        let rules = derivations.rules(of: object.entity).filter { !$0.isTimed }
        if !rules.isEmpty { work.append((object, rules)) }
      }
      for dependent in derivations.dependents {
        for object in sources(of: dependent) {
          work.append(
            (object, derivations.rules(of: object.entity).filter { $0.name == dependent.name && !$0.isTimed }))
        }
      }
      for keyPath in Set(work.flatMap { $0.1.flatMap(\.prefetches) }) {
        let first = keyPath.split(separator: ".").first.map(String.init) ?? keyPath
        let objects = work.map(\.0).filter { $0.table.position(of: first) != nil }
        try Prefetching(context: context).prefetch([keyPath], of: objects)
      }
      var hasChanged = false
      for (object, rules) in work {
        for rule in rules where try apply(rule, to: object) { hasChanged = true }
      }
      return hasChanged
    }

    /// Returns whether a changed object's own changes require a new value.
    private func concerns(_ rule: Rule, _ object: NSManagedObject) -> Bool {
      if object.isInserted { return true }
      let changed = object.changedSlots().filter { !object.table.isTransient(at: $0) }.map { object.table.names[$0] }
      if rule.isTimed { return changed.contains { !isDerived($0, object) } || changed.contains(rule.name) }
      return changed.contains { $0 == rule.name || rule.triggers.contains($0) }
    }

    private func isDerived(_ name: String, _ object: NSManagedObject) -> Bool {
      derivations.rules(of: object.entity).contains { $0.name == name }
    }

    /// Returns the objects whose derived attribute depends on a changed property of a related object.
    private func sources(of dependent: Dependent) -> [NSManagedObject] {
      guard let destination = dependent.path.last?.destinationEntity else { return [] }
      let unchanged = renewed.filter { !$0.hasChanges }
      var objects = (context.changedInOrder + unchanged).filter { object in
        guard !object.isDeleted, object.entity.isKindOf(entity: destination),
          let position = object.table.position(of: dependent.property)
        else { return false }
        return renewed.contains(object) || object.changedSlots().contains(position)
      }
      for relationship in dependent.path.reversed() {
        guard let inverse = relationship.inverseRelationship else { return [] }
        var seen: Set<ObjectIdentifier> = []
        objects = objects.flatMap { object -> [NSManagedObject] in
          guard let position = object.table.position(of: inverse.name) else { return [] }
          let owners = object.linkedObjects(at: position)
          for owner in owners where !owner.isDeleted && !owner.lists(object, in: relationship) {
            owner.refreshIfOlder(than: object)
          }
          return owners
        }.filter { !$0.isDeleted && seen.insert(ObjectIdentifier($0)).inserted }
      }
      return objects
    }

    private mutating func apply(_ rule: Rule, to object: NSManagedObject) throws -> Bool {
      guard let position = object.table.position(of: rule.name), let attribute = object.table.attribute(at: position)
      else {
        return false
      }
      if rule.isTimed, !timed.insert("\(rule.name) \(object.identifier.key)").inserted { return false }
      object.fireFault()
      let value: Any?
      do {
        value = try PredicateEvaluator().value(rule.expression, with: object)
      } catch {
        throw ObjectGraphErrors.underivable(rule.name, of: object, reason: "\(error)")
      }
      guard let slot = Slot(value, for: attribute) else {
        throw ObjectGraphErrors.underivable(
          rule.name, of: object,
          reason:
            "its value is a \(value.map { "\(Swift.type(of: $0))" } ?? "nil"), which is not of the attribute's type")
      }
      guard !object.slots[position].isSame(as: slot) else { return false }
      object.setSlot(slot, at: position)
      object.noteChange()
      return true
    }
  }
}

extension NSManagedObject {
  /// Returns whether a relationship contains an object, as far as it has been read.
  fileprivate func lists(_ object: NSManagedObject, in relationship: NSRelationshipDescription) -> Bool {
    guard isRealized, let position = table.position(of: relationship.name), !isUnread(at: position) else { return true }
    return relationship.isToMany
      ? isMember(object, at: position) : linkedObjects(at: position).contains { $0 === object }
  }
}
