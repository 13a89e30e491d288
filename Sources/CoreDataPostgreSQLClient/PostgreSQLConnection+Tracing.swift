// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import CoreDataTracing
import Foundation

/// Reports of statements.
extension PostgreSQLConnection {
  /// Runs a body that runs a statement, and reports the statement if somebody receives reports.
  ///
  /// - Parameter body: Receives the measurement, and sets its row count.
  func measuring<Result>(
    _ sql: String, _ values: [PostgreSQLValue] = [], _ body: (StatementRun?) throws -> Result
  ) throws -> Result {
    guard StatementTracing.isOn else { return try body(nil) }
    let run = measurement(of: sql, values)
    run.resume()
    do {
      let result = try body(run)
      run.end()
      return result
    } catch {
      // Any other error is one of the code that reads the rows.
      run.end((error as? PostgreSQLError)?.reported)
      throw error
    }
  }

  func measurement(of sql: String, _ values: [PostgreSQLValue]) -> StatementRun {
    let run = StatementRun(sql, at: address.redacted)
    if StatementTracing.includesValues { run.boundSQL = BoundStatementText.text(of: sql, values) }
    return run
  }
}

extension StatementRun {
  /// Takes the number of rows that a statement has returned or changed.
  func noteRows(of result: OpaquePointer) {
    rowCount = Int(String(libpq: cpq_PQcmdTuples(result))) ?? Int(cpq_PQntuples(result))
  }
}

extension PostgreSQLError {
  /// The error without what a report has beside it, and without the values of rows.
  var reported: StatementReport.Failure {
    StatementReport.Failure(code: sqlState.map { "SQLSTATE \($0)" } ?? "the connection", message: message)
  }
}

/// Statements with values in place of their parameters, to be read by people.
enum BoundStatementText {
  /// The number of characters and of elements of a value that are shown.
  private static let longestValue = 1_000

  /// Returns a statement with its values. Text in quotes is left as it is.
  static func text(of sql: String, _ values: [PostgreSQLValue]) -> String {
    if values.isEmpty { return sql }
    var (result, rest) = ("", Substring(sql))
    var quote: Character?
    while let character = rest.popFirst() {
      if let open = quote {
        if character == open { quote = nil }
      } else if character == "'" || character == "\"" {
        quote = character
      } else if character == "$" {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        if let number = Int(digits), values.indices.contains(number - 1) {
          rest.removeFirst(digits.count)
          result += literal(values[number - 1])
          continue
        }
      }
      result.append(character)
    }
    return result
  }

  private static func literal(_ value: PostgreSQLValue) -> String {
    switch value {
    case .null: return "NULL"
    case .integer(let number): return String(number)
    case .real(let number): return String(number)
    case .boolean(let flag): return flag ? "true" : "false"
    case .text(let text): return quoted(text)
    case .bytes(let data):
      let digits = data.prefix(longestValue / 2).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      return "'\\x\(digits)\(data.count > longestValue / 2 ? "…" : "")'"
    case .uuid(let uuid): return "'\(uuid.uuidString)'"
    case .timestamp(let microseconds): return timestamp(microseconds)
    case .numeric(let text): return text
    case .integers(let numbers): return array(numbers.lazy.map(String.init), count: numbers.count)
    case .texts(let texts): return array(texts.lazy.map(quoted), count: texts.count)
    }
  }

  private static func quoted(_ text: String) -> String {
    // Counting the characters of a text of many megabytes would take longer than the statement.
    let shown = text.prefix(longestValue)
    let end = shown.endIndex < text.endIndex ? "…" : ""
    return "'\(shown.replacingOccurrences(of: "'", with: "''"))\(end)'"
  }

  private static func timestamp(_ microseconds: Int64) -> String {
    switch microseconds {
    case .max: "'infinity'"
    case .min: "'-infinity'"
    default: "timestamptz '2000-01-01 00:00:00+00' + interval '\(microseconds) microseconds'"
    }
  }

  private static func array(_ elements: some Sequence<String>, count: Int) -> String {
    let shown = elements.prefix(longestValue).joined(separator: ", ")
    return "ARRAY[\(shown)\(count > longestValue ? ", …" : "")]"
  }
}
