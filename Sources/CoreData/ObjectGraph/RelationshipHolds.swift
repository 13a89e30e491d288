// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What an object keeps of its relationships beside the identifiers in its slots.
///
/// The objects that a relationship was last read as, or set to, live as long as the object does: a program may have put
/// something into them that no store keeps. As two objects may hold each other, they are let go of when either turns into a
/// fault or leaves its context, and when the context goes away.
final class RelationshipHolds {
  private struct View {
    let position: Int
    weak var set: RelationshipOrderedSet?
  }

  /// A managed object, or a collection of managed objects, by the position of the relationship.
  private var destinations: [Int: AnyObject] = [:]
  /// Sets that show a relationship and follow its changes.
  private var views: [View] = []
  /// Whether a relationship is being changed in several steps, which views follow together.
  private var isChanging = false

  func hold(_ destination: AnyObject?, at position: Int) {
    destinations[position] = destination
  }

  /// Lets all objects go. They may be the last that hold others, and so on.
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

  /// The views of a relationship that are in use.
  private func views(at position: Int) -> [RelationshipOrderedSet] {
    isChanging ? [] : views.compactMap { $0.position == position ? $0.set : nil }
  }

  /// Has views follow one step.
  func didInsert(_ object: NSManagedObject, at position: Int) {
    for view in views(at: position) { view.didInsert(object) }
  }

  /// Has views follow one step.
  func didRemove(_ object: NSManagedObject, at position: Int) {
    for view in views(at: position) { view.didRemove(object) }
  }

  /// Carries out a change in several steps, and has views show its result.
  func changing(_ position: Int, _ body: () -> Void) {
    let wasChanging = isChanging
    isChanging = true
    body()
    isChanging = wasChanging
    for view in views(at: position) { view.update() }
  }

  /// Has all views show the object's relationships as they are now.
  func update() {
    for view in views { view.set?.update() }
  }

  /// Has views read their relationships anew when they are looked at.
  func outdate() {
    for view in views { view.set?.outdate() }
  }
}

/// Lets go of objects that hold each other in a chain, one after another: one within the other would exhaust the stack.
enum ReleaseChain {
  private final class Waiting {
    var objects: [AnyObject] = []
  }

  /// Where a thread that is at it has its list.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key, nil)
    precondition(failure == 0, "The process has used up its thread-local storage (\(failure)).")
    return key
  }()

  /// - Parameter objects: emptied: what the caller still held would be let go of when it returns.
  static func release(_ objects: inout [Int: AnyObject]) {
    if let known = pthread_getspecific(key) {
      Unmanaged<Waiting>.fromOpaque(known).takeUnretainedValue().objects += objects.values
      objects = [:]
      return
    }
    let waiting = Waiting()
    waiting.objects = Array(objects.values)
    objects = [:]
    pthread_setspecific(key, Unmanaged.passUnretained(waiting).toOpaque())
    while let next = waiting.objects.popLast() { withExtendedLifetime(next) {} }
    pthread_setspecific(key, nil)
  }
}

extension NSManagedObject {
  /// Holds what a relationship was read as or set to.
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

  /// The members of a to-many relationship, which live as long as the object from now on.
  final func heldMembers(at position: Int) -> [NSManagedObject] {
    let members = linkedObjects(at: position)
    if let registry, registry.isHolding, !members.isEmpty { makeHolds().hold(HeldObjects(members), at: position) }
    return members
  }
}

/// Several objects that are held together.
private final class HeldObjects {
  let objects: [NSManagedObject]

  init(_ objects: [NSManagedObject]) {
    self.objects = objects
  }
}
