// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The results of an examination: what was examined, what was found, and what to do.
package struct Checkup: Sendable {
  package enum Level: String, Sendable {
    case ok
    /// Nothing is wrong, but the result is worth knowing.
    case note
    /// Something does not work, or data is at risk.
    case problem
  }

  package struct Item: Hashable, Sendable {
    package let level: Level
    /// The examined subject in one or two words.
    package let subject: String
    /// The result as a sentence.
    package let finding: String
    /// The recommended action as a sentence; nil if there is nothing to do.
    package let cure: String?
    /// The command for the recommended action, or for more information.
    package let command: String?
    /// The finding's code, if it has one.
    package let code: FindingCode?
  }

  package private(set) var items: [Item] = []

  package var isHealthy: Bool { !items.contains { $0.level == .problem } }

  mutating func add(
    _ level: Level, _ subject: String, _ finding: String, cure: String? = nil, command: String? = nil
  ) {
    items.append(Item(level: level, subject: subject, finding: finding, cure: cure, command: command, code: nil))
  }

  /// - Parameter names: file names that keep their case at the start of a message.
  mutating func add(_ finding: Finding, _ subject: String, cure: String, command: String?, names: [String]) {
    let level: Level =
      switch finding.level {
      case .error: .problem
      case .warning: .note
      case .information: .ok
      }
    let beginsWithName = names.contains { finding.message.hasPrefix($0) }
    let first = finding.message.prefix(1)
    let sentence = (beginsWithName ? String(first) : first.uppercased()) + finding.message.dropFirst() + "."
    let allowance = finding.allowance.map { " (\($0.words))" } ?? ""
    items.append(
      Item(
        level: level, subject: subject, finding: sentence + allowance, cure: level == .ok ? nil : cure,
        command: command,
        code: finding.code))
  }

  /// Examines the system resources needed by the library: SQLite, and a directory for temporary files.
  package static func ofSystem() -> Checkup {
    var checkup = Checkup()
    checkup.examineSQLite()
    checkup.examine(temporaryFolder: FileManager.default.temporaryDirectory)
    return checkup
  }

  /// The oldest SQLite version tested with the library: that of Debian 11.
  private static let oldestSQLite: Int32 = 3_034_000

  private mutating func examineSQLite() {
    let version = String(cString: sqlite3_libversion())
    if sqlite3_threadsafe() == 0 {
      add(
        .problem, "SQLite", "SQLite \(version) is built without thread safety.",
        cure: "Install a SQLite that is built with SQLITE_THREADSAFE=1, as those of distributions are.")
    } else if sqlite3_libversion_number() < Self.oldestSQLite {
      add(
        .problem, "SQLite", "SQLite \(version) is older than 3.34, which is needed to repair and migrate stores.",
        cure: "Install a newer SQLite.")
    } else {
      add(.ok, "SQLite", "Version \(version).")
    }
  }

  private mutating func examine(temporaryFolder folder: URL) {
    let url = folder.appendingPathComponent("coredata-doctor-\(UUID().uuidString)")
    do {
      let connection = try SQLiteConnection(url: url, mode: .create)
      defer {
        // The system removes leftover files in a temporary directory.
        try? FileCalls.removeFile(url)
      }
      try connection.execute("CREATE TABLE T (X); INSERT INTO T VALUES (1)")
      try connection.close()
      add(.ok, "temporary files", "A database can be created in \(folder.path).")
    } catch {
      add(
        .problem, "temporary files", "No database can be created in \(folder.path): \(error)",
        cure: "Set TMPDIR to a folder with free space in which files can be written and locked.")
    }
  }
}
