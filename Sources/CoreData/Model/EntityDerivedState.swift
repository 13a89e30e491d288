// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The properties of an entity, inherited ones included. Recomputed after an edit.
final class EntityDerivedState: Sendable {
  let properties: [NSPropertyDescription]
  let propertiesByName: [String: NSPropertyDescription]
  let attributesByName: [String: NSAttributeDescription]
  let relationshipsByName: [String: NSRelationshipDescription]

  init(inherited: [NSPropertyDescription], own: [NSPropertyDescription]) {
    let declared = Set(own.map(\.name))
    let properties = inherited.filter { !declared.contains($0.name) } + own
    var byName: [String: NSPropertyDescription] = [:]
    for property in properties { byName[property.name] = property }
    self.properties = properties
    propertiesByName = byName
    attributesByName = byName.compactMapValues { $0 as? NSAttributeDescription }
    relationshipsByName = byName.compactMapValues { $0 as? NSRelationshipDescription }
  }
}

/// The superclass of a table that another part of the framework derives from an entity and caches in it.
class EntityTable: @unchecked Sendable {}

/// A cache of state derived from a model, which edits drop. Locks while the model can be edited, but not once it is
/// sealed.
final class DerivedStateCell<State: AnyObject & Sendable>: @unchecked Sendable {
  private let isSealed = Atomic(false)
  private let lock = NSRecursiveLock()
  private var state: State?
  private var isFinal = false

  /// Returns the state, and makes it if needed.
  func value(_ make: () -> State) -> State {
    if isSealed.load(ordering: .acquiring), let state { return state }
    lock.lock()
    defer { lock.unlock() }
    if let state { return state }
    let made = make()
    state = made
    if isFinal { isSealed.store(true, ordering: .releasing) }
    return made
  }

  func drop() {
    lock.lock()
    defer { lock.unlock() }
    state = nil
  }

  /// Makes the state if needed, and lets readers pass without locking from now on. No edits may follow.
  func seal(_ make: () -> State) {
    _ = value(make)
    isSealed.store(true, ordering: .releasing)
  }

  /// Drops the state, and seals it when it is next made. No edits may follow.
  func sealWhenMade() {
    lock.lock()
    defer { lock.unlock() }
    guard !isFinal else { return }
    state = nil
    isFinal = true
  }
}

extension NSEntityDescription {
  var derived: EntityDerivedState {
    derivedState.value(makeDerivedState)
  }

  func sealDerivedState() {
    derivedState.seal(makeDerivedState)
    // Objects may have been made while the properties could still be edited.
    slotTableState.sealWhenMade()
  }

  /// Drops the state derived from the entity, also in its sub-entities and its model.
  func invalidateDerivedState() {
    derivedState.drop()
    slotTableState.drop()
    for child in children { child.invalidateDerivedState() }
    owningModel?.invalidateDerivedState()
  }

  private func makeDerivedState() -> EntityDerivedState {
    var copies: [ObjectIdentifier: NSPropertyDescription] = [:]
    let inherited = (parent?.properties ?? []).map { property -> NSPropertyDescription in
      let original = property.inheritedFrom ?? property
      let copy = inheritedCopies[ObjectIdentifier(original)] ?? type(of: original).init()
      copy.owningEntity = nil
      copy.inheritedFrom = nil
      copy.adopt(original)
      copy.owningEntity = self
      copy.inheritedFrom = original
      copies[ObjectIdentifier(original)] = copy
      return copy
    }
    inheritedCopies = copies
    return EntityDerivedState(inherited: inherited, own: ownProperties)
  }
}
