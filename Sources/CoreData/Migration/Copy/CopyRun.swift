// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Carries a plan out, inside a transaction that the caller has begun.
final class CopyRun {
  /// So many keys of the source are gone through between two reports of progress.
  private static let keysPerStep: UInt64 = 20_000
  /// At most so many steps are made for one statement. Keys need not lie close together: a file can have one row at each end
  /// of all numbers.
  private static let greatestStepCount: UInt64 = 10_000

  private let plan: CopyPlan
  private let connection: SQLiteConnection
  private let progress: (Double) throws -> Void
  private let willCopy: (NSEntityMapping) -> Void
  /// The greatest keys that are spoken for, by the number of the root entity.
  private var reservedKeys: [Int: Int64] = [:]
  private var done = 0.0
  private var total = 1.0
  /// How many objects each mapping has made, by its place.
  private(set) var counts: [Int: Int] = [:]

  /// - Parameters:
  ///   - connection: has both databases, under the names that the plan knows.
  ///   - willCopy: is told of each mapping before its rows are made.
  ///   - progress: gets the part of the rows that is done, from 0 to 1; may throw to cancel.
  init(
    _ plan: CopyPlan, connection: SQLiteConnection, willCopy: @escaping (NSEntityMapping) -> Void = { _ in },
    progress: @escaping (Double) throws -> Void
  ) {
    self.willCopy = willCopy
    self.plan = plan
    self.connection = connection
    self.progress = progress
  }

  // MARK: Keys

  /// Finds out which keys there are and gives each mapping its own; to be called before any statement is made.
  ///
  /// - Parameter given: the greatest keys that the destination has given out so far, by the number of the root entity. They
  ///   are not given out again, even where their rows are gone.
  func assignKeys(given: [Int: Int64]) throws {
    var reservations = KeyReservations()
    for copy in plan.copies {
      let (entity, destination) = (copy.rows.entity, copy.destination)
      // A table without rows makes nothing, whatever its keys would be.
      guard let keys = try keys(plan.source.table(entity.table)) else { continue }
      let present = try self.keys(plan.target.table(destination.table))?.upperBound ?? 0
      let reserved = reservations.reserve(
        keys, of: .init(entity: entity.number, root: entity.rootNumber),
        for: .init(entity: destination.number, root: destination.rootNumber),
        inUse: max(present, given[destination.rootNumber] ?? 0))
      guard let (offset, last) = reserved else {
        throw CopyBarrier(mapping: copy.name, reason: "copies rows whose keys leave no room for others")
      }
      (copy.offset, copy.keys) = (offset, keys)
      // Where keys stay as they are, those of objects that were deleted in the source stay unused too.
      let spent = offset == 0 ? try greatestGivenKey(of: entity) : 0
      reservedKeys[destination.rootNumber] = max(reservedKeys[destination.rootNumber] ?? 0, last, spent)
    }
  }

  private func keys(_ table: String) throws -> ClosedRange<Int64>? {
    guard let least = try connection.scalar("SELECT MIN(Z_PK) FROM \(table)")?.integer,
      let greatest = try connection.scalar("SELECT MAX(Z_PK) FROM \(table)")?.integer
    else { return nil }
    return least...greatest
  }

  private func greatestGivenKey(of entity: EntityLayout) throws -> Int64 {
    let sql = "SELECT Z_MAX FROM \(plan.source.database).Z_PRIMARYKEY WHERE Z_ENT = \(entity.rootNumber)"
    return try connection.scalar(sql)?.integer ?? 0
  }

  // MARK: Rows

  /// Makes all rows, relationships included.
  func copyRows() throws {
    for copy in plan.copies { try copy.rows.writeKeys(of: plan, connection) }
    let links = try CopyLinks(plan)
    let insertions = try plan.copies.map { ($0, try plan.insertion($0, links: links)) }
    let joinCopy = JoinCopy(source: plan.source, target: plan.target, joins: links.joins)
    let joins = try links.joins.flatMap { try joinCopy.statements(for: $0) }
    let derivations = try plan.copies.flatMap { try CopyDerivations(plan: plan).statements(for: $0) }
    let pairs = try joins.compactMap { join -> (statement: BoundSQL, keys: ClosedRange<Int64>)? in
      guard let row = try connection.rows("SELECT \(join.leastKey), \(join.greatestKey)").first,
        let least = row[0].integer, let greatest = row[1].integer, least <= greatest
      else { return nil }
      return (join.statement, least...greatest)
    }
    total = (plan.copies.map(\.keys) + pairs.map(\.keys)).reduce(1) { $0 + Double(KeyRanges.distance($1)) }
    try progress(0)
    // Conditions call these.
    try StringFunction.register(with: connection)
    try plan.functions.calling(on: connection) {
      for (copy, statement) in insertions {
        willCopy(copy.mapping)
        let count = try goThrough(statement, copy.keys)
        if count > 0, copy.destination.isAbstract { throw abstract(copy, count) }
        counts[copy.position] = count
      }
      for (statement, keys) in pairs { _ = try goThrough(statement, keys) }
      for statement in CopyOrders(plan: plan).statements() { try run(statement) }
      for statement in derivations { try run(statement) }
    }
  }

  private func abstract(_ copy: EntityCopy, _ count: Int) -> CopyProblem {
    CopyProblem(
      mapping: copy.name, entity: copy.destination.name,
      reason:
        "'\(copy.destination.name)' is abstract in the destination, and there are \(count) objects to be made of it.",
      suggestion: "Map the objects to an entity that is not abstract.")
  }

  /// Runs a statement for one stretch of keys after another.
  private func goThrough(_ statement: BoundSQL, _ keys: ClosedRange<Int64>) throws -> Int {
    let before = connection.totalChanges
    let step = max(Self.keysPerStep, KeyRanges.distance(keys) / Self.greatestStepCount)
    var next: Int64? = keys.lowerBound
    while let first = next {
      let left = KeyRanges.distance(first...keys.upperBound)
      let last = left < step ? keys.upperBound : first &+ Int64(truncatingIfNeeded: step - 1)
      try run(BoundSQL(statement.sql, statement.values + [.integer(first), .integer(last)]))
      done += Double(KeyRanges.distance(first...last))
      next = last == keys.upperBound ? nil : last + 1
      try progress(min(done / total, 1))
    }
    return connection.totalChanges - before
  }

  private func run(_ statement: BoundSQL) throws { try connection.run(statement.sql, statement.values) }

  /// Writes down the greatest keys.
  func writePrimaryKeys() throws {
    for (root, key) in reservedKeys {
      try connection.run(
        "UPDATE \(plan.target.database).Z_PRIMARYKEY SET Z_MAX = MAX(IFNULL(Z_MAX, 0), ?) WHERE Z_ENT = ?",
        [.integer(key), .integer(Int64(root))])
    }
  }
}

/// Gives places in ordered relationships to members that bring none along: after the others, in the order of their keys.
struct CopyOrders {
  let plan: CopyPlan

  func statements() -> [BoundSQL] {
    var seen: Set<String> = []
    return plan.copies.flatMap { copy in
      copy.destination.relationships.values.sorted { $0.name < $1.name }.flatMap { relationship -> [BoundSQL] in
        switch relationship.place {
        case .foreignKey(let key):
          guard let order = key.orderColumn else { return [] }
          return statement(copy.destination.table, "Z_PK", "Z_PK", owner: key.column, order: order, &seen)
        case .inverseForeignKey(let table, let key):
          guard let order = key.orderColumn else { return [] }
          return statement(table, "Z_PK", "Z_PK", owner: key.column, order: order, &seen)
        case .joinTable(let end):
          let (near, far) = (end.sourceColumn, end.destinationColumn)
          return (end.orderColumn.map { statement(end.table, "rowid", far, owner: near, order: $0, &seen) } ?? [])
            + (end.inverseOrderColumn.map { statement(end.table, "rowid", near, owner: far, order: $0, &seen) } ?? [])
        }
      }
    }
  }

  private func statement(
    _ table: String, _ key: String, _ member: String, owner: String, order: String, _ seen: inout Set<String>
  ) -> [BoundSQL] {
    guard seen.insert("\(table).\(order)").inserted else { return [] }
    let (name, owner, order) = (plan.target.table(table), SQLName.quoted(owner), SQLName.quoted(order))
    let member = SQLName.quoted(member)
    return [
      """
      UPDATE \(raw: name) AS r SET \(raw: order) = n.P FROM (SELECT x.\(raw: key) AS K, \
      IFNULL((SELECT MAX(o.\(raw: order)) FROM \(raw: name) o WHERE o.\(raw: owner) = x.\(raw: owner)), \
      \(raw: String(OrderKeys.first - OrderKeys.step))) + \(raw: String(OrderKeys.step)) * \
      ROW_NUMBER() OVER (PARTITION BY x.\(raw: owner) ORDER BY x.\(raw: member)) AS P FROM \(raw: name) x \
      WHERE x.\(raw: owner) IS NOT NULL AND x.\(raw: order) IS NULL) AS n WHERE r.\(raw: key) = n.K
      """
    ]
  }
}
