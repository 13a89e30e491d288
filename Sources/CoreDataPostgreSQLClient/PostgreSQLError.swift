// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL

/// An error of the server or of the connection to it.
package struct PostgreSQLError: Error, Sendable, CustomStringConvertible {
  /// The SQLSTATE code (five characters); nil for an error of the connection.
  package let sqlState: String?
  package private(set) var message: String
  package private(set) var detail: String?
  package private(set) var hint: String?
  package let schema: String?
  package let table: String?
  package let column: String?
  package let constraint: String?
  /// The beginning of the statement; nil if the error does not concern one.
  package let statement: String?
  /// Whether the connection is lost.
  package private(set) var isConnectionLost: Bool
  /// Whether the connection was lost while the server was committing.
  package private(set) var isCommitUnknown = false

  /// Whether the server requires a password that was not found anywhere.
  package private(set) var needsPassword = false
  /// Whether values of rows were removed from the texts.
  package private(set) var hidesValues = false

  private static let longestStatement = 400

  init(_ message: String, isConnectionLost: Bool = false, statement: String? = nil) {
    self.message = Self.joined(message)
    self.isConnectionLost = isConnectionLost
    self.statement = statement.map { Self.shortened($0) }
    (sqlState, hint, schema, table, column, constraint) = (nil, nil, nil, nil, nil, nil)
  }

  /// Creates the error for values that the server does not accept.
  init(tooLarge size: Int) {
    self.init(
      "\(size) bytes are too large for PostgreSQL, which accepts values of up to \(PostgreSQLValue.maxSize) bytes.")
  }

  /// Returns a libpq message, which may have several lines, on one line. A line that another one follows ends with a
  /// full stop.
  private static func joined(_ message: String) -> String {
    let lines = message.split(whereSeparator: \.isNewline).map { String($0.drop(while: \.isWhitespace)).trimmed }
    let ended = lines.dropLast().map { ".?!:;,".contains($0.last ?? ".") ? $0 : $0 + "." }
    return (ended + lines.suffix(1)).joined(separator: " ")
  }

  /// Creates an error from a result.
  ///
  /// - Parameter masked: Masks passwords in libpq's messages. The server's messages contain none.
  init(_ result: OpaquePointer, statement: String?, isConnectionLost: Bool, masked: (String) -> String) {
    func field(_ code: Int32) -> String? { cpq_PQresultErrorField(result, code).map { String(cString: $0) } }
    let state = field(CPQ_FIELD_SQLSTATE)
    sqlState = state
    message = field(CPQ_FIELD_MESSAGE)?.trimmed ?? Self.joined(masked(String(libpq: cpq_PQresultErrorMessage(result))))
    detail = field(CPQ_FIELD_DETAIL)
    hint = field(CPQ_FIELD_HINT)
    schema = field(CPQ_FIELD_SCHEMA)
    table = field(CPQ_FIELD_TABLE)
    column = field(CPQ_FIELD_COLUMN)
    constraint = field(CPQ_FIELD_CONSTRAINT)
    self.statement = statement.map { Self.shortened($0) }
    self.isConnectionLost = isConnectionLost || state.map { Self.isConnectionFailure($0) } ?? false
  }

  /// Returns whether the server closes or refuses the connection: `admin_shutdown`, `crash_shutdown`,
  /// `cannot_connect_now`, `idle_session_timeout`, `idle_in_transaction_session_timeout`, and the class of connection
  /// exceptions.
  private static func isConnectionFailure(_ state: String) -> Bool {
    state.hasPrefix("08") || ["57P01", "57P02", "57P03", "57P05", "25P03"].contains(state)
  }

  private static func shortened(_ sql: String) -> String {
    sql.count > longestStatement ? sql.prefix(longestStatement) + "…" : sql
  }

  package var isUniqueViolation: Bool { sqlState == "23505" || sqlState == "23P01" }
  package var isForeignKeyViolation: Bool { sqlState == "23503" }
  /// Whether the values of rows violate a constraint.
  package var isIntegrityViolation: Bool { sqlState?.hasPrefix("23") ?? false }
  package var isSerializationFailure: Bool { sqlState == "40001" }
  package var isDeadlock: Bool { sqlState == "40P01" }
  package var isCancelled: Bool { sqlState == "57014" }
  package var isLockTimeout: Bool { sqlState == "55P03" }
  package var isDiskFull: Bool { sqlState == "53100" }
  package var isReadOnly: Bool { sqlState == "25006" }
  package var isPrivilege: Bool { sqlState == "42501" }
  package var isNotNullViolation: Bool { sqlState == "23502" }
  package var isUndefinedTable: Bool { sqlState == "42P01" || sqlState == "3F000" }
  package var isUndefinedColumn: Bool { sqlState == "42703" }
  /// Whether the plan of a prepared statement is outdated because its tables have changed. The connection has discarded
  /// the statement, so a transaction that failed for this reason can be repeated.
  package var isOutdatedPlan: Bool { sqlState == "0A000" && message.contains("cached plan") || sqlState == "26000" }

  /// The error with the information that the outcome of the commit is unknown.
  var withUnknownCommit: PostgreSQLError {
    var error = self
    error.isCommitUnknown = true
    error.isConnectionLost = true
    return error
  }

  /// The error with the information that a password is missing.
  var withPasswordNeed: PostgreSQLError {
    var error = self
    error.needsPassword = true
    return error
  }

  /// The error without values of rows, which the server puts into the details of violated constraints
  /// (`Key (zname)=(Ada) already exists.`) and into messages about values that it cannot read.
  var withoutValues: PostgreSQLError {
    var error = self
    switch sqlState?.prefix(2) {
    case "23", "44": error.detail = nil
    case "22" where sqlState != "22021":
      error.detail = nil
      error.message = message.replacing(#/".*"/#, with: "\"…\"")
    default: return self
    }
    error.hidesValues = error.detail != detail || error.message != message
    return error
  }

  /// Returns the error with another hint, or unchanged if the hint is nil.
  package func withHint(_ hint: String?) -> PostgreSQLError {
    var error = self
    error.hint = hint ?? self.hint
    return error
  }

  /// The error with the information that the server has not committed.
  package var withoutCommit: PostgreSQLError {
    var error = self
    error.isCommitUnknown = false
    error.isConnectionLost = true
    return error
  }

  package var description: String {
    let sentences = [
      message, detail, hint, constraint.map { "The constraint is \($0)." },
      statement.map { "The statement was: \($0)" },
      hidesValues ? "The values are hidden; error_values=show in the URL shows them." : nil,
      sqlState.map { "SQLSTATE \($0)" },
    ]
    return sentences.compactMap { $0 }.reduce("") { text, sentence in
      text + (text.isEmpty ? "" : text.hasSuffix(".") ? " " : ". ") + sentence
    }
  }
}

extension String {
  /// Creates a string from a libpq text. The string is empty for a null pointer.
  init(libpq text: UnsafePointer<CChar>?) { self = text.map { String(cString: $0) } ?? "" }
  init(libpq text: UnsafeMutablePointer<CChar>?) { self.init(libpq: text.map { UnsafePointer($0) }) }

  fileprivate var trimmed: String {
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}
