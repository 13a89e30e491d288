// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// What all relationship mappings together say of every stored key.
///
/// A key can be told from both ends. Where both ends are mapped by expressions that are each other's inverse, they say the
/// same, and it is taken from one. Where not, that is a barrier.
struct CopyLinks {
  /// What is said of one column of foreign keys, for the rows of one mapping.
  private struct Key {
    let key: ForeignKeyLayout
    /// The row's own relationship mapping.
    var own: CopyLink?
    /// Mappings of the relationships that lead here.
    var others: [CopyLink] = []
    var isOneToOne = false
    var property: String
  }

  private let source: CopySide
  private let target: CopySide
  private var keys: [Int: [String: Key]] = [:]
  /// Links that go into join tables, in the order of processing.
  private(set) var joins: [CopyLink] = []

  /// - Throws: `CopyBarrier` for expressions that only objects can answer; `CopyProblem` for those that make no sense.
  init(_ plan: CopyPlan) throws {
    (source, target) = (plan.source, plan.target)
    let reader = CopyLinkReader(plan: plan)
    for link in try plan.copies.flatMap({ try reader.links(of: $0) }) {
      switch link.relationship.place {
      case .joinTable: joins.append(link)
      case .foreignKey(let key):
        update(link.owner, key, link.relationship.name) { $0.own = link }
        try noteInverse(of: link)
      case .inverseForeignKey(_, let key):
        for copy in link.targets { update(copy, key, link.relationship.name) { $0.others.append(link) } }
      }
    }
  }

  private mutating func update(
    _ copy: EntityCopy, _ key: ForeignKeyLayout, _ property: String, _ change: (inout Key) -> Void
  ) {
    change(&keys[copy.position, default: [:]][key.column, default: Key(key: key, property: property)])
  }

  /// The other end of a one-to-one relationship has a column of its own.
  private mutating func noteInverse(of link: CopyLink) throws {
    guard let inverse = link.relationship.inverseName else { return }
    for copy in link.targets {
      guard let far = copy.destination.relationships[inverse], case .foreignKey(let key) = far.place, !far.isToMany
      else { continue }
      update(copy, key, inverse) {
        $0.isOneToOne = true
        $0.others.append(link)
      }
      if case .foreignKey(let near) = link.relationship.place {
        update(link.owner, near, link.relationship.name) { $0.isOneToOne = true }
      }
    }
  }

  // MARK: Foreign keys

  /// The columns of relationships for the rows of a mapping.
  ///
  /// - Throws: `CopyBarrier` where the outcome depends on the order in which objects are told.
  func columns(of copy: EntityCopy, scope: SQLScope, builder: PredicateSQL) throws -> [AttributeCopy.Column] {
    let lookups = LinkLookups(source: source, copy: copy, scope: scope, builder: builder)
    return try (keys[copy.position] ?? [:]).sorted { $0.key < $1.key }.flatMap { column, key in
      let parts = try parts(of: key, copy, lookups)
      guard !parts.isEmpty else { return [AttributeCopy.Column]() }
      var columns = [(name: column, value: Self.first(parts.map(\.key)))]
      if let entity = key.key.entityColumn {
        columns.append((entity, Self.cases(parts.map { ($0.key, "\(raw: String($0.entity))") })))
      }
      if let order = key.key.orderColumn {
        columns.append((order, Self.cases(parts.map { ($0.key, $0.order ?? "NULL") })))
      }
      return columns
    }
  }

  private func parts(of key: Key, _ copy: EntityCopy, _ lookups: LinkLookups) throws -> [LinkLookups.Part] {
    guard let own = key.own else {
      if key.isOneToOne { try key.others.forEach { try checkUnique($0) } }
      return try key.others.reversed().flatMap { try lookups.owners($0) }
    }
    // What the two ends say differently is decided by the order in which objects are told.
    guard key.others.allSatisfy({ own.isInverse(of: $0, in: source) }) else { throw own.contradiction() }
    if key.isOneToOne, key.others.isEmpty { try checkUnique(own) }
    return try lookups.own(own, order: key.others.first)
  }

  /// Of a one-to-one relationship each object can be told once only.
  private func checkUnique(_ link: CopyLink) throws {
    guard link.isDirect, let inverse = link.source.inverseName, !link.source.isToMany,
      source.schema[link.source.destinationEntity]?.relationships[inverse]?.isToMany == false
    else { throw ambiguous(link) }
  }

  private func ambiguous(_ link: CopyLink) -> CopyBarrier {
    CopyBarrier(
      mapping: link.owner.name, property: link.relationship.name,
      reason: "may give several objects for the one-to-one relationship '\(link.relationship.name)'")
  }

  private static func first(_ values: [BoundSQL]) -> BoundSQL {
    values.count == 1 ? values[0] : "COALESCE(\(values.joined(", ")))"
  }

  private static func cases(_ branches: [(key: BoundSQL, value: BoundSQL)]) -> BoundSQL {
    let list = branches.map { "WHEN \($0.key) IS NOT NULL THEN \($0.value)" as BoundSQL }.joined(" ")
    return "CASE \(list) END"
  }
}

/// Finds the keys of copies from the row of the source that a copy is made from.
struct LinkLookups {
  /// One mapping's answer.
  struct Part {
    let key: BoundSQL
    /// The entity of the object with that key.
    let entity: Int
    /// The row's place in an ordered relationship of that object; nil where it is to be given one.
    let order: BoundSQL?
  }

  let source: CopySide
  let copy: EntityCopy
  let scope: SQLScope
  let builder: PredicateSQL

  /// What the row's own relationship leads to.
  ///
  /// - Parameters:
  ///   - inverse: the same relationship seen from the other end.
  func own(_ link: CopyLink, order inverse: CopyLink?) throws -> [Part] {
    guard
      case .toOne(let alias, let key, let relationship) = try SourcePath(
        link.path, from: copy, scope: scope, in: source)
    else {
      throw CopyBarrier(
        mapping: copy.name, property: link.relationship.name,
        reason: "takes one object of several for '\(link.relationship.name)'")
    }
    let column = self.column(alias, key.column)
    let order = link.isDirect ? key.orderColumn.map { self.column(alias, $0) } : nil
    return try link.targets.map { target in
      Part(
        key: try copied(column, by: target, from: relationship.destinationEntity), entity: target.destination.number,
        order: order)
    }
  }

  /// The owners whose relationship leads to this row.
  func owners(_ link: CopyLink) throws -> [Part] {
    guard copy.rows.isReachable(link.source.destinationEntity, in: source) else { return [] }
    guard link.isDirect else {
      throw CopyBarrier(
        mapping: link.owner.name, property: link.relationship.name,
        reason: "reaches the objects of '\(link.relationship.name)' through others")
    }
    let key: BoundSQL
    var order: BoundSQL?
    switch link.source.place {
    case .inverseForeignKey(_, let layout):
      let owners = copy.rows.entity.relationships.values.first { $0.name == link.source.inverseName }
      key = try copied(
        column(scope.alias, layout.column), by: link.owner,
        from: owners?.destinationEntity ?? link.source.declaringEntity)
      if link.source.isOrdered { order = layout.orderColumn.map { column(scope.alias, $0) } }
    case .foreignKey(let layout):
      let owner = SQLScope(entity: link.owner.rows.entity, names: builder.aliases)
      let conditions =
        try ["\(column(owner.alias, layout.column)) = \(column(scope.alias, "Z_PK"))"]
        + link.owner.rows.conditions(owner, builder, in: source)
      key = selection("MAX(\(link.owner.copiedKey(column(owner.alias, "Z_PK"))))", owner, conditions)
    case .joinTable(let end):
      let owner = SQLScope(entity: link.owner.rows.entity, names: builder.aliases)
      let join = builder.aliases.next("j")
      let there: BoundSQL = "\(column(join, end.destinationColumn)) = \(column(scope.alias, "Z_PK"))"
      let conditions = try link.owner.rows.conditions(owner, builder, in: source)
      guard !end.isReflexive else {
        throw CopyBarrier(
          mapping: link.owner.name, property: link.relationship.name,
          reason: "makes '\(link.relationship.name)' of a relationship that is its own inverse")
      }
      let on: BoundSQL = "\(column(owner.alias, "Z_PK")) = \(column(join, end.sourceColumn))"
      let from: BoundSQL = """
        FROM \(raw: source.table(end.table)) \(raw: join) JOIN \(raw: source.table(owner.entity.table)) \
        \(raw: owner.alias) ON \(on)\(raw: owner.joins) WHERE \(([there] + conditions).joined(" AND "))
        """
      key = "(SELECT MAX(\(link.owner.copiedKey(column(owner.alias, "Z_PK")))) \(from))"
      if link.source.isOrdered, let place = end.orderColumn {
        order = "(SELECT \(column(join, place)) \(from) ORDER BY \(column(owner.alias, "Z_PK")) DESC LIMIT 1)"
      }
    }
    return [Part(key: key, entity: link.owner.destination.number, order: order)]
  }

  /// The key of a mapping's copy of the object with a key of the source; NULL where it made none.
  private func copied(_ key: BoundSQL, by target: EntityCopy, from entity: String) throws -> BoundSQL {
    if target.rows.cover(entity, in: source) { return target.copiedReference(key) }
    let row = SQLScope(entity: target.rows.entity, names: builder.aliases)
    let conditions =
      try ["\(column(row.alias, "Z_PK")) = \(key)"] + target.rows.conditions(row, builder, in: source)
    return selection(target.copiedKey(column(row.alias, "Z_PK")), row, conditions)
  }

  private func selection(_ value: BoundSQL, _ row: SQLScope, _ conditions: [BoundSQL]) -> BoundSQL {
    """
    (SELECT \(value) FROM \(raw: source.table(row.entity.table)) \(raw: row.alias)\(raw: row.joins) \
    WHERE \(conditions.joined(" AND ")))
    """
  }

  private func column(_ alias: String, _ name: String) -> BoundSQL { "\(raw: alias).\(raw: SQLName.quoted(name))" }
}
