// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The to-many relationships of an object whose members could not be read. They look empty until they are read.
struct UnreadMembers {
  let object: NSManagedObject
  /// The members that have left each relationship since, by its position.
  var removals: [Int: [NSManagedObject]] = [:]
}

extension NSManagedObjectContext {
  /// Records an error of reading where nothing can be thrown. The next save throws it.
  func noteFailedRead(_ error: any Error) {
    failedReads += 1
    readingFailure = readingFailure ?? error
  }

  /// Throws the first error of reading where nothing could be thrown.
  func throwReadingFailure() throws {
    guard let failure = readingFailure else { return }
    readingFailure = nil
    throw failure
  }

  /// Records that the members of a relationship could not be read.
  func noteUnreadMembers(of object: NSManagedObject, at position: Int) {
    object.hasUnreadMembers = true
    unreadMembers[ObjectIdentifier(object), default: UnreadMembers(object: object)].removals[position] = []
  }

  /// Records that a member leaves a relationship whose members could not be read.
  func noteRemoval(of member: NSManagedObject, from object: NSManagedObject, at position: Int) {
    unreadMembers[ObjectIdentifier(object)]?.removals[position]?.append(member)
  }

  /// Reads the members of a relationship that could not be read, and applies what has changed since. Does nothing for a
  /// relationship that has been read, and while an error waits for the next save, because each attempt may take long.
  func readMembersAgain(of object: NSManagedObject, at position: Int) {
    let key = ObjectIdentifier(object)
    guard let relationship = object.table.relationship(at: position),
      let removed = unreadMembers[key]?.removals[position]
    else { return }
    guard readingFailure == nil else {
      failedReads += 1
      return
    }
    guard let members = readMembers(of: relationship, for: object) else { return }
    unreadMembers[key]?.removals[position] = nil
    if unreadMembers[key]?.removals.isEmpty == true { forgetUnreadMembers(of: object) }
    object.setReadMembers(ToMany(members, isOrdered: relationship.isOrdered), removing: removed, at: position)
    object.holds?.update()
  }

  /// Reads the members of all relationships of an object that could not be read, unless an error waits for the next save.
  func readMembersAgain(of object: NSManagedObject) {
    let positions = unreadMembers[ObjectIdentifier(object)]?.removals.keys.sorted() ?? []
    for position in positions { readMembersAgain(of: object, at: position) }
  }

  /// Forgets the relationships of an object that becomes a fault, or whose members have been read.
  func forgetUnreadMembers(of object: NSManagedObject) {
    unreadMembers[ObjectIdentifier(object)] = nil
    object.hasUnreadMembers = false
  }

  /// Makes all such relationships unread, without their changes.
  func forgetUnreadMembers() {
    for (object, removals) in unreadMembers.values.map({ ($0.object, $0.removals) }) {
      forgetUnreadMembers(of: object)
      for position in removals.keys { object.forgetMembers(at: position) }
    }
  }
}
