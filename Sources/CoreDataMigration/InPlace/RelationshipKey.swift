// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// How foreign key columns are filled: those of a to-one relationship, and those that a to-many relationship without inverse
/// has in its members' table.
///
/// The rows with the columns are called members here, the objects that they reference owners.
package struct RelationshipKey {
  /// Where the keys come from.
  package enum Filling {
    /// The relationship and its inverse are new.
    case nothing
    /// From columns of the same rows, which a to-one relationship of the source has.
    case ownColumns
    /// From columns of the same rows, through which a to-many relationship of the source was read.
    case columns(of: RelationshipLayout)
    /// From pairs that stand elsewhere: those of the owners' relationships, and those that the members themselves know.
    case links([RelationshipLayout], own: [RelationshipLayout] = [])
  }

  package let step: InPlaceStep
  package let name: String
  /// The entity whose model has the relationship.
  package let declaringEntity: String
  package let key: ForeignKeyLayout
  package let table: String
  /// The destination entities at both ends.
  package let memberEntity: String
  package let ownerEntity: String
  package let filling: Filling
  /// Whether the order keys are those of the source.
  package let keepsOrder: Bool
  /// The source entities of the owners.
  private let oldOwners: [String]

  /// The key of a to-one relationship.
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

  /// The key of a to-many relationship without inverse.
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
    if owners.count == 1, case .inverseForeignKey = first.place { return .columns(of: first) }
    return .links(owners)
  }

  /// All keys of the destination, in a stable order.
  package static func all(_ step: InPlaceStep) -> [RelationshipKey] {
    step.destinationSchema.entities.flatMap { entity in
      entity.relationships.values.filter { $0.declaringEntity == entity.name }.sorted { $0.name < $1.name }
        .compactMap { layout -> RelationshipKey? in
          switch layout.place {
          case .foreignKey(let key): RelationshipKey(foreignKey: key, layout, step: step)
          case .inverseForeignKey(_, let key):
            layout.inverseName == nil ? RelationshipKey(ownerKey: key, layout, step: step) : nil
          case .joinTable: nil
          }
        }
    }
  }

  // MARK: Statements

  /// Collects the pairs of owners and members before anything is changed.
  package func collecting(into link: String) -> [MigrationStatement] {
    guard case .links(let sources, let own) = filling else { return [] }
    let nothing = step.sourceSchema.dialect.missingKey
    // Only the owners' relationship has order keys for the members.
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

  /// Fills the columns when all rows are in place.
  package func settling(from link: String, places: String) -> [MigrationStatement] {
    guard case .nothing = filling else {
      return distributing(link) + forgetting() + numbering() + arranging(places)
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

  /// Clears references to rows that are gone, or whose entity the relationship does not allow.
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

  /// The entity numbers of the owners, where the source did not keep them.
  private func numbering() -> [MigrationStatement] {
    guard let column = key.entityColumn, let owner = step.destinationSchema[ownerEntity] else { return [] }
    return [
      MigrationStatement(
        "UPDATE \(quotedTable) SET \(SQLName.quoted(column)) = (SELECT o.Z_ENT FROM \(SQLName.quoted(owner.table)) o "
          + "WHERE o.Z_PK = \(quotedTable).\(quotedColumn)) WHERE \(quotedColumn) IS NOT NULL AND "
          + "\(SQLName.quoted(column)) IS NULL", [], .rows(table: table))
    ]
  }

  /// Order keys where the order is new: by primary key, spaced as Core Data spaces them.
  private func arranging(_ places: String) -> [MigrationStatement] {
    guard let order = key.orderColumn else { return [] }
    var sorting = "Z_PK"
    if keepsOrder {
      // Members whose owner is known only from their own side have no order key, and come last.
      guard case .links(_, let own) = filling, !own.isEmpty else { return [] }
      sorting = "\(SQLName.quoted(order)) IS NULL, \(SQLName.quoted(order)), Z_PK"
    }
    return [
      MigrationStatement(
        "\(step.creatingTemporaryTable(places)) (MEMBER \(step.keyType) PRIMARY KEY, PLACE \(step.keyType))"),
      MigrationStatement(
        "INSERT INTO \(places) (MEMBER, PLACE) SELECT Z_PK, 1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(quotedColumn) "
          + "ORDER BY \(sorting)) FROM \(quotedTable) WHERE \(quotedColumn) IS NOT NULL"),
      MigrationStatement(
        "UPDATE \(quotedTable) SET \(SQLName.quoted(order)) = (SELECT PLACE FROM \(places) WHERE MEMBER = Z_PK) "
          + "WHERE \(quotedColumn) IS NOT NULL", [], .rows(table: table)),
      MigrationStatement("DROP TABLE \(places)"),
    ]
  }
}

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
  package let connection: any SQLDatabase

  /// The problem, with one of the objects and those that it has; nil where every object has one.
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
        ? "Give the relationship an inverse that is to-many, take the objects apart first, or write a mapping model."
        : "Keep the relationship to-many, take the objects apart first, or write a mapping model that chooses one.")
  }

  /// An object as its identifier names it, with the key that it has in the store before the migration.
  private func object(_ key: Int64, _ entity: String) -> String {
    let table = step.destinationSchema[entity]?.table ?? ""
    // The concrete entity is that of the row, where there are sub-entities; where it cannot be read, the relationship's own
    // names the object well enough, and the problem that is being told is the one that matters.
    let number = try? connection.scalar("SELECT Z_ENT FROM \(SQLName.quoted(table)) WHERE Z_PK = ?", [.integer(key)])
    let name = number?.integer.flatMap { step.destinationSchema.entity(number: Int($0))?.name } ?? entity
    return "\(step.mapping.sourceEntity(of: name) ?? name)/p\(shifts.original(key, in: table))"
  }
}
