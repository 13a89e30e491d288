// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSEntityDescription {
  /// The entity that this one inherits from.
  public var superentity: NSEntityDescription? { parent }

  /// The entities that inherit from this one directly.
  ///
  /// Setting makes this entity the superentity of each. Traps when one has another superentity already, or when a cycle
  /// would close.
  public var subentities: [NSEntityDescription] {
    get { children }
    set { setSubentities(newValue) }
  }

  /// The entities that inherit from this one directly, by name.
  public var subentitiesByName: [String: NSEntityDescription] {
    Dictionary(children.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  /// Whether the entity is the given one or inherits from it.
  public func isKindOf(entity: NSEntityDescription) -> Bool {
    self === entity || lineage.contains { $0 === entity }
  }

  /// The entity and its ancestors, the root last.
  internal var lineage: [NSEntityDescription] {
    Array(sequence(first: self) { $0.parent })
  }

  /// The entity and all that inherit from it, ancestors before descendants.
  internal var family: [NSEntityDescription] {
    [self] + children.flatMap(\.family)
  }

  private func setSubentities(_ list: [NSEntityDescription]) {
    willEdit("subentities")
    for child in list {
      child.willEdit("superentity")
      precondition(
        child.parent == nil || child.parent === self,
        "'\(child.name ?? "")' has the superentity '\(child.parent?.name ?? "")' already: remove it there first.")
      precondition(
        !lineage.contains { $0 === child },
        "Entity '\(child.name ?? "")' cannot inherit from '\(name ?? "")', which is itself or inherits from it.")
    }
    for child in children where !list.contains(where: { $0 === child }) {
      child.parent = nil
      child.invalidateDerivedState()
    }
    children = list
    for child in children {
      child.parent = self
      child.invalidateDerivedState()
    }
    owningModel?.adoptDescendants()
  }
}
