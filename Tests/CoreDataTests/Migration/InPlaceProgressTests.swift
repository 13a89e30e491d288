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

  /// A change of a model, which either rebuilds the table, or changes its rows where they are.
  enum Change: String, CaseIterable {
    case rebuild, update

    var attributes: [NSAttributeDescription] {
      switch self {
      case .rebuild: [.make("name", .stringAttributeType)]
      case .update:
        [
          .make("name", .stringAttributeType), .make("stars", .integer16AttributeType),
          .make("kind", .stringAttributeType, optional: false, default: "plain"),
        ]
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
    let model = NoteVersions.model(change.attributes)
    return try StoreMigration(
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
        if event.table != nil, event.rowsDone > 0, event.rowsDone < event.rowCount { throw Stop() }
      }
    }
    #expect(failure?.code == NSMigrationCancelledError)
    #expect(try FileContent(store.url) == before)
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
