// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The live set returned by `mutableSetValue(forKey:)`.
final class RelationshipSet: NSMutableSet {
  private let owner: NSManagedObject
  private let position: Int

  init(_ owner: NSManagedObject, _ position: Int) {
    self.owner = owner
    self.position = position
    super.init(capacity: 0)
  }

  required init?(coder: NSCoder) {
    trap("A relationship's set cannot be decoded.")
  }

  required convenience init(capacity: Int) {
    trap("A relationship's set is made by mutableSetValue(forKey:).")
  }

  override var count: Int { owner.memberCount(at: position) }

  override func member(_ object: Any) -> Any? {
    guard let object = object as? NSManagedObject, owner.isMember(object, at: position) else { return nil }
    return object
  }

  override func objectEnumerator() -> NSEnumerator {
    NSArray(array: owner.heldMembers(at: position)).objectEnumerator()
  }

  override var allObjects: [Any] { owner.heldMembers(at: position) }

  override func add(_ object: Any) { owner.insertMember(object, at: position) }

  override func remove(_ object: Any) { owner.removeMember(object, at: position) }

  override func removeAllObjects() {
    for object in owner.heldMembers(at: position) { owner.removeMember(object, at: position) }
  }

  // Foundation's descriptions read its own storage, and trap for a subclass.

  override var description: String { NSSet(array: allObjects).description }

  override func description(withLocale locale: Locale?) -> String {
    NSSet(array: allObjects).description(withLocale: locale)
  }

  override func copy(with zone: NSZone? = nil) -> Any { NSSet(array: allObjects) }

  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableSet(array: allObjects) }
}

/// The live ordered set returned by `mutableOrderedSetValue(forKey:)`.
///
/// Some of Foundation's methods that cannot be overridden read the storage: `firstObject`, `array`, iteration. So the
/// storage mirrors the relationship: every change goes to the relationship, which then updates its sets.
final class RelationshipOrderedSet: NSMutableOrderedSet {
  private let owner: NSManagedObject
  private let position: Int
  /// Whether the storage is being updated. Foundation's methods then call each other, and must access the storage
  /// itself.
  private var isMirroring = false
  /// Whether the storage must be updated before the next access.
  private var isOutdated = false

  init(_ owner: NSManagedObject, _ position: Int) {
    self.owner = owner
    self.position = position
    super.init(capacity: 0)
    owner.makeHolds().add(self, at: position)
    update()
  }

  required init?(coder: NSCoder) {
    trap("A relationship's set cannot be decoded.")
  }

  required convenience init(arrayLiteral elements: Any...) {
    trap("A relationship's set is made by mutableOrderedSetValue(forKey:).")
  }

  // MARK: Following the relationship

  /// Updates the storage from the relationship.
  func update() {
    isOutdated = false
    let members = owner.heldMembers(at: position)
    mirror {
      if super.count == members.count,
        members.indices.allSatisfy({ (super.object(at: $0) as AnyObject) === members[$0] })
      {
        return
      }
      super.removeAllObjects()
      for (index, member) in members.enumerated() { super.insert(member, at: index) }
    }
  }

  /// Makes the storage update before the next access.
  func outdate() { isOutdated = true }

  func didInsert(_ object: NSManagedObject, at index: Int) {
    if isOutdated { return }
    mirror { super.insert(object, at: index) }
  }

  func didRemove(_ object: NSManagedObject, at index: Int) {
    if isOutdated { return }
    mirror { super.removeObject(at: index) }
  }

  private func mirror(_ body: () -> Void) {
    isMirroring = true
    body()
    isMirroring = false
  }

  private func updateIfOutdated() {
    if isOutdated { update() }
  }

  // MARK: Changing the relationship

  private var members: [NSManagedObject] {
    updateIfOutdated()
    return owner.heldMembers(at: position)
  }

  /// Changes many members at once.
  private func change(_ edit: (inout [NSManagedObject]) -> Void) {
    var changed = members
    edit(&changed)
    owner.setValue(changed, forKey: owner.table.names[position])
  }

  /// Changes one member.
  private func changeOne(_ edit: () -> Void) {
    updateIfOutdated()
    owner.context?.keep(self)
    edit()
  }

  private func managed(_ object: Any) -> NSManagedObject {
    guard let object = object as? NSManagedObject else {
      trap("An ordered relationship holds managed objects, not \(type(of: object)).")
    }
    return object
  }

  private func isMember(_ object: Any) -> Bool {
    (object as? NSManagedObject).map { owner.isMember($0, at: position) } ?? false
  }

  override func insert(_ object: Any, at index: Int) {
    if isMirroring { return super.insert(object, at: index) }
    let object = managed(object)
    changeOne { owner.insertMember(object, at: position, index: index) }
  }

  override func insert(_ objects: [Any], at indexes: IndexSet) {
    for (object, index) in zip(objects, indexes) { insert(object, at: index) }
  }

  override func add(_ object: Any) { insert(object, at: count) }

  override func addObjects(from array: [Any]) {
    for object in array { add(object) }
  }

  override func removeObject(at index: Int) {
    if isMirroring { return super.removeObject(at: index) }
    changeOne { owner.removeMember(index, at: position) }
  }

  override func remove(_ object: Any) {
    if isMirroring { return super.remove(object) }
    changeOne { owner.removeMember(object, at: position) }
  }

  override func removeObjects(in array: [Any]) {
    let leaving = NSOrderedSet(array: array)
    change { $0.removeAll { leaving.contains($0) } }
  }

  override func removeObjects(in range: NSRange) {
    change { $0.removeSubrange(range.location..<range.location + range.length) }
  }

  override func removeObjects(at indexes: IndexSet) {
    change { members in
      for index in indexes.reversed() { members.remove(at: index) }
    }
  }

  override func removeAllObjects() {
    if isMirroring { return super.removeAllObjects() }
    change { $0 = [] }
  }

  override func replaceObject(at index: Int, with object: Any) {
    if isMirroring { return super.replaceObject(at: index, with: object) }
    let object = managed(object)
    changeOne { owner.replaceMember(index, with: object, at: position) }
  }

  override func replaceObjects(at indexes: IndexSet, with objects: [Any]) {
    change { members in
      for (object, index) in zip(objects, indexes) { members[index] = managed(object) }
    }
  }

  override func setObject(_ object: Any, at index: Int) {
    if index == count { add(object) } else { replaceObject(at: index, with: object) }
  }

  override func exchangeObject(at index: Int, withObjectAt other: Int) {
    changeOne { owner.exchangeMembers(index, other, at: position) }
  }

  override func moveObjects(at indexes: IndexSet, to index: Int) {
    if indexes.count == 1, let from = indexes.first {
      return changeOne { owner.moveMember(from, to: index, at: position) }
    }
    change { members in
      let moving = indexes.map { members[$0] }
      for place in indexes.reversed() { members.remove(at: place) }
      members.insert(contentsOf: moving, at: index)
    }
  }

  override func sort(comparator: (Any, Any) -> ComparisonResult) {
    sortRange(NSRange(location: 0, length: count), options: [], usingComparator: comparator)
  }

  override func sort(options: NSSortOptions = [], usingComparator comparator: (Any, Any) -> ComparisonResult) {
    sortRange(NSRange(location: 0, length: count), options: options, usingComparator: comparator)
  }

  override func sortRange(
    _ range: NSRange, options: NSSortOptions = [], usingComparator comparator: (Any, Any) -> ComparisonResult
  ) {
    change { members in
      let sortedBounds = range.location..<range.location + range.length
      let sorted = NSArray(array: Array(members[sortedBounds])).sortedArray(
        options: options, usingComparator: comparator)
      members.replaceSubrange(sortedBounds, with: sorted.map(managed))
    }
  }

  override func sort(using sortDescriptors: [NSSortDescriptor]) {
    change { $0 = NSArray(array: $0).sortedArray(using: sortDescriptors).map(managed) }
  }

  override func union(_ other: NSOrderedSet) { addObjects(from: other.array) }

  override func unionSet(_ other: Set<AnyHashable>) { addObjects(from: other.map(\.base)) }

  override func intersect(_ other: NSOrderedSet) { change { $0.removeAll { !other.contains($0) } } }

  override func intersectSet(_ other: Set<AnyHashable>) { change { $0.removeAll { !other.contains($0) } } }

  override func minus(_ other: NSOrderedSet) { change { $0.removeAll { other.contains($0) } } }

  override func minusSet(_ other: Set<AnyHashable>) { change { $0.removeAll { other.contains($0) } } }

  // MARK: Reading

  override var count: Int {
    if isMirroring { return super.count }
    updateIfOutdated()
    return super.count
  }

  override func object(at index: Int) -> Any {
    if !isMirroring { updateIfOutdated() }
    return super.object(at: index)
  }

  override func index(of object: Any) -> Int {
    if isMirroring { return super.index(of: object) }
    return (object as? NSManagedObject).flatMap { owner.memberIndex(of: $0, at: position) } ?? NSNotFound
  }

  override func contains(_ object: Any) -> Bool {
    if isMirroring { return super.contains(object) }
    return isMember(object)
  }

  override func copy(with zone: NSZone? = nil) -> Any { NSOrderedSet(array: members) }

  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableOrderedSet(array: members) }
}
