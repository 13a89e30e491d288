// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Backups")
struct StoreBackupTests {
  private let store: TemporaryStore
  private let content: [String]

  init() throws {
    store = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 12, photos: 3)
    content = try RecoverySample.content(store.url)
  }

  private func url(_ name: String) -> URL { store.folder.appendingPathComponent(name) }

  private func mode(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
  }

  private func values(_ name: String) throws -> Set<String> {
    Set(try FileCalls.names(in: url(name).appendingPathComponent("_EXTERNAL_DATA")))
  }

  private func migrate(_ url: URL) throws {
    var migration = try RecoverySample.migration(url, [(2, .mapping)])
    migration.keepsReplacedStore = false
    try migration.run()
  }

  // MARK: Making

  @Test("A backup has the rows, the log and the values of its store; the store is as it was")
  func whole() throws {
    let files = try store.files()
    let backup = try StoreBackup.make(of: store.url)
    #expect(try store.files() == (files + [".Data~_SUPPORT", "Data~.sqlite"]).sorted())
    #expect(backup.lastPathComponent == "Data~.sqlite")
    #expect(try RecoverySample.content(backup) == content)
    #expect(try values(".Data~_SUPPORT") == values(".Data_SUPPORT"))
    // Its values are its own: hard links would share what somebody writes into one of them.
    let name = try #require(try values(".Data~_SUPPORT").first)
    let (own, old) = (StoreLocation.externalData(of: backup), StoreLocation.externalData(of: store.url))
    #expect(
      FileCalls.identity(own.appendingPathComponent(name)) != FileCalls.identity(old.appendingPathComponent(name)))
    #expect(try RecoverySample.content(store.url) == content)
  }

  @Test("What only the log holds is in the backup, whoever has the store open")
  func log() throws {
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.setPragma("wal_autocheckpoint", to: 0)
    try connection.run("UPDATE ZNOTE SET ZBODY = 'from the log'")
    let backup = try StoreBackup.make(of: store.url)
    try connection.close()
    let rows = try RecoverySample.content(backup)
    #expect(rows.count == 12 && rows.allSatisfy { $0.contains("|from the log|") })
    #expect(try store.files().filter { $0.hasPrefix("Data~") } == ["Data~.sqlite"])
  }

  @Test("What has a name of a backup keeps it: other backups, values, logs, and links that lead nowhere")
  func names() throws {
    let elsewhere = url("elsewhere")
    try FileManager.default.createSymbolicLink(at: url("Data~.sqlite"), withDestinationURL: elsewhere)
    try FileManager.default.createDirectory(at: url(".Data~2_SUPPORT"), withIntermediateDirectories: true)
    try Data("log".utf8).write(to: url("Data~3.sqlite-wal"))
    try Data("other".utf8).write(to: url("Data~4.store"))
    #expect(try StoreBackup.make(of: store.url).lastPathComponent == "Data~5.sqlite")
    #expect(try StoreBackup.make(of: store.url).lastPathComponent == "Data~6.sqlite")
    #expect(!FileCalls.exists(elsewhere))
    #expect(try FileCalls.names(in: url(".Data~2_SUPPORT")) == [])
    #expect(FileCalls.isSymbolicLink(url("Data~.sqlite")))
  }

  @Test("Stores that share a base name do not share a backup's number, nor its values")
  func sharedBaseName() throws {
    let folder = url("backups")
    let other = try TemporaryStore("Data.store")
    try RecoverySample.fill(other.url, rows: 4, photos: 2)
    let first = try StoreBackup.make(of: store.url, in: folder)
    let second = try StoreBackup.make(of: other.url, in: folder)
    #expect([first, second].map(\.lastPathComponent) == ["Data~.sqlite", "Data~2.store"])
    try StoreBackup.remove(second)
    #expect(try RecoverySample.content(first) == content)
    #expect(try FileCalls.names(in: folder).sorted() == [".Data~_SUPPORT", "Data~.sqlite"])
  }

  @Test("Only those who may read the store may read the backup", arguments: [0o600, 0o640])
  func permissions(_ mode: Int) throws {
    let support = url(".Data_SUPPORT")
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: store.url.path)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: support.path)
    let name = try #require(try values(".Data_SUPPORT").first)
    let file = support.appendingPathComponent("_EXTERNAL_DATA").appendingPathComponent(name)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    let backup = try StoreBackup.make(of: store.url)
    #expect(try self.mode(backup) == mode)
    #expect(try self.mode(url(".Data~_SUPPORT")) == 0o700)
    #expect(try self.mode(StoreLocation.externalData(of: backup).appendingPathComponent(name)) == mode)
  }

  @Test(
    "Root backs somebody's store up for its owner, values and their directories included", .enabled(if: geteuid() == 0))
  func owner() throws {
    let owner: (uid_t, gid_t) = (65_534, 65_534)
    for path in [store.url.path]
      + (try FileManager.default.subpathsOfDirectory(atPath: url(".Data_SUPPORT").path))
      .map({ url(".Data_SUPPORT").appendingPathComponent($0).path }) + [url(".Data_SUPPORT").path]
    {
      #expect(chown(path, owner.0, owner.1) == 0)
    }
    let backup = try StoreBackup.make(of: store.url)
    let made = StoreLocation.externalData(of: backup)
    let values = try FileCalls.names(in: made).map(made.appendingPathComponent)
    #expect(values.count == 3)
    for url in [backup, made, made.deletingLastPathComponent()] + values {
      var found = stat()
      #expect(lstat(url.path, &found) == 0 && found.st_uid == owner.0 && found.st_gid == owner.1, "\(url.path)")
    }
  }

  @Test("The store's own directories are no place for backups, and none is taken from there")
  func ownDirectories() throws {
    let work = StoreLocation(store.url).workFolder
    for folder in [work, url(".Data_SUPPORT"), work.appendingPathComponent("deeper")] {
      let error = #expect(throws: NSError.self) { try StoreBackup.make(of: store.url, in: folder) }
      #expect(error?.localizedFailureReason?.contains("where backups cannot be kept") == true)
      #expect(throws: NSError.self) { try StoreBackup.clearLeftovers(of: store.url, in: folder) }
    }
    #expect(!FileCalls.exists(work))
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: false)
    let kept = work.appendingPathComponent("old.sqlite")
    try FileManager.default.copyItem(at: store.url, to: kept)
    #expect(throws: NSError.self) { try StoreBackup.restore(kept, to: store.url) }
    #expect(FileCalls.exists(kept))
    #expect(try RecoverySample.content(store.url) == content)
  }

  @Test("A store of no bytes can be restored")
  func emptyStore() throws {
    let backup = try StoreBackup.make(of: store.url)
    try store.close()
    try Data().write(to: store.url)
    try StoreBackup.restore(backup, to: store.url)
    #expect(try RecoverySample.content(store.url) == content)
  }

  @Test("Values that nobody names go with a needless backup")
  func unnamedValues() throws {
    let stray = StoreLocation.externalData(of: store.url).appendingPathComponent(UUID().uuidString)
    try Data("nobody's".utf8).write(to: stray)
    let files = try store.files()
    try StoreBackup.remove(StoreBackup.make(of: store.url))
    #expect(try store.files() == files)
  }

  @Test(
    "A store that is reached over a link is backed up with its values, which are files and no links",
    arguments: [
      false, true,
    ])
  func links(linksValues: Bool) throws {
    let folder = url("linked")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let link = folder.appendingPathComponent("Data.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.url)
    if linksValues {
      try FileManager.default.createSymbolicLink(
        at: folder.appendingPathComponent(".Data_SUPPORT"), withDestinationURL: url(".Data_SUPPORT"))
    }
    let backup = try StoreBackup.make(of: link)
    try migrate(link)
    #expect(try RecoverySample.content(backup) == content)
    #expect(!FileCalls.isSymbolicLink(StoreFiles.externalData(of: backup)))
    #expect(try RecoverySample.content(link).count == 12)
    #expect(try RecoverySample.version(store.url) == 2)
  }

  @Test("The file of a value that is a link is not followed: no backup is made")
  func linkedValue() throws {
    let secret = url("secret")
    try Data("secret".utf8).write(to: secret)
    let directory = StoreLocation.externalData(of: store.url)
    let file = directory.appendingPathComponent(try #require(try values(".Data_SUPPORT").first))
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: secret)
    let files = try store.files()
    let error = #expect(throws: NSError.self) { try StoreBackup.make(of: store.url) }
    #expect(error?.domain == NSCocoaErrorDomain)
    #expect(error?.localizedFailureReason?.contains("is a symbolic link") == true, "\(String(describing: error))")
    #expect(try store.files() == files)
  }

  @Test("A value that is missing from the store is missing from the backup, which is made all the same")
  func missingValue() throws {
    let directory = StoreLocation.externalData(of: store.url)
    let lost = try #require(try values(".Data_SUPPORT").first)
    try FileManager.default.removeItem(at: directory.appendingPathComponent(lost))
    let backup = try StoreBackup.make(of: store.url)
    #expect(try values(".Data~_SUPPORT") == values(".Data_SUPPORT"))
    #expect(try StoreBackup.restore(backup, to: store.url)?.lastPathComponent == "Data~2.sqlite")
  }

  @Test("A store that is not there, or is none, leaves no backup behind")
  func failures() throws {
    let error = #expect(throws: NSError.self) { try StoreBackup.make(of: url("None.sqlite")) }
    #expect(error?.code == CocoaError.Code.fileReadNoSuchFile.rawValue)
    let broken = url("Broken.sqlite")
    try Data(repeating: 7, count: 5000).write(to: broken)
    #expect(throws: NSError.self) { try StoreBackup.make(of: broken) }
    #expect(try store.files().filter { $0.contains("~") } == [])
  }

  @Test("Eight at once: each has a backup of its own, and each is whole")
  func concurrent() async throws {
    let url = store.url
    let backups = try await withThrowingTaskGroup(of: URL.self) { group in
      for _ in 0..<8 { group.addTask { try StoreBackup.make(of: url) } }
      return try await group.reduce(into: Set<URL>()) { $0.insert($1) }
    }
    #expect(backups.count == 8)
    for backup in backups {
      #expect(try RecoverySample.content(backup) == content)
      #expect(try FileCalls.names(in: StoreLocation.externalData(of: backup)).count == 3)
    }
    #expect(try store.files().filter { $0.hasSuffix("-backup") } == [])
  }

  // MARK: Going back

  @Test("A backup is restored in the place of the migrated store, which is kept; both can be gone back to again")
  func restoring() throws {
    let backup = try StoreBackup.make(of: store.url)
    try migrate(store.url)
    let kept = try #require(try StoreBackup.restore(backup, to: store.url))
    #expect(kept.lastPathComponent == "Data~2.sqlite")
    #expect(try RecoverySample.version(store.url) == 1)
    #expect(try RecoverySample.content(store.url) == content)
    #expect(try RecoverySample.version(kept) == 2)
    #expect(try RecoverySample.content(kept) == content)
    try StoreBackup.remove(backup)
    #expect(try RecoverySample.content(store.url) == content)
    #expect(try StoreBackup.restore(kept, to: store.url)?.lastPathComponent == "Data~.sqlite")
    #expect(try RecoverySample.version(store.url) == 2)
    #expect(try RecoverySample.content(store.url) == content)
    #expect(try store.files().filter { $0.hasSuffix("-migration") } == [])
  }

  @Test("A backup is restored where no store is, or a damaged one, whatever logs lie there")
  func restoringOverRuins() throws {
    let backup = try StoreBackup.make(of: store.url)
    StoreFiles.databaseFiles(of: store.url).forEach { try? FileManager.default.removeItem(at: $0) }
    try Data("rows that are gone".utf8).write(to: url("Data.sqlite-wal"))
    #expect(try StoreBackup.restore(backup, to: store.url) == nil)
    #expect(try RecoverySample.content(store.url) == content)
    #expect(try Data(contentsOf: url("Data.sqlite-wal~")) == Data("rows that are gone".utf8))
    try Data("ruins".utf8).write(to: store.url)
    let kept = try #require(try StoreBackup.restore(backup, to: store.url))
    #expect(try Data(contentsOf: kept) == Data("ruins".utf8))
    #expect(try RecoverySample.content(store.url) == content)
  }

  @Test("A store in use, a backup that is none, or that is the store itself: nothing is restored")
  func refusedRestoring() throws {
    let backup = try StoreBackup.make(of: store.url)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.begin(.immediate)
    #expect(throws: NSError.self) { try StoreBackup.restore(backup, to: store.url) }
    try connection.rollback()
    try connection.close()
    let link = url("Link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.url)
    for other in [store.url, link, url("None.sqlite"), url(".Data_SUPPORT")] {
      #expect(throws: NSError.self, "\(other.lastPathComponent)") { try StoreBackup.restore(other, to: store.url) }
    }
    #expect(try RecoverySample.content(store.url) == content)
    #expect(try store.files().filter { $0.hasSuffix("-migration") || $0.hasPrefix("Data~2") } == [])
  }

  @Test("Going back by renaming the backup works: the second run finds the values, and removes no backup's")
  func renaming() throws {
    let backup = try StoreBackup.make(of: store.url)
    try migrate(store.url)
    for file in StoreFiles.databaseFiles(of: store.url) { try? FileManager.default.removeItem(at: file) }
    try FileManager.default.moveItem(at: backup, to: store.url)
    let values = try values(".Data~_SUPPORT")
    #expect(try RecoverySample.content(store.url) == content)
    #expect(try self.values(".Data~_SUPPORT") == values)
    let second = try StoreBackup.make(of: store.url)
    #expect(second.lastPathComponent == "Data~2.sqlite")
    #expect(try RecoverySample.content(second) == content)
    try migrate(store.url)
    #expect(try RecoverySample.version(store.url) == 2)
    #expect(try RecoverySample.content(store.url) == content)
    #expect(try self.values(".Data~_SUPPORT") == values)
  }

  @Test("A replaced store that stays is not mixed with values that another backup has got its name for meanwhile")
  func keepingReplaced() throws {
    let migration = try RecoverySample.migration(store.url, [(2, .mapping)])
    let other = url(".Data~_SUPPORT/_EXTERNAL_DATA")
    var isMade = false
    let report = try migration.run { _ in
      guard !isMade else { return }
      isMade = true
      try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
      try Data("another's".utf8).write(to: other.appendingPathComponent(UUID().uuidString))
    }
    #expect(report.replacedStore?.lastPathComponent == "Data~2.sqlite")
    #expect(try FileCalls.names(in: other).count == 1)
    #expect(try RecoverySample.content(url("Data~2.sqlite")) == content)
  }

  // MARK: Killed runs

  @Test("What a killed run has left is cleared up: what is torn goes, what is whole gets its name")
  func leftovers() throws {
    let torn = url(".Data~-backup")
    try FileManager.default.createDirectory(
      at: torn.appendingPathComponent(".part_SUPPORT"), withIntermediateDirectories: true)
    try Data("half".utf8).write(to: torn.appendingPathComponent("part.sqlite"))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: torn.path)
    let name = BackupName(of: store.url, number: 2)
    _ = try #require(try PrivateDirectory.claim(BackupDirectory.url(name.base, in: store.folder)))
    let whole = try StoreBackup.make(of: store.url, in: url("other"))
    let directory = url(".Data~2-backup")
    try FileManager.default.moveItem(at: whole, to: directory.appendingPathComponent("Data~2.sqlite"))
    try FileManager.default.moveItem(
      at: StoreFiles.externalData(of: whole), to: directory.appendingPathComponent(".Data~2_SUPPORT"))
    let found = try StoreBackup.clearLeftovers(of: store.url)
    #expect(found.removedCount == 1)
    #expect(found.completed.map(\.lastPathComponent) == ["Data~2.sqlite"])
    #expect(try RecoverySample.content(url("Data~2.sqlite")) == content)
    #expect(try store.files().filter { $0.hasSuffix("-backup") } == [])
    #expect(try StoreBackup.clearLeftovers(of: store.url) == StoreBackup.Leftovers())
  }

  @Test("A backup that is being made at this moment is nobody else's to clear up")
  func living() throws {
    let other = try #require(
      try PrivateDirectory.claim(BackupDirectory.url(BackupName(of: store.url, number: 1).base, in: store.folder)))
    try Data("half".utf8).write(to: other.url.appendingPathComponent("part.sqlite"))
    #expect(try StoreBackup.make(of: store.url).lastPathComponent == "Data~2.sqlite")
    #expect(try other.names() == ["part.sqlite"])
  }

  @Test("A directory of that name that leads elsewhere is left alone")
  func hostile() throws {
    let elsewhere = url("elsewhere")
    try FileManager.default.createDirectory(
      at: elsewhere, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try Data("x".utf8).write(to: elsewhere.appendingPathComponent("file"))
    try FileManager.default.createSymbolicLink(at: url(".Data~-backup"), withDestinationURL: elsewhere)
    #expect(try StoreBackup.make(of: store.url).lastPathComponent == "Data~2.sqlite")
    #expect(try FileCalls.names(in: elsewhere) == ["file"])
  }
}
