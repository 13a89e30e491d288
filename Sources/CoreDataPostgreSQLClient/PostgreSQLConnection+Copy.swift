// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL

extension PostgreSQLConnection {
  /// Inserts rows with COPY.
  ///
  /// - Returns: The number of rows.
  /// - Throws: `PostgreSQLError`; the errors of the body, which abort the COPY. No row has been inserted then.
  @discardableResult
  package func copyIn(_ table: String, columns: [String], _ body: (CopyWriter) throws -> Void) throws -> Int {
    let list = columns.map(Self.quoted).joined(separator: ", ")
    let sql = "COPY \(Self.quoted(address.schema)).\(Self.quoted(table)) (\(list)) FROM STDIN (FORMAT binary)"
    return try measuring(sql) { run in
      let count = try copyIn(sql, body)
      run?.rowCount = count
      return count
    }
  }

  private func copyIn(_ sql: String, _ body: (CopyWriter) throws -> Void) throws -> Int {
    let handle = try open()
    cpq_PQclear(try checked(cpq_PQexec(handle, sql), sql))
    let writer = CopyWriter { bytes in
      guard let start = bytes.baseAddress else { return true }
      return cpq_PQputCopyData(handle, start.assumingMemoryBound(to: CChar.self), Int32(bytes.count)) == 1
    }
    var cause: (any Error)?
    do {
      try body(writer)
      writer.finish()
    } catch {
      cause = error
    }
    if cause == nil, let size = writer.excessiveSize { cause = PostgreSQLError(tooLarge: size) }
    if cause == nil, writer.hasFailed { cause = failure(sql) }
    guard cpq_PQputCopyEnd(handle, cause == nil ? nil : "the program has stopped") == 1 else {
      let error = cause ?? failure(sql)
      // There is no other way to end the COPY.
      if !isLost { close() }
      throw error
    }
    var (count, problem): (Int, (any Error)?) = (0, nil)
    while let result = cpq_PQgetResult(handle) {
      do {
        let result = try checked(result, sql)
        count = Int(String(libpq: cpq_PQcmdTuples(result))) ?? 0
        cpq_PQclear(result)
      } catch {
        problem = problem ?? error
      }
    }
    if let error = cause ?? problem { throw error }
    return count
  }
}
