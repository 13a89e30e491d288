// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataSQLite
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Verification of stores with stale indexes")
struct StoreVerifierIndexTests {
  /// Runs statements while an index is not in the schema, so that it does not notice.
  ///
  /// The framework's own connections do not let anybody edit a schema.
  private func run(_ sql: String, on url: URL, behind index: String) throws {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    let row = try connection.rows("SELECT * FROM sqlite_schema WHERE name = '\(index)'")[0]
    let version = try connection.pragma("schema_version")?.integer ?? 0
    try connection.close()
    let entry = row.values.map(\.literal).joined(separator: ", ")
    for (number, statements) in [
      "DELETE FROM sqlite_schema WHERE name = '\(index)'", sql, "INSERT INTO sqlite_schema VALUES (\(entry))",
    ].enumerated() {
      var database: OpaquePointer?
      #expect(sqlite3_open(url.path, &database) == SQLITE_OK)
      let whole = "PRAGMA writable_schema = ON; \(statements); PRAGMA schema_version = \(version + Int64(number) + 1)"
      #expect(sqlite3_exec(database, whole, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(database)))")
      #expect(sqlite3_close(database) == SQLITE_OK)
    }
  }

  @Test("All stale indexes are found, however few rows are listed, and the repair builds all of them")
  func several() throws {
    let company = try CompanyStore()
    try run("UPDATE ZTASK SET ZPROJECT = 3 - ZPROJECT", on: company.url, behind: "ZTASK_ZPROJECT_INDEX")
    try run(
      "UPDATE ZEMPLOYEE SET ZDEPARTMENT = 3 - ZDEPARTMENT", on: company.url, behind: "ZEMPLOYEE_ZDEPARTMENT_INDEX")
    for limit in [0, 1, 100] {
      let indexes = try company.verdict(limit: limit).defects.filter { $0.kind == .index }
      #expect(indexes.count == 2)
      #expect(indexes.map(\.count) == [4, 6] && indexes.map(\.examples.count) == [min(4, limit), min(6, limit)])
    }
    let repair = try StoreRepair(of: company.url, model: nil, limit: 1)
    #expect(repair.repaired.filter { $0.kind == .index }.count == 2)
    #expect(repair.after.defects.map(\.kind) == [])
  }

  @Test("A stale unique index over double values is not built, and hinders no other repair")
  func doubles() throws {
    let company = try CompanyStore()
    try run("UPDATE ZDEPARTMENT SET ZNAME = 'd1'", on: company.url, behind: "Z_Department_UNIQUE_name")
    try company.damage("UPDATE ZTASK SET ZPROJECT = 99 WHERE Z_PK = 1")
    let verdict = try company.verdict()
    #expect(verdict.defects.map(\.kind) == [.index, .uniqueness, .danglingKey])
    #expect(verdict.defects.map(\.isRepairable) == [false, false, true])
    #expect(verdict.defects[1].count == 2 && verdict.defects[1].place == "Department.name")
    let repair = try StoreRepair(of: company.url, model: nil)
    #expect(repair.repaired.map(\.kind) == [.danglingKey])
    #expect(repair.after.defects.map(\.kind) == [.index, .uniqueness])
  }

  @Test("Files are not called orphans where the table of their rows is missing")
  func orphans() throws {
    let company = try CompanyStore()
    try company.damage("DROP TABLE ZEMPLOYEE")
    let orphans = try #require(try company.verdict().defects.first { $0.kind == .orphanedFile })
    #expect(orphans.count == 2 && orphans.cure.hasPrefix("Keep the files"))
  }
}
