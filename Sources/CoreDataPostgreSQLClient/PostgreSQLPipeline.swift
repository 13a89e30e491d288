// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

extension PostgreSQLConnection {
  /// Statements that are sent without waiting for the results of those before.
  package final class Pipeline {
    private enum Expected {
      case preparation(PreparedStatements.Statement, sql: String)
      case result(sql: String, ((PostgreSQLRows) throws -> Void)?)
    }

    /// So many statements, or bytes, are sent before their results are read.
    private static let (greatestCount, greatestSize) = (1_000, 4 << 20)

    private let connection: PostgreSQLConnection
    private var expected: [Expected] = []
    private var size = 0

    fileprivate init(_ connection: PostgreSQLConnection) { self.connection = connection }

    /// Sends a statement.
    ///
    /// - Parameter check: called with its result, before the pipeline ends. Must not use the connection.
    /// - Throws: the first error of an earlier statement; what its `check` has thrown.
    package func send(
      _ sql: String, _ values: [PostgreSQLValue] = [], check: ((PostgreSQLRows) throws -> Void)? = nil
    ) throws {
      let handle = try connection.open()
      let statement = connection.prepared.statement(sql, values)
      let parameters = connection.parameters
      try parameters.encode(values)
      if !statement.isPrepared {
        let count = Int32(clamping: statement.types.count)
        guard cpq_PQsendPrepare(handle, statement.name, sql, count, statement.types) == 1 else {
          throw connection.failure(sql)
        }
        // Statements after it in the pipeline can use it.
        statement.isPrepared = true
        expected.append(.preparation(statement, sql: sql))
      }
      let isSent = parameters.withPointers { pointers in
        cpq_PQsendQueryPrepared(
          handle, statement.name, pointers.count, pointers.values, pointers.lengths, pointers.formats, 1)
      }
      guard isSent == 1 else { throw connection.failure(sql) }
      expected.append(.result(sql: sql, check))
      size += parameters.size + 64
      if expected.count >= Self.greatestCount || size >= Self.greatestSize { try synchronize() }
    }

    /// Waits for the results of all statements so far.
    ///
    /// - Throws: the first error of a statement; what its `check` has thrown. The statements after one that has failed have not
    ///   been carried out.
    package func synchronize() throws {
      if expected.isEmpty { return }
      let handle = try connection.open()
      let expected = expected
      (self.expected, size) = ([], 0)
      guard cpq_PQpipelineSync(handle) == 1 else { throw connection.failure(nil) }
      try flush(handle)
      var first: (any Error)?
      for entry in expected {
        do {
          try receive(entry, next(handle), hasFailed: first != nil)
        } catch {
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

    private func receive(_ entry: Expected, _ result: OpaquePointer?, hasFailed: Bool) throws {
      let isSkipped = result.map { cpq_PQresultStatus($0) == CPQ_PIPELINE_ABORTED } ?? false
      switch entry {
      case .preparation(let statement, let sql):
        if isSkipped {
          // The error before it is the one that counts.
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
          guard let check, !hasFailed else { return cpq_PQclear(result) }
          try check(PostgreSQLRows(result))
        } catch let error as PostgreSQLError {
          if error.isOutdatedPlan { connection.prepared.forgetAll() }
          throw error
        }
      }
    }

    /// Sends what libpq has in its buffer, and reads what the server sends meanwhile, which might not read on otherwise.
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

    /// Returns the next result.
    private func next(_ handle: OpaquePointer) throws -> OpaquePointer? {
      while cpq_PQisBusy(handle) == 1 {
        try connection.wait(handle, for: Int16(POLLIN))
        guard cpq_PQconsumeInput(handle) == 1 else { throw connection.failure(nil) }
      }
      return cpq_PQgetResult(handle)
    }

    /// Reads what is under way after an error, which the caller needs.
    fileprivate func drain() {
      do {
        try synchronize()
      } catch {
        expected = []
      }
    }
  }

  /// Runs statements in a pipeline. The connection must not be used in another way meanwhile.
  ///
  /// Without a transaction, statements that are synchronized together are carried out together or not at all.
  ///
  /// - Throws: the first error of a statement, of its check, or of the body. The statements after it have not been carried out
  ///   then, if they are in one transaction.
  package func pipeline<Result>(_ body: (Pipeline) throws -> Result) throws -> Result {
    let handle = try open()
    guard cpq_PQenterPipelineMode(handle) == 1 else { throw failure(nil) }
    guard cpq_PQsetnonblocking(handle, 1) == 0 else {
      cpq_PQexitPipelineMode(handle)
      throw failure(nil)
    }
    let pipeline = Pipeline(self)
    do {
      let result = try body(pipeline)
      try pipeline.synchronize()
      try leavePipeline()
      return result
    } catch {
      if !isLost {
        pipeline.drain()
        // The first error counts. A connection that cannot leave the pipeline is of no use.
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
