// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A migration by a mapping model whose mappings name no policy class, carried out as SQL from one file into another.
///
/// The result is the one that objects would give, taken through the three passes of a migration manager: copies with the
/// values of their expressions, relationships, validation.
struct MappingCopy {
  /// What a copy has done.
  struct Report {
    /// How many objects each entity mapping has made, by its name.
    var objects: [String: Int] = [:]
    /// What became of what, for later migrations into the same store.
    var copies: [EntityCopy] = []
  }

  private static let sourceName = "SOURCE"

  let mapping: NSMappingModel
  let sourceModel: NSManagedObjectModel
  let destinationModel: NSManagedObjectModel
  var configuration: String?
  /// The configuration that an existing destination was made with; nil for all entities.
  var destinationConfiguration: String?
  /// What earlier migrations have made of the same source's objects in the same destination.
  var earlier = Associations()
  /// Is told of each mapping before its rows are made.
  var willCopy: (NSEntityMapping) -> Void = { _ in }
  /// Is called when all rows are made and may be checked; may throw to cancel.
  var didCopy: () throws -> Void = {}

  /// Why SQL cannot carry the mapping model out; nil where it can.
  ///
  /// - Throws: 134110 for mappings that cannot be carried out at all.
  func barrier() throws -> CopyBarrier? {
    do {
      let place = URL(fileURLWithPath: "/")
      let plan = try plan(
        source: try StoreSchema(document: sourceModel.document, configuration: name(sourceModel)), at: place,
        target: try StoreSchema(document: destinationModel.document, configuration: name(destinationModel)), at: place,
        path: place)
      let links = try CopyLinks(plan)
      let joins = JoinCopy(source: plan.source, target: plan.target, joins: links.joins)
      for link in links.joins { _ = try joins.statements(for: link) }
      for copy in plan.copies {
        _ = try plan.insertion(copy, links: links)
        _ = try CopyDerivations(plan: plan).statements(for: copy)
      }
      return nil
    } catch let barrier as CopyBarrier {
      return barrier
    } catch let problem as CopyProblem {
      throw problem.error(url: nil)
    }
  }

  /// Copies a store.
  ///
  /// - Parameters:
  ///   - source: the store to read; its write-ahead log is part of it, and it is left as it is.
  ///   - destination: a file that does not exist yet, or a store of the destination model, which is added to.
  ///   - metadata: further metadata for a new store.
  ///   - options: for opening the destination.
  ///   - progress: gets numbers that only grow, from 0 to 1; may throw to cancel.
  /// - Throws: 134120 where `progress` throws; 134111 for values that are to be unique and are not; 134110 for everything
  ///   else that forbids the migration. A new file is gone then, and an existing one as it was.
  func run(
    from source: URL, to destination: URL, metadata: [String: Any] = [:], options: StoreOptions = StoreOptions(nil),
    progress: @escaping (Double) throws -> Void = { _ in }
  ) throws -> Report {
    let file = try SQLiteStoreErrors.translating(url: source, isOpening: true) {
      try StoreFile.open(source, isReadOnly: true)
    }
    // Closed last: a connection that only reads leaves the log of the source where it is.
    defer {
      // Nothing was written through it.
      try? file.close()
    }
    let work = try SQLiteStoreErrors.translating(url: source, isOpening: true) {
      CopyWork(
        file: file, version: try file.connection.pragma("data_version"), source: source, destination: destination,
        options: options, progress: progress)
    }
    return try SQLiteStoreErrors.translating(url: destination, isOpening: false) {
      do {
        let report = try StoreFile.isNew(destination) ? try fill(work, metadata) : try add(work)
        try progress(1)
        return report
      } catch let problem as CopyProblem {
        throw problem.error(url: destination)
      } catch let barrier as CopyBarrier {
        throw MigrationErrors.failed(
          url: destination, reason: "The entity mapping '\(barrier.mapping)' \(barrier.reason).",
          suggestion: "Use a migration manager.", attribute: barrier.property)
      }
    }
  }

  // MARK: Planning

  private func name(_ model: NSManagedObjectModel) -> String? { model.document.configuration(configuration) }

  private func plan(
    source: StoreSchema, at sourceURL: URL, target: StoreSchema, at targetURL: URL, path: URL
  ) throws -> CopyPlan {
    let plan = try CopyPlan(
      mapping,
      from: CopySide(model: sourceModel, schema: source, database: Self.sourceName, url: sourceURL),
      to: CopySide(model: destinationModel, schema: target, database: "main", url: targetURL),
      objects: SourceObjects(model: sourceModel, url: path, configuration: name(sourceModel)))
    plan.earlier = earlier
    return plan
  }

  private func plan(_ work: CopyWork, target: StoreSchema) throws -> CopyPlan {
    let schema = try work.file.schema(for: sourceModel.document, configuration: name(sourceModel))
    try StrayRows.check(schema, work.file.connection, url: work.source)
    return try plan(
      source: schema, at: work.source, target: target, at: work.destination,
      path: URL(fileURLWithPath: work.file.connection.path))
  }

  // MARK: Copying

  private func fill(_ work: CopyWork, _ metadata: [String: Any]) throws -> Report {
    let document = destinationModel.document
    let plan = try plan(work, target: try StoreSchema(document: document, configuration: name(destinationModel)))
    var run: CopyRun?
    do {
      try StoreFile.create(
        at: work.destination, document: document, configuration: name(destinationModel), metadata: metadata,
        pragmas: work.options.pragmas,
        filling: StoreFile.Filling(
          prepare: { try work.attach(to: $0, as: Self.sourceName) },
          fill: { connection in
            let copying = CopyRun(plan, connection: connection, willCopy: willCopy, progress: work.report)
            run = copying
            try copying.assignKeys(given: [:])
            try copying.copyRows()
            if let error = try CopyChecks(plan: plan, connection: connection, url: work.destination)
              .violatedConstraint()
            {
              throw error
            }
          },
          finish: { connection in
            try run?.writePrimaryKeys()
            try check(plan, run, connection, work)
          },
          close: { try $0.detach(Self.sourceName) }))
      try plan.objects.close()
      // No value of a new store is replaced, so that no file goes.
      plan.target.external.didCommit {}
    } catch {
      // What has failed is to be told, not what did not get cleaned up after it.
      try? plan.objects.close()
      plan.target.external.didRollBack()
      throw error
    }
    return report(plan, run)
  }

  private func add(_ work: CopyWork) throws -> Report {
    let target = try StoreFile.open(work.destination, isReadOnly: false, timeout: work.options.timeout)
    defer {
      // The transaction has been committed or not; closing changes neither.
      try? target.close()
    }
    try SQLiteStore.prepare(target, work.options)
    let connection = target.connection
    let document = destinationModel.document
    let plan = try plan(work, target: try target.schema(for: document, configuration: destinationConfiguration))
    let given = Dictionary(try target.primaryKeys().map { ($0.number, $0.maximum) }) { max($0, $1) }
    let run = CopyRun(plan, connection: connection, willCopy: willCopy, progress: work.report)
    try work.attach(to: connection, as: Self.sourceName)
    do {
      try connection.transaction(.deferred) {
        let unique = try connection.catalog().indexes.filter { index in
          plan.target.schema.indexes.contains { $0.isUnique && $0.name == index.name }
        }
        // Rows that are alike are found by name when all are there, instead of by the first that does not go in.
        for index in unique { try connection.run("DROP INDEX \(SQLName.quoted(index.name))") }
        try run.assignKeys(given: given)
        try run.copyRows()
        try run.writePrimaryKeys()
        let checks = CopyChecks(plan: plan, connection: connection, url: work.destination)
        if let error = try checks.violatedConstraint() { throw error }
        for sql in unique.compactMap(\.sql) { try connection.run(sql) }
        try check(plan, run, connection, work)
      }
      try plan.objects.close()
      plan.target.external.didCommit { try connection.synchronizeCommit() }
    } catch {
      // As above.
      try? plan.objects.close()
      plan.target.external.didRollBack()
      throw error
    }
    return report(plan, run)
  }

  private func check(
    _ plan: CopyPlan, _ run: CopyRun?, _ connection: SQLiteConnection, _ work: CopyWork
  ) throws {
    try work.cancelling(didCopy)
    try work.checkSource()
    let checks = CopyChecks(plan: plan, connection: connection, url: work.destination)
    for copy in plan.copies {
      try checkCount(copy, run?.counts[copy.position] ?? 0, plan, connection)
      try checks.run(copy)
    }
  }

  /// All rows of a mapping without a filter must have been copied. They are counted without an index, since one that does not
  /// fit its table hides rows.
  private func checkCount(
    _ copy: EntityCopy, _ count: Int, _ plan: CopyPlan, _ connection: SQLiteConnection
  ) throws {
    let entity = copy.rows.entity
    guard copy.rows.filter == nil else { return }
    let condition = plan.source.sharesTable(entity) ? " WHERE Z_ENT = \(entity.number)" : ""
    let sql = "SELECT COUNT(*) FROM \(plan.source.table(entity.table)) NOT INDEXED\(condition)"
    guard let expected = try connection.scalar(sql)?.integer, expected != Int64(count) else { return }
    throw CopyProblem(
      mapping: copy.name, entity: entity.name,
      reason: "'\(entity.name)' has \(expected) rows in the source, and \(count) of them were found to be copied.",
      suggestion:
        "Nothing was changed. Have SQLite check the source (PRAGMA integrity_check); where only an index is wrong, "
        + "REINDEX repairs it.")
  }

  private func report(_ plan: CopyPlan, _ run: CopyRun?) -> Report {
    var report = Report(copies: plan.copies)
    for copy in plan.copies { report.objects[copy.name, default: 0] += run?.counts[copy.position] ?? 0 }
    return report
  }
}

/// What one run of a copy works with.
struct CopyWork {
  let file: StoreFile
  /// What changes when somebody writes to the source.
  let version: SQLiteValue?
  let source: URL
  let destination: URL
  let options: StoreOptions
  let progress: (Double) throws -> Void

  func attach(to connection: SQLiteConnection, as name: String) throws {
    try connection.attach(file.connection.path, as: name)
  }

  /// Statements and the objects that expressions ask read the source by connections of their own, which see the same only as
  /// long as nobody writes to it.
  func checkSource() throws {
    guard try file.connection.pragma("data_version") != version else { return }
    throw MigrationErrors.failed(
      url: destination, reason: "The source was written to by somebody else while it was copied.",
      suggestion: "Close the store everywhere else, and try again.")
  }

  /// Copying rows is the greater part; indexes and checks come after it.
  func report(_ fraction: Double) throws {
    try cancelling { try progress(min(fraction, 1) * 0.9) }
  }

  /// Makes 134120 of what a caller throws.
  func cancelling(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      throw MigrationErrors.cancelled(url: destination)
    }
  }
}
