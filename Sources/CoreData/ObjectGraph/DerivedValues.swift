// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Computes derived attributes in the course of one save.
struct DerivedValues {
  /// How often values may depend on values derived in the same save; more would be a circle.
  private static let maximumRounds = 16

  let context: NSManagedObjectContext
  let derivations: Derivations
  /// Attributes by object that have been given the time of this save.
  private var timed: Set<String> = []

  init(context: NSManagedObjectContext, derivations: Derivations) {
    self.context = context
    self.derivations = derivations
  }

  /// Brings the derived attributes of all objects up to date that are to be saved, or depend on one that is.
  ///
  /// - Returns: whether any value has changed.
  /// - Throws: 134060 for an expression that cannot be evaluated.
  mutating func update() throws -> Bool {
    guard !derivations.isEmpty else { return false }
    var hasChanged = false
    for _ in 0..<DerivedValues.maximumRounds {
      guard try updateOnce() else { return hasChanged }
      hasChanged = true
    }
    return hasChanged
  }

  private mutating func updateOnce() throws -> Bool {
    var work: [(NSManagedObject, [Derivations.Rule])] = []
    for object in context.changedInOrder where !object.isDeleted && !object.isInaccessible {
      let rules = derivations.rules(of: object.entity)
      guard !rules.isEmpty else { continue }
      work.append((object, rules.filter { concerns($0, object) }))
    }
    for dependent in derivations.dependents {
      for object in sources(of: dependent) {
        work.append((object, derivations.rules(of: object.entity).filter { $0.name == dependent.name && !$0.isTimed }))
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

  /// Whether a changed object's own changes ask for a new value.
  private func concerns(_ rule: Derivations.Rule, _ object: NSManagedObject) -> Bool {
    if object.isInserted { return true }
    let changed = object.changedSlots().filter { !object.table.isTransient(at: $0) }.map { object.table.names[$0] }
    if rule.isTimed { return changed.contains { !isDerived($0, object) } || changed.contains(rule.name) }
    return changed.contains { $0 == rule.name || rule.triggers.contains($0) }
  }

  private func isDerived(_ name: String, _ object: NSManagedObject) -> Bool {
    derivations.rules(of: object.entity).contains { $0.name == name }
  }

  /// The objects with the derived attribute that lead to an object whose property has changed.
  private func sources(of dependent: Derivations.Dependent) -> [NSManagedObject] {
    guard let destination = dependent.path.last?.destinationEntity else { return [] }
    var objects = context.changedInOrder.filter { object in
      guard !object.isDeleted, object.entity.isKindOf(entity: destination),
        let position = object.table.position(of: dependent.property)
      else { return false }
      return object.changedSlots().contains(position)
    }
    for relationship in dependent.path.reversed() {
      guard let inverse = relationship.inverseRelationship else { return [] }
      var seen: Set<ObjectIdentifier> = []
      objects = objects.flatMap { object -> [NSManagedObject] in
        guard let position = object.table.position(of: inverse.name) else { return [] }
        return object.linkedObjects(at: position)
      }.filter { !$0.isDeleted && seen.insert(ObjectIdentifier($0)).inserted }
    }
    return objects
  }

  private mutating func apply(_ rule: Derivations.Rule, to object: NSManagedObject) throws -> Bool {
    guard let position = object.table.position(of: rule.name), let attribute = object.table.attribute(at: position) else {
      return false
    }
    if rule.isTimed, !timed.insert("\(rule.name) \(object.identifier.key)").inserted { return false }
    object.realize()
    let value: Any?
    do {
      value = try PredicateEvaluator().value(rule.expression, with: object)
    } catch {
      throw ObjectGraphErrors.underivable(rule.name, of: object, reason: "\(error)")
    }
    guard let slot = Slot(value, for: attribute) else {
      throw ObjectGraphErrors.underivable(
        rule.name, of: object,
        reason: "it gives a \(value.map { "\(Swift.type(of: $0))" } ?? "nil"), which is not of the attribute's type")
    }
    guard !object.slots[position].isSame(as: slot) else { return false }
    object.slots[position] = slot
    object.noteChange()
    return true
  }
}
