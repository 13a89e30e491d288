// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// Relationships and their inverses, which change together.
///
/// Every change goes through `link` and `unlink`, which change one side. Their callers call them once for each side.
extension NSManagedObject {
  /// Sets the destination of a to-one relationship, and updates the inverses of the old and the new destination.
  final func setDestination(
    _ destination: NSManagedObject?, at position: Int, of relationship: NSRelationshipDescription
  ) {
    let old = linkedObjects(at: position)
    if old.first === destination, old.count <= 1 { return }
    for object in old {
      unlink(object, at: position)
      object.removeInverse(of: relationship, to: self)
    }
    guard let destination else { return }
    link(destination, at: position)
    destination.addInverse(of: relationship, to: self)
  }

  /// Replaces the members of a to-many relationship.
  final func setMembers(_ members: [NSManagedObject], at position: Int, of relationship: NSRelationshipDescription) {
    readRelationship(at: position)
    guard case .toMany(let old) = slots[position] else { return }
    func new() -> ToMany { ToMany(members.map(\.identifier), isOrdered: relationship.isOrdered) }
    if old.hasSameMembers(as: new()) { return }
    func change() {
      let linked = linkedObjects(at: position)
      let staying = new()
      for object in linked where !staying.contains(object.identifier) { remove(object, at: position, of: relationship) }
      for object in members { add(object, at: position, of: relationship) }
      // Identifiers may have become permanent meanwhile.
      if relationship.isOrdered { setSlot(.toMany(new()), at: position) }
    }
    if let holds { holds.changing(position, change) } else { change() }
  }

  /// Adds a member to a to-many relationship, on both sides.
  ///
  /// - Parameter index: the index at which to insert it into an ordered relationship; nil for the end.
  final func add(
    _ object: NSManagedObject, at position: Int, of relationship: NSRelationshipDescription, index: Int? = nil
  ) {
    guard link(object, at: position, index: index) else { return }
    object.addInverse(of: relationship, to: self)
  }

  /// Removes a member from a to-many relationship, on both sides.
  final func remove(_ object: NSManagedObject, at position: Int, of relationship: NSRelationshipDescription) {
    guard unlink(object, at: position) else { return }
    object.removeInverse(of: relationship, to: self)
  }

  /// Returns the destinations of a relationship.
  final func linkedObjects(at position: Int) -> [NSManagedObject] {
    fireFault()
    if let destination = packedDestination(at: position) { return context.map { [$0.object(for: destination)] } ?? [] }
    readRelationship(at: position)
    guard let context else { return [] }
    switch slots[position] {
    case .toOne(let id): return [context.object(for: id)]
    case .toMany(let members): return context.objects(of: members)
    default: return []
    }
  }

  /// Returns the destination of a to-one relationship.
  private func destination(at position: Int) -> NSManagedObject? {
    fireFault()
    if let destination = packedDestination(at: position) { return context?.object(for: destination) }
    guard case .toOne(let id) = slots[position] else { return nil }
    return context?.object(for: id)
  }

  /// Remembers the members of a to-many relationship until `updateInverses(ofMembersAt:)`.
  final func noteMembersBefore(_ key: String) {
    guard let position = table.position(of: key), table.relationship(at: position)?.isToMany == true else { return }
    makeHolds().membersBefore[position] = linkedObjects(at: position)
  }

  /// Updates the inverses of the members that a relationship has gained and lost since `noteMembersBefore(_:)`.
  final func updateInverses(ofMembersAt key: String) {
    guard let position = table.position(of: key), let relationship = table.relationship(at: position),
      let before = holds?.membersBefore.removeValue(forKey: position)
    else { return }
    let after = linkedObjects(at: position)
    let (old, new) = (Set(before), Set(after))
    for object in before where !new.contains(object) { object.removeInverse(of: relationship, to: self) }
    for object in after where !old.contains(object) { object.addInverse(of: relationship, to: self) }
  }

  /// Adds `source` to this object's inverse of a relationship that now leads from `source` to this object.
  final func addInverse(of relationship: NSRelationshipDescription, to source: NSManagedObject) {
    guard !source.isAwakening, let inverse = relationship.inverseRelationship,
      let position = table.position(of: inverse.name)
    else {
      return
    }
    if source === self && inverse.name == relationship.name { return }
    noteInverseChange(of: inverse.name) {
      if !inverse.isToMany, let former = destination(at: position), former !== source,
        let back = former.table.position(of: relationship.name)
      {
        former.noteInverseChange(of: relationship.name) { former.unlink(self, at: back) }
      }
      link(source, at: position)
    }
  }

  /// Removes `source` from this object's inverse of a relationship.
  final func removeInverse(of relationship: NSRelationshipDescription, to source: NSManagedObject) {
    guard !source.isAwakening, let inverse = relationship.inverseRelationship,
      let position = table.position(of: inverse.name)
    else {
      return
    }
    noteInverseChange(of: inverse.name) {
      if let context, context.defersRemovals, context.deferRemoval(of: source, from: self, at: position) { return }
      if !unlink(source, at: position), refreshIfOlder(than: source) { unlink(source, at: position) }
    }
  }

  /// Reads this object again if it is older than `source`, that is, if `source` refers to it but its own relationship
  /// does not refer back. If the save writes its row, it detects the conflict anyway. What the current event has
  /// changed is the context's own.
  ///
  /// - Returns: whether the object has been read again.
  @discardableResult
  final func refreshIfOlder(than source: NSManagedObject) -> Bool {
    guard let context, source !== self, !source.hasTemporaryID, !isInserted, !isDeleted, !isInaccessible,
      snapshot != nil, eventChanges.isEmpty, changedStoredSlots().isEmpty
    else { return false }
    return context.renew(self, keepingChanges: true)
  }

  private func noteInverseChange(of key: String, _ change: () -> Void) {
    // The change belongs to the other object, even if this one is awakening.
    let wasAwakening = isAwakening
    if wasAwakening { isAwakening = false }
    willChangeValue(forKey: key)
    change()
    didChangeValue(forKey: key)
    if wasAwakening { isAwakening = true }
  }

  @discardableResult
  private func link(_ object: NSManagedObject, at position: Int, index: Int? = nil) -> Bool {
    fireFault()
    readRelationship(at: position)
    let id = object.identifier
    if table.relationship(at: position)?.isToMany == false {
      setSlot(.toOne(id), at: position)
      return true
    }
    let inserted = changeMembers(at: position) { members in
      let place = index ?? members.count
      return members.insert(id, at: place) ? place : nil
    }
    guard let inserted else { return false }
    holds?.didInsert(object, at: position, index: inserted)
    return true
  }

  @discardableResult
  private func unlink(_ object: NSManagedObject, at position: Int) -> Bool {
    fireFault()
    readRelationship(at: position)
    if case .toOne(let id) = slots[position] {
      guard id.current.key == object.identifier.key else { return false }
      setSlot(.null, at: position)
      return true
    }
    return removeUnnoted(object, at: position)
  }

  /// Removes a member from a relationship that has been read, as part of a change that is already recorded.
  @discardableResult
  final func removeUnnoted(_ object: NSManagedObject, at position: Int) -> Bool {
    let id = object.identifier
    guard let index = changeMembers(at: position, { $0.remove(id) }) else {
      if hasUnreadMembers { context?.noteRemoval(of: object, from: self, at: position) }
      return false
    }
    holds?.didRemove(object, at: position, index: index)
    return true
  }

  /// Changes members in place, without copying, because nothing else refers to them meanwhile.
  ///
  /// - Parameter change: returns nil if it has changed nothing.
  @discardableResult
  final func changeMembers<Result>(at position: Int, _ change: (inout ToMany) -> Result?) -> Result? {
    guard case .toMany(var members) = slots[position] else { return nil }
    if let rows = members.rows { context?.keepRows(of: rows) }
    let held = holds?.members(at: position)
    let wasCurrent = held?.isCopy(of: members) ?? false
    held?.outdate()
    setSlot(.null, at: position)
    defer { setSlot(.toMany(members), at: position) }
    let result = change(&members)
    if result == nil, wasCurrent { held?.renew(members) }
    return result
  }

  /// Replaces temporary identifiers with the permanent ones that a save has made.
  ///
  /// - Parameter includesRow: whether the snapshot may contain some, because it is a parent's.
  /// - Returns: whether there were any.
  @discardableResult
  final func replaceTemporaryIDs(includesRow: Bool = false) -> Bool {
    changeAllSlots(includesRow: includesRow) { replaceTemporaryIDs(in: &$0) }
  }

  private func replaceTemporaryIDs(in slots: inout [Slot]) -> Bool {
    var hasChanged = false
    for position in table.firstRelationship..<table.count {
      switch slots[position] {
      case .toOne(let id) where id.isTemporaryID: slots[position] = .toOne(id.current)
      case .toMany(let members) where members.hasTemporaryIDs:
        slots[position] = .toMany(members.withPermanentIDs())
      default: continue
      }
      hasChanged = true
    }
    return hasChanged
  }

  /// Returns whether a relationship with known destinations refers to one of the objects.
  final func leads(to keys: Set<ObjectKey>) -> Bool {
    let relationships = table.firstRelationship..<table.count
    if let packed = isRealized ? packedRow : snapshot?.packed {
      return relationships.contains { packed.destination(at: $0).map { keys.contains($0.key) } ?? false }
    }
    // A fault may keep its row, and members that have been read.
    guard let slots = isRealized ? slots : snapshot?.slots else { return false }
    return relationships.contains { position in
      switch slots[position] {
      case .toOne(let id): keys.contains(id.current.key)
      case .toMany(let members): members.ids.contains { keys.contains($0.current.key) }
      default: false
      }
    }
  }

  /// Removes destinations from this object's relationships, without changing inverses.
  final func forgetDestinations(where isGone: (NSManagedObjectID) -> Bool) {
    guard isRealized else { return }
    changeSlots { forgetDestinations(in: &$0, where: isGone) }
    holds?.update()
  }

  /// As `forgetDestinations(where:)`, also in the values from the start of the current event, so that undo does not
  /// restore the destinations.
  final func forgetMergedDestinations(where isGone: (NSManagedObjectID) -> Bool) {
    forgetDestinations(where: isGone)
    guard isRealized, !eventChanges.isEmpty, var start = slotsAtEventStart ?? snapshot?.slots else { return }
    forgetDestinations(in: &start, where: isGone)
    slotsAtEventStart = start
  }

  private func forgetDestinations(in slots: inout [Slot], where isGone: (NSManagedObjectID) -> Bool) {
    for position in table.firstRelationship..<table.count {
      switch slots[position] {
      case .toOne(let id) where isGone(id.current): slots[position] = .null
      case .toMany(var members):
        members.removeAll { isGone($0.current) }
        slots[position] = .toMany(members)
      default: break
      }
    }
  }

  /// Returns a live set of a to-many relationship: changing it changes the relationship.
  ///
  /// - Parameter key: the name of an unordered to-many relationship.
  public final func mutableSetValue(forKey key: String) -> NSMutableSet {
    RelationshipSet(self, toMany(key, ordered: false))
  }

  /// Returns a live ordered set of a to-many relationship: changing it changes the relationship.
  ///
  /// - Parameter key: the name of an ordered to-many relationship.
  public final func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    let position = toMany(key, ordered: true)
    return holds?.view(at: position) ?? RelationshipOrderedSet(self, position)
  }

  private func toMany(_ key: String, ordered: Bool) -> Int {
    let position = position(of: key)
    guard let relationship = table.relationship(at: position), relationship.isToMany, relationship.isOrdered == ordered
    else {
      trap(
        "\(key) of \(entity.name ?? "") is not \(ordered ? "an ordered" : "an unordered") to-many relationship.")
    }
    return position
  }

  /// Returns whether an object is a member of a to-many relationship.
  final func isMember(_ object: NSManagedObject, at position: Int) -> Bool {
    fireFault()
    readRelationship(at: position)
    guard object.context === context, case .toMany(let members) = slots[position] else { return false }
    return members.contains(object.identifier)
  }

  /// Adds a member, and records the change.
  ///
  /// - Parameter index: the index at which to insert it into an ordered relationship; nil for the end.
  final func insertMember(_ member: Any, at position: Int, index: Int? = nil) {
    guard let object = member as? NSManagedObject, let relationship = table.relationship(at: position) else {
      trap("The relationship \(table.names[position]) holds managed objects, not \(type(of: member)).")
    }
    Misuse.stop { try check(object, for: relationship) }
    // Foundation's ordered set does nothing in this case either.
    if relationship.isOrdered, isMember(object, at: position) { return }
    willChangeValue(forKey: table.names[position])
    add(object, at: position, of: relationship, index: index)
    didChangeValue(forKey: table.names[position])
  }

  /// Removes a member, and records the change.
  final func removeMember(_ member: Any, at position: Int) {
    guard let object = member as? NSManagedObject, let relationship = table.relationship(at: position) else { return }
    willChangeValue(forKey: table.names[position])
    remove(object, at: position, of: relationship)
    didChangeValue(forKey: table.names[position])
  }

  /// Holds the last value that a relationship was read as or set to: an object, or a collection of objects.
  final func hold(_ destination: AnyObject?, at position: Int) {
    guard let registry, registry.isHolding, destination != nil || holds != nil else { return }
    makeHolds().hold(destination, at: position)
  }

  final func makeHolds() -> RelationshipHolds {
    if let holds { return holds }
    let made = RelationshipHolds()
    holds = made
    return made
  }

  /// Returns the members of a to-many relationship, and holds them. The result is the same until the relationship
  /// changes.
  final func members(at position: Int) -> HeldMembers {
    // The common case first: nothing has changed since the last call.
    if isDecoded, let known = holds?.members(at: position), known.withdrawals == registry?.withdrawals,
      case .toMany(let members) = slots[position], known.isCopy(of: members)
    {
      return known
    }
    fireFault()
    readRelationship(at: position)
    guard let registry, let context, case .toMany(let members) = slots[position], !members.isEmpty else {
      hold(nil, at: position)
      return HeldMembers()
    }
    let made = HeldMembers(members, context.objects(of: members), registry.withdrawals)
    hold(made, at: position)
    return made
  }

  /// Returns the members of a to-many relationship, and holds them.
  final func heldMembers(at position: Int) -> [NSManagedObject] { members(at: position).objects }
}

extension NSManagedObject {
  /// Returns the destination of a to-one relationship whose row is still packed; nil for any other.
  final func packedDestination(at position: Int) -> PackedRow.Destination? {
    packedRow?.destination(at: position)
  }

  /// Returns whether the members of a relationship have not been read, without decoding a packed row.
  final func isUnread(at position: Int) -> Bool {
    if let packedRow { return packedRow.isUnread(at: position) }
    if case .unread = slots[position] { return true }
    return false
  }

  /// Reads the members of a to-many relationship, unless they have already been read.
  final func readRelationship(at position: Int) {
    guard let relationship = table.relationship(at: position) else { return }
    guard case .unread = slots[position] else {
      if hasUnreadMembers { context?.readMembersAgain(of: self, at: position) }
      return
    }
    guard let context, !hasTemporaryID || context.parent != nil else {
      setSlot(relationship.isToMany ? .toMany(ToMany(isOrdered: relationship.isOrdered)) : .null, at: position)
      return
    }
    let members = context.readMembers(of: relationship, for: self)
    // Unreadable members are missing both in the slot and in the snapshot, so that no save removes them.
    setReadMembers(members ?? [], at: position, of: relationship)
    if members == nil { context.noteUnreadMembers(of: self, at: position) }
  }

  /// Sets the members of a to-many relationship that have been read from the store.
  final func setReadMembers(
    _ members: [NSManagedObjectID], at position: Int, of relationship: NSRelationshipDescription
  ) {
    setReadMembers(ToMany(members, isOrdered: relationship.isOrdered), at: position)
  }

  /// Returns whether a relationship is a fault, that is, whether its members have not been read.
  ///
  /// - Parameter key: the relationship's name.
  public final func hasFault(forRelationshipNamed key: String) -> Bool {
    let position = position(of: key)
    guard isRealized else { return true }
    if case .unread = slots[position] { return true }
    return false
  }

  /// Returns the identifiers of a relationship's members, without creating objects.
  ///
  /// - Parameter key: the relationship's name.
  public final func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    let position = position(of: key)
    fireFault()
    readRelationship(at: position)
    switch slots[position] {
    case .toOne(let id): return [id.current]
    case .toMany(let members): return members.ids.map(\.current)
    default: return []
    }
  }
}

/// The objects and live sets that an object retains for its relationships, in addition to the identifiers in its slots.
///
/// An object holds the last destinations that a relationship was read as or set to, because they may contain values
/// that are not stored. Two objects may hold each other. So an object releases its destinations when it turns into a
/// fault or leaves its context, and when the context is deallocated.
final class RelationshipHolds {
  private struct View {
    let position: Int
    weak var set: RelationshipOrderedSet?
  }

  /// A managed object or `HeldMembers` for each relationship, by position. Usually only few relationships of an object
  /// are read, and searching a list is faster than creating a dictionary.
  @exclusivity(unchecked) private var destinations: [(position: Int, value: AnyObject)] = []
  /// The first of the destinations, which needs no list.
  @exclusivity(unchecked) private var first: (position: Int, value: AnyObject)?
  /// The live sets of relationships.
  private var views: [View] = []
  /// The members of relationships that set mutations are changing, by position.
  var membersBefore: [Int: [NSManagedObject]] = [:]
  /// Whether a change in several steps is in progress, after which the views are updated.
  private var isChanging = false

  func hold(_ destination: AnyObject?, at position: Int) {
    if first?.position == position || first == nil && destinations.isEmpty {
      first = destination.map { (position, $0) }
      return
    }
    let known = destinations.firstIndex { $0.position == position }
    switch (known, destination) {
    case (let known?, let destination?): destinations[known].value = destination
    case (let known?, nil): destinations.remove(at: known)
    case (nil, let destination?): destinations.append((position, destination))
    case (nil, nil): break
    }
  }

  /// Returns the members from the last read of a to-many relationship.
  func members(at position: Int) -> HeldMembers? {
    if let first, first.position == position { return first.value as? HeldMembers }
    return destinations.first { $0.position == position }?.value as? HeldMembers
  }

  /// Releases all objects, which may in turn release others.
  func release() {
    guard first != nil || !destinations.isEmpty else { return }
    ReleaseChain.release { released in
      for destination in destinations { released.append(destination.value) }
      if let first { released.append(first.value) }
      destinations = []
      first = nil
    }
  }

  func add(_ view: RelationshipOrderedSet, at position: Int) {
    views.removeAll { $0.set == nil }
    views.append(View(position: position, set: view))
  }

  /// Returns the program's live set of a relationship; nil if there is none.
  func view(at position: Int) -> RelationshipOrderedSet? {
    for view in views where view.position == position { if let set = view.set { return set } }
    return nil
  }

  /// Returns the live sets of a relationship.
  private func views(at position: Int) -> [RelationshipOrderedSet] {
    isChanging || views.isEmpty ? [] : views.compactMap { $0.position == position ? $0.set : nil }
  }

  func didInsert(_ object: NSManagedObject, at position: Int, index: Int) {
    for view in views(at: position) { view.didInsert(object, at: index) }
  }

  func didRemove(_ object: NSManagedObject, at position: Int, index: Int) {
    for view in views(at: position) { view.didRemove(object, at: index) }
  }

  /// Runs a change in several steps, and then updates the views.
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

  /// Makes all views update on the next access.
  func outdate() {
    for view in views { view.set?.outdate() }
  }
}

/// Releases chains of objects that hold each other iteratively, because nested deallocation would exhaust the stack.
enum ReleaseChain {
  private final class Queue {
    @exclusivity(unchecked) var objects: [AnyObject] = []
    @exclusivity(unchecked) var isReleasing = false
  }

  /// The queue of a thread, created on its first release.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key) { queue in
      let queue: UnsafeMutableRawPointer? = queue
      if let queue { Unmanaged<Queue>.fromOpaque(queue).release() }
    }
    trap(unless: failure == 0, "The process has no thread-specific keys left (error \(failure)).")
    return key
  }()

  private static var queue: Queue {
    if let known = pthread_getspecific(key) { return Unmanaged<Queue>.fromOpaque(known).takeUnretainedValue() }
    let made = Queue()
    pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
    return made
  }

  /// Releases objects.
  ///
  /// - Parameter move: moves the objects to the end of a list, so that the caller itself releases nothing.
  static func release(_ move: (inout [AnyObject]) -> Void) {
    let queue = queue
    move(&queue.objects)
    if queue.isReleasing { return }
    queue.isReleasing = true
    while let next = queue.objects.popLast() { withExtendedLifetime(next) {} }
    queue.isReleasing = false
    if queue.objects.capacity > keptCapacity { queue.objects = [] }
  }

  /// The number of objects for which a thread's queue keeps its memory.
  private static let keptCapacity = 64
}
