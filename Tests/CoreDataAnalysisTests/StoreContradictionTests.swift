// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Stores that contradict themselves")
struct StoreContradictionTests {
  @Test(
    "Are told as damaged, with what is wrong",
    arguments: [
      ("UPDATE Z_PRIMARYKEY SET Z_ENT = -1 WHERE Z_ENT = 1", "the number -1"),
      ("UPDATE Z_PRIMARYKEY SET Z_ENT = 9223372036854775807 WHERE Z_ENT = 1", "the number 9223372036854775807"),
      ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Task'", "“Task” twice"),
    ])
  func entityNumbers(_ sql: String, _ sentence: String) throws {
    let store = try TemporaryStore()
    _ = try store.context(CompanyModel.make())
    try store.close()
    try SQLiteConnection.execute(sql, at: store.url)
    let problem = try #require(#expect(throws: StoreProblem.self) { _ = try StoreReader(url: store.url) })
    #expect(problem.kind == .damaged && problem.description.contains(sentence), "\(problem)")
  }

  @Test("Rows with the number of an entity of another table are damage, and counted for nobody")
  func foreignNumbers() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    context.make("Task", ["title": "a"])
    for _ in 0..<3 { context.make("Manager", ["name": "b"]) }
    try context.save()
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    let table = try #require(
      connection.catalog().tables.first { $0.column(named: "ZBONUS") != nil }?.name)
    try connection.run("UPDATE \(table) SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Task')")
    try connection.close()
    let problem = #expect(throws: StoreProblem.self) { try StoreReader(url: store.url).rowCounts() }
    #expect(problem?.kind == .damaged && problem?.description.contains("has 3 rows in the table \(table)") == true)
  }

  @Test("Rows with any numbers are exported all")
  func rows() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for title in ["a", "b", "c"] { context.make("Task", ["title": title]) }
    try context.save()
    try store.close()
    try SQLiteConnection.execute(
      """
      UPDATE ZTASK SET Z_PK = -9223372036854775808, Z_OPT = 'x' WHERE ZTITLE = 'a';
      UPDATE ZTASK SET Z_PK = 9223372036854775807, ZPROJECT = 1e300, Z_ENT = -9223372036854775808 WHERE ZTITLE = 'c'
      """, at: store.url)
    let reader = try StoreReader(url: store.url)
    var names: [String] = []
    try reader.forEachObject(of: ["Task"]) { names.append($0.id.components(separatedBy: "/").last ?? "") }
    #expect(names == ["p-9223372036854775808", "p2", "p9223372036854775807"])
    #expect(try reader.counts().rows["Task"] == 3)
  }
}
