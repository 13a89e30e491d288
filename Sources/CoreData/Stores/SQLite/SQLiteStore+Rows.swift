// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore.Opened: RowSource {
  func rows(for query: RowQuery) throws -> [RowSnapshot]? {
    try tolerating(reader(for: query.entity, includesSubentities: query.includesSubentities)) { _ in
      try readRows(for: query) { try $0.rows() }
    }
  }

  func readRows<Result>(for query: RowQuery, _ body: (RowCursor) throws -> Result) throws -> Result? {
    let reader = try reader(for: query.entity, includesSubentities: query.includesSubentities)
    return try answer {
      let select = try entities.selects.select(
        reader.columns, of: entities.layout(of: query.entity), query.criteria)
      return try connection.cached(select.sql) { statement in
        try statement.bind(select.values)
        return try body(
          RowCursor { packer in
            guard try statement.step() else { return false }
            try reader.pack(statement, into: packer)
            return true
          })
      }
    }
  }

  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try answer {
      let layout = try entities.layout(of: query.entity)
      let select = try entities.selects.select(["Z_PK", "Z_ENT"], of: layout, query.criteria)
      return try connection.cached(select.sql) { statement in
        try statement.bind(select.values)
        var ids: [NSManagedObjectID] = []
        while try statement.step() {
          let (key, number) = (statement.int64(at: 0), statement.int64(at: 1))
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
  }

  func count(for query: RowQuery) throws -> Int? {
    try answer {
      let select = try entities.selects.count(of: entities.layout(of: query.entity), query.criteria)
      return Int(try connection.scalar(select.sql, select.values)?.integer ?? 0)
    }
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    guard entities.owns(id) else { return nil }
    // The identifier of a to-one relationship's destination may name an ancestor of the row's entity.
    return try tolerating(reader(for: id.entityDescription, includesSubentities: true)) {
      try $0.row(id.key.number, connection)
    }
  }

  func row(_ layout: RowLayout, _ primaryKey: Int64) throws -> RowSnapshot? {
    guard layout.identities.store == entities.identities?.store else { return nil }
    return try tolerating(reader(for: layout.entity, includesSubentities: true)) { try $0.row(primaryKey, connection) }
  }

  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    guard entities.owns(id), let layout = try entities.layout(of: id.entity).relationships[relationship.name]
    else { return [] }
    return try MemberReader(database: connection, entities: entities)
      .members(of: layout, primaryKey: id.key.number)
  }

  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    let reader = MemberReader(database: connection, entities: entities)
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    let owned = ids.filter(entities.owns)
    for (_, group) in Dictionary(grouping: owned, by: { ObjectIdentifier($0.entityDescription) }) {
      guard let layout = try entities.layout(of: group[0].entity).relationships[relationship.name] else { continue }
      let found = try reader.members(of: layout, primaryKeys: group.map(\.key.number))
      for id in group { members[id.key] = found[id.key.number] }
    }
    return members
  }

  func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? {
    guard let layout = try entities.layout(of: entity).relationships[relationship.name],
      let destination = entities.schema[layout.destinationEntity],
      let description = entities.description(number: destination.number)
    else { return nil }
    let reader = try reader(for: description, includesSubentities: true)
    let pairs = RelationshipPairs(of: layout, in: entities.schema)
    let count = MemberReader.ownersPerQuery
    guard let query = pairs.memberRows(columns: reader.columns, ownerCount: count) else { return nil }
    return try tolerating(reader) { reader in
      var members = RowGroups()
      members.ranges.reserveCapacity(primaryKeys.count)
      var rows = RowCollection()
      try inParts(primaryKeys, of: count, query) { statement in
        // The rows of an owner are adjacent.
        var (owner, start): (Int64, Int) = (0, rows.count)
        func end() {
          if start < rows.count { members.ranges[owner] = start..<rows.count }
          start = rows.count
        }
        while try statement.step() {
          let next = statement.int64(at: reader.columns.count)
          if next != owner {
            end()
            owner = next
          }
          try rows.add { try reader.pack(statement, into: $0) }
        }
        end()
      }
      members.rows = rows.rows()
      return members
    }
  }

  func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? {
    let reader = try reader(for: entity, includesSubentities: false)
    let layout = try entities.layout(of: entity)
    let count = MemberReader.ownersPerQuery
    let columns = reader.columns.map(SQLName.quoted).joined(separator: ", ")
    let marks = (1...count).map { "?\($0)" }.joined(separator: ", ")
    var query = "SELECT \(columns) FROM \(SQLName.quoted(layout.table)) WHERE Z_PK IN (\(marks))"
    if entities.schema.entity(number: layout.rootNumber)?.numbers.count != 1 {
      query += " AND Z_ENT = \(layout.number)"
    }
    return try tolerating(reader) { reader in
      var rows = RowCollection()
      rows.reserveCapacity(primaryKeys.count)
      // In table order, so that neighbouring rows are on a page that has just been read.
      try inParts(primaryKeys.sorted(), of: count, query) { statement in
        while try statement.step() { try rows.add { try reader.pack(statement, into: $0) } }
      }
      return rows.rows()
    }
  }

  private func tolerating<Result>(_ reader: RowReader, _ body: (RowReader) throws -> Result) throws -> Result {
    toleratesUnreadableFiles ? try reader.tolerating { try body(reader) } : try body(reader)
  }

  /// Runs a query for groups of keys, which are its parameters.
  private func inParts(
    _ keys: [Int64], of count: Int, _ query: String, _ body: (SQLiteStatement) throws -> Void
  ) throws {
    for start in stride(from: 0, to: keys.count, by: count) {
      try connection.cached(query) { statement in
        // Unbound parameters are null, and match nothing.
        for (position, key) in keys[start...].prefix(count).enumerated() { try statement.bind(key, at: position + 1) }
        try body(statement)
      }
    }
  }

  private func reader(for entity: NSEntityDescription, includesSubentities: Bool) throws -> RowReader {
    let key = SQLiteStore.ReaderKey(entity: ObjectIdentifier(entity), includesSubentities: includesSubentities)
    if let lastReader, lastReader.key == key { return lastReader.reader }
    let reader =
      try readers[key]
      ?? RowReader(
        entity: entities.layout(of: entity), includesSubentities: includesSubentities, entities: entities,
        external: external)
    readers[key] = reader
    lastReader = (key, reader)
    return reader
  }

  /// Runs a query; returns nil if it cannot be expressed in SQL.
  func answer<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch is NotExpressibleInSQL {
      return nil
    } catch let error as InvalidPattern {
      throw EvaluationError(error)
    } catch let error as SQLiteError where error.isIntegerOverflow || error.isTooComplex {
      // Predicates in memory have no maximum depth, and turn a sum or an absolute value beyond 64 bits into a double.
      return nil
    }
  }
}

extension SQLiteStore.Opened {
  /// Returns the greatest known primary key of a root entity; 0 for none.
  func lastKey(root: Int) throws -> Int64 {
    guard let entity = entities.schema.entity(number: root) else { return 0 }
    let kept = "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?"
    let recorded = try connection.scalar(kept, [.integer(Int64(root))])?.integer ?? 0
    // Stores edited by hand or migrated by other tools may contain keys greater than the recorded one.
    let present = try connection.scalar("SELECT MAX(Z_PK) FROM \(SQLName.quoted(entity.table))")?.integer ?? 0
    return max(recorded, present, 0)
  }

  /// The number of deletions from which on a save may need more pages at once than the connection's cache holds.
  private static let manyDeletions = 1_000
  /// The cache size for many deletions, in KiB.
  private static let cacheForDeletions: Int64 = 8_192

  /// Runs a body that writes rows, and keeps the files of the values that the rows contain afterwards.
  func keepingFiles(_ body: () throws -> Void) throws {
    let mark = external.mark
    do {
      try body()
      external.didCommit { try connection.synchronizeCommit() }
    } catch {
      external.didRollBack(to: mark)
      throw error
    }
  }

  /// Writes changes with a page cache suited to their kind and number.
  ///
  /// Rows are deleted in table order, which differs from the order in indexes. With SQLite's default cache of 2 MB, the
  /// pages of an index would be written and read repeatedly.
  fileprivate func withCache(for changes: [RowChange], _ body: () throws -> Void) throws {
    // The program may have set a size other than SQLite's default. A negative size is in KiB.
    guard changes.indices.count(where: { changes[$0].kind == .delete }) >= Self.manyDeletions,
      let before = try connection.pragma("cache_size")?.integer, before < 0, before > -Self.cacheForDeletions
    else { return try body() }
    try connection.setPragma("cache_size", to: .integer(-Self.cacheForDeletions))
    let result = Result { try body() }
    try connection.setPragma("cache_size", to: .integer(before))
    try result.get()
  }
}

extension SQLiteStore {
  func rows(for query: RowQuery) throws -> [RowSnapshot]? { try searching(query) { try $0.rows(for: query) } }

  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try searching(query) { try $0.identifiers(for: query) }
  }

  func count(for query: RowQuery) throws -> Int? { try searching(query) { try $0.count(for: query) } }

  private func searching<Result>(_ query: RowQuery, _ body: (Opened) throws -> Result) throws -> Result {
    try asking { state in
      if query.criteria.isSearch { try willSearch?(state) }
      return try state.reading { try body(state) }
    }
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    try reading { try $0.row(for: id) }
  }

  func row(_ layout: RowLayout, _ primaryKey: Int64) throws -> RowSnapshot? {
    try reading { try $0.row(layout, primaryKey) }
  }

  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    try asking { state in
      try willSearch?(state)
      return try state.reading { try state.members(of: relationship, for: id) }
    }
  }

  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    try asking { state in
      try willSearch?(state)
      return try state.reading { try state.members(of: relationship, forAll: ids) }
    }
  }

  func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? {
    try asking { state in
      try willSearch?(state)
      return try state.reading { try state.memberRows(of: relationship, entity: entity, primaryKeys: primaryKeys) }
    }
  }

  func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? {
    try reading { try $0.rows(of: entity, primaryKeys: primaryKeys) }
  }

  func concurrently<Result>(_ body: (any RowSource) throws -> Result) -> Result? { connections.reading(body) }

  func writeMetadata() throws { try write([]) }

  func hasPlace(for entity: NSEntityDescription) -> Bool { number(of: entity) != nil }

  func identifier(entityName: String, reference: String) -> NSManagedObjectID? {
    guard let entities = opened?.entities, let entity = entities.schema[entityName], reference.hasPrefix("p"),
      let key = Int64(reference.dropFirst()), key > 0
    else { return nil }
    entities.noteIdentity()
    return entities.id(entity: entity.number, primaryKey: key)
  }

  func makeIdentifiers(for entityRuns: [EntityRun]) throws -> [NSManagedObjectID] {
    let state = try writableState()
    return try translating {
      let runs = try entityRuns.map { (plan: try state.plans.plan(for: $0.entity), count: $0.count) }
      let wanted = Dictionary(runs.map { ($0.plan.layout.rootNumber, $0.count) }, uniquingKeysWith: +)
      var next: [Int: Int64] = [:]
      try repeatingIfFull(state) {
        try state.writing {
          for (root, count) in wanted.sorted(by: { $0.key < $1.key }) {
            next[root] = try reserve(count, root: root, state)
          }
        }
      }
      var ids: [NSManagedObjectID] = []
      ids.reserveCapacity(runs.reduce(0) { $0 + $1.count })
      for (plan, count) in runs {
        let first = next[plan.layout.rootNumber, default: 1]
        let keys = first...(first + Int64(count - 1))
        ids += state.entities.identities?.ids(entity: plan.layout.number, primaryKeys: keys) ?? []
        // Wraps around only after the last key requested.
        next[plan.layout.rootNumber] = first &+ Int64(count)
      }
      return ids
    }
  }

  /// Reserves primary keys of a root entity, and returns the first.
  private func reserve(_ count: Int, root: Int, _ state: Opened) throws -> Int64 {
    guard let entity = state.entities.schema.entity(number: root) else { return 1 }
    let last = try state.lastKey(root: root)
    let (maximum, overflow) = last.addingReportingOverflow(Int64(count))
    guard !overflow else {
      throw StoreErrors.keysExhausted(url: url, entity: entity.name, table: entity.table, last: last)
    }
    try state.connection.run(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", [.integer(maximum), .integer(Int64(root))])
    return last + 1
  }

  func write(_ changes: [RowChange]) throws {
    let state = try writableState()
    return try translating {
      if let behind, !hasUnsavedMetadata, try behind.write(changes, url: url) { return }
      try repeatingIfFull(state) {
        try state.keepingFiles {
          let writer = state.writer
          if let willSearch, try writer.relationships.isSearching(for: changes) { try willSearch(state) }
          try state.withCache(for: changes) {
            try state.writing {
              try recordHistory(changes, state)
              try writer.write(changes)
              if hasReconnected { try noteKeys(of: changes, state) }
              if hasUnsavedMetadata { try writeMetadata(state) }
            }
          }
        }
      }
      hasUnsavedMetadata = false
    }
  }

  /// Writes the metadata. The framework's own values are written as another connection has left them, because the
  /// metadata in memory may be older.
  private func writeMetadata(_ state: Opened) throws {
    if let found = state.version?.foreignMetadata, !StoreOptions(options).ignoresVersioning {
      values = values.filter { !StoreMetadata.ownKeys.contains($0.key) }.merging(found) { $1 }
    }
    try state.file.setMetadata(values)
  }

  /// Raises the recorded greatest keys, because new objects may have got their keys from the store that was replaced.
  private func noteKeys(of changes: [RowChange], _ state: Opened) throws {
    var greatest: [UInt32: Int64] = [:]
    for change in changes where change.kind == .insert {
      let key = change.id.key
      greatest[key.root] = max(greatest[key.root] ?? 0, key.number)
    }
    for (root, key) in greatest {
      try state.connection.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = ?1 WHERE Z_ENT = ?2 AND Z_MAX < ?1", [.integer(key), .integer(Int64(root))])
    }
  }

  /// Runs a transaction. If it does not fit on the disk, shortens the log and runs it once more.
  ///
  /// - Throws: as `StoreFile.repeatingIfFull(prepare:_:)`.
  func repeatingIfFull<Result>(_ state: Opened, _ body: () throws -> Result) throws -> Result {
    try state.file.repeatingIfFull(prepare: endUseOfLog, body)
  }

  private func endUseOfLog() {
    connections.endKeptStates()
    checkpointer?.wait()
  }

  func makeRoom() -> Bool {
    guard let opened, !opened.connection.inTransaction else { return false }
    endUseOfLog()
    opened.file.makeRoom()
    return true
  }

  func writableState() throws -> Opened {
    if isReadOnly { throw StoreErrors.readOnly(self) }
    if isInBatch {
      throw StoreErrors.operationFailed(
        url: url, reason: "The handler of a batch request cannot change the store, which the request is changing.")
    }
    connections.endKeptStates()
    return try state()
  }

  // Transactions around several reads or writes.

  /// Begins a read transaction, so that all reads see the same state of the store.
  func beginReading() throws {
    try asking { state in
      try state.connection.begin(.deferred)
      do {
        _ = try state.connection.scalar("SELECT COUNT(*) FROM Z_METADATA")
        try state.version?.check()
      } catch {
        // Nothing was written, and the failed read is the error to report.
        try? state.connection.rollback()
        throw error
      }
    }
    connections.pause()
  }

  /// Ends what `beginReading()` began.
  func endReading() throws {
    connections.resume()
    try asking { try $0.connection.rollback() }
  }

  /// Makes SQLite verify the store's pages while a body reads it.
  func checkingPages<Result>(isCancelled: () -> Bool, during body: () throws -> Result) throws -> Result {
    let state = try state()
    return try PageCheck.during(state.connection, url: state.file.url, isCancelled: isCancelled, body)
  }

  func beginWriting() throws { try beginWriting { try $0.begin(.immediate) } }

  /// Begins a transaction as `beginWriting()` does, with attached databases that are only read. An immediate
  /// transaction would lock them too.
  func beginWritingBesideAttached() throws {
    try beginWriting { connection in
      try connection.begin(.deferred)
      try connection.run("UPDATE main.Z_METADATA SET Z_VERSION = Z_VERSION WHERE 0")
    }
  }

  private func beginWriting(_ begin: (SQLiteConnection) throws -> Void) throws {
    try asking { state in
      if isReadOnly { throw StoreErrors.readOnly(self) }
      connections.pause()
      do {
        try begin(state.connection)
        try state.version?.check()
      } catch {
        connections.resume()
        // The failure to take the lock, or the state found under the lock, is the error to report.
        try? state.connection.rollback()
        throw error
      }
      hadUnsavedMetadata = hasUnsavedMetadata
      state.external.isHoldingBack = true
    }
  }

  func commitWriting() throws {
    try asking { state in
      try state.connection.commit()
      connections.resume()
      state.external.isHoldingBack = false
      state.external.didCommit { try state.connection.synchronizeCommit() }
    }
  }

  func rollBackWriting() throws {
    try asking { state in
      defer {
        connections.resume()
        state.external.isHoldingBack = false
        state.external.didRollBack()
        hasUnsavedMetadata = hasUnsavedMetadata || hadUnsavedMetadata
      }
      try state.connection.rollback()
    }
  }
}
