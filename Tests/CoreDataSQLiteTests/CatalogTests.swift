// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataSQLite

@Suite("Catalogue of a database")
struct CatalogTests {
  let connection: SQLiteConnection

  init() throws {
    connection = try SQLiteConnection.inMemory()
  }

  @Test("Tables have their columns in order")
  func tables() throws {
    let sql = "CREATE TABLE ZORDER ( Z_PK INTEGER PRIMARY KEY, ZNAME VARCHAR NOT NULL, ZTOTAL DECIMAL DEFAULT 0, x )"
    try connection.execute(sql + "; CREATE TABLE Z_2 (a INTEGER, b INTEGER, PRIMARY KEY (b, a))")
    let catalog = try connection.catalog()
    #expect(catalog.tables.map(\.name) == ["ZORDER", "Z_2"])
    let table = try #require(catalog.table(named: "zorder"))
    #expect(table.sql == sql)
    #expect(!table.isVirtual)
    #expect(table.columns.map(\.name) == ["Z_PK", "ZNAME", "ZTOTAL", "x"])
    #expect(table.columns.map(\.declaredType) == ["INTEGER", "VARCHAR", "DECIMAL", ""])
    #expect(table.columns.map(\.primaryKeyPosition) == [1, 0, 0, 0])
    #expect(table.columns.map(\.isNotNull) == [false, true, false, false])
    #expect(table.columns.map(\.defaultValue) == [nil, nil, "0", nil])
    #expect(table.column(named: "zname")?.declaredType == "VARCHAR")
    #expect(table.column(named: "none") == nil)
    #expect(catalog.table(named: "Z_2")?.columns.map(\.primaryKeyPosition) == [2, 1])
    #expect(catalog.table(named: "none") == nil)
  }

  @Test("Indexes tell columns, directions, uniqueness and whether SQLite made them")
  func indexes() throws {
    try connection.execute(
      """
      CREATE TABLE T (a UNIQUE, b, c);
      CREATE INDEX I ON T (b COLLATE NOCASE, c DESC);
      CREATE UNIQUE INDEX U ON T (lower(c)) WHERE c IS NOT NULL;
      """)
    let catalog = try connection.catalog()
    #expect(catalog.indexes(of: "t").map(\.name) == ["sqlite_autoindex_T_1", "I", "U"])
    #expect(
      catalog.index(named: "i")
        == DatabaseCatalog.Index(
          name: "I", table: "T",
          columns: [
            .init(name: "b", isDescending: false, collation: "NOCASE"),
            .init(name: "c", isDescending: true, collation: "BINARY"),
          ], isUnique: false, isPartial: false, sql: "CREATE INDEX I ON T (b COLLATE NOCASE, c DESC)"))
    #expect(catalog.index(named: "U")?.isUnique == true)
    #expect(catalog.index(named: "U")?.isPartial == true)
    #expect(catalog.index(named: "U")?.columns.map(\.name) == [nil])
    #expect(catalog.index(named: "sqlite_autoindex_T_1")?.sql == nil)
    #expect(catalog.index(named: "sqlite_autoindex_T_1")?.isUnique == true)
  }

  @Test("Triggers and views are listed with their SQL; SQLite's own tables are not")
  func triggersAndViews() throws {
    let trigger = "CREATE TRIGGER R AFTER DELETE ON T BEGIN SELECT 1; END"
    try connection.execute("CREATE TABLE T (a INTEGER PRIMARY KEY AUTOINCREMENT); CREATE VIEW V AS SELECT a FROM T")
    try connection.execute(trigger)
    let catalog = try connection.catalog()
    #expect(catalog.tables.map(\.name) == ["T"])
    #expect(catalog.triggers == [.init(name: "R", table: "T", sql: trigger)])
    #expect(catalog.views == [.init(name: "V", sql: "CREATE VIEW V AS SELECT a FROM T")])
  }

  @Test(
    "A virtual table is listed without columns, so that its module does not run; one of an unknown module as well",
    .enabled(if: hasRTree, "this SQLite was built without R-trees"), arguments: ["rtree", "qtree"])
  func virtualTable(module: String) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("Places.sqlite")
    let writer = try SQLiteConnection(path: path, mode: .create)
    try writer.execute("CREATE VIRTUAL TABLE R USING rtree(id, low, high); INSERT INTO R VALUES (1, 2, 3)")
    #expect(try writer.scalar("SELECT id FROM R WHERE low >= 1 AND high <= 3") == 1)
    try writer.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let name = try #require(bytes.range(of: Data("USING rtree".utf8)))
    bytes.replaceSubrange(name, with: Data("USING \(module)".utf8))
    try bytes.write(to: URL(fileURLWithPath: path))
    let connection = try SQLiteConnection(path: path, mode: .readOnly)
    let catalog = try connection.catalog()
    #expect(catalog.table(named: "R")?.isVirtual == true)
    #expect(catalog.table(named: "R")?.columns == [])
    #expect(catalog.tables.map(\.name).sorted() == ["R", "R_node", "R_parent", "R_rowid"])
    #expect(catalog.table(named: "R_node")?.isVirtual == false)
    try connection.close()
    #expect(!connection.isOpen)
  }

  @Test("Names are quoted whatever they hold", arguments: ["T", "select", "a\"b", "a'b", "Größe", "a b;--", ""])
  func quoting(name: String) throws {
    try connection.execute("CREATE TABLE \(SQLName.quoted(name)) (a)")
    #expect(try connection.catalog().tables.map(\.name) == [name])
    #expect(try connection.hasTable(name))
    #expect(try connection.rowCount(of: name) == 0)
    #expect(try !connection.hasTable("other"))
  }

  @Test("Names are the same in any case of ASCII letters only")
  func folding() {
    #expect(SQLName.areEqual("ZNAME", "zName"))
    #expect(!SQLName.areEqual("ZGRÖSSE", "zgrösse"))
  }

  @Test("Names that SQL would misread are quoted, others are not")
  func quotingOnlyWhereNeeded() {
    #expect(SQLName.quoted("Z_12NAME") == "Z_12NAME")
    #expect(SQLName.quoted("ZÄPFEL") == "ZÄPFEL")
    #expect(SQLName.quoted("Z-A\"B") == "\"Z-A\"\"B\"")
    #expect(SQLName.quoted("1A") == "\"1A\"")
    #expect(SQLName.quoted("Order") == "\"Order\"")
  }
}

private let hasRTree: Bool = {
  // A failure to ask counts as no, and the test is skipped out loud.
  let answer = try? SQLiteConnection.inMemory().scalar("SELECT sqlite_compileoption_used('ENABLE_RTREE')")
  return answer == .integer(1)
}()
