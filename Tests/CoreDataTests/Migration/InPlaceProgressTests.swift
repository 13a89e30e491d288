// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration
@testable import CoreDataStoreFiles

@Suite("Progress inside a large table")
struct InPlaceProgressTests {
  private struct Stop: Error {}

  /// A change of a model, which rebuilds the table, changes its rows where they are, or works through them as a whole.
  enum Change: String, CaseIterable {
    case rebuild, update, index, derived

    var model: NSManagedObjectModel {
      let plain: [NSAttributeDescription] = [
        .make("name", .stringAttributeType), .make("stars", .integer16AttributeType),
      ]
      switch self {
      case .rebuild: return NoteVersions.model([.make("name", .stringAttributeType)])
      case .update:
        return NoteVersions.model(plain + [.make("kind", .stringAttributeType, optional: false, default: "plain")])
      case .index:
        // An index alone is no other version.
        let model = NoteVersions.model(plain + [.make("extra", .stringAttributeType)])
        model.entitiesByName["Note"]?.indexes = [
          NSFetchIndexDescription(
            name: "byName", elements: [NSFetchIndexElementDescription(property: plain[0], collationType: .binary)])
        ]
        return model
      case .derived:
        return NoteVersions.model(plain + [.derived("lowercase", .stringAttributeType, "lowercase:(name)")])
      }
    }
  }

  private static let count = 100_000

  /// A store with many rows, whose keys lie a distance apart.
  private func store(distance: Int) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let old = NoteVersions.model([.make("name", .stringAttributeType), .make("stars", .integer16AttributeType)])
    _ = try store.context(old)
    try store.close()
    let file = try StoreFile.open(store.url, isReadOnly: false)
    try file.connection.run(
      "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT \(Self.count)) "
        + "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSTARS) SELECT n * \(distance), 1, 1, 'note ' || n, n % 7 "
        + "FROM number")
    try file.connection.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(Self.count * distance)")
    try file.close()
    return store
  }

  private func migration(_ store: TemporaryStore, _ change: Change) throws -> StoreMigration {
    try migration(store, to: change.model)
  }

  private func migration(_ store: TemporaryStore, to model: NSManagedObjectModel) throws -> StoreMigration {
    try StoreMigration(
      storeAt: store.url, metadata: SQLiteStore.metadataForPersistentStore(with: store.url),
      known: ModelVersions(around: model), destination: .init(name: "new", model: model), configuration: nil,
      allowsLoss: true)
  }

  @Test("It grows with the rows, and every row keeps its key and its values", arguments: Change.allCases, [1, 1000])
  func fractions(_ change: Change, distance: Int) throws {
    let store = try store(distance: distance)
    var fractions: [Double] = []
    let report = try migration(store, change).run { fractions.append($0.fractionCompleted) }
    #expect(Set(fractions.filter { $0 > 0 && $0 < 1 }).count >= 4)
    #expect(fractions == fractions.sorted())
    #expect(fractions.last == 1)
    #expect(report.rows["Note"]?.after == Self.count)
    let file = try StoreFile.open(store.url, isReadOnly: true)
    let sums = try file.connection.rows(
      "SELECT COUNT(*), SUM(Z_PK), SUM(ZNAME = 'note ' || (Z_PK / \(distance))) FROM ZNOTE")
    let keys = Int64(Self.count * (Self.count + 1) / 2 * distance)
    #expect(sums.first?.values == [.integer(Int64(Self.count)), .integer(keys), .integer(Int64(Self.count))])
    if change == .update {
      #expect(try file.connection.scalar("SELECT COUNT(*) FROM ZNOTE WHERE ZKIND IS NOT 'plain'") == .integer(0))
    }
    try file.close()
  }

  @Test("Cancelling partway through a table leaves the store as it was", arguments: Change.allCases)
  func cancelling(_ change: Change) throws {
    let store = try store(distance: 1)
    let before = try FileContent(store.url)
    let failure = #expect(throws: NSError.self) {
      try migration(store, change).run { event in
        if event.rowsDone > 0, event.rowsDone < event.rowCount { throw Stop() }
      }
    }
    #expect(failure?.code == NSMigrationCancelledError)
    #expect(try FileContent(store.url) == before)
  }

  @Test("It grows with the pairs of a join table that is made anew")
  func joinTable() throws {
    func model(_ name: String) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Note", [.make("name", .stringAttributeType)])
      builder.entity("Tag", [.make("name", .stringAttributeType)])
      builder.relate(.init("Note", name, toMany: true), .init("Tag", "notes", toMany: true))
      let model = builder.model()
      model.entitiesByName["Note"]?.relationshipsByName[name]?.renamingIdentifier = "tags"
      return model
    }
    let store = try TemporaryStore()
    _ = try store.context(model("tags"))
    try store.close()
    let file = try StoreFile.open(store.url, isReadOnly: false)
    let numbers =
      "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT \(Self.count)) "
    try file.connection.run(numbers + "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT) SELECT n, 1, 1 FROM number LIMIT 1000")
    try file.connection.run(numbers + "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) SELECT n, 2, 1 FROM number LIMIT 1000")
    try file.connection.run(numbers + "INSERT INTO Z_1TAGS SELECT n % 1000 + 1, n / 1000 + 1 FROM number")
    try file.connection.run("UPDATE Z_PRIMARYKEY SET Z_MAX = 1000")
    try file.close()
    var fractions: [Double] = []
    try migration(store, to: model("labels")).run { fractions.append($0.fractionCompleted) }
    #expect(Set(fractions.filter { $0 > 0 && $0 < 1 }).count >= 4)
    #expect(fractions == fractions.sorted())
    let pairs = try StoreFile.open(store.url, isReadOnly: true)
    #expect(try pairs.connection.rowCount(of: "Z_1LABELS") == Self.count)
    try pairs.close()
  }

  @Test("A statement that takes long can be cancelled between two reports")
  func cancellingInsideStatement() throws {
    let connection = try SQLiteConnection.inMemory()
    let endless =
      "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number) SELECT COUNT(*) FROM number"
    var calls = 0
    #expect(throws: Stop.self) {
      try connection.checking(every: 1000) {
        calls += 1
        if calls == 3 { throw Stop() }
      } during: {
        _ = try connection.scalar(endless)
      }
    }
    #expect(calls == 3)
    #expect(try connection.scalar("SELECT 1") == .integer(1))
  }

  @Test(
    "Ranges of keys hold every key once", arguments: [[1, 2, 3, 4, 5], [-9, 0, 7, 1000], [.min, -1, 0, 1, .max], []])
  func ranges(_ keys: [Int64]) throws {
    let connection = try SQLiteConnection.inMemory()
    try connection.execute("CREATE TABLE T (Z_PK INTEGER PRIMARY KEY)")
    for key in keys { try connection.run("INSERT INTO T VALUES (?)", [.integer(key)]) }
    for rowsAtOnce in 1...6 {
      let found = try KeyRanges(table: "T", rows: keys.count, rowsAtOnce: rowsAtOnce, connection).map(Array.init)
      guard !keys.isEmpty else {
        #expect(found == nil)
        continue
      }
      let ranges = try #require(found)
      for key in keys { #expect(ranges.filter { $0.keys.contains(key) }.count == 1) }
      #expect(ranges.map(\.rowsDone) == ranges.map(\.rowsDone).sorted())
      #expect(ranges.last?.rowsDone == keys.count)
    }
  }
}
