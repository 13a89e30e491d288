// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// How the columns that tell a row's object at the other end of a relationship get their values: a to-one relationship's
/// own, or those that a to-many relationship without inverse has in its members' table.
///
/// The rows with the columns are called members here, the objects they point at owners.
package struct RelationshipKey {
  /// Where the keys come from.
  package enum Filling {
    /// The relationship and its inverse are new.
    case nothing
    /// From columns of the same rows, which a to-one relationship of the source has.
    case ownColumns
    /// From columns of the same rows, through which a to-many relationship of the source was read.
    case columns(of: RelationshipLayout)
    /// From pairs that stand elsewhere: relationships of the owners, and of the members besides.
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
  /// Whether the places in the ordered relationship are those of the source.
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

  /// The pairs of owners and members as they are before anything is changed.
  package func collecting(into link: String) -> [MigrationStatement] {
    guard case .links(let sources, let own) = filling else { return [] }
    // The places of the members are those that their owners' relationship gives them.
    let known = own.flatMap { RelationshipPairs(of: $0, in: step.sourceSchema).queries(fromOwner: false) }
      .map { "SELECT OWNER, MEMBER, NULL AS PLACE, NULL AS OWNERPLACE FROM (\($0))" }
    let queries = sources.flatMap { RelationshipPairs(of: $0, in: step.sourceSchema).queries(fromOwner: true) } + known
    return [
      MigrationStatement("CREATE TABLE \(link) (MEMBER INTEGER, OWNER INTEGER, PLACE INTEGER)"),
      MigrationStatement(
        "INSERT INTO \(link) (MEMBER, OWNER, PLACE) SELECT MEMBER, OWNER, MAX(PLACE) FROM "
          + "(\(queries.joined(separator: " UNION ALL "))) GROUP BY MEMBER, OWNER"),
    ]
  }

  /// Fills the columns, over the tables as they stay.
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
        "DELETE FROM \(link) WHERE OWNER NOT IN \(step.keys(of: ownerEntity)) OR MEMBER NOT IN \(step.keys(of: memberEntity))"
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

  /// Takes back references to rows that are gone, or are of another kind now.
  private func forgetting() -> [MigrationStatement] {
    if case .links(_, let own) = filling, own.isEmpty { return [] }
    guard oldOwners.contains(where: { step.losesObjects(from: $0, to: ownerEntity) }) else { return [] }
    let columns = [key.column, key.entityColumn, key.orderColumn].compactMap { $0 }
      .map { "\(SQLName.quoted($0)) = NULL" }.joined(separator: ", ")
    return [
      MigrationStatement(
        "UPDATE \(quotedTable) SET \(columns) WHERE \(quotedColumn) IS NOT NULL AND "
          + "\(quotedColumn) NOT IN \(step.keys(of: ownerEntity))", [], .rows(table: table))
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

  /// Places in an order that is new: by primary key, spaced as Core Data spaces them.
  private func arranging(_ places: String) -> [MigrationStatement] {
    guard let order = key.orderColumn else { return [] }
    var sorting = "Z_PK"
    if keepsOrder {
      // All have a place, save those whose owner is only known from the members' side: they come last.
      guard case .links(_, let own) = filling, !own.isEmpty else { return [] }
      sorting = "\(SQLName.quoted(order)) IS NULL, \(SQLName.quoted(order)), Z_PK"
    }
    return [
      MigrationStatement("CREATE TABLE \(places) (MEMBER INTEGER PRIMARY KEY, PLACE INTEGER)"),
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
