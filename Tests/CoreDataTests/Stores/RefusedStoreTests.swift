// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Many programs move a store away that they cannot open, and only its main file.
@Suite("The log of a store that is refused")
struct RefusedStoreTests {
  private func model(_ names: [String]) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Note", names.map { .make($0, .stringAttributeType) })
    return builder.model()
  }

  /// A store whose ten rows are in its log, as a process that was killed leaves it.
  private func crashed(changingMetadata: Bool = false) throws -> TemporaryStore {
    let place = try TemporaryStore()
    let original = place.folder.appendingPathComponent("Original.sqlite")
    let context = try place.context(
      model(["a"]), options: [NSSQLitePragmasOption: ["wal_autocheckpoint": "0"]], at: original)
    for number in 0..<10 { context.make("Note", ["a": "\(number)"]) }
    if changingMetadata, let store = context.coordinator.persistentStores.first {
      context.coordinator.setMetadata((store.metadata ?? [:]).merging(["key": "value"]) { $1 }, for: store)
    }
    try context.save()
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: original.path + suffix, toPath: place.url.path + suffix)
    }
    try place.close()
    #expect(rowsInFile(place.url) == 0)
    return place
  }

  /// The number of rows in the main file.
  private func rowsInFile(_ url: URL) -> Int? {
    (try? SQLiteConnection(url: url, mode: .immutable).scalar("SELECT COUNT(*) FROM ZNOTE")?.integer).map { Int($0) }
  }

  private func refuse(
    _ place: TemporaryStore, _ names: [String], _ options: [AnyHashable: Any], code: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: NSError.self, sourceLocation: sourceLocation) {
      try place.context(model(names), options: options)
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
  }

  @Test("Its rows are in the main file after each kind of refusal")
  func refusals() throws {
    let cases: [(options: [AnyHashable: Any], names: [String], code: Int)] = [
      ([:], ["a", "b"], 134100),
      ([NSMigratePersistentStoresAutomaticallyOption: true], ["a", "b"], 134140),
    ]
    for (options, names, code) in cases {
      let place = try crashed()
      refuse(place, names, options, code: code)
      let moved = place.folder.appendingPathComponent("Moved.sqlite")
      try FileManager.default.moveItem(at: place.url, to: moved)
      #expect(
        try place.context(model(["a", "b"])).count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) == 0)
      let rows = try place.context(model(["a"]), at: moved).all("Note", by: "a")
      #expect(rows.count == 10)
    }
  }

  @Test("It stays as it is where the store was to be opened read-only")
  func readOnly() throws {
    let place = try crashed()
    let before = try Data(contentsOf: place.url)
    let log = try Data(contentsOf: DatabaseCompanions.log(of: place.url.path))
    refuse(place, ["a", "b"], [NSReadOnlyPersistentStoreOption: true], code: 134100)
    #expect(try Data(contentsOf: place.url) == before)
    #expect(try Data(contentsOf: DatabaseCompanions.log(of: place.url.path)) == log)
  }

  @Test("A process that uses the store neither holds the refusal up nor loses anything")
  func usedByOthers() throws {
    let place = try crashed()
    let other = try SQLiteConnection(url: place.url, mode: .readWrite)
    try other.begin(.immediate)
    try other.run("UPDATE ZNOTE SET ZA = 'changed'")
    let start = ContinuousClock.now
    refuse(place, ["a", "b"], [:], code: 134100)
    #expect(ContinuousClock.now - start < .seconds(3))
    try other.commit()
    #expect(try other.scalar("SELECT COUNT(*) FROM ZNOTE WHERE ZA = 'changed'") == 10)
    try other.close()
    #expect(rowsInFile(place.url) == 10)
  }

  @Test("The log of another store is not written into this one")
  func foreign() throws {
    let place = try crashed(changingMetadata: true)
    let stranger = place.folder.appendingPathComponent("Stranger.sqlite")
    let context = try place.context(model(["c", "d"]), at: stranger)
    context.make("Note", ["c": "stranger"])
    try context.save()
    try place.close()
    let log = try Data(contentsOf: DatabaseCompanions.log(of: place.url.path))
    try FileManager.default.removeItem(at: place.url)
    try FileManager.default.moveItem(at: stranger, to: place.url)
    let before = try Data(contentsOf: place.url)
    refuse(place, ["x"], [:], code: 134100)
    #expect(try Data(contentsOf: place.url) == before)
    #expect(try Data(contentsOf: DatabaseCompanions.log(of: place.url.path)) == log)
  }
}
