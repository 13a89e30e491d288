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
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.execute(sql)
    try connection.close()
    let problem = try #require(#expect(throws: StoreProblem.self) { _ = try StoreReader(url: store.url) })
    #expect(problem.kind == .damaged && problem.description.contains(sentence), "\(problem)")
  }

  @Test("Rows with any numbers are exported all")
  func rows() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for title in ["a", "b", "c"] { context.make("Task", ["title": title]) }
    try context.save()
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.execute(
      """
      UPDATE ZTASK SET Z_PK = -9223372036854775808, Z_OPT = 'x' WHERE ZTITLE = 'a';
      UPDATE ZTASK SET Z_PK = 9223372036854775807, ZPROJECT = 1e300, Z_ENT = -9223372036854775808 WHERE ZTITLE = 'c'
      """)
    try connection.close()
    let reader = try StoreReader(url: store.url)
    var names: [String] = []
    try reader.forEachObject(of: ["Task"]) { names.append($0.id.components(separatedBy: "/").last ?? "") }
    #expect(names == ["p-9223372036854775808", "p2", "p9223372036854775807"])
    #expect(try reader.counts().rows["Task"] == 3)
  }
}
