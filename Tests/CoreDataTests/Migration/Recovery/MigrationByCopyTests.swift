// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Migrations that make a new store")
struct MigrationByCopyTests {
  private let store: TemporaryStore
  private let before: [String]

  init() throws {
    store = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 40, photos: 4)
    before = try RecoverySample.content(store.url)
  }

  private func run(
    _ steps: [(to: Int, kind: StoreMigration.Step.Kind)], keeping: Bool = true,
    copyStep: @escaping MigrationByCopy.CopyStep = RecoverySample.copyStep,
    progress: (MigrationProgress) throws -> Void = { _ in }
  ) throws -> MigrationReport {
    let migration = try RecoverySample.migration(store.url, steps)
    let keptAt = keeping ? BackupName.free(for: store.url, in: store.folder) : nil
    return try ErrorTranslation.translating(url: migration.storeURL, during: .use) {
      try MigrationByCopy(migration, copyStep: copyStep).run(keptAt: keptAt, progress: progress)
    }
  }

  @Test(
    "Steps in place and by copying, in any order, reach their version with every row and every file of a value",
    arguments: [
      [StoreMigration.Step.Kind.mapping], [.mapping, .mapping], [.inferred, .mapping], [.mapping, .inferred],
      [.inferred, .mapping, .inferred], [.mapping, .inferred, .mapping],
    ])
  func mixtures(_ kinds: [StoreMigration.Step.Kind]) throws {
    var fractions: [Double] = []
    let report = try run(
      kinds.enumerated().map { ($0.offset + 2, $0.element) }, progress: { fractions.append($0.fractionCompleted) })
    #expect(try RecoverySample.version(store.url) == kinds.count + 1)
    #expect(try RecoverySample.content(store.url) == before)
    #expect(fractions == fractions.sorted())
    #expect(fractions.last == 1)
    #expect(report.leftover == nil)
    #expect(report.rows == ["Note": .init(before: 40, after: 40), "Folder": .init(before: 5, after: 5)])
    try StoreChecks.check(store.url, RecoverySample.model(kinds.count + 1))
    // The store that was replaced is whole, too; and nothing else is left.
    let kept = try #require(report.replacedStore)
    #expect(kept.lastPathComponent == "Data~.sqlite")
    #expect(try RecoverySample.version(kept) == 1)
    #expect(try RecoverySample.content(kept) == before)
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "Data~.sqlite", "8 values"])
  }

  @Test("The progress of a migration of nothing ends at 1 as well")
  func empty() throws {
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    for table in ["ZNOTE", "ZFOLDER"] { try connection.run("DELETE FROM \(table)") }
    try connection.close()
    var fractions: [Double] = []
    try RecoverySample.migration(store.url, [(2, .mapping), (3, .inferred), (4, .mapping)])
      .run { fractions.append($0.fractionCompleted) }
    #expect(fractions == fractions.sorted() && fractions.last == 1)
    #expect(try RecoverySample.version(store.url) == 4)
  }

  @Test("Where the replaced store is not kept, its files of values go with it")
  func notKept() throws {
    let report = try run([(2, .mapping)], keeping: false)
    #expect(report.replacedStore == nil)
    #expect(try RecoverySample.content(store.url) == before)
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "4 values"])
  }

  @Test("Files of values that another store shares the folder of stay")
  func sharedFolder() throws {
    let other = store.folder.appendingPathComponent("Data.other")
    try RecoverySample.fill(other, rows: 9, photos: 3)
    let content = try RecoverySample.content(other)
    _ = try run([(2, .mapping)], keeping: false)
    #expect(try RecoverySample.content(other) == content)
    #expect(try RecoverySample.content(store.url) == before)
    #expect(try RecoverySample.files(store.folder) == ["Data.other", "Data.sqlite", "7 values"])
  }

  @Test("A log that has not been folded in is part of what is migrated, and none is left for the new store")
  func hotLog() throws {
    let folder = store.folder.appendingPathComponent("hot")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let hot = folder.appendingPathComponent("Data.sqlite")
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.setPragma("wal_autocheckpoint", to: 0)
    try connection.run("UPDATE ZNOTE SET ZBODY = 'from the log', ZPHOTO = NULL")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: store.url.path + suffix, toPath: hot.path + suffix)
    }
    try connection.close()
    let migration = try RecoverySample.migration(hot, [(2, .mapping)])
    let report = try MigrationByCopy(migration, copyStep: RecoverySample.copyStep)
      .run(keptAt: folder.appendingPathComponent("Data~.sqlite")) { _ in }
    for url in [hot, try #require(report.replacedStore)] {
      let content = try RecoverySample.content(url)
      #expect(content.count == 40)
      #expect(content.allSatisfy { $0.contains("|from the log|") })
    }
    #expect(try RecoverySample.version(hot) == 2)
    try StoreChecks.check(hot, RecoverySample.model(2))
  }

  @Test("A log that a step has left beside its store is part of the new one")
  func logOfStep() throws {
    _ = try run(
      [(2, .mapping)],
      copyStep: { step, source, destination, progress in
        let made = store.folder.appendingPathComponent("made.sqlite")
        let executions = try RecoverySample.copyStep(step, source, made, progress)
        try FileCalls.rename(StoreFiles.externalData(of: made), to: StoreFiles.externalData(of: destination))
        let connection = try SQLiteConnection(url: made, mode: .readWrite)
        try connection.setPragma("wal_autocheckpoint", to: 0)
        try connection.run("UPDATE ZNOTE SET ZBODY = 'from the log'")
        for suffix in ["", "-wal"] {
          try FileManager.default.copyItem(atPath: made.path + suffix, toPath: destination.path + suffix)
        }
        try connection.close()
        try FileCalls.removeFile(made)
        return executions
      })
    let content = try RecoverySample.content(store.url)
    #expect(content.count == 40 && content.allSatisfy { $0.contains("|from the log|") })
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "Data~.sqlite", "8 values"])
  }

  @Test(
    "A row that a step loses is noticed, be it the last step or not",
    arguments: [
      [StoreMigration.Step.Kind.mapping], [.mapping, .inferred], [.inferred, .mapping], [.mapping, .mapping],
    ])
  func lostRow(_ kinds: [StoreMigration.Step.Kind]) throws {
    let content = try FileContent(store.url)
    let failure = thrownError {
      _ = try run(
        kinds.enumerated().map { ($0.offset + 2, $0.element) },
        copyStep: { step, source, destination, progress in
          let executions = try RecoverySample.copyStep(step, source, destination, progress)
          let connection = try SQLiteConnection(url: destination, mode: .readWrite)
          try connection.run("DELETE FROM ZNOTE WHERE Z_PK = 9")
          try connection.close()
          return executions
        })
    }
    #expect(failure?.code == NSMigrationManagerDestinationStoreError)
    #expect(
      failure?.localizedFailureReason?.contains("'Note' should have 40 rows") == true, "\(String(describing: failure))")
    #expect(try FileContent(store.url) == content)
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "4 values"])
  }

  @Test("How many rows there have to be is foreseen where the mapping model alone decides it, and nowhere else")
  func account() throws {
    func mapping(_ source: String?, _ destination: String?, filter: String? = nil) -> NSEntityMapping {
      let mapping = NSEntityMapping()
      (mapping.sourceEntityName, mapping.destinationEntityName) = (source, destination)
      mapping.mappingType = source == nil ? .addEntityMappingType : .transformEntityMappingType
      if let source { mapping.sourceSyntax = MappingExpressions.sourceObjects(entity: source, filter: filter) }
      return mapping
    }
    func problem(_ mappings: [NSEntityMapping], _ found: [String: Int]) -> String? {
      let model = NSMappingModel()
      model.entityMappings = mappings
      do {
        try ExpectedRows(model, from: ["A": 3, "B": 4]).check(found)
        return nil
      } catch {
        return (error as? StoreVerification.Problem)?.reason
      }
    }
    let both = [mapping("A", "C"), mapping("B", "C")]
    #expect(problem(both, ["C": 7]) == nil)
    #expect(problem(both, ["C": 6])?.contains("'C' should have 7 rows") == true)
    #expect(problem(both, [:]) == nil)
    #expect(problem([mapping("A", "C"), mapping("B", "C", filter: "x > 1")], ["C": 3]) == nil)
    #expect(problem([mapping("A", "C"), mapping(nil, "C")], ["C": 9]) == nil)
    #expect(problem([mapping("Other", "C")], ["C": 9]) == nil)
    #expect(problem([mapping("A", nil), mapping("B", "B")], ["A": 0, "B": 5])?.contains("'B' should have 4") == true)
    both[0].entityMigrationPolicyClassName = "Policy"
    #expect(problem(both, ["C": 6]) == nil)
  }

  @Test("A failing or cancelled step, at any moment, leaves the store as it was and nothing beside it")
  func failures() throws {
    struct Stop: Error {}
    let content = try FileContent(store.url)
    var number = 0
    while number < 100 {
      var count = 0
      let failure = thrownError {
        _ = try run(
          [(2, .inferred), (3, .mapping), (4, .inferred)],
          progress: { _ in
            count += 1
            if count > number { throw Stop() }
          })
      }
      guard let failure else { break }
      #expect(failure.code == NSMigrationCancelledError)
      #expect(failure.userInfo["URL"] as? URL == store.url)
      #expect(try FileContent(store.url) == content)
      #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "4 values"])
      #expect(try SQLiteConnection(url: store.url, mode: .readOnly).journalMode() == .wal)
      number += 1
    }
    #expect(number > 6)
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("A new store that is not whole does not take the place of the old one")
  func verification() throws {
    let spoilings: [(String, (URL) throws -> Void)] = [
      (
        "version hashes",
        { url in
          let file = try StoreFile.open(url, isReadOnly: false)
          var metadata = try file.metadata()
          metadata[NSStoreModelVersionHashesKey] = ["Note": Data([1])]
          try file.setMetadata(metadata)
          try file.close()
        }
      ),
      (
        "is missing",
        { url in
          let folder = StoreLocation.externalData(of: url)
          let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
          try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
      ),
      (
        "SQLite finds",
        { url in
          try StoreDamage.listAsFree(page: 3, of: url)
        }
      ),
    ]
    let content = try FileContent(store.url)
    for (words, spoil) in spoilings {
      let failure = thrownError {
        _ = try run(
          [(2, .mapping)],
          copyStep: { step, source, destination, progress in
            let executions = try RecoverySample.copyStep(step, source, destination, progress)
            try spoil(destination)
            return executions
          })
      }
      #expect(failure?.code == NSMigrationManagerDestinationStoreError, "\(words): \(String(describing: failure))")
      #expect(failure?.localizedFailureReason?.contains(words) == true, "\(String(describing: failure))")
      #expect(try FileContent(store.url) == content)
      #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "4 values"])
    }
  }

  @Test("While a store is migrated nobody can write it, others can read it, and who migrates it too is told")
  func whileMigrating() throws {
    var rival: NSError?
    var writer: SQLiteError?
    var rows: Int64?
    _ = try run(
      [(2, .mapping)],
      copyStep: { step, source, destination, progress in
        rival = thrownError { _ = try run([(2, .mapping)]) }
        let other = try SQLiteConnection(url: store.url, mode: .readWrite, busyTimeout: 0)
        do { try other.run("UPDATE ZNOTE SET ZBODY = 'lost'") } catch { writer = error as? SQLiteError }
        rows = try other.scalar("SELECT COUNT(*) FROM ZNOTE")?.integer
        try other.close()
        #expect(try StoreRecovery.inspect(storeAt: store.url)?.isRunning == true)
        #expect(thrownError { try StoreRecovery.recover(storeAt: store.url) }?.code == NSMigrationError)
        return try RecoverySample.copyStep(step, source, destination, progress)
      })
    #expect(rival?.code == NSMigrationError)
    #expect(rival?.localizedFailureReason?.contains("another process") == true)
    #expect(writer?.isBusy == true)
    #expect(rows == 40)
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("A store that somebody has open at the end is not replaced")
  func inUse() throws {
    let reader = try SQLiteConnection(url: store.url, mode: .readWrite)
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZNOTE")?.integer == 40)
    let failure = thrownError { _ = try run([(2, .mapping)]) }
    #expect(failure?.code == NSPersistentStoreTimeoutError)
    try reader.run("UPDATE ZNOTE SET ZBODY = 'written'")
    try reader.close()
    #expect(try RecoverySample.version(store.url) == 1)
    #expect(try RecoverySample.content(store.url).allSatisfy { $0.contains("|written|") })
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "4 values"])
  }

  @Test("A file that was put in the place of the store meanwhile is not replaced")
  func replacedMeanwhile() throws {
    let other = store.folder.appendingPathComponent("Other.sqlite")
    try StoreFiles.copy(from: store.url, to: other)
    let failure = thrownError {
      _ = try run(
        [(2, .mapping)],
        copyStep: { step, source, destination, progress in
          let executions = try RecoverySample.copyStep(step, source, destination, progress)
          try FileCalls.rename(other, to: store.url)
          return executions
        })
    }
    #expect(failure?.localizedFailureReason?.contains("replaced or moved") == true, "\(String(describing: failure))")
    #expect(try RecoverySample.version(store.url) == 1)
  }

  @Test("The new store has the rights of the old one, and its way of journaling")
  func rights() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: store.url.path)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.setJournalMode(.delete)
    try connection.close()
    _ = try run([(2, .mapping)])
    let rights = try FileManager.default.attributesOfItem(atPath: store.url.path)[.posixPermissions] as? Int
    #expect(rights == 0o640)
    let again = try SQLiteConnection(url: store.url, mode: .readOnly)
    #expect(try again.journalMode() == .delete)
    try again.close()
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("A store that a symbolic link leads to is replaced where it is")
  func symbolicLink() throws {
    let folder = store.folder.appendingPathComponent("elsewhere")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let target = folder.appendingPathComponent("Real.sqlite")
    try FileManager.default.moveItem(at: store.url, to: target)
    try FileManager.default.createSymbolicLink(at: store.url, withDestinationURL: target)
    _ = try run([(2, .mapping)], keeping: false)
    #expect(FileCalls.isSymbolicLink(store.url))
    #expect(try RecoverySample.version(target) == 2)
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test(
    "A folder that cannot be written is refused, and nothing is changed",
    .enabled(if: geteuid() != 0, "root may write everything"))
  func readOnlyFolder() throws {
    let content = try FileContent(store.url)
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.url.path + suffix) }
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: store.folder.path)
    let failure = thrownError { _ = try run([(2, .mapping)]) }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: store.folder.path)
    #expect(failure?.code == CocoaError.Code.fileWriteNoPermission.rawValue)
    #expect(try FileContent(store.url) == content)
  }
}
