// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Executes one step in the caller's transaction.
package struct InPlaceStepRun {
  /// The row counts of an entity before and after the step.
  package struct Count {
    /// The source entity; nil if the entity is new.
    package let source: String?
    /// The destination entity; nil if the entity is removed.
    package let destination: String?
    package let before: Int
    package let after: Int
  }

  private var step: InPlaceStep
  private let file: StoreFile
  private let catalog: DatabaseCatalog
  private let primaryKeys: [PrimaryKeyRow]

  package init(
    from source: ModelDocument, to destination: ModelDocument, mapping: InferredMapping?, configuration: String?,
    file: StoreFile, values: some ProgramValues, cleanup: ColumnCleanup = .necessary
  ) throws {
    self.file = file
    catalog = try file.connection.catalog()
    primaryKeys = try file.primaryKeys()
    let schema = try StoreSchema(
      document: source, configuration: source.configuration(configuration), catalog: catalog, primaryKeys: primaryKeys)
    step = try InPlaceStep(
      from: source, schema: schema, to: destination, configuration: configuration, mapping: mapping, values: values)
    step.extraColumns = schema.extraColumns(in: catalog)
    step.cleanup = cleanup
  }

  private var connection: SQLiteConnection { file.connection }

  /// Executes the step.
  ///
  /// - Parameters:
  ///   - countsAllRows: Whether to count the rows of entities that the step does not affect.
  ///   - known: The known row counts of source entities.
  ///   - running: Tracks the progress of the running statement.
  /// - Returns: The executed statements, the row counts of the entities, and whether all rows were counted.
  package func carryOut(
    _ dropped: DroppedFiles, _ integrity: IntegrityGuard, countsAllRows: Bool = true, known: [String: Int] = [:],
    _ running: RunningStatement = RunningStatement(),
    _ progress: (_ table: String?, _ done: Int, _ total: Int, _ isStepDone: Bool) throws -> Void
  ) throws -> (statements: [String], counts: [Count], isCounted: Bool) {
    let checks = StepChecks(step: step, database: connection)
    try checks.values()
    let counter = try RowCounter(step: step, connection: connection)
    if counter.movesRows { try integrity.willMoveRows() }
    // Counting is fast compared with moving rows or with the integrity check, which has read the whole file.
    let countsEverything = countsAllRows || counter.movesRows || integrity.hasChecked
    var before = try counter.before(includingAll: countsEverything, allowsStrays: !countsAllRows, known: known)
    try checks.entities { before[$0.name] }
    try dropped.note(step)
    let maxima = Dictionary(primaryKeys.map { ($0.number, $0.maximum) }) { $1 }
    let shifts = try KeyShifts(step: step, connection: connection, rows: before, maxima: maxima)
    let statements = try StatementBuilder(step: step, catalog: catalog, shifts: shifts).statements()
    let expected = try expectedRows(statements, before)
    let total = expected.reduce(0, +)
    var done = 0
    try progress(nil, 0, total, false)
    let columns = ColumnChanges(statements, catalog)
    var isRedefined = false
    for (statement, rows) in zip(statements, expected) {
      if let table = statement.columnChange?.table, columns.definitions[table] != nil {
        if !isRedefined { try columns.carryOut(connection) }
        isRedefined = true
        continue
      }
      let changes = connection.totalChanges
      try execute(statement, shifts, rows: rows, running) { try progress($0, done + $1, total, false) }
      if statement.isCopy, case .rows(let table) = statement.purpose {
        counter.note(connection.totalChanges - changes, copiedInto: table, in: &before)
      }
      done += rows
      if rows > 0 { try progress(statement.table, done, total, false) }
    }
    try correctEntityNumbers(counter)
    try writePrimaryKeys(maxima, shifts)
    try HistoryMigration(step: step, database: connection).run()
    try ObjectReferenceTables(
      step: step, shifts: shifts, connection: connection, catalog: catalog, primaryKeys: primaryKeys
    ).run()
    try integrity.didMake(counter.madeTables)
    let counts = try checkedCounts(before: before, after: counter.after(before, includingAll: countsEverything))
    try progress(nil, total, total, true)
    return (statements.map(\.sql.sql), counts, countsEverything)
  }

  /// The number of rows of a large table to process between two progress reports.
  private static let rowsAtOnce = 16_384

  /// Executes a statement, in parts if it processes a large table row by row.
  ///
  /// - Parameter progress: Called after each part with the destination table and the number of rows done.
  private func execute(
    _ statement: MigrationStatement, _ shifts: KeyShifts, rows: Int, _ running: RunningStatement,
    _ progress: (String?, Int) throws -> Void
  ) throws {
    do {
      guard rows > Self.rowsAtOnce, let table = statement.scannedTable,
        let keys = try KeyRanges(table: table, rows: rows, rowsAtOnce: Self.rowsAtOnce, connection)
      else {
        running.begin(statement, rows: rows)
        defer { running.end() }
        return try connection.run(statement.sql.sql, statement.sql.values)
      }
      for range in keys {
        let sql = statement.sql(keys: range.keys)
        try connection.run(sql.sql, sql.values)
        try progress(statement.table, range.rowsDone)
      }
    } catch let error as SQLiteError where error.isUniqueConstraint {
      guard let check = statement.check else { throw error }
      throw try StepChecks(step: step, database: connection).problem(check, shifts) ?? error
    }
  }

  /// Returns the number of rows that each statement processes: the rows of its tables before the step. Tables without a
  /// known row count are counted, which takes less time than the statement that reads them.
  private func expectedRows(_ statements: [MigrationStatement], _ before: [String: Int]) throws -> [Int] {
    var counts: [String: Int] = [:]
    func count(_ table: String) throws -> Int {
      if let known = counts[table] { return known }
      let entities = step.sourceSchema.entities(inTable: table).map { before[$0.name] }
      let known = entities.isEmpty || entities.contains(nil) ? nil : entities.compactMap { $0 }.reduce(0, +)
      let sql = "SELECT COUNT(*) FROM \(SQLName.quoted(table))"
      let count = try known ?? Int(connection.scalar(sql)?.integer ?? 0)
      counts[table] = count
      return count
    }
    return try statements.map { statement in
      if !statement.sourceTables.isEmpty { return try statement.sourceTables.reduce(0) { try $0 + count($1) } }
      guard case .rows(let name) = statement.purpose, let table = step.destinationSchema.table(named: name) else {
        return 0
      }
      return step.pairs(in: table).reduce(0) { $0 + (before[$1.source.name] ?? 0) }
    }
  }

  // MARK: Counts

  /// Returns the problem that reports lost rows.
  package static func loss(of entity: String, before: Int, after: Int) -> InPlaceProblem {
    InPlaceProblem(
      entity: entity,
      reason: "'\(entity)' had \(before) rows and would have \(after), although the migration removes none.",
      suggestion:
        "The store was not changed. Check its file (PRAGMA integrity_check); if it is sound, report this as a "
        + "defect of the migration.")
  }

  /// Throws an error if rows were lost, so that the transaction is rolled back; otherwise returns the counts.
  private func checkedCounts(before: [String: Int], after: [String: Int]) throws -> [Count] {
    var result: [Count] = []
    for entity in step.destinationSchema.entities {
      let source = step.mapping.sourceEntity(of: entity.name)
      let old = source.flatMap { before[$0] } ?? 0
      let new = after[entity.name] ?? 0
      guard old == new else {
        throw Self.loss(of: entity.name, before: old, after: new)
      }
      result.append(Count(source: source, destination: entity.name, before: old, after: new))
    }
    for entity in step.removedEntities {
      result.append(Count(source: entity.name, destination: nil, before: before[entity.name] ?? 0, after: 0))
    }
    return result
  }

  // MARK: Housekeeping

  /// Sets the entity number of rows in single-entity tables, where manually inserted rows may have any number.
  private func correctEntityNumbers(_ counter: RowCounter) throws {
    for table in step.destinationSchema.tables where counter.mayHaveStrays(table) {
      let hierarchy = step.destinationSchema.entities(inTable: table.name)
      guard hierarchy.count == 1, let number = hierarchy.first?.number else { continue }
      try connection.run("UPDATE \(SQLName.quoted(table.name)) SET Z_ENT = \(number) WHERE Z_ENT IS NOT \(number)")
    }
  }

  /// Writes the numbers, names and maximum keys of the destination's entities.
  private func writePrimaryKeys(_ maxima: [Int: Int64], _ shifts: KeyShifts) throws {
    let rows = try step.destinationSchema.entities.map { entity -> PrimaryKeyRow in
      var maximum: Int64 = 0
      if entity.isRoot {
        // Keys are never reused, even if their rows have been deleted.
        for member in step.destinationSchema.entities(inTable: entity.table) {
          let source = step.mapping.sourceEntity(of: member.name).flatMap { step.sourceSchema[$0] }
          if let source {
            maximum = max(maximum, (maxima[source.rootNumber] ?? 0) + (shifts.offsets[source.table] ?? 0))
          }
        }
        // Manually edited stores may contain keys beyond the recorded maximum.
        let present = try connection.scalar("SELECT MAX(Z_PK) FROM \(SQLName.quoted(entity.table))")?.integer
        maximum = max(maximum, present ?? 0)
      }
      return PrimaryKeyRow(
        number: entity.number, name: entity.name, parentNumber: entity.parentNumber, maximum: maximum)
    }
    try file.setPrimaryKeys(rows)
  }
}

/// Estimates the progress of a statement that is executed as a whole from the number of instructions that SQLite has
/// executed.
package final class RunningStatement {
  private var rows = 0
  private var instructions = 0
  /// The approximate number of virtual machine instructions per row.
  private var instructionsPerRow = 1

  package init() {}

  fileprivate func begin(_ statement: MigrationStatement, rows: Int) {
    (self.rows, instructions) = (rows, 0)
    instructionsPerRow = statement.purpose == .index ? 10 : 20
  }

  fileprivate func end() { rows = 0 }

  /// Adds executed instructions.
  ///
  /// - Returns: The estimated number of rows that the statement has processed.
  package func advance(by instructions: Int) -> Int {
    self.instructions += instructions
    return min(self.instructions / instructionsPerRow, rows)
  }
}

/// Runs SQLite's integrity check within the transaction that changes a store, both before and after rows are moved.
package final class IntegrityGuard {
  /// Specifies when a file is checked.
  package enum Policy {
    /// If the check is fast compared with the migration.
    case automatic
    case always
    case never
  }

  /// The size in bytes up to which the automatic policy always checks a file. Checking takes a quarter of a second
  /// then.
  package static let smallFile: Int64 = 32 << 20
  /// The maximum number of problems that an error lists.
  private static let limit = 3

  private let connection: SQLiteConnection
  private let url: URL
  private let policy: Policy
  /// Whether the check was started or has been completed.
  package private(set) var hasChecked = false
  /// Whether the check may run concurrently, because `whileChecking(isCancelled:_:)` waits for it.
  private var mayCheckConcurrently = false
  private var concurrentCheck: PageCheck.Concurrent?

  package init(_ connection: SQLiteConnection, url: URL, policy: Policy) {
    self.connection = connection
    self.url = url
    self.policy = policy
  }

  /// Runs a body that changes the store in an open transaction, which must be rolled back if this throws.
  ///
  /// A file with a write-ahead log is checked concurrently. Damage found by the check takes precedence over the error
  /// of the body.
  ///
  /// - Parameter isCancelled: Returns whether the error of the body is a cancellation, which ends the check too.
  /// - Throws: `StoreFileProblem.contradictory`; `SQLiteError`; the errors of the body.
  package func whileChecking<Result>(isCancelled: () -> Bool, _ body: () throws -> Result) throws -> Result {
    mayCheckConcurrently = true
    let result: Result
    do {
      result = try body()
    } catch {
      throw concurrentCheck?.damage(isCancelled: isCancelled()) ?? error
    }
    try concurrentCheck?.wait()
    return result
  }

  /// Checks the file if the policy requires it, whatever the migration does.
  ///
  /// - Throws: `StoreFileProblem.contradictory`; `SQLiteError`.
  package func begin() throws {
    switch policy {
    case .never: return
    case .always: try check()
    case .automatic:
      let pages = try connection.pragma("page_count")?.integer ?? 0
      let size = pages.multipliedReportingOverflow(by: try connection.pragma("page_size")?.integer ?? 0)
      let free = try connection.pragma("freelist_count")?.integer ?? 0
      if free != 0 || (!size.overflow && size.partialValue <= Self.smallFile) { try check() }
    }
  }

  /// Checks the file unless it has already been checked, or never is.
  ///
  /// - Throws: The errors of `begin()`.
  package func willMoveRows() throws {
    if policy != .never, !hasChecked { try check() }
  }

  /// Checks rebuilt tables before the transaction is committed.
  ///
  /// - Throws: `InPlaceProblem`; `SQLiteError`.
  package func didMake(_ tables: [String]) throws {
    guard policy != .never else { return }
    for table in tables {
      let found = try connection.integrityCheck(quick: true, limit: Self.limit, of: table)
      guard found.isEmpty else {
        throw InPlaceProblem(
          reason:
            "What was written to the table \(table) is not sound. SQLite finds: \(found.joined(separator: "; ")).",
          suggestion: "The store was not changed. Check the disk, and try again with a copy of the store.")
      }
    }
  }

  private func check() throws {
    hasChecked = true
    // Only with a write-ahead log can another connection still read the old pages.
    if mayCheckConcurrently, try connection.journalMode() == .wal {
      concurrentCheck = PageCheck.Concurrent(connection, url: url)
    }
    if concurrentCheck == nil { try PageCheck.run(connection, url: url) }
  }
}

/// Ranges of primary keys that cover all rows of a table, for processing a large table in parts.
///
/// If keys are dense, all ranges have the same width, which determines the number of rows done. If they are sparse,
/// each range is found by skipping its rows.
struct KeyRanges: Sequence, IteratorProtocol {
  /// A range of keys, and the number of rows up to its end: exact if the keys have no gaps, otherwise proportional.
  typealias Range = (keys: ClosedRange<Int64>, rowsDone: Int)

  private let rows: Int
  /// The last key of each range except the last one.
  private let ends: [Int64]
  private var position = 0

  /// Determines the ranges of a table. Returns nil if the table is empty.
  ///
  /// - Parameters:
  ///   - table: A table in which `Z_PK` is the rowid, as `StoreSchema` has verified.
  ///   - rows: The number of rows in the table.
  init?(table: String, rows: Int, rowsAtOnce: Int, _ connection: SQLiteConnection) throws {
    let name = SQLName.quoted(table)
    guard let first = try connection.scalar("SELECT MIN(Z_PK) FROM \(name)")?.integer,
      let last = try connection.scalar("SELECT MAX(Z_PK) FROM \(name)")?.integer
    else { return nil }
    self.rows = rows
    let span = UInt64(bitPattern: last &- first)
    var ends: [Int64] = []
    if span / 4 <= UInt64(rows), first > Int64.min / 2, last < Int64.max / 2 {
      let count = Int64((rows + rowsAtOnce - 1) / rowsAtOnce)
      let width = Int64(span) / count + 1
      ends = (1..<count).map { first + $0 * width - 1 }
    } else {
      let next = "SELECT Z_PK FROM \(name) WHERE Z_PK > ? ORDER BY Z_PK LIMIT 1 OFFSET \(rowsAtOnce - 1)"
      var end = try connection.scalar("SELECT Z_PK FROM \(name) ORDER BY Z_PK LIMIT 1 OFFSET \(rowsAtOnce - 1)")
      while let key = end?.integer {
        ends.append(key)
        end = try connection.scalar(next, [.integer(key)])
      }
      if ends.last == Int64.max { ends.removeLast() }
    }
    self.ends = ends
  }

  mutating func next() -> Range? {
    guard position <= ends.count else { return nil }
    // The first and the last range are unbounded, so that they cover all keys.
    let lower = position == 0 ? Int64.min : ends[position - 1] + 1
    let upper = position == ends.count ? Int64.max : ends[position]
    position += 1
    return (lower...upper, Int(Double(rows) * Double(position) / Double(ends.count + 1)))
  }
}
