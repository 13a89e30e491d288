// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// An open connection to a store in a database, with its knowledge of the store's layout.
///
/// The reads are the same for all engines. An engine supplies how the rows of a statement are fetched and packed.
package protocol SQLRowSource: ReadingConnection {
  associatedtype Database: SQLDatabase

  var database: Database { get }
  var entities: StoredEntities { get }
  /// The plans for writing rows.
  var plans: RowPlans { get }
  var readers: RowReaders { get }
  /// The files of large values; nil for a store without files.
  var files: ExternalData? { get }
  /// The representation of changes in persistent history; nil if changes are not recorded.
  var history: StoreHistory? { get set }

  /// Returns the row with a primary key; nil if there is none.
  func row(_ primaryKey: Int64, _ reader: RowReader) throws -> RowSnapshot?

  /// Runs a body with a cursor over the rows of a statement that selects the reader's columns.
  func readRows<Result>(
    of statement: BoundSQL, _ reader: RowReader, _ body: (RowCursor) throws -> Result
  ) throws -> Result

  /// Calls a closure with each row of a statement that selects the reader's columns, and possibly more after them.
  ///
  /// - Parameter body: its second argument packs the row. Must not run other statements.
  func forEachRow(
    of statement: BoundSQL, _ reader: RowReader,
    _ body: (any SQLRowValues, _ pack: (RowPacker) throws -> Void) throws -> Void
  ) throws

  /// Runs a body that reads with a reader, and has no lasting effect if it throws. If the store tolerates it, values
  /// whose files cannot be read become `UnreadableValue`s.
  func tolerating<Result>(_ reader: RowReader, _ body: () throws -> Result) throws -> Result

  /// Runs a body whose statements compute values from rows, as `SQLDatabase.calculating(_:)`, but outside a transaction
  /// if none is open.
  func calculating<Result>(_ body: () throws -> Result) throws -> Result

  /// Runs a read-only body once, whose reads all see a state with the version that the store was opened with.
  func readingOnce<Result>(_ body: () throws -> Result) throws -> Result

  /// Runs a body that writes, in a transaction.
  func writing<Result>(_ body: () throws -> Result) throws -> Result
}

extension SQLRowSource {
  package func rows(for query: RowQuery) throws -> [RowSnapshot]? {
    let reader = try readers.reader(for: query.entity, includesSubentities: query.includesSubentities)
    return try tolerating(reader) { try readRows(for: query) { try $0.rows() } }
  }

  package func readRows<Result>(for query: RowQuery, _ body: (RowCursor) throws -> Result) throws -> Result? {
    let reader = try readers.reader(for: query.entity, includesSubentities: query.includesSubentities)
    return try answer {
      let statement = try entities.selects.select(
        reader.columns, of: entities.layout(of: query.entity), query.criteria)
      return try readRows(of: statement, reader, body)
    }
  }

  package func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try answer {
      let layout = try entities.layout(of: query.entity)
      let columns = ["Z_PK", "Z_ENT"].map(database.dialect.spelling(of:))
      var ids: [NSManagedObjectID] = []
      try database.forEachRow(entities.selects.select(columns, of: layout, query.criteria)) { row in
        let (key, number) = (row.int64(at: 0), row.int64(at: 1))
        guard let entity = entities.number(ofRow: number, like: layout),
          let id = entities.id(entity: entity, primaryKey: key)
        else {
          throw RowProblem(kind: .unknownEntity(number: number), table: layout.table, primaryKey: key, property: "")
        }
        ids.append(id)
      }
      return ids
    }
  }

  package func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try answer {
      let keys = [.evaluatedObject] + query.order.map { ExpressionSyntax.keyPath($0.keyPath) }
      let results = ResultCriteria(columns: keys.map { ResultCriteria.Column(name: "", expression: $0) })
      var found: [PlacedIdentifier] = []
      try forEachResult(of: query, results) { reader, row in
        let values = try reader.values(row)
        guard let id = values.first as? NSManagedObjectID else { throw NotExpressibleInSQL() }
        found.append(PlacedIdentifier(id: id, values: Array(values.dropFirst())))
      }
      return found
    }
  }

  package func count(for query: RowQuery) throws -> Int? {
    try answer {
      var count = 0
      try database.forEachRow(entities.selects.count(of: entities.layout(of: query.entity), query.criteria)) { row in
        count = Int(row.int64(at: 0))
      }
      return count
    }
  }

  package func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try answer {
      var found: [NSDictionary] = []
      try forEachResult(of: query, results) { reader, row in found.append(try reader.dictionary(row)) }
      return found
    }
  }

  private func forEachResult(
    of query: RowQuery, _ results: ResultCriteria, _ body: (DictionaryReader, any SQLRowValues) throws -> Void
  ) throws {
    let select = try entities.selects.select(results, of: entities.layout(of: query.entity), query.criteria)
    let reader = try DictionaryReader(select, of: query.entity, entities: entities, external: files)
    try database.forEachRow(select.statement) { row in
      if let inexactCount = select.inexactCount, row.double(at: inexactCount) != 0 { throw NotExpressibleInSQL() }
      try body(reader, row)
    }
  }

  package func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    guard entities.owns(id) else { return nil }
    // The identifier of a to-one relationship's destination may name an ancestor of the row's entity.
    let reader = try readers.reader(for: id.entityDescription, includesSubentities: true)
    return try tolerating(reader) { try row(id.key.number, reader) }
  }

  package func row(_ layout: RowLayout, _ primaryKey: Int64) throws -> RowSnapshot? {
    guard layout.identities.store == entities.identities?.store else { return nil }
    let reader = try readers.reader(for: layout.entity, includesSubentities: true)
    return try tolerating(reader) { try row(primaryKey, reader) }
  }

  package func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? {
    let reader = try readers.reader(for: entity, includesSubentities: false)
    let layout = try entities.layout(of: entity)
    let dialect = database.dialect
    let columns = reader.columns.map(SQLName.quoted).joined(separator: ", ")
    var sql =
      "SELECT \(columns) FROM \(SQLName.quoted(layout.table)) WHERE \(dialect.isKey("Z_PK", count: dialect.keysPerQuery))"
    if entities.schema.entity(number: layout.rootNumber)?.numbers.count != 1 { sql += " AND Z_ENT = \(layout.number)" }
    return try tolerating(reader) {
      var rows = RowCollection()
      rows.reserveCapacity(primaryKeys.count)
      // In table order, so that neighbouring rows are on a page that has just been read.
      for group in dialect.groups(ofKeys: primaryKeys.sorted()) {
        try forEachRow(of: BoundSQL(sql, dialect.values(ofKeys: group)), reader) { _, pack in try rows.add(pack) }
      }
      return rows.rows()
    }
  }

  package func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    guard entities.owns(id), let layout = try entities.layout(of: id.entity).relationships[relationship.name]
    else { return [] }
    return try memberReader.members(of: layout, primaryKey: id.key.number)
  }

  package func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    let reader = memberReader
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    let owned = ids.filter(entities.owns)
    for (_, group) in Dictionary(grouping: owned, by: { ObjectIdentifier($0.entityDescription) }) {
      guard let layout = try entities.layout(of: group[0].entity).relationships[relationship.name] else { continue }
      let found = try reader.members(of: layout, primaryKeys: group.map(\.key.number))
      for id in group { members[id.key] = found[id.key.number] }
    }
    return members
  }

  private var memberReader: MemberReader { MemberReader(database: database, entities: entities) }

  package func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? {
    guard let layout = try entities.layout(of: entity).relationships[relationship.name],
      let destination = entities.schema[layout.destinationEntity],
      let description = entities.description(number: destination.number)
    else { return nil }
    let reader = try readers.reader(for: description, includesSubentities: true)
    let dialect = database.dialect
    let pairs = RelationshipPairs(of: layout, in: entities.schema)
    guard let sql = pairs.memberRows(columns: reader.columns, ownerCount: dialect.keysPerQuery) else { return nil }
    return try tolerating(reader) {
      var members = RowGroups()
      members.ranges.reserveCapacity(primaryKeys.count)
      var rows = RowCollection()
      for group in dialect.groups(ofKeys: primaryKeys) {
        // The rows of an owner are adjacent.
        var (owner, start): (Int64, Int) = (0, rows.count)
        func end() {
          if start < rows.count { members.ranges[owner] = start..<rows.count }
          start = rows.count
        }
        try forEachRow(of: BoundSQL(sql, dialect.values(ofKeys: group)), reader) { row, pack in
          let next = row.int64(at: reader.columns.count)
          if next != owner {
            end()
            owner = next
          }
          try rows.add(pack)
        }
        end()
      }
      members.rows = rows.rows()
      return members
    }
  }

  package func tolerating<Result>(_ reader: RowReader, _ body: () throws -> Result) throws -> Result { try body() }

  package func readingOnce<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  package func writing<Result>(_ body: () throws -> Result) throws -> Result { try database.transaction(body) }

  /// Runs a query; returns nil if it must be evaluated in memory, where predicates have no maximum depth, and a sum
  /// beyond 64 bits is a double.
  private func answer<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try calculating(body)
    } catch is NotExpressibleInSQL {
      return nil
    } catch let error as InvalidPattern {
      throw EvaluationError(error)
    }
  }
}
