// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes statements to standard error, one a line.
///
/// The environment variable `COREDATA_LOG` asks for it, with a list of words: `sql`, `timing` and `values`. So does the
/// launch argument `-com.apple.CoreData.SQLDebug LEVEL`, where 1 and 2 mean `sql,timing`, and greater levels `values`
/// too.
struct StatementLog: Sendable {
  struct Contents: OptionSet, Sendable {
    let rawValue: Int
    /// The text of statements.
    static let sql = Contents(rawValue: 1)
    /// Durations and row counts.
    static let timing = Contents(rawValue: 2)
    /// Bound values in place of parameters.
    static let values = Contents(rawValue: 4)

    fileprivate static let words: [(name: String, contents: Contents)] = [
      ("sql", .sql), ("timing", .timing), ("values", [.sql, .values]),
    ]
  }

  static let variable = "COREDATA_LOG"
  static let argument = "-com.apple.CoreData.SQLDebug"

  let contents: Contents

  /// The log that the process was asked for; nil for none. Prints a line about words that mean nothing.
  static let requested: StatementLog? = {
    let (contents, unknown) = request(
      arguments: CommandLine.arguments, environment: ProcessInfo.processInfo.environment)
    if !unknown.isEmpty {
      let names = Contents.words.map(\.name).joined(separator: ", ")
      emit("CoreData: warning: \(variable) has \(unknown.joined(separator: ", ")); the words are \(names).\n")
    }
    return contents.isEmpty ? nil : StatementLog(contents: contents)
  }()

  /// Returns what the arguments and the environment of a process ask for, and the words that mean nothing.
  static func request(
    arguments: [String], environment: [String: String]
  ) -> (contents: Contents, unknown: [String]) {
    var contents: Contents = []
    if let level = LaunchArgument.value(of: argument, in: arguments).flatMap({ Int($0) }), level > 0 {
      contents = level > 2 ? [.sql, .timing, .values] : [.sql, .timing]
    }
    var unknown: [String] = []
    for word in (environment[variable] ?? "").split(whereSeparator: { ", ".contains($0) }) {
      if let known = Contents.words.first(where: { $0.name == word.lowercased() }) {
        contents.formUnion(known.contents)
      } else {
        unknown.append("'\(singleLine(String(word)))'")
      }
    }
    return (contents, unknown)
  }

  func write(_ report: StatementReport) { Self.emit(line(report)) }

  /// Returns the line about a statement.
  func line(_ report: StatementReport) -> String {
    var line = "CoreData: "
    if contents.contains(.sql) {
      let sql = contents.contains(.values) ? report.boundSQL ?? report.sql : report.sql
      line += "sql: \(Self.singleLine(sql)) -- "
    }
    var parts: [String] = []
    if let failure = report.failure { parts.append("failed with \(failure.code): \(failure.message)") }
    if contents.contains(.timing) {
      let rows = report.rowCount == 1 ? "1 row" : "\(report.rowCount) rows"
      parts.append("\(Self.milliseconds(report.duration)) ms, \(rows)")
    }
    var purpose = (report.origin?.kind ?? .other).rawValue
    if let name = report.origin?.contextName { purpose += " in '\(name)'" }
    if let author = report.origin?.author { purpose += " by '\(author)'" }
    parts += [purpose, report.location]
    return line + Self.singleLine(parts.joined(separator: "; ")) + "\n"
  }

  private static func milliseconds(_ duration: Duration) -> String {
    let microseconds = duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
    let fraction = String(microseconds % 1_000)
    return "\(microseconds / 1_000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
  }

  /// Returns a text without line breaks and other control characters, so that no value can forge a line.
  private static func singleLine(_ text: String) -> String {
    if !text.unicodeScalars.contains(where: isControl) { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n", "\t", "\r": result += " "
      default:
        if isControl(scalar) { result += scalar.escaped(asASCII: true) } else { result.unicodeScalars.append(scalar) }
      }
    }
    return result
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
  }

  /// Writes a line with one call, so that the lines of several threads do not mix.
  private static func emit(_ line: String) {
    var bytes = Array(line.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // Nobody reads standard error, and there is no other place to say so.
      if count <= 0 { return }
      bytes = bytes.dropFirst(count)
    }
  }
}
