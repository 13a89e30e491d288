// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// An error of the server, or of the connection to it.
package struct PostgreSQLError: Error, Sendable, CustomStringConvertible {
  /// The five characters of SQLSTATE; nil for an error of the connection.
  package let sqlState: String?
  package let message: String
  package let detail: String?
  package let hint: String?
  package let schema: String?
  package let table: String?
  package let column: String?
  package let constraint: String?
  /// The beginning of the statement; nil if there was none.
  package let statement: String?
  /// Whether the connection is gone.
  package private(set) var isConnectionLost: Bool
  /// Whether the connection was lost while the server was committing.
  package private(set) var isCommitUnknown = false

  private static let longestStatement = 200

  init(_ message: String, isConnectionLost: Bool = false, statement: String? = nil) {
    // libpq breaks its messages into lines.
    self.message = message.trimmed.split(whereSeparator: \.isNewline)
      .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
    self.isConnectionLost = isConnectionLost
    self.statement = statement.map { String($0.prefix(Self.longestStatement)) }
    (sqlState, detail, hint, schema, table, column, constraint) = (nil, nil, nil, nil, nil, nil, nil)
  }

  /// The error in a result.
  init(_ result: OpaquePointer, statement: String?, isConnectionLost: Bool, masked: (String) -> String) {
    func field(_ code: Int32) -> String? { cpq_PQresultErrorField(result, code).map { masked(String(cString: $0)) } }
    let state = field(Int32(UInt8(ascii: "C")))
    sqlState = state
    message = field(Int32(UInt8(ascii: "M"))) ?? masked(String(libpq: cpq_PQresultErrorMessage(result))).trimmed
    detail = field(Int32(UInt8(ascii: "D")))
    hint = field(Int32(UInt8(ascii: "H")))
    schema = field(Int32(UInt8(ascii: "s")))
    table = field(Int32(UInt8(ascii: "t")))
    column = field(Int32(UInt8(ascii: "c")))
    constraint = field(Int32(UInt8(ascii: "n")))
    self.statement = statement.map { String($0.prefix(Self.longestStatement)) }
    self.isConnectionLost =
      isConnectionLost || ["57P01", "57P02", "57P03"].contains(state) || state?.hasPrefix("08") == true
  }

  package var isUniqueViolation: Bool { sqlState == "23505" || sqlState == "23P01" }
  package var isForeignKeyViolation: Bool { sqlState == "23503" }
  package var isSerializationFailure: Bool { sqlState == "40001" }
  package var isDeadlock: Bool { sqlState == "40P01" }
  package var isCancelled: Bool { sqlState == "57014" }
  package var isLockTimeout: Bool { sqlState == "55P03" }
  package var isDiskFull: Bool { sqlState == "53100" }
  package var isReadOnly: Bool { sqlState == "25006" }
  package var isPrivilege: Bool { sqlState == "42501" }
  package var isUndefinedTable: Bool { sqlState == "42P01" || sqlState == "3F000" }
  package var isUndefinedColumn: Bool { sqlState == "42703" }
  /// Whether a prepared statement does not fit its tables any more.
  var isOutdatedPlan: Bool { sqlState == "0A000" && message.contains("cached plan") || sqlState == "26000" }

  /// The same error of a commit, of which nobody knows whether it was carried out.
  var withUnknownCommit: PostgreSQLError {
    var error = self
    error.isCommitUnknown = true
    return error
  }

  /// The same error, after the server has said that it has not committed.
  package var withoutCommit: PostgreSQLError {
    var error = self
    error.isCommitUnknown = false
    error.isConnectionLost = true
    return error
  }

  package var description: String {
    var text = message
    if let detail { text += (text.hasSuffix(".") ? " " : ". ") + detail }
    if let hint { text += (text.hasSuffix(".") ? " " : ". ") + hint }
    if let constraint { text += (text.hasSuffix(".") ? " " : ". ") + "The constraint is \(constraint)." }
    if let statement { text += (text.hasSuffix(".") ? " " : ". ") + "The statement was: \(statement)" }
    if let sqlState { text += (text.hasSuffix(".") ? " " : ". ") + "SQLSTATE \(sqlState)" }
    return text
  }
}

extension String {
  /// A text of libpq; empty for a null pointer.
  init(libpq text: UnsafeMutablePointer<CChar>?) { self = text.map { String(cString: $0) } ?? "" }

  fileprivate var trimmed: String {
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}
