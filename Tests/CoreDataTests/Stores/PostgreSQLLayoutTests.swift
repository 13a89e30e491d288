// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// The layout and the statements of a store in PostgreSQL, as texts. A server that understands them is not needed here.
@Suite("Layout of a model in PostgreSQL")
struct PostgreSQLLayoutTests {
  private func attribute(_ name: String, _ kind: AttributeKind = .string) -> AttributeDocument {
    AttributeDocument(name: name, kind: kind)
  }

  private func entity(_ name: String, _ attributes: [AttributeDocument] = []) -> EntityDocument {
    var entity = EntityDocument(name: name, parentName: nil)
    entity.attributes = attributes
    return entity
  }

  private func library() -> ModelDocument {
    var book = entity(
      "Book",
      [
        attribute("title"), attribute("printed", .date), attribute("pages", .integer16), attribute("isLent", .boolean),
        attribute("price", .decimal), attribute("weight", .float), attribute("code", .uuid),
        attribute("cover", .binaryData),
      ])
    book.relationships = [RelationshipDocument(name: "shelf", destinationEntityName: "Shelf", inverseName: "books")]
    book.indexes = [
      FetchIndexDocument(
        name: "byDate",
        elements: [FetchIndexElementDocument(propertyName: "printed", isAscending: false)],
        partialIndexPredicate: .comparison(ComparisonSyntax(.keyPath("isLent"), .equalTo, .constant(.boolean(true)))))
    ]
    book.uniquenessConstraints = [["title"], ["printed", "pages"]]
    var books = RelationshipDocument(name: "books", destinationEntityName: "Book", inverseName: "shelf")
    books.maxCount = 0
    var shelf = entity("Shelf", [attribute("name")])
    shelf.relationships = [books]
    return ModelDocument(entities: [book, shelf])
  }

  @Test("Each type of attribute has its type of column, and a date has two columns")
  func types() throws {
    let schema = try StoreSchema(document: library(), dialect: .postgreSQL)
    let columns = schema.table(named: "zbook")?.columns.map { "\($0.name) \($0.type.rawValue)" }
    #expect(
      columns == [
        "z_pk bigint", "z_ent integer", "z_opt integer", "zislent boolean", "zpages bigint", "zshelf bigint",
        "zprinted timestamp with time zone", "zprinted_sub double precision", "zweight real", "zprice numeric",
        "ztitle text", "zcode uuid", "zcover bytea",
      ])
    #expect(schema["Book"]?.attributes["printed"]?.columns == ["zprinted", "zprinted_sub"])
    #expect(schema["Book"]?.attributes["title"]?.remainderColumn == nil)
  }

  @Test("Tables, sequences, indexes and constraints are created in an order in which they find each other")
  func statements() throws {
    let definitions = PostgreSQLDefinitions(try StoreSchema(document: library(), dialect: .postgreSQL))
    let statements = definitions.creationStatements.map(\.sql).filter { !$0.hasPrefix("CREATE TABLE z_") }
    #expect(
      statements == [
        "CREATE TABLE zbook (z_pk bigint PRIMARY KEY, z_ent integer NOT NULL, z_opt integer NOT NULL, zislent boolean, "
          + "zpages bigint, zshelf bigint, zprinted timestamp with time zone, zprinted_sub double precision, "
          + "zweight real, zprice numeric, ztitle text COLLATE \"C\", zcode uuid, zcover bytea)",
        "CREATE SEQUENCE zbook_z_pk_seq AS bigint INCREMENT BY 1000 OWNED BY zbook.z_pk",
        "CREATE TABLE zshelf (z_pk bigint PRIMARY KEY, z_ent integer NOT NULL, z_opt integer NOT NULL, "
          + "zname text COLLATE \"C\")",
        "CREATE SEQUENCE zshelf_z_pk_seq AS bigint INCREMENT BY 1000 OWNED BY zshelf.z_pk",
        "CREATE INDEX zbook_zshelf_index ON zbook (zshelf)",
        "CREATE INDEX z_book_printed ON zbook (zprinted ASC NULLS FIRST, (COALESCE(zprinted_sub, 0)) ASC NULLS FIRST)",
        "CREATE INDEX z_book_bydate ON zbook (zprinted DESC NULLS LAST, (COALESCE(zprinted_sub, 0)) DESC NULLS LAST) "
          + "WHERE zbook.zislent = (1 <> 0)",
        "ALTER TABLE zbook ADD CONSTRAINT z_book_unique_title UNIQUE (ztitle) DEFERRABLE INITIALLY DEFERRED",
        "ALTER TABLE zbook ADD CONSTRAINT z_book_unique_printed_pages EXCLUDE USING btree "
          + "(zprinted WITH =, (COALESCE(zprinted_sub, 0)) WITH =, zpages WITH =) DEFERRABLE INITIALLY DEFERRED",
        "ALTER TABLE zbook ADD CONSTRAINT zshelf_fkey FOREIGN KEY (zshelf) REFERENCES zshelf (z_pk) "
          + "DEFERRABLE INITIALLY DEFERRED",
      ])
  }

  @Test("A relationship whose inverse leaves the keys of deleted objects has no foreign key constraint")
  func noAction() throws {
    var document = library()
    document.entities[1].relationships[0].deleteRule = .noAction
    #expect(PostgreSQLDefinitions(try StoreSchema(document: document, dialect: .postgreSQL)).foreignKeys.isEmpty)
  }

  @Test("Names that are too long, or equal in lower case, are shortened and made unique")
  func names() throws {
    let long = String(repeating: "ä", count: 40)
    let schema = try StoreSchema(
      document: ModelDocument(entities: [
        entity(long + "1", [attribute(long), attribute("day", .date), attribute("day_sub")]), entity(long + "2"),
        entity("a_z_pk_seq"), entity("a"),
      ]), dialect: .postgreSQL)
    let names = schema.tables.map(\.name) + schema.tables.map(\.sequence)
    #expect(Set(names).count == 8)
    #expect((names + schema.tables.flatMap { $0.columns.map(\.name) }).allSatisfy { $0.utf8.count <= 63 })
    #expect(SQLDialect.postgreSQL.spelling(of: "ZBOOK") == "zbook")
    #expect(SQLDialect.postgreSQL.spelling(of: String(repeating: "Z", count: 64)).utf8.count == 63)
    let day = schema[long + "1"]?.attributes["day"]
    #expect(day?.columns == ["zday", "zday_sub1"])
    #expect(schema[long + "1"]?.attributes["day_sub"]?.column == "zday_sub")
  }

  @Test("Columns of elements have the names of the composite attributes around them")
  func elements() throws {
    var geo = attribute("geo", .composite)
    geo.elements = [attribute("lat", .double), attribute("at", .date)]
    var place = attribute("place", .composite)
    place.elements = [attribute("id"), geo]
    let document = ModelDocument(entities: [entity("Shop", [attribute("id", .uuid), place, attribute("place_id")])])
    let schema = try StoreSchema(document: document, dialect: .postgreSQL)
    #expect(
      schema["Shop"]?.attributes["place"]?.columns == [
        "zplace_geo_at", "zplace_geo_at_sub", "zplace_geo_lat", "zplace_id",
      ])
    #expect(schema["Shop"]?.attributes["place_id"]?.column == "zplace_id1")
    let catalog = StoreCatalog(
      dialect: .postgreSQL,
      tables: schema.tables.map { table in
        StoreCatalog.Table(
          name: table.name,
          columns: table.columns.map { StoreCatalog.Column(name: $0.name, type: $0.type.rawValue) })
      }, indexes: Set(schema.indexes.map(\.name)))
    let rows = [PrimaryKeyRow(number: 1, name: "Shop", parentNumber: 0)]
    #expect(try StoreSchema(document: document, catalog: catalog, primaryKeys: rows) == schema)
  }

  @Test("A schema is found again in the catalog of its database, also with other names and numbers")
  func reconciliation() throws {
    let document = library()
    let schema = try StoreSchema(document: document, dialect: .postgreSQL)
    func catalog(_ change: (inout StoreCatalog.Table) -> Void = { _ in }) -> StoreCatalog {
      StoreCatalog(
        dialect: .postgreSQL,
        tables: schema.tables.map { table in
          var found = StoreCatalog.Table(
            name: table.name,
            columns: table.columns.map { StoreCatalog.Column(name: $0.name, type: $0.type.rawValue) })
          change(&found)
          return found
        }, indexes: Set(schema.indexes.map(\.name)))
    }
    let rows = [
      PrimaryKeyRow(number: 2, name: "Shelf", parentNumber: 0), PrimaryKeyRow(number: 1, name: "Book", parentNumber: 0),
    ]
    #expect(try StoreSchema(document: document, catalog: catalog(), primaryKeys: rows) == schema)
    #expect(
      throws: SchemaProblem.columnNotInStore(
        entity: "Book", property: "printed", table: "zbook", column: "zprinted_sub")
    ) {
      try StoreSchema(
        document: document, catalog: catalog { $0.columns.removeAll { $0.name == "zprinted_sub" } }, primaryKeys: rows)
    }
  }

  @Test("Properties of one name find their columns by type, and a date the second column that belongs to its first")
  func rivals() throws {
    var (day, text) = (entity("D", [attribute("value", .date)]), entity("S", [attribute("value")]))
    (day.parentName, text.parentName) = ("Base", "Base")
    let document = ModelDocument(entities: [entity("Base"), day, text])
    let types = [
      ("z_pk", "bigint"), ("z_ent", "integer"), ("z_opt", "integer"), ("zvalue", "text"),
      ("zvalue1", "timestamp with time zone"), ("zvalue1_sub", "double precision"),
    ]
    let catalog = StoreCatalog(
      dialect: .postgreSQL,
      tables: [.init(name: "zbase", columns: types.map { .init(name: $0.0, type: $0.1) })], indexes: [])
    let schema = try StoreSchema(
      document: document, catalog: catalog,
      primaryKeys: [
        PrimaryKeyRow(number: 1, name: "Base", parentNumber: 0), PrimaryKeyRow(number: 2, name: "D", parentNumber: 1),
        PrimaryKeyRow(number: 3, name: "S", parentNumber: 1),
      ])
    #expect(schema["D"]?.attributes["value"]?.columns == ["zvalue1", "zvalue1_sub"])
    #expect(schema["S"]?.attributes["value"]?.columns == ["zvalue"])
  }

  // MARK: Values and parameters

  @Test("A date is its timestamp and its remainder, to the last bit and in order")
  func dates() throws {
    var random = SeededGenerator(seed: 15)
    var seconds: [Double] = [
      0, -0.0, 1, -1, 0.1, -0.1, 1e-7, -1e-7, 4e-7, -4e-7, -5e-7, -6e-7, -1e-6, -1.5e-6, 1e-20, -1e-20, 1e300, -1e300,
      .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .greatestFiniteMagnitude,
      Date.distantPast.timeIntervalSinceReferenceDate, Date.distantFuture.timeIntervalSinceReferenceDate,
      -211_845_110_400, -211_845_110_401, 9_223_339_708_799, 9_223_339_708_800, 725_000_000.123_456_7,
    ]
    for _ in 0..<20_000 {
      seconds.append(Double.random(in: -1e9...1e9, using: &random))
      seconds.append(Double.random(in: -1e-5...1e-5, using: &random))
      seconds.append(Double(bitPattern: random.next()))
      seconds.append(Double.random(in: -2.2e11...9.3e12, using: &random))
    }
    seconds = seconds.filter { !$0.isNaN }.sorted()
    let dates = try seconds.map { try #require(StoredDate(seconds: $0)) }
    #expect(zip(seconds, dates).allSatisfy { $0 == $1.seconds })
    #expect(dates.allSatisfy { StoredDate(timestamp: $0.timestamp, remainder: $0.remainder) == $0 })
    let keys = dates.map { ($0.microseconds, $0.remainder ?? 0) }
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0 <= $1 })
    // Different dates differ.
    #expect(
      zip(seconds, dates).dropFirst().enumerated().allSatisfy { position, pair in
        pair.0 == seconds[position] || pair.1 != dates[position]
      })
    #expect(StoredDate(seconds: .nan) == nil)
  }

  @Test(
    "Timestamps are written in the calendar of PostgreSQL",
    arguments: [
      (0, "2001-01-01 00:00:00.000000+00"), (-0.25, "2000-12-31 23:59:59.750000+00"),
      (94_608_000 - 86_400 * 307 + 86_400 * 0.5, "2003-02-28 12:00:00.000000+00"),
      (-63_113_904_000, "0001-01-01 00:00:00.000000+00"), (-63_113_904_001, "0001-12-31 23:59:59.000000+00 BC"),
      (252_423_993_600, "10000-01-01 00:00:00.000000+00"), (1e300, "infinity"), (-1e300, "-infinity"),
    ] as [(Double, String)])
  func timestamps(seconds: Double, text: String) {
    #expect(StoredDate(seconds: seconds)?.text == text)
  }

  @Test("Question marks become parameters with the types of their values, outside of quoted names and texts")
  func parameters() {
    let statement = BoundSQL(
      "SELECT \"a?\", 'it''s ?' FROM t WHERE a = ? AND b < ? AND c IN (?, ?) AND d IS NOT DISTINCT FROM ?",
      [.integer(1), .real(2.5), .text("x"), .blob(Data([1])), .null])
    #expect(
      statement.postgreSQL
        == BoundSQL(
          "SELECT \"a?\", 'it''s ?' FROM t WHERE a = $1::bigint AND b < $2::double precision AND c IN ($3::text, "
            + "$4::bytea) AND d IS NOT DISTINCT FROM $5", statement.values))
    #expect(
      BoundSQL("a = ?2 OR b = ?1 OR c = ?2", [.integer(1), .text("x")]).postgreSQL
        == BoundSQL("a = $1::text OR b = $2::bigint OR c = $1::text", [.text("x"), .integer(1)]))
    #expect(BoundSQL("a < ?", [.real(.nan)]).postgreSQL == BoundSQL("a < $1::double precision", [.null]))
    var shared = BoundSQL("SELECT a + ? GROUP BY a + ?, ?, ?", [.integer(1), .integer(1), .real(1), .null])
    #expect(shared.postgreSQL.values == [.integer(1), .integer(1), .real(1), .null])
    shared.sharesParameters = true
    #expect(
      shared.postgreSQL
        == BoundSQL("SELECT a + $1::bigint GROUP BY a + $1::bigint, $2::double precision, $3", [1, 1.0, .null]))
    #expect(
      BoundSQL("? ? ? ? ?", [.integer(-1), .text("it's"), .real(.infinity), .blob(Data([255])), .null])
        .postgreSQLLiterals
        == "-1 'it''s' CAST('Infinity' AS double precision) CAST(E'\\\\xff' AS bytea) NULL")
  }

  @Test("Long lists are one parameter, whose text PostgreSQL reads as an array")
  func lists() throws {
    let texts = (0...100).map { SQLiteValue.text("\($0)") } + [.text("a\"b\\c,d")]
    let list = try SQLValueList.list(texts, .text, .postgreSQL)
    #expect(list.sql == "(SELECT UNNEST(CAST(? AS text[])))")
    #expect(list.values.first?.text?.hasSuffix(",\"100\",\"a\\\"b\\\\c,d\"}") == true)
    let reals = try SQLValueList.list(
      (0...100).map { .real(Double($0)) } + [.real(-.infinity)], .doublePrecision, .postgreSQL)
    #expect(reals.values.first?.text?.hasSuffix(",100.0,-Infinity}") == true)
    #expect(try SQLValueList.list([.integer(1), .integer(2)], .bigint, .postgreSQL).sql == "(?, ?)")
    #expect(
      try SQLValueList.list([], .uuid, .postgreSQL).sql == "(SELECT CAST(NULL AS uuid) WHERE FALSE)")
  }

  // MARK: Predicates

  private func condition(_ format: String, of name: String = "Book") throws -> String {
    let schema = try StoreSchema(document: library(), dialect: .postgreSQL)
    var criteria = RowCriteria()
    criteria.predicate = try PredicateParser.parse(format)
    let entity = try #require(schema[name])
    let sql = try SelectBuilder(schema: schema, objects: NoKeys()).select(["Z_PK"], of: entity, criteria).sql
    return String(
      sql.dropFirst(sql.range(of: " WHERE ").map { sql.distance(from: sql.startIndex, to: $0.upperBound) } ?? 0)
        .replacing(" ORDER BY t0.Z_PK", with: ""))
  }

  private struct NoKeys: ObjectKeys {
    func primaryKey(of object: OpaqueObject, root: Int) throws -> Int64? { throw NotExpressibleInSQL() }
  }

  @Test(
    "Comparisons leave columns as they are, so that indexes answer them",
    arguments: [
      ("title = 'x'", "t0.ztitle = ?"), ("title != 'x'", "t0.ztitle IS DISTINCT FROM ?"),
      ("isLent = YES", "t0.zislent = (? <> 0)"), ("isLent != 0", "t0.zislent IS DISTINCT FROM (? <> 0)"),
      ("weight < 2.5", "t0.zweight < ?"), ("pages >= 2.5", "t0.zpages >= CAST(? AS numeric)"),
      ("pages = 2.0", "t0.zpages = ?"), ("pages BETWEEN {1, 2}", "(t0.zpages >= ? AND t0.zpages <= ?)"),
      ("title BEGINSWITH 'a'", "(t0.ztitle >= ? AND t0.ztitle < ?)"),
      ("title ENDSWITH 'a'", "RIGHT(t0.ztitle, CHAR_LENGTH(?)) = ?"),
      ("title CONTAINS 'a'", "STRPOS(t0.ztitle, ?) > 0"),
      ("printed = nil", "t0.zprinted IS NULL"),
      ("price = 1", "t0.zprice = ?"),
      ("shelf.name = nil", "t1.zname IS NULL"),
      ("NOT title = 'x'", "NOT COALESCE(t0.ztitle = ?, FALSE)"),
    ])
  func comparisons(format: String, sql: String) throws {
    #expect(try condition(format) == sql)
  }

  @Test(
    "What PostgreSQL rounds or folds otherwise is left to memory",
    arguments: [
      "title =[c] 'x'", "title LIKE 'a*'", "title MATCHES 'a'", "uppercase(title) = 'X'", "price > 1.5",
      "price * 2 = 4",
      "pages ** 2 = 4", "ln(pages) > 1",
    ])
  func unanswerable(format: String) {
    #expect(throws: NotExpressibleInSQL.self) { try condition(format) }
  }

  @Test("A date is compared as a pair, which an index on its timestamp answers")
  func datePairs() throws {
    let schema = try StoreSchema(document: library(), dialect: .postgreSQL)
    var criteria = RowCriteria()
    let date = PlainValue.date(Date(timeIntervalSinceReferenceDate: 0.125))
    criteria.predicate = .comparison(ComparisonSyntax(.keyPath("printed"), .lessThan, .constant(date)))
    criteria.order = [SortKey(keyPath: "printed", isAscending: false)]
    let entity = try #require(schema["Book"])
    let select = try SelectBuilder(schema: schema, objects: NoKeys()).select(["Z_PK"], of: entity, criteria)
    #expect(
      select
        == BoundSQL(
          "SELECT t0.Z_PK FROM zbook t0 WHERE (t0.zprinted, COALESCE(t0.zprinted_sub, 0)) < (CAST(? AS timestamptz), ?) "
            + "ORDER BY t0.zprinted DESC NULLS LAST, COALESCE(t0.zprinted_sub, 0) DESC NULLS LAST, t0.Z_PK",
          [.text("2001-01-01 00:00:00.125000+00"), .real(0)]))
  }
}
