// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Fills foreign key columns: those of a to-one relationship, and those that a to-many relationship without inverse has
/// in its members' table.
///
/// Here, the rows with the columns are called members, and the objects that they reference owners.
package struct RelationshipKey {
  /// The source of the keys.
  package enum Filling {
    /// The relationship and its inverse are new.
    case nothing
    /// Columns of the same rows, which belong to a to-one relationship of the source.
    case ownColumns
    /// Columns of the same rows, which belong to the inverse of a to-many relationship of the source.
    case columns(of: RelationshipLayout)
    /// Pairs stored elsewhere: those of the owners' relationships, and those of the members' own relationships.
    case links([RelationshipLayout], own: [RelationshipLayout] = [])
  }

  package let step: InPlaceStep
  package let name: String
  /// The entity that declares the relationship.
  package let declaringEntity: String
  package let key: ForeignKeyLayout
  package let table: String
  /// The destination entities at both ends.
  package let memberEntity: String
  package let ownerEntity: String
  package let filling: Filling
  /// Whether the order keys of the source are kept.
  package let keepsOrder: Bool
  /// The source entities of the owners.
  private let oldOwners: [String]

  /// Creates the key of a to-one relationship.
  package init(foreignKey key: ForeignKeyLayout, _ layout: RelationshipLayout, step: InPlaceStep) {
    let (own, others) = step.sourceLayouts(
      of: layout.name, in: layout.declaringEntity, inverse: layout.inverseName, in: layout.destinationEntity)
    let inverse =
      layout.inverseName.map { step.sourceRelationshipLayouts(of: $0, in: layout.destinationEntity) } ?? []
    let filling: Filling =
      own.isEmpty ? Self.filling(others) : others.isEmpty ? .ownColumns : .links(others, own: own)
    self.init(
      step: step, layout, key, table: step.destinationSchema[layout.declaringEntity]?.table ?? "",
      member: layout.declaringEntity, owner: layout.destinationEntity, filling: filling,
      keepsOrder: !inverse.isEmpty && inverse.allSatisfy(\.isOrdered),
      oldOwners: own.map(\.destinationEntity) + others.map(\.declaringEntity))
  }

  /// Creates the key of a to-many relationship without inverse.
  package init(ownerKey key: ForeignKeyLayout, _ layout: RelationshipLayout, step: InPlaceStep) {
    let old = step.sourceRelationshipLayouts(of: layout.name, in: layout.declaringEntity)
    self.init(
      step: step, layout, key, table: step.destinationSchema[layout.destinationEntity]?.table ?? "",
      member: layout.destinationEntity, owner: layout.declaringEntity, filling: Self.filling(old),
      keepsOrder: !old.isEmpty && old.allSatisfy(\.isOrdered), oldOwners: old.map(\.declaringEntity))
  }

  private init(
    step: InPlaceStep, _ layout: RelationshipLayout, _ key: ForeignKeyLayout, table: String, member: String,
    owner: String,
    filling: Filling, keepsOrder: Bool, oldOwners: [String]
  ) {
    self.step = step
    name = layout.name
    declaringEntity = layout.declaringEntity
    self.key = key
    self.table = table
    memberEntity = member
    ownerEntity = owner
    self.filling = filling
    self.keepsOrder = keepsOrder
    self.oldOwners = oldOwners
  }

  private static func filling(_ owners: [RelationshipLayout]) -> Filling {
    guard let first = owners.first else { return .nothing }
    if owners.count == 1, case .inverseForeignKey = first.storage { return .columns(of: first) }
    return .links(owners)
  }

  /// Returns all keys of the destination in a stable order.
  package static func all(_ step: InPlaceStep) -> [RelationshipKey] {
    step.destinationSchema.entities.flatMap { entity in
      entity.relationships.values.filter { $0.declaringEntity == entity.name }.sorted { $0.name < $1.name }
        .compactMap { layout -> RelationshipKey? in
          switch layout.storage {
          case .foreignKey(let key): RelationshipKey(foreignKey: key, layout, step: step)
          case .inverseForeignKey(_, let key):
            layout.inverseName == nil ? RelationshipKey(ownerKey: key, layout, step: step) : nil
          case .joinTable: nil
          }
        }
    }
  }

  // MARK: Statements

  /// Returns statements that collect the pairs of owners and members before anything is changed.
  package func collecting(into link: String) -> [MigrationStatement] {
    guard case .links(let sources, let own) = filling else { return [] }
    let nothing = step.sourceSchema.dialect.missingKey
    // Only the owners' relationships have order keys for the members.
    let known = own.flatMap { RelationshipPairs(of: $0, in: step.sourceSchema).queries(fromOwner: false) }
      .map { "SELECT OWNER, MEMBER, \(nothing) AS PLACE, \(nothing) AS OWNERPLACE FROM (\($0)) AS p" }
    let queries = sources.flatMap { RelationshipPairs(of: $0, in: step.sourceSchema).queries(fromOwner: true) } + known
    let tables = (sources + own).map { RelationshipPairs(of: $0, in: step.sourceSchema).table }
    return [
      MigrationStatement(
        "\(step.creatingTemporaryTable(link)) (MEMBER \(step.keyType), OWNER \(step.keyType), PLACE \(step.keyType))"),
      MigrationStatement(
        "INSERT INTO \(link) (MEMBER, OWNER, PLACE) SELECT MEMBER, OWNER, MAX(PLACE) FROM "
          + "(\(queries.joined(separator: " UNION ALL "))) AS l GROUP BY MEMBER, OWNER", reading: tables),
    ]
  }

  /// Returns statements that fill the columns once all rows are in place.
  package func finishing(from link: String, positions: String) -> [MigrationStatement] {
    guard case .nothing = filling else {
      return distributing(link) + forgetting() + numbering() + arranging(positions)
    }
    return []
  }

  private var quotedTable: String { SQLName.quoted(table) }
  private var quotedColumn: String { SQLName.quoted(key.column) }

  private func distributing(_ link: String) -> [MigrationStatement] {
    guard case .links = filling else { return [] }
    var values = ["\(quotedColumn) = (SELECT OWNER FROM \(link) WHERE MEMBER = Z_PK)"]
    if let order = key.orderColumn, keepsOrder {
      values.append("\(SQLName.quoted(order)) = (SELECT PLACE FROM \(link) WHERE MEMBER = Z_PK)")
    }
    return [
      MigrationStatement(
        "DELETE FROM \(link) WHERE \(step.isMissing("OWNER", from: ownerEntity)) "
          + "OR \(step.isMissing("MEMBER", from: memberEntity))"
      ),
      MigrationStatement(
        "CREATE UNIQUE INDEX \(link)_INDEX ON \(link) (MEMBER)", [],
        .link(
          LinkCheck(
            entity: declaringEntity, relationship: name, table: link, memberEntity: memberEntity,
            ownerEntity: ownerEntity)
        )),
      MigrationStatement(
        "UPDATE \(quotedTable) SET \(values.joined(separator: ", ")) WHERE Z_PK IN (SELECT MEMBER FROM \(link))", [],
        .rows(table: table)),
    ]
  }

  /// Returns statements that clear references to rows that no longer exist or whose entity the relationship does not
  /// allow.
  private func forgetting() -> [MigrationStatement] {
    if case .links(_, let own) = filling, own.isEmpty { return [] }
    guard oldOwners.contains(where: { step.losesObjects(from: $0, to: ownerEntity) }) else { return [] }
    let columns = [key.column, key.entityColumn, key.orderColumn].compactMap { $0 }
      .map { "\(SQLName.quoted($0)) = NULL" }.joined(separator: ", ")
    return [
      MigrationStatement(
        "UPDATE \(quotedTable) SET \(columns) WHERE \(quotedColumn) IS NOT NULL AND "
          + step.isMissing("\(quotedTable).\(quotedColumn)", from: ownerEntity), [], .rows(table: table))
    ]
  }

  /// Returns statements that set the entity numbers of the owners if the source did not store them.
  private func numbering() -> [MigrationStatement] {
    guard let column = key.entityColumn, let owner = step.destinationSchema[ownerEntity] else { return [] }
    return [
      MigrationStatement(
        "UPDATE \(quotedTable) SET \(SQLName.quoted(column)) = (SELECT o.Z_ENT FROM \(SQLName.quoted(owner.table)) o "
          + "WHERE o.Z_PK = \(quotedTable).\(quotedColumn)) WHERE \(quotedColumn) IS NOT NULL AND "
          + "\(SQLName.quoted(column)) IS NULL", [], .rows(table: table))
    ]
  }

  /// Returns statements that set order keys for a new order: by primary key, with Core Data's spacing.
  private func arranging(_ positions: String) -> [MigrationStatement] {
    guard let order = key.orderColumn else { return [] }
    var sorting = "Z_PK"
    if keepsOrder {
      // Members whose pair comes from their own relationship have no order key and come last.
      guard case .links(_, let own) = filling, !own.isEmpty else { return [] }
      sorting = "\(SQLName.quoted(order)) IS NULL, \(SQLName.quoted(order)), Z_PK"
    }
    return [
      MigrationStatement(
        "\(step.creatingTemporaryTable(positions)) (MEMBER \(step.keyType) PRIMARY KEY, PLACE \(step.keyType))"),
      MigrationStatement(
        "INSERT INTO \(positions) (MEMBER, PLACE) SELECT Z_PK, 1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(quotedColumn) "
          + "ORDER BY \(sorting)) FROM \(quotedTable) WHERE \(quotedColumn) IS NOT NULL"),
      MigrationStatement(
        "UPDATE \(quotedTable) SET \(SQLName.quoted(order)) = (SELECT PLACE FROM \(positions) WHERE MEMBER = Z_PK) "
          + "WHERE \(quotedColumn) IS NOT NULL", [], .rows(table: table)),
      MigrationStatement("DROP TABLE \(positions)"),
    ]
  }
}

/// A to-one relationship that may end up with several destinations per object, and the table of its pairs.
package struct LinkCheck: Hashable, Sendable {
  /// The entity that declares the relationship.
  package let entity: String
  package let relationship: String
  /// The table of pairs.
  package let table: String
  /// The entity of the objects that can have only one destination.
  package let memberEntity: String
  /// The entity of the destinations.
  package let ownerEntity: String
}

/// Finds objects with more than one object for a to-one relationship.
package struct LinkProblem {
  package let check: LinkCheck
  package let step: InPlaceStep
  package let shifts: KeyShifts
  package let connection: any SQLDatabase

  /// Returns a problem that names such an object and its destinations, or nil if every object has only one.
  package func problem() throws -> InPlaceProblem? {
    let several = "SELECT MEMBER FROM \(check.table) GROUP BY MEMBER HAVING COUNT(*) > 1"
    guard let member = try connection.scalar("\(several) ORDER BY MEMBER LIMIT 1")?.integer else { return nil }
    let count = try connection.scalar("SELECT COUNT(*) FROM (\(several)) AS s")?.integer ?? 1
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
        ? "Give the relationship an inverse that is to-many, separate the objects first, or write a mapping model."
        : "Keep the relationship to-many, separate the objects first, or write a mapping model that chooses one.")
  }

  /// Returns an object in the form of its object ID, with its key from before the migration.
  private func object(_ key: Int64, _ entity: String) -> String {
    let table = step.destinationSchema[entity]?.table ?? ""
    // The row has the concrete entity. If it cannot be read, the relationship's entity is a good enough name, and the
    // problem being reported matters more.
    let number = try? connection.scalar("SELECT Z_ENT FROM \(SQLName.quoted(table)) WHERE Z_PK = ?", [.integer(key)])
    let name = number?.integer.flatMap { step.destinationSchema.entity(number: Int($0))?.name } ?? entity
    return "\(step.mapping.sourceEntity(of: name) ?? name)/p\(shifts.original(key, in: table))"
  }
}
