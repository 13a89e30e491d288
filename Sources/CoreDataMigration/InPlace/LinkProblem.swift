// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// A to-one relationship whose pairs may give an object several objects, and the table that holds these pairs.
package struct LinkCheck: Hashable, Sendable {
  /// The entity that declares the relationship.
  package let entity: String
  package let relationship: String
  /// The table of pairs.
  package let table: String
  /// The entity of the objects that can have one object.
  package let memberEntity: String
  /// The entity of the objects that they have.
  package let ownerEntity: String
}

/// Finds the objects that would have several objects where the destination keeps one.
package struct LinkProblem {
  package let check: LinkCheck
  package let step: InPlaceStep
  package let shifts: KeyShifts
  package let connection: SQLiteConnection

  package init(
    check: LinkCheck, step: InPlaceStep, shifts: KeyShifts, connection: SQLiteConnection
  ) {
    self.check = check
    self.step = step
    self.shifts = shifts
    self.connection = connection
  }

  /// The problem, with one of the objects and those that it has; nil where every object has one.
  package func problem() throws -> InPlaceProblem? {
    let several = "SELECT MEMBER FROM \(check.table) GROUP BY MEMBER HAVING COUNT(*) > 1"
    guard let member = try connection.scalar("\(several) ORDER BY MEMBER LIMIT 1")?.integer else { return nil }
    let count = try connection.scalar("SELECT COUNT(*) FROM (\(several))")?.integer ?? 1
    let owners = try connection.rows(
      "SELECT OWNER FROM \(check.table) WHERE MEMBER = ? ORDER BY OWNER LIMIT 6", [.integer(member)]
    ).compactMap(\.[0].integer)
    let names = owners.prefix(5).map { object($0, check.ownerEntity) }.joined(separator: ", ")
    let list = owners.count > 5 ? names + ", …" : names
    let isOwnersOwn = check.entity == check.ownerEntity && check.entity != check.memberEntity
    let example = object(member, check.memberEntity)
    return InPlaceProblem(
      entity: check.entity, property: check.relationship,
      reason:
        "The destination can keep one object of '\(check.ownerEntity)' for each of '\(check.memberEntity)' through the "
        + "relationship '\(check.relationship)' of '\(check.entity)', but \(count) \(count == 1 ? "has" : "have") several: "
        + "\(example) has \(list).",
      suggestion: isOwnersOwn
        ? "Give the relationship an inverse that is to-many, take the objects apart first, or write a mapping model."
        : "Keep the relationship to-many, take the objects apart first, or write a mapping model that chooses one.")
  }

  /// An object as its identifier names it, by the key that it has in the store as it is.
  private func object(_ key: Int64, _ entity: String) -> String {
    let table = step.destinationSchema[entity]?.table ?? ""
    // The concrete entity is that of the row, where there are sub-entities; where it cannot be read, the relationship's own
    // names the object well enough, and the problem that is being told is the one that matters.
    let number = try? connection.scalar("SELECT Z_ENT FROM \(SQLName.quoted(table)) WHERE Z_PK = ?", [.integer(key)])
    let name = number?.integer.flatMap { step.destinationSchema.entity(number: Int($0))?.name } ?? entity
    return "\(step.mapping.sourceEntity(of: name) ?? name)/p\(shifts.original(key, in: table))"
  }
}
