// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Access to single members of a to-many relationship.
extension NSManagedObject {
  /// Returns the number of members, without making a collection.
  final func memberCount(at position: Int) -> Int {
    fireFault()
    readRelationship(at: position)
    guard case .toMany(let members) = slots[position] else { return 0 }
    return members.count
  }

  final func memberCount(forKey key: String) -> Int? {
    guard recorder == nil, let position = table.position(of: key), table.relationship(at: position)?.isToMany == true
    else { return nil }
    willAccessValue(forKey: key)
    defer { didAccessValue(forKey: key) }
    return memberCount(at: position)
  }

  /// Returns the index of a member; nil if the object is not a member.
  final func memberIndex(of object: NSManagedObject, at position: Int) -> Int? {
    fireFault()
    readRelationship(at: position)
    guard object.context === context, case .toMany(let members) = slots[position] else { return nil }
    return members.index(of: object.identifier)
  }

  /// Returns the member at an index; nil if the object has no context.
  final func member(_ index: Int, at position: Int) -> NSManagedObject? {
    fireFault()
    readRelationship(at: position)
    guard let context, case .toMany(let members) = slots[position] else { return nil }
    return context.object(for: members.id(at: index))
  }

  /// Removes the member at an index of an ordered relationship, and records the change.
  final func removeMember(_ index: Int, at position: Int) {
    if let object = member(index, at: position) { removeMember(object, at: position) }
  }

  /// Replaces the member at an index of an ordered relationship, and records the change. If the new object is already a
  /// member, it keeps the first of its two positions.
  final func replaceMember(_ index: Int, with object: NSManagedObject, at position: Int) {
    guard let old = member(index, at: position), old !== object, let relationship = table.relationship(at: position)
    else { return }
    let key = table.names[position]
    if isMember(object, at: position) {
      var members = heldMembers(at: position)
      members[index] = object
      return setValue(members, forKey: key)
    }
    Misuse.stop { try check(object, for: relationship) }
    willChangeValue(forKey: key)
    remove(old, at: position, of: relationship)
    add(object, at: position, of: relationship, index: index)
    didChangeValue(forKey: key)
  }

  /// Exchanges two members of an ordered relationship, and records the change.
  final func exchangeMembers(_ one: Int, _ other: Int, at position: Int) {
    guard one != other else { return }
    let (low, high) = (min(one, other), max(one, other))
    guard let first = member(low, at: position), let second = member(high, at: position) else { return }
    willChangeValue(forKey: table.names[position])
    changeMembers(at: position) { $0.swapAt(low, high) }
    holds?.didRemove(second, at: position, index: high)
    holds?.didRemove(first, at: position, index: low)
    holds?.didInsert(second, at: position, index: low)
    holds?.didInsert(first, at: position, index: high)
    didChangeValue(forKey: table.names[position])
  }

  /// Moves a member of an ordered relationship, and records the change.
  ///
  /// - Parameter target: the resulting index.
  final func moveMember(_ index: Int, to target: Int, at position: Int) {
    guard index != target, let object = member(index, at: position) else { return }
    let id = object.identifier
    willChangeValue(forKey: table.names[position])
    changeMembers(at: position) { members in
      guard members.remove(id) != nil else { return false }
      return members.insert(id, at: target)
    }
    holds?.didRemove(object, at: position, index: index)
    holds?.didInsert(object, at: position, index: target)
    didChangeValue(forKey: table.names[position])
  }
}
