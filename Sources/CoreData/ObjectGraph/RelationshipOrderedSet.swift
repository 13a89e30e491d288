// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The live ordered set behind `mutableOrderedSetValue(forKey:)`.
final class RelationshipOrderedSet: NSMutableOrderedSet {
  private let owner: NSManagedObject
  private let position: Int

  init(_ owner: NSManagedObject, _ position: Int) {
    self.owner = owner
    self.position = position
    super.init(capacity: 0)
  }

  required init?(coder: NSCoder) {
    preconditionFailure("A relationship's set is not archived by itself.")
  }

  required convenience init(arrayLiteral elements: Any...) {
    preconditionFailure("A relationship's set is made by mutableOrderedSetValue(forKey:).")
  }

  private var members: [NSManagedObject] { owner.memberObjects(at: position) }

  private func change(_ edit: (inout [NSManagedObject]) -> Void) {
    var changed = members
    edit(&changed)
    owner.setValue(changed, forKey: owner.table.names[position])
  }

  private func managed(_ object: Any) -> NSManagedObject {
    guard let object = object as? NSManagedObject else {
      preconditionFailure("An ordered relationship holds managed objects, not \(type(of: object)).")
    }
    return object
  }

  override var count: Int { owner.objectIDs(forRelationshipNamed: owner.table.names[position]).count }

  override func object(at index: Int) -> Any { owner.member(at: index, of: position) }

  override func index(of object: Any) -> Int {
    guard let object = object as? NSManagedObject, owner.isMember(object, at: position) else { return NSNotFound }
    return members.firstIndex { $0 === object } ?? NSNotFound
  }

  override func insert(_ object: Any, at index: Int) {
    let object = managed(object)
    if owner.isMember(object, at: position) { return }
    if index == count {
      owner.insertMember(object, at: position)
    } else {
      change { $0.insert(object, at: index) }
    }
  }

  override func removeObject(at index: Int) {
    change { $0.remove(at: index) }
  }

  override func replaceObject(at index: Int, with object: Any) {
    let object = managed(object)
    change { $0[index] = object }
  }

  // Foundation's own class changes its storage in each of these, not through the three methods above.

  override func contains(_ object: Any) -> Bool {
    (object as? NSManagedObject).map { owner.isMember($0, at: position) } ?? false
  }

  override func add(_ object: Any) { insert(object, at: count) }

  override func addObjects(from array: [Any]) {
    for object in array { add(object) }
  }

  override func remove(_ object: Any) { owner.removeMember(object, at: position) }

  override func removeObjects(in array: [Any]) {
    for object in array { remove(object) }
  }

  override func removeAllObjects() { change { $0 = [] } }

  override func exchangeObject(at index: Int, withObjectAt other: Int) { change { $0.swapAt(index, other) } }

  override func moveObjects(at indexes: IndexSet, to index: Int) {
    change { members in
      let moving = indexes.map { members[$0] }
      for place in indexes.reversed() { members.remove(at: place) }
      members.insert(contentsOf: moving, at: index)
    }
  }

  override func setObject(_ object: Any, at index: Int) {
    if index == count { add(object) } else { replaceObject(at: index, with: object) }
  }

  override func copy(with zone: NSZone? = nil) -> Any { NSOrderedSet(array: members) }

  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableOrderedSet(array: members) }
}
