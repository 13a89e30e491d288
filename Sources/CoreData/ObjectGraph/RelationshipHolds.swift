// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The objects and live sets that an object keeps for its relationships, besides the identifiers in its slots.
///
/// An object holds the destinations that a relationship was last read as or set to, since they may contain something
/// that no store keeps. As two objects may hold each other, an object releases them when it turns into a fault or
/// leaves its context, and when the context is deallocated.
final class RelationshipHolds {
  private struct View {
    let position: Int
    weak var set: RelationshipOrderedSet?
  }

  /// By the position of the relationship, a managed object or a collection of managed objects.
  private var destinations: [Int: AnyObject] = [:]
  /// The live sets of relationships.
  private var views: [View] = []
  /// Whether a change in several steps is in progress, after which the views are updated.
  private var isChanging = false

  func hold(_ destination: AnyObject?, at position: Int) {
    destinations[position] = destination
  }

  /// Releases all objects, which may release others in turn.
  func release() {
    guard !destinations.isEmpty else { return }
    var released = destinations
    destinations = [:]
    ReleaseChain.release(&released)
  }

  func add(_ view: RelationshipOrderedSet, at position: Int) {
    views.removeAll { $0.set == nil }
    views.append(View(position: position, set: view))
  }

  /// Returns the views of a relationship.
  private func views(at position: Int) -> [RelationshipOrderedSet] {
    isChanging ? [] : views.compactMap { $0.position == position ? $0.set : nil }
  }

  func didInsert(_ object: NSManagedObject, at position: Int) {
    for view in views(at: position) { view.didInsert(object) }
  }

  func didRemove(_ object: NSManagedObject, at position: Int) {
    for view in views(at: position) { view.didRemove(object) }
  }

  /// Makes a change in several steps, and then updates the views.
  func changing(_ position: Int, _ body: () -> Void) {
    let wasChanging = isChanging
    isChanging = true
    body()
    isChanging = wasChanging
    for view in views(at: position) { view.update() }
  }

  /// Updates all views.
  func update() {
    for view in views { view.set?.update() }
  }

  /// Has all views update at the next access.
  func outdate() {
    for view in views { view.set?.outdate() }
  }
}

/// Releases objects that hold each other in a chain iteratively, since nested deallocation would exhaust the stack.
enum ReleaseChain {
  private final class Queue {
    var objects: [AnyObject] = []
  }

  /// The queue of a thread that is releasing.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key, nil)
    precondition(failure == 0, "The process has no thread-specific keys left (error \(failure)).")
    return key
  }()

  /// Releases objects.
  ///
  /// - Parameter objects: emptied, so that the caller does not release anything when it returns.
  static func release(_ objects: inout [Int: AnyObject]) {
    if let known = pthread_getspecific(key) {
      Unmanaged<Queue>.fromOpaque(known).takeUnretainedValue().objects += objects.values
      objects = [:]
      return
    }
    let queue = Queue()
    queue.objects = Array(objects.values)
    objects = [:]
    pthread_setspecific(key, Unmanaged.passUnretained(queue).toOpaque())
    while let next = queue.objects.popLast() { withExtendedLifetime(next) {} }
    pthread_setspecific(key, nil)
  }
}

extension NSManagedObject {
  /// Holds the value that a relationship was read as or set to.
  final func hold(_ value: Any?, at position: Int) {
    guard position >= table.firstRelationship, let registry, registry.isHolding else { return }
    let destination: AnyObject? =
      switch value {
      case let object as NSManagedObject: object
      case let set as NSSet: set
      case let set as NSOrderedSet: set
      default: nil
      }
    if destination == nil, holds == nil { return }
    makeHolds().hold(destination, at: position)
  }

  final func makeHolds() -> RelationshipHolds {
    if let holds { return holds }
    let made = RelationshipHolds()
    holds = made
    return made
  }

  /// Returns the members of a to-many relationship, and holds them.
  final func heldMembers(at position: Int) -> [NSManagedObject] {
    let members = linkedObjects(at: position)
    if let registry, registry.isHolding, !members.isEmpty { makeHolds().hold(HeldObjects(members), at: position) }
    return members
  }
}

/// The held members of a to-many relationship.
private final class HeldObjects {
  let objects: [NSManagedObject]

  init(_ objects: [NSManagedObject]) {
    self.objects = objects
  }
}
