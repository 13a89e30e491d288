// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// What follows from an entity's own properties and its ancestors', worked out once after each edit.
internal final class EntityDerivedState: Sendable {
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

/// A table derived from an entity by a room that `Model` does not know, kept with the entity.
internal class EntityTable: @unchecked Sendable {}

/// Holds derived state that edits drop: behind a lock while the model can be edited, without one after it was sealed.
internal final class DerivedStateCell<State: AnyObject & Sendable>: @unchecked Sendable {
  private let isSealed = Atomic(false)
  private let lock = NSRecursiveLock()
  private var state: State?
  private var isFinal = false

  /// The state, made on demand.
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

  /// Forgets the state.
  func drop() {
    lock.lock()
    defer { lock.unlock() }
    state = nil
  }

  /// Makes the state if need be, and lets readers pass without the lock from here on. There must be no edits after it.
  func seal(_ make: () -> State) {
    _ = value(make)
    isSealed.store(true, ordering: .releasing)
  }

  /// Drops the state, and seals it the next time it is made. There must be no edits afterwards.
  func sealWhenMade() {
    lock.lock()
    defer { lock.unlock() }
    guard !isFinal else { return }
    state = nil
    isFinal = true
  }
}

extension NSEntityDescription {
  internal var derived: EntityDerivedState {
    derivedState.value(makeDerivedState)
  }

  internal func sealDerivedState() {
    derivedState.seal(makeDerivedState)
    // Objects may have been made of the entity while its properties were still being changed.
    slotTableState.sealWhenMade()
  }

  /// Drops everything that was derived from the entity's content, in its sub-entities and its model too.
  internal func invalidateDerivedState() {
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
