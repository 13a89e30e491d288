// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// A store may come in an archive that somebody has sent, with a work directory made up to do harm.
@Suite("Work directories and journals that were not made by this framework")
struct HostileWorkTests {
  private let store: TemporaryStore
  private let victim: URL
  private let before: [String]
  private let place: StoreLocation

  init() throws {
    store = try TemporaryStore("home/Data.sqlite")
    let manager = FileManager.default
    try manager.createDirectory(at: store.url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try RecoverySample.fill(store.url, rows: 6, photos: 2)
    before = try RecoverySample.content(store.url)
    place = StoreLocation(store.url)
    victim = store.folder.appendingPathComponent("victim", isDirectory: true)
    try manager.createDirectory(at: victim.appendingPathComponent("deeper"), withIntermediateDirectories: true)
    for name in ["thesis.txt", "deeper/notes.txt", "\(UUID().uuidString)"] {
      try Data("precious".utf8).write(to: victim.appendingPathComponent(name))
    }
  }

  private var coordinator: NSPersistentStoreCoordinator {
    NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
  }

  /// Everything that would clear up, or work beside the store; each refuses, with words in its reason, and nothing changes.
  private func expectRefusals(_ words: String, _ comment: Comment? = nil) throws {
    let (others, home) = (try contents(victim), try names())
    let url = store.url
    let attempts: [(String, () throws -> Void)] = [
      ("recover", { try StoreRecovery.recover(storeAt: url) }),
      ("open", { try coordinator.addPersistentStore(type: .sqlite, at: url) }),
      ("migrate", { try RecoverySample.migration(url, [(2, .mapping)]).run() }),
      ("migrate in place", { try RecoverySample.migration(url, [(2, .inferred)]).run() }),
      ("set aside", { try StoreRecovery.setAside(storeAt: url, model: RecoverySample.model(2)) }),
      ("destroy", { try coordinator.destroyPersistentStore(at: url, type: .sqlite) }),
      ("replace", { try coordinator.replacePersistentStore(at: url, withPersistentStoreFrom: url, type: .sqlite) }),
    ]
    for (name, attempt) in attempts {
      let failure = thrownError(attempt)
      #expect(failure?.code == NSPersistentStoreOperationError, "\(name): \(String(describing: failure))")
      #expect(failure?.localizedFailureReason?.contains(words) == true, "\(name): \(String(describing: failure))")
      #expect(try contents(victim) == others, "\(name)")
      #expect(try names() == home, "\(name)")
    }
    let reading = coordinator
    try reading.remove(
      reading.addPersistentStore(type: .sqlite, at: url, options: [NSReadOnlyPersistentStoreOption: true]))
    try FileCalls.removeTree(place.workFolder)
    #expect(try RecoverySample.content(url) == before, comment)
  }

  /// All files below a directory.
  private func contents(_ folder: URL) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      // A directory has no content.
      files[name] = (try? Data(contentsOf: folder.appendingPathComponent(name))) ?? Data()
    }
    return files
  }

  private func names() throws -> [String] {
    try RecoverySample.files(store.url.deletingLastPathComponent())
  }

  private func makeWorkFolder() throws {
    try FileManager.default.createDirectory(
      at: place.workFolder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
  }

  private func writeJournal(_ change: (inout WorkJournal) -> Void) throws {
    var journal = WorkJournal(purpose: .migration, source: "1", destination: "2")
    journal.phase = .exchanging
    change(&journal)
    try makeWorkFolder()
    try journal.write(OpenDirectory.open(place.workFolder))
  }

  @Test("A link in the place of the work directory is not followed")
  func link() throws {
    try FileManager.default.createSymbolicLink(at: place.workFolder, withDestinationURL: victim)
    #expect(thrownError { _ = try StoreRecovery.inspect(storeAt: store.url) }?.code == NSPersistentStoreOperationError)
    try expectRefusals("is a symbolic link, not a directory")
  }

  @Test("A file, and a FIFO, are no work directories")
  func files() throws {
    try Data().write(to: place.workFolder)
    try expectRefusals("is a file, not a directory")
    #expect(mkfifo(place.workFolder.path, 0o600) == 0)
    try expectRefusals("is a FIFO, not a directory")
  }

  @Test("A work directory that anybody may write is not used; one of a group only where the group may write beside it")
  func mode() throws {
    let folder = store.url.deletingLastPathComponent()
    chmod(folder.path, 0o755)
    for mode in [mode_t(0o777), 0o707, 0o775] {
      try makeWorkFolder()
      chmod(place.workFolder.path, mode)
      try expectRefusals("Users other than its owner may write", "\(String(mode, radix: 8))")
    }
    try makeWorkFolder()
    chmod(folder.path, 0o775)
    chmod(place.workFolder.path, 0o775)
    try StoreRecovery.recover(storeAt: store.url)
    #expect(!FileCalls.exists(place.workFolder))
  }

  @Test("A work directory of another user is not used; one of the store's owner is", .enabled(if: geteuid() == 0))
  func owner() throws {
    try makeWorkFolder()
    chown(place.workFolder.path, 12_345, gid_t.max)
    try expectRefusals("belongs to the user with the ID 12345")
    try makeWorkFolder()
    chown(place.workFolder.path, 12_345, gid_t.max)
    chown(store.url.path, 12_345, gid_t.max)
    try StoreRecovery.recover(storeAt: store.url)
    #expect(!FileCalls.exists(place.workFolder))
  }

  @Test("A new work directory is its owner's alone")
  func newDirectory() throws {
    let lock = try MigrationLock.acquire(place)
    #expect(try lock.work.status().st_mode & 0o7777 == 0o700)
    try lock.removeWorkFolder()
  }

  @Test(
    "Names in a journal that lead elsewhere are refused",
    arguments: [
      "../../../victim/thesis.txt", "..", ".", "", "/etc/passwd", "thesis.txt", "a/b",
      "../../../victim/12345678-1234-1234-1234-1234567890", "12345678-1234-1234-1234-12345678901/",
      "12345678-1234-1234-1234-12345678901\u{0}", "12345678-1234-1234-1234-1234567890123",
    ])
  func names(_ name: String) throws {
    let changes: [(inout WorkJournal) -> Void] = [
      { $0.obsolete = [name] }, { $0.added = [UUID().uuidString, name] }, { $0.kept = [name] },
    ]
    for change in changes {
      try writeJournal(change)
      try expectRefusals("It names the file '\(name)'")
    }
  }

  @Test(
    "A replaced store stays beside the store, or under a date in its directory, and nowhere else",
    arguments: [
      "../victim/dropped/evil.sh", "/tmp/evil", "evil.sh", "Data.sqlite", "Data~.sh", "Data~x.sqlite", "..", "",
      "Data~.sqlite/..", "Incompatible/../Data.sqlite", "Incompatible/2026-11-21 214503/Other.sqlite",
      "Incompatible/2026-11-21 214503/../../Data~.sqlite", "Incompatible/x/Data.sqlite", "Incompatible/Data.sqlite",
      "Other/2026-11-21 214503/Data.sqlite", "Incompatible//Data.sqlite", "Data~\u{0}.sqlite",
    ])
  func keptAt(_ path: String) throws {
    try writeJournal { $0.keptAt = path }
    try Data("#!/bin/sh".utf8).write(to: place.oldStore)
    try expectRefusals("It names the file '\(path)'")
  }

  @Test("What this framework writes is accepted: backups with and without a number, stores under their date")
  func ownNames() throws {
    for path in [
      "Data~.sqlite", "Data~12.sqlite", "Incompatible/2026-11-21 214503/Data.sqlite",
      "Incompatible/2026-11-21 214503 2/Data.sqlite",
    ] {
      try writeJournal { $0.keptAt = path }
      try Data("old".utf8).write(to: place.oldStore)
      #expect(try StoreRecovery.recover(storeAt: store.url) == .finished)
      #expect(
        try Data(contentsOf: store.url.deletingLastPathComponent().appendingPathComponent(path)) == Data("old".utf8))
    }
  }

  @Test("A journal that is a link, a FIFO, too large or too deep is refused")
  func journals() throws {
    let file = place.journalFile
    let journals: [(String, () throws -> Void)] = [
      (
        "symbolic link",
        {
          try FileManager.default.createSymbolicLink(
            at: file, withDestinationURL: victim.appendingPathComponent("thesis.txt"))
        }
      ),
      ("FIFO", { #expect(mkfifo(file.path, 0o600) == 0) }),
      ("cannot be read", { try Data(repeating: UInt8(ascii: "["), count: 1_000_000).write(to: file) }),
      ("cannot be read", { try Data("{}".utf8).write(to: file) }),
      (
        "bytes",
        {
          try Data().write(to: file)
          #expect(truncate(file.path, 1 << 40) == 0)
        }
      ),
    ]
    for (words, make) in journals {
      try makeWorkFolder()
      try make()
      try expectRefusals(words)
    }
  }

  @Test("A lock that is a link, a FIFO or a directory is refused")
  func locks() throws {
    let file = place.lockFile
    let target = victim.appendingPathComponent("thesis.txt")
    let locks: [() throws -> Void] = [
      { try FileManager.default.createSymbolicLink(at: file, withDestinationURL: target) },
      { #expect(mkfifo(file.path, 0o600) == 0) },
      { try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false) },
    ]
    for make in locks {
      try makeWorkFolder()
      try make()
      try expectRefusals("The lock file is not a regular file")
    }
  }

  @Test("Links in a work directory without a journal are removed, and not what they lead to")
  func linksInside() throws {
    let others = try contents(victim)
    try makeWorkFolder()
    try FileManager.default.createSymbolicLink(
      at: place.workFolder.appendingPathComponent("old.sqlite"), withDestinationURL: victim)
    try FileManager.default.createSymbolicLink(at: place.newStore, withDestinationURL: victim)
    #expect(try StoreRecovery.recover(storeAt: store.url) == .undone)
    #expect(try contents(victim) == others)
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test(
    "What is in a work directory of somebody else's stays, also where its name is no UTF-8", arguments: [false, true])
  func foreignFiles(migrates: Bool) throws {
    try makeWorkFolder()
    let work = try OpenDirectory.open(place.workFolder)
    for name: [CChar] in [[-1, -2, 0], Array("Data~.sqlite".utf8CString)] {
      close(openat(work.descriptor, name, O_WRONLY | O_CREAT, 0o600))
    }
    try FileCalls.write(Data(), to: place.newStore)
    let names = try work.names().filter { $0 != "new.sqlite" }.sorted()
    if migrates {
      _ = try RecoverySample.migration(store.url, [(2, .mapping)]).run()
    } else {
      #expect(try StoreRecovery.recover(storeAt: store.url) == .undone)
      #expect(try StoreRecovery.inspect(storeAt: store.url) == nil)
      #expect(try RecoverySample.content(store.url) == before)
    }
    #expect(try work.names().sorted() == names)
  }

  @Test("The directory of a store that is removed while its lock is taken is no reason to try for ever")
  func removedDirectory() throws {
    let folder = try OpenDirectory.open(place.folder)
    try FileManager.default.removeItem(at: place.folder)
    let failure = #expect(throws: FileFailure.self) { try MigrationLock.attempt(place, folder) }
    #expect(failure?.number == ENOENT)
  }

  @Test("A support directory that leads elsewhere loses nothing to a journal")
  func supportLink() throws {
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: victim.path).first { UUID(uuidString: $0) != nil })
    for inner in [false, true] {
      let others = try contents(victim)
      let link = inner ? place.externalData : place.externalData.deletingLastPathComponent()
      let real = store.folder.appendingPathComponent("real")
      try FileManager.default.moveItem(at: link, to: real)
      let target = inner ? victim : store.folder.appendingPathComponent("foreign")
      if !inner {
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
          at: target.appendingPathComponent("_EXTERNAL_DATA"), withDestinationURL: victim)
      }
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
      try writeJournal { $0.obsolete = [name] }
      let failure = thrownError { try StoreRecovery.recover(storeAt: store.url) }
      #expect(failure?.localizedFailureReason?.contains("is a symbolic link, not a directory") == true)
      #expect(try contents(victim) == others)
      try FileCalls.removeTree(place.workFolder)
      try FileCalls.removeFile(link)
      try FileManager.default.moveItem(at: real, to: link)
    }
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("Nothing is set aside into a directory that is a link, and nothing is listed or removed there")
  func incompatible() throws {
    let folder = store.url.deletingLastPathComponent().appendingPathComponent("Incompatible")
    try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: victim)
    let others = try contents(victim)
    for failure in [
      thrownError { try StoreRecovery.setAside(storeAt: store.url, model: RecoverySample.model(2)) },
      thrownError { _ = try StoreRecovery.storesSetAside(from: store.url) },
      thrownError {
        try SetAsideStore(
          url: folder.appendingPathComponent("deeper/notes.txt"), date: Date(), code: 0, reason: ""
        ).remove()
      },
    ] {
      #expect(failure?.code == NSPersistentStoreOperationError, "\(String(describing: failure))")
      #expect(failure?.localizedFailureReason?.contains("is a symbolic link, not a directory") == true)
    }
    #expect(try contents(victim) == others)
    #expect(!FileCalls.exists(place.workFolder))
    #expect(try RecoverySample.content(store.url) == before)
    // A journal whose old store is to stay there is not carried out either.
    try writeJournal { $0.keptAt = "Incompatible/2026-11-21 214503/Data.sqlite" }
    try Data("old".utf8).write(to: place.oldStore)
    #expect(thrownError { try StoreRecovery.recover(storeAt: store.url) }?.code == NSPersistentStoreOperationError)
    #expect(try contents(victim) == others)
    // Once the link is gone the work is finished.
    try FileCalls.removeFile(folder)
    #expect(try StoreRecovery.recover(storeAt: store.url) == .finished)
  }

  @Test("A date that is a link is passed by, and so is a note that is a FIFO")
  func dates() throws {
    let aside = try StoreRecovery.setAside(storeAt: store.url, model: RecoverySample.model(2))
    let folder = aside.url.deletingLastPathComponent().deletingLastPathComponent()
    try FileManager.default.createSymbolicLink(
      at: folder.appendingPathComponent("2020-01-01 000000"), withDestinationURL: victim)
    #expect(try StoreRecovery.storesSetAside(from: store.url) == [aside])
    let note = StoreLocation.url(aside.url, "-set-aside.json")
    try FileCalls.removeFile(note)
    #expect(mkfifo(note.path, 0o600) == 0)
    let failure = thrownError { _ = try StoreRecovery.storesSetAside(from: store.url) }
    #expect(failure?.localizedFailureReason?.contains("is a FIFO") == true, "\(String(describing: failure))")
  }

  @Test("Files that the store names are not removed because a journal says so, before the exchange or after it")
  func named() throws {
    let values = try place.support.names().sorted()
    #expect(values.count == 2)
    try writeJournal { $0.obsolete = values }
    #expect(try StoreRecovery.recover(storeAt: store.url) == .finished)
    try writeJournal { $0.added = values }
    try Data("new".utf8).write(to: place.newStore)
    #expect(try StoreRecovery.recover(storeAt: store.url) == .undone)
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("What a store that is a link leads to is neither destroyed nor replaced where it is no database")
  func linkedFile() throws {
    let file = victim.appendingPathComponent("thesis.txt")
    try Data("precious".utf8).write(to: file)
    let link = store.folder.appendingPathComponent("Link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
    for attempt in [
      { try coordinator.destroyPersistentStore(at: link, type: .sqlite) },
      {
        try coordinator.destroyPersistentStore(
          at: link, type: .sqlite, options: [NSPersistentStoreForceDestroyOption: true])
      },
      { try coordinator.replacePersistentStore(at: link, withPersistentStoreFrom: store.url, type: .sqlite) },
      { try StoreRecovery.setAside(storeAt: link, model: RecoverySample.model(1)) },
    ] as [() throws -> Void] {
      let failure = thrownError { try attempt() }
      #expect(failure?.localizedFailureReason?.contains("is a symbolic link to a file that is not a store") == true)
      #expect(try Data(contentsOf: file) == Data("precious".utf8))
    }
  }
}
