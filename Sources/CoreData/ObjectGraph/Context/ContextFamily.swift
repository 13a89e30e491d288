// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A context's place in a tree of contexts: the state that related contexts may access on any queue.
final class ContextFamily: Sendable {
  /// Whether the context has, or has had, a parent or children.
  private let nested = Atomic<Bool>(false)
  private let parent = Guarded<ContextFamily?>(nil)
  /// The children that automatically merge what is saved to this context.
  private let merging = Guarded<[WeakAddress<NSManagedObjectContext>]>([])
  /// In the root of the tree, the number of temporary identifiers that have become permanent.
  private let permanentCount = Atomic<Int>(0)
  /// The root's count when the context last looked for permanent identifiers.
  private let seenCount = Atomic<Int>(0)

  var isNested: Bool { nested.load(ordering: .relaxed) }

  /// Makes the context a child of another.
  func join(_ other: ContextFamily) {
    parent.value = other
    nested.store(true, ordering: .relaxed)
    other.nested.store(true, ordering: .relaxed)
  }

  func leave() { parent.value = nil }

  private var root: ContextFamily {
    var family = self
    while let next = family.parent.value { family = next }
    return family
  }

  /// Records in the root that a temporary identifier has become permanent.
  func notePermanentID() { root.permanentCount.add(1, ordering: .releasing) }

  /// Returns whether identifiers have become permanent since the last call.
  func hasNewPermanentIDs() -> Bool {
    let count = root.permanentCount.load(ordering: .acquiring)
    if seenCount.load(ordering: .relaxed) == count { return false }
    seenCount.store(count, ordering: .relaxed)
    return true
  }

  /// Adds a child that automatically merges what is saved to this context.
  func remember(_ child: NSManagedObjectContext) {
    merging.update { $0.append(WeakAddress(child)) }
  }

  func forget(_ child: NSManagedObjectContext) {
    merging.update { $0.removeAll { [nil, child].contains($0.object) } }
  }

  /// The children that automatically merge what is saved to this context.
  var mergingChildren: [NSManagedObjectContext] {
    merging.update { members in
      members.removeAll { $0.object == nil }
      return members.compactMap(\.object)
    }
  }
}

extension NSManagedObjectContext {
  /// Propagates saved changes to children that merge automatically.
  ///
  /// - Parameter saver: the child that has saved the changes; nil if this context has saved or merged them.
  func mergeDown(_ saved: SavedIdentifiers, from saver: NSManagedObjectContext? = nil) {
    guard family.isNested, !saved.isEmpty else { return }
    for child in family.mergingChildren where child !== saver { child.perform { child.merge(saved) } }
  }

  /// Registers objects under the permanent identifiers that other contexts of the tree have given them.
  ///
  /// All contexts of a tree share a temporary identifier. It becomes permanent when the root saves, or when one of the
  /// contexts obtains a permanent one. The others notice that when they next look up an object.
  func adoptPermanentIDs() {
    guard family.isNested, family.hasNewPermanentIDs() else { return }
    adoptAllPermanentIDs()
  }

  func adoptAllPermanentIDs() {
    let objects = registry.objects
    var hasChanged = false
    for object in objects {
      guard let temporary = object.knownIdentifier, temporary.isTemporaryID else { continue }
      let permanent = temporary.current
      guard permanent !== temporary else { continue }
      adopt(permanent, for: object)
      hasChanged = true
    }
    // Other objects may refer to objects that are not registered.
    for object in objects { hasChanged = object.replaceTemporaryIDs(includesRow: true) || hasChanged }
    if hasChanged { prefetchedRows.removeAll() }
  }

  /// Assigns permanent identifiers, made by the root's stores, to objects with temporary ones.
  ///
  /// - Throws: the stores' errors.
  func makePermanent(_ wanted: [(id: NSManagedObjectID, store: NSPersistentStore?)]) throws {
    if let parent {
      let known = wanted.map { ($0.id, $0.store ?? assignments[$0.id.key]) }
      try parent.runForChild { try parent.makePermanent(known) }
    } else {
      let open = wanted.filter { $0.id.current.isTemporaryID }
      let made = try coordinator.makeIdentifiers(
        for: open.map { (object(for: $0.id), $0.store ?? assignments[$0.id.key]) })
      for (wish, id) in zip(open, made) { wish.id.becomes(id) }
    }
    family.notePermanentID()
    adoptPermanentIDs()
  }
}
