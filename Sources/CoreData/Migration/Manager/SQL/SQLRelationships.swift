// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The relationships of an entity mapping in SQL. Each is set from the source's relationship named by its expression.
///
/// The association tables convert the keys of source rows to those of destination rows (`DestinationRows`). The
/// statements have the same result as setting the relationships of all objects, in the order of the mappings.
final class SQLRelationships {
  /// A relationship mapping.
  private struct Link {
    let layout: RelationshipLayout
    /// The relationship of the source; nil if the expression names the source object itself.
    let origin: RelationshipLayout?
    /// The destination rows of each mapping that the expression refers to, with the mapping; nil for a mapping of an
    /// earlier pass.
    let members: [(rows: DestinationRows, plan: ResolvedMapping?)]
    /// The mappings of the inverse relationship that refer back to this mapping, and whether they name the same
    /// pairs.
    let inverses: [(plan: ResolvedMapping, isExact: Bool)]

    var key: ForeignKeyLayout? {
      if case .foreignKey(let key) = layout.storage { key } else { nil }
    }

    /// Whether a mapping of the inverse names other pairs.
    var isContradicted: Bool { inverses.contains { !$0.isExact } }

    /// Returns whether a mapping without a policy sets the same pairs from the inverse.
    func isSetFromInverse(by plan: ResolvedMapping?) -> Bool {
      guard let plan, plan.isPlain else { return false }
      return inverses.contains { $0.plan === plan && $0.isExact }
    }
  }

  private unowned(unsafe) let run: MigrationRun
  private let plan: ResolvedMapping
  private let links: [Link]
  private let source: MappedStore
  private let target: MappedStore
  private let sourceEntity: EntityLayout
  private let entity: EntityLayout
  /// The destination rows of this mapping.
  private let owners: DestinationRows
  private let functions: [SQLFunction]
  /// The relationships whose keys are inserted together with the rows.
  private(set) var inserted: Set<String>

  /// - Parameters:
  ///   - willRunInSQL: returns whether SQL will create the rows of a mapping; nil once all rows exist.
  ///   - inserted: the relationships whose keys were inserted together with the rows.
  /// - Throws: `SQLObstacle` for relationships that only objects can set.
  init(
    _ plan: ResolvedMapping, _ run: MigrationRun, from source: MappedStore, to target: MappedStore,
    willRunInSQL: ((ResolvedMapping) -> Bool)? = nil, inserted: Set<String> = []
  ) throws {
    guard let from = plan.sourceNumber, let to = plan.destinationNumber,
      let sourceEntity = source.schema.entity(number: Int(from)), let entity = target.schema.entity(number: Int(to))
    else { throw SQLObstacle("has an entity that its store does not have") }
    let finder = DestinationRowsFinder(run: run, source: source, target: target, willRunInSQL: willRunInSQL)
    (self.plan, self.run, self.source, self.target) = (plan, run, source, target)
    (self.sourceEntity, self.entity, self.inserted) = (sourceEntity, entity, inserted)
    owners = try plan.table.map { try finder.rows([$0]) } ?? .none(entity)
    links = try plan.relationships.compactMap { relationship in
      guard let layout = entity.relationships[relationship.name] else { return nil }
      return try Self.link(relationship, layout, of: plan, sourceEntity, finder)
    }
    functions = finder.functions
    for link in links { try check(link) }
  }

  private static func link(
    _ relationship: ResolvedRelationship, _ layout: RelationshipLayout, of plan: ResolvedMapping,
    _ sourceEntity: EntityLayout, _ finder: DestinationRowsFinder
  ) throws -> Link {
    guard let asked = relationship.sources else {
      throw SQLObstacle(
        "has an expression for the relationship '\(layout.name)' that takes objects", property: layout.name)
    }
    var origin: RelationshipLayout?
    if case .relationship(let name) = asked {
      origin = sourceEntity.relationships[name]
      if origin == nil {
        throw SQLObstacle("uses '\(name)', which the source does not store", property: layout.name)
      }
    }
    let numbers = origin.map { finder.source.schema[$0.destinationEntity]?.numbers ?? [] } ?? [sourceEntity.number]
    return Link(
      layout: layout, origin: origin, members: try finder.members(relationship, layout, sources: numbers),
      inverses: finder.inverses(of: layout, origin, of: plan))
  }

  private func check(_ link: Link) throws {
    func refuse(_ reason: String) throws { throw SQLObstacle(reason, property: link.layout.name) }
    let name = link.layout.name
    if link.inverses.contains(where: { $0.plan === plan && !$0.isExact }) {
      // Each object would set first one side and then the other.
      try refuse("sets the inverse of '\(name)' to other pairs")
    }
    if !link.layout.isToMany, Set(link.members.map(\.rows.source)).count < link.members.count {
      try refuse("may find more than one object for the to-one relationship '\(name)'")
    }
    switch (link.layout.storage, link.origin?.storage) {
    case (.foreignKey, .foreignKey), (.foreignKey, nil):
      guard let opposite = opposite(of: link) else { return }
      if opposite.table == entity.table, opposite.key.column == link.key?.column {
        try refuse("sets the one-to-one relationship '\(name)', which is its own inverse")
      }
      if let origin = link.origin, !isOneToOne(origin) || link.isContradicted {
        try refuse("may find more than one object for the one-to-one relationship '\(name)'")
      }
      if !run.isPlain, !link.members.allSatisfy({ link.isSetFromInverse(by: $0.plan) }) {
        try refuse("sets the one-to-one relationship '\(name)', as policies may too")
      }
    case (.foreignKey, _): try refuse("chooses one of several objects for '\(name)'")
    case (.inverseForeignKey, .joinTable): try refuse("chooses one of several owners for '\(name)'")
    case (.inverseForeignKey, .foreignKey):
      if let origin = link.origin, !isOneToOne(origin) { try refuse("chooses one of several owners for '\(name)'") }
    case (.inverseForeignKey, _): return
    case (.joinTable(let end), let originStorage):
      var isReflexive = false
      if case .joinTable(let origin) = originStorage { isReflexive = origin.isReflexive }
      if end.inverseOrderColumn != nil, !isAlone(link) {
        try refuse("orders the inverse of '\(name)', as policies may too")
      }
      if end.isReflexive, end.orderColumn != nil { try refuse("orders '\(name)', which is its own inverse") }
      // A reflexive relationship names each pair twice, once from each end.
      if end.isReflexive != isReflexive {
        try refuse("sets '\(name)' from a relationship with another kind of inverse")
      }
    }
  }

  private func isOneToOne(_ origin: RelationshipLayout) -> Bool {
    guard !origin.isToMany, let inverse = origin.inverseName else { return false }
    return source.schema[origin.destinationEntity]?.relationships[inverse]?.isToMany == false
  }

  /// Returns the foreign key of the inverse of a one-to-one relationship.
  private func opposite(of link: Link) -> (table: String, key: ForeignKeyLayout)? {
    guard let name = link.layout.inverseName, let far = target.schema[link.layout.destinationEntity],
      let inverse = far.relationships[name], !inverse.isToMany, case .foreignKey(let key) = inverse.storage
    else { return nil }
    return (far.table, key)
  }

  // MARK: Keys in the mapping's own rows

  /// Whether all relationships are foreign keys in the row, without an order and without a foreign key for the
  /// inverse.
  var areKeys: Bool {
    links.allSatisfy { link in link.key.map { $0.orderColumn == nil } ?? false && opposite(of: link) == nil }
  }

  /// Returns the columns of the relationships that can be inserted together with the rows: those whose keys follow
  /// from the source's keys alone.
  ///
  /// - Parameter alias: the alias of the source row.
  func insertedColumns(_ alias: String) -> [(name: String, value: BoundSQL)] {
    links.flatMap { link -> [(name: String, value: BoundSQL)] in
      guard link.key != nil, isAlone(link), link.members.allSatisfy({ $0.plan != nil && $0.rows.willBeCreated }),
        opposite(of: link) == nil || link.members.allSatisfy({ link.isSetFromInverse(by: $0.plan) })
      else { return [] }
      inserted.insert(link.layout.name)
      return columns(of: link, alias)
    }
  }

  private func columns(of link: Link, _ alias: String) -> [(name: String, value: BoundSQL)] {
    guard let key = link.key else { return [] }
    let (near, position) = nearKey(link.origin, alias)
    let keys = link.members.map { ($0.rows.keyOrNull(near), $0.rows.entity.number) }
    var columns = [(name: key.column, value: Self.first(keys.map(\.0)))]
    if let name = key.entityColumn {
      let cases = keys.map { "WHEN \($0.0) IS NOT NULL THEN \(raw: String($0.1))" as BoundSQL }
      columns.append((name, cases.isEmpty ? "NULL" : "CASE \(cases.joined(" ")) END"))
    }
    guard let name = key.orderColumn else { return columns }
    if isAlone(link) {
      columns.append((name, "\(raw: position ?? "NULL")"))
    } else {
      // As with objects, a row that keeps its owner keeps its position, and new members come last.
      let (old, order) = (SQLName.quoted(key.column), SQLName.quoted(name))
      columns.append((name, "CASE WHEN r.\(raw: old) IS \(columns[0].value) THEN r.\(raw: order) END"))
    }
    return columns
  }

  /// Returns whether only mappings without a policy set the relationship, and both ends agree.
  private func isAlone(_ link: Link) -> Bool { run.isPlain && !link.isContradicted }

  /// Returns the foreign key of a to-one relationship of the source, and its order column.
  private func nearKey(_ origin: RelationshipLayout?, _ alias: String) -> (key: String, position: String?) {
    guard case .foreignKey(let key) = origin?.storage else { return ("\(alias).Z_PK", nil) }
    return ("\(alias).\(SQLName.quoted(key.column))", key.orderColumn.map { "\(alias).\(SQLName.quoted($0))" })
  }

  private static func first(_ values: [BoundSQL]) -> BoundSQL {
    values.isEmpty ? "NULL" : values.count == 1 ? values[0] : "COALESCE(\(values.joined(", ")))"
  }

  /// Returns the statement that sets foreign keys in a range of rows. Its parameters are the bounds of the range.
  ///
  /// - Parameter offset: the difference between the keys of the rows and those of their sources.
  private func keyUpdate(_ links: [Link], offset: String) -> BoundSQL? {
    let columns = links.flatMap { self.columns(of: $0, "s") }
    if columns.isEmpty { return nil }
    let names = columns.map { SQLName.quoted($0.name) }.joined(separator: ", ")
    return """
      UPDATE \(raw: target.table(entity.table)) AS r SET (\(raw: names)) = \
      (SELECT \(columns.map(\.value).joined(", ")) FROM \(raw: source.table(sourceEntity.table)) s \
      WHERE s.Z_PK = r.Z_PK - \(raw: offset)), Z_OPT = \(raw: RowVersion.following) \
      WHERE r.Z_PK BETWEEN ?1 AND ?2 AND r.Z_ENT = \(raw: String(entity.number))
      """
  }

  /// Sets the relationships of some rows. `areKeys` must be true.
  func setKeys(_ rows: [RowSpan], offsets: [Int64]) throws {
    guard let sql = keyUpdate(links, offset: "?3")?.sql else { return }
    let ranges = zip(rows, offsets).map { ($0.keys, $1) }
    try run.destination.store.withState { state in
      try functions.calling(on: state.connection) {
        for (keys, offset) in ranges {
          try state.connection.run(sql, [.integer(keys.lowerBound), .integer(keys.upperBound), .integer(offset)])
        }
      }
    }
  }

  // MARK: All relationships

  /// The maximum number of statements that `set(step:)` runs.
  var maxStatementCount: Int { 1 + links.reduce(0) { $0 + max($1.members.count, 1) } }

  /// Sets the relationships of all rows that SQL has created for the mapping.
  ///
  /// - Parameter step: runs a statement for each part of a range of keys.
  func set(step: (BoundSQL, ClosedRange<Int64>) throws -> Void) throws {
    guard let keys = plan.sourceKeys, let offset = plan.offset else { return }
    let destinations = (keys.lowerBound + offset)...(keys.upperBound + offset)
    try run.destination.store.withState { state in
      try functions.calling(on: state.connection) {
        let rest = links.filter { !inserted.contains($0.layout.name) }
        if let update = keyUpdate(rest, offset: "(\(offset))") { try step(update, destinations) }
        for link in links {
          if case .foreignKey = link.layout.storage {
            try setOpposite(link, state.connection, step)
          } else {
            try setPairs(link, state.connection, step)
          }
          for positions in MissingPositions.all(of: link.layout, entity, target)
          where try positions.areMissing(state.connection) {
            try run.destination.store.willSearch?(state)
            try positions.fill(state.connection)
          }
        }
      }
    }
  }

  private func setOpposite(
    _ link: Link, _ connection: SQLiteConnection, _ step: (BoundSQL, ClosedRange<Int64>) throws -> Void
  ) throws {
    guard let (table, key) = opposite(of: link) else { return }
    for member in link.members where !link.isSetFromInverse(by: member.plan) {
      try setForeignKeys(try pairs(link, member.rows, connection), to: key, of: table, step)
    }
  }

  private func setPairs(
    _ link: Link, _ connection: SQLiteConnection, _ step: (BoundSQL, ClosedRange<Int64>) throws -> Void
  ) throws {
    var members = link.members.filter { !isAlreadySetFromInverse(link, by: $0.plan) }
    if members.isEmpty { return }
    if !isAlone(link) {
      members = link.members
      try clear(link, connection)
    }
    for member in members {
      guard let pairs = try pairs(link, member.rows, connection) else { continue }
      switch link.layout.storage {
      case .inverseForeignKey(let table, let key): try setForeignKeys(pairs, to: key, of: table, step)
      case .joinTable(let end): try step(insertion(pairs, end), pairs.keys)
      case .foreignKey: break
      }
    }
  }

  /// Returns whether the inverse's mapping sets the same pairs: foreign keys at any time, join table rows before this
  /// mapping.
  private func isAlreadySetFromInverse(_ link: Link, by other: ResolvedMapping?) -> Bool {
    guard let other, other.isPlain, !link.isContradicted, link.isSetFromInverse(by: other) else { return false }
    // In a migration with policies, the owners' keys are set without an order.
    if case .inverseForeignKey(_, let key) = link.layout.storage, key.orderColumn != nil, !isAlone(link) {
      return false
    }
    guard case .joinTable(let end) = link.layout.storage, !end.isReflexive else { return !isReflexive(link) }
    if other !== plan { return other.position < plan.position }
    let names = links.map(\.layout.name)
    guard let near = names.firstIndex(of: link.layout.name),
      let far = link.layout.inverseName.flatMap({ names.firstIndex(of: $0) })
    else { return false }
    return far < near
  }

  private func isReflexive(_ link: Link) -> Bool {
    if case .joinTable(let end) = link.layout.storage { end.isReflexive } else { false }
  }

  /// Removes the existing relationships of the mapping's rows.
  private func clear(_ link: Link, _ connection: SQLiteConnection) throws {
    guard let keys = plan.sourceKeys, let offset = plan.offset else { return }
    let range: [SQLiteValue] = [.integer(keys.lowerBound + offset), .integer(keys.upperBound + offset)]
    let rows =
      "BETWEEN ?1 AND ?2 AND %@ IN (SELECT Z_PK FROM \(target.table(entity.table)) WHERE Z_ENT = \(entity.number))"
    func owned(_ column: String) -> String {
      let name = SQLName.quoted(column)
      return "\(name) " + rows.replacingOccurrences(of: "%@", with: name)
    }
    switch link.layout.storage {
    case .foreignKey: return
    case .inverseForeignKey(let table, let key):
      let columns = [key.column] + [key.entityColumn, key.orderColumn].compactMap { $0 }
      let list = columns.map { "\(SQLName.quoted($0)) = NULL" }.joined(separator: ", ")
      try connection.run(
        "UPDATE \(target.table(table)) SET \(list), Z_OPT = \(RowVersion.following) WHERE \(owned(key.column))", range)
    case .joinTable(let end):
      var condition = owned(end.sourceColumn)
      if end.isReflexive { condition = "(\(condition)) OR (\(owned(end.destinationColumn)))" }
      try connection.run("DELETE FROM \(target.table(end.table)) WHERE \(condition)", range)
    }
  }

  // MARK: Pairs

  /// The pairs of a relationship in the source, as parts of a query.
  private struct Pairs {
    var owner: BoundSQL
    var member: BoundSQL
    var table: String
    var conditions: [BoundSQL]
    /// The position of the member among the owner's members, and of the owner among the member's owners.
    var position: String?
    var ownerPosition: String?
    /// The integer key of the queried rows, and its range.
    var key: String
    var keys: ClosedRange<Int64>
  }

  /// Returns the pairs of a relationship; nil if the source's table is empty.
  private func pairs(_ link: Link, _ member: DestinationRows, _ connection: SQLiteConnection) throws -> Pairs? {
    func column(_ name: String) -> String { "s.\(SQLName.quoted(name))" }
    var (table, key, near, far) = (sourceEntity.table, "Z_PK", "s.Z_PK", "s.Z_PK")
    var (position, ownerPosition): (String?, String?)
    switch link.origin?.storage {
    case nil: break
    case .foreignKey(let origin): (far, ownerPosition) = (column(origin.column), origin.orderColumn.map(column))
    case .inverseForeignKey(let name, let origin):
      (table, near, position) = (name, column(origin.column), origin.orderColumn.map(column))
    case .joinTable(let end):
      (table, key, near, far) = (end.table, "rowid", column(end.sourceColumn), column(end.destinationColumn))
      (position, ownerPosition) = (end.orderColumn.map(column), end.inverseOrderColumn.map(column))
    }
    let name = source.table(table)
    // SQLite answers each of two statements with a single lookup at one end of the table.
    guard let least = try connection.scalar("SELECT MIN(\(key)) FROM \(name)")?.integer,
      let greatest = try connection.scalar("SELECT MAX(\(key)) FROM \(name)")?.integer
    else { return nil }
    return Pairs(
      owner: owners.key(near), member: member.key(far), table: "\(name) s",
      conditions: [owners.hasKey(near), member.hasKey(far)], position: position, ownerPosition: ownerPosition,
      key: "s.\(key)",
      keys: least...greatest)
  }

  private func query(_ pairs: Pairs, _ values: [BoundSQL]) -> BoundSQL {
    """
    SELECT \(values.joined(", ")) FROM \(raw: pairs.table) WHERE \(raw: pairs.key) BETWEEN ?1 AND ?2 \
    AND \(pairs.conditions.joined(" AND "))
    """
  }

  /// Writes the owners' keys into the members' rows.
  private func setForeignKeys(
    _ pairs: Pairs?, to key: ForeignKeyLayout, of table: String,
    _ step: (BoundSQL, ClosedRange<Int64>) throws -> Void
  ) throws {
    guard let pairs else { return }
    var settings = ["\(SQLName.quoted(key.column)) = p.O"]
    if let name = key.entityColumn { settings.append("\(SQLName.quoted(name)) = \(entity.number)") }
    if let name = key.orderColumn { settings.append("\(SQLName.quoted(name)) = p.P") }
    let values: [BoundSQL] = [
      "\(pairs.owner) AS O", "\(pairs.member) AS M", "\(raw: pairs.position ?? "NULL") AS P",
    ]
    // The limit makes SQLite iterate over the pairs and look up the rows, not the other way round.
    try step(
      """
      UPDATE \(raw: target.table(table)) AS r SET \(raw: settings.joined(separator: ", ")), \
      Z_OPT = \(raw: RowVersion.following) FROM (\(query(pairs, values)) LIMIT -1) AS p WHERE r.Z_PK = p.M
      """, pairs.keys)
  }

  private func insertion(_ pairs: Pairs, _ end: JoinEnd) -> BoundSQL {
    var columns = [end.sourceColumn, end.destinationColumn]
    var values = [pairs.owner, pairs.member]
    if end.isReflexive {
      // The table holds a pair once, for both directions.
      values = ["MIN(\(pairs.owner), \(pairs.member))", "MAX(\(pairs.owner), \(pairs.member))"]
    }
    for (column, position) in [(end.orderColumn, pairs.position), (end.inverseOrderColumn, pairs.ownerPosition)] {
      guard let column, let position else { continue }
      columns.append(column)
      values.append("\(raw: position)")
    }
    return """
      INSERT OR IGNORE INTO \(raw: target.table(end.table)) \
      (\(raw: columns.map(SQLName.quoted).joined(separator: ", "))) \(query(pairs, values))
      """
  }
}

/// Assigns positions to members of an ordered relationship that have none: after the others, in the order of their
/// primary keys.
private struct MissingPositions {
  let table: String
  let key: String
  let owner: String
  let member: String
  let order: String

  /// Returns the orders that setting a relationship affects.
  static func all(of relationship: RelationshipLayout, _ entity: EntityLayout, _ target: MappedStore)
    -> [MissingPositions]
  {
    func positions(_ table: String, _ key: String, _ owner: String, _ member: String, _ order: String?)
      -> [MissingPositions]
    {
      guard let order else { return [] }
      return [
        MissingPositions(
          table: target.table(table), key: key, owner: SQLName.quoted(owner), member: SQLName.quoted(member),
          order: SQLName.quoted(order))
      ]
    }
    return switch relationship.storage {
    case .foreignKey(let key): positions(entity.table, "Z_PK", key.column, "Z_PK", key.orderColumn)
    case .inverseForeignKey(let table, let key): positions(table, "Z_PK", key.column, "Z_PK", key.orderColumn)
    case .joinTable(let end):
      positions(end.table, "rowid", end.sourceColumn, end.destinationColumn, end.orderColumn)
        + positions(end.table, "rowid", end.destinationColumn, end.sourceColumn, end.inverseOrderColumn)
    }
  }

  func areMissing(_ connection: SQLiteConnection) throws -> Bool {
    try connection.scalar("SELECT 1 FROM \(table) WHERE \(owner) IS NOT NULL AND \(order) IS NULL LIMIT 1") != nil
  }

  func fill(_ connection: SQLiteConnection) throws {
    try connection.run(
      """
      UPDATE \(table) AS r SET \(order) = n.P FROM (SELECT x.\(key) AS K, \
      IFNULL((SELECT MAX(o.\(order)) FROM \(table) o WHERE o.\(owner) = x.\(owner)), \(OrderKeys.first - OrderKeys.step)) \
      + \(OrderKeys.step) * ROW_NUMBER() OVER (PARTITION BY x.\(owner) ORDER BY x.\(member)) AS P FROM \(table) x \
      WHERE x.\(owner) IS NOT NULL AND x.\(order) IS NULL) AS n WHERE r.\(key) = n.K
      """)
  }
}
