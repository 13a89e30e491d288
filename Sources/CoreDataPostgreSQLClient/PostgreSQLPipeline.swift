// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import CoreDataTracing
import Foundation

extension PostgreSQLConnection {
  /// Sends statements without waiting for the results of earlier ones.
  package final class Pipeline {
    private enum Expected {
      case preparation(PreparedStatements.Statement, sql: String)
      case result(sql: String, ((PostgreSQLRows) throws -> Void)?)
    }

    /// The number of statements, and of bytes, after which the results are read.
    private static let (maxCount, maxSize) = (1_000, 4 << 20)

    private let connection: PostgreSQLConnection
    private var expected: [Expected] = []
    /// The measurements of statements, by their positions in `expected`; empty if nobody receives reports.
    private var runs: [Int: StatementRun] = [:]
    private var size = 0
    /// Whether each group of statements that are synchronized together is a transaction.
    private let isOutsideTransaction: Bool
    /// The last statement that was sent without a name; the server keeps it until the next one.
    private var unnamed: PreparedStatements.Statement?

    fileprivate init(_ connection: PostgreSQLConnection, isOutsideTransaction: Bool) {
      (self.connection, self.isOutsideTransaction) = (connection, isOutsideTransaction)
    }

    /// Sends a statement.
    ///
    /// - Parameter check: Called with the result before the pipeline ends. Must not use the connection.
    /// - Throws: The first error of an earlier statement or its `check`.
    package func send(
      _ sql: String, _ values: [PostgreSQLValue] = [], check: ((PostgreSQLRows) throws -> Void)? = nil
    ) throws {
      let handle = try connection.open()
      if connection.isPooled, isOutsideTransaction, expected.isEmpty {
        guard connection.sendSettings(handle) else { throw connection.failure(nil) }
        expected.append(.result(sql: connection.settings.statement, nil))
      }
      let statement = connection.prepared.statement(sql, values)
      let parameters = connection.parameters
      try parameters.encode(values)
      if !statement.isPrepared, !connection.isPooled {
        let count = Int32(clamping: statement.types.count)
        guard cpq_PQsendPrepare(handle, statement.name, sql, count, statement.types) == 1 else {
          throw connection.failure(sql)
        }
        // Later statements in the pipeline can use the prepared statement.
        statement.isPrepared = true
        expected.append(.preparation(statement, sql: sql))
      }
      let isSent = parameters.withPointers { pointers in
        connection.isPooled && unnamed !== statement
          ? cpq_PQsendQueryParams(
            handle, sql, pointers.count, statement.types, pointers.values, pointers.lengths, pointers.formats, 1)
          : cpq_PQsendQueryPrepared(
            handle, connection.isPooled ? "" : statement.name, pointers.count, pointers.values, pointers.lengths,
            pointers.formats, 1)
      }
      unnamed = statement
      guard isSent == 1 else { throw connection.failure(sql) }
      if StatementTracing.isOn { runs[expected.count] = connection.measurement(of: sql, values) }
      expected.append(.result(sql: sql, check))
      size += parameters.size + 64
      if expected.count >= Self.maxCount || size >= Self.maxSize { try synchronize() }
    }

    /// Waits for the results of all statements so far.
    ///
    /// - Throws: The first error of a statement or its `check`. The statements after a failed one have not been
    ///   executed.
    package func synchronize() throws {
      if expected.isEmpty { return }
      let handle = try connection.open()
      let (expected, runs) = (expected, runs)
      (self.expected, self.runs, size, unnamed) = ([], [:], 0, nil)
      guard cpq_PQpipelineSync(handle) == 1 else { throw connection.failure(nil) }
      try flush(handle)
      var first: (any Error)?
      for (position, entry) in expected.enumerated() {
        let run = runs[position]
        do {
          // The time since the result of the statement before, as the server works on one after the other.
          run?.resume()
          let result = try next(handle)
          run?.pause()
          try receive(entry, result, run, hasFailed: first != nil)
        } catch {
          if first == nil { run?.end((error as? PostgreSQLError)?.reported) }
          first = first ?? error
          if connection.isLost { throw first ?? error }
        }
        // A null pointer ends the results of a statement.
        while let more = try next(handle) { cpq_PQclear(more) }
      }
      let end = try next(handle)
      defer { cpq_PQclear(end) }
      if let first { throw first }
      guard let end, cpq_PQresultStatus(end) == CPQ_PIPELINE_SYNC else { throw connection.failure(nil) }
    }

    private func receive(
      _ entry: Expected, _ result: OpaquePointer?, _ run: StatementRun?, hasFailed: Bool
    ) throws {
      let isSkipped = result.map { cpq_PQresultStatus($0) == CPQ_PIPELINE_ABORTED } ?? false
      switch entry {
      case .preparation(let statement, let sql):
        if isSkipped {
          // An earlier error, which is reported, has caused this.
          statement.isPrepared = false
          cpq_PQclear(result)
          return
        }
        do {
          cpq_PQclear(try connection.checked(result, sql))
        } catch {
          statement.isPrepared = false
          throw error
        }
      case .result(let sql, let check):
        if isSkipped {
          cpq_PQclear(result)
          return
        }
        do {
          let result = try connection.checked(result, sql)
          run?.noteRows(of: result)
          run?.end()
          guard let check, !hasFailed else { return cpq_PQclear(result) }
          try check(PostgreSQLRows(result))
        } catch let error as PostgreSQLError {
          if error.isOutdatedPlan { connection.prepared.forgetAll() }
          throw error
        }
      }
    }

    /// Sends the contents of libpq's buffer. Also reads what the server sends meanwhile, because a server that cannot
    /// send might stop reading.
    private func flush(_ handle: OpaquePointer) throws {
      while true {
        switch cpq_PQflush(handle) {
        case 0: return
        case 1:
          try connection.wait(handle, for: Int16(POLLIN | POLLOUT))
          guard cpq_PQconsumeInput(handle) == 1 else { throw connection.failure(nil) }
        default: throw connection.failure(nil)
        }
      }
    }

    /// Returns the next result, waiting for it if necessary.
    private func next(_ handle: OpaquePointer) throws -> OpaquePointer? {
      while cpq_PQisBusy(handle) == 1 {
        try connection.wait(handle, for: Int16(POLLIN))
        guard cpq_PQconsumeInput(handle) == 1 else { throw connection.failure(nil) }
      }
      return cpq_PQgetResult(handle)
    }

    /// Reads the pending results after an error. Ignores their errors, because the caller reports the first one.
    fileprivate func drain() {
      do {
        try synchronize()
      } catch {
        expected = []
      }
    }
  }

  /// Runs statements in a pipeline. The connection must not be used otherwise meanwhile.
  ///
  /// Outside a transaction, statements that are synchronized together are executed atomically.
  ///
  /// - Throws: The first error of a statement, of its check, or of the body. Within a transaction, the statements after
  ///   it have not been executed then.
  package func pipeline<Result>(_ body: (Pipeline) throws -> Result) throws -> Result {
    let handle = try open()
    let pipeline = Pipeline(self, isOutsideTransaction: transactionStatus == .none)
    guard cpq_PQenterPipelineMode(handle) == 1 else { throw failure(nil) }
    guard cpq_PQsetnonblocking(handle, 1) == 0 else {
      cpq_PQexitPipelineMode(handle)
      throw failure(nil)
    }
    do {
      let result = try body(pipeline)
      try pipeline.synchronize()
      try leavePipeline()
      return result
    } catch {
      if !isLost {
        pipeline.drain()
        // Report the first error. Close a connection that cannot leave pipeline mode, because it is unusable.
        do { try leavePipeline() } catch { close() }
      }
      throw error
    }
  }

  private func leavePipeline() throws {
    let handle = try open()
    guard cpq_PQexitPipelineMode(handle) == 1, cpq_PQsetnonblocking(handle, 0) == 0 else { throw failure(nil) }
  }
}
