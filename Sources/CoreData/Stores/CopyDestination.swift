// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A store that receives the rows of another store and keeps their numbers.
///
/// The methods are called between `beginWriting()` and `commitWriting()`.
package protocol CopyDestination: RowStore {
  /// Whether a decimal number is stored as an integer or a real, and loses the digits after the fifteenth.
  static var roundsDecimals: Bool { get }

  /// Makes new objects of an entity's hierarchy get numbers greater than the given one.
  func reserveNumbers(of entity: NSEntityDescription, through number: Int64) throws

  /// Called in the first transaction of a copy, or of a copy that is continued. A destination can leave out constraints
  /// and indexes until `finishCopies()`, because the rows of a committed part may refer to rows that follow.
  ///
  /// - Parameter recordsHistory: false if inserted rows are not recorded in the destination's history, because the
  ///   source's history is copied.
  func prepareForCopies(recordsHistory: Bool) throws

  /// Called in the last transaction of a copy, when all rows and members have been written.
  func finishCopies() throws

  /// Inserts rows. Members of to-many relationships, and positions in ordered relationships, follow with
  /// `connectCopies(_:)`.
  ///
  /// - Parameter rows: insertions of rows of one entity, in the order of their numbers.
  func insertCopies(_ rows: [RowChange]) throws

  /// Writes the members of to-many relationships of rows that have been inserted and have no members yet. The rows keep
  /// their versions.
  ///
  /// - Parameter rows: insertions in which only to-many relationships are changed: ordered ones, and those whose
  ///   inverse is not a to-one relationship. Of a many-to-many relationship without an order, only one end is written.
  ///   The rows are of one entity, in the order of their numbers.
  func connectCopies(_ rows: [RowChange]) throws
}

/// A store that receives copies of rows as objects of its own, with new numbers.
package protocol ObjectCopyDestination: RowStore {
  /// Copies all rows of a store, and writes the metadata.
  ///
  /// - Throws: 134070 for a store whose rows cannot be listed; the errors of both stores. On an error, the store has no
  ///   rows.
  func receiveCopies(of source: any RowStore, coordinator: NSPersistentStoreCoordinator) throws
}

extension CopyDestination {
  package func prepareForCopies(recordsHistory: Bool) throws {}

  package func finishCopies() throws {}

  package static var roundsDecimals: Bool { false }
}

extension NSRelationshipDescription {
  /// Whether a copy writes the members of this relationship. The members of other relationships follow from the rows,
  /// or from the other end.
  package var isCopiedWithMembers: Bool {
    guard isToMany, !isTransient else { return false }
    guard let inverse = inverseRelationship, !inverse.isTransient else { return true }
    if isOrdered { return true }
    guard inverse.isToMany, !inverse.isOrdered else { return false }
    // The same end writes the members for rows of all sub-entities, which have descriptions of their own.
    func place(_ end: NSRelationshipDescription) -> (String, String) { (end.declaringEntity.name ?? "", end.name) }
    return place(self) <= place(inverse)
  }

  private var declaringEntity: NSEntityDescription {
    var entity = self.entity
    while let parent = entity.superentity, parent.relationshipsByName[name] != nil { entity = parent }
    return entity
  }
}

extension SlotTable {
  /// The positions of the relationships whose members a copy writes.
  package var copiedWithMembers: [Int] {
    (firstRelationship..<count).filter { relationship(at: $0)?.isCopiedWithMembers == true }
  }
}
