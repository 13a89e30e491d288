// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Files beside a database")
struct CompanionTests {
  let directory: TemporaryDirectory
  let path: String
  let victim: URL

  init() throws {
    directory = try TemporaryDirectory()
    path = try directory.makeDatabase("Data.sqlite")
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    try connection.setJournalMode(.wal)
    try connection.close()
    victim = directory.url.appendingPathComponent("victim.txt")
    try Data("precious".utf8).write(to: victim)
  }

  @Test("A log counts only where it begins as SQLite's do")
  func logSize() throws {
    #expect(try DatabaseCompanions.logSize(path) == 0)
    try Data(count: 100_000).write(to: URL(fileURLWithPath: path + "-wal"))
    #expect(try DatabaseCompanions.logSize(path) == 0)
    try FileManager.default.removeItem(atPath: path + "-wal")
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    try connection.run("INSERT INTO T (name) VALUES ('logged')")
    #expect(try DatabaseCompanions.logSize(path) > 4096)
    try connection.close()
  }

  private func open(_ mode: SQLiteConnection.Mode, _ path: String? = nil) -> SQLiteError? {
    sqliteError {
      let connection = try SQLiteConnection(path: path ?? self.path, mode: mode)
      try connection.run("INSERT INTO T (name) VALUES ('new')")
      try connection.close()
    }
  }

  @Test(
    "A link in the place of a log, its shared memory or a journal is refused, and what it leads to stays",
    arguments: ["-wal", "-shm", "-journal"], [SQLiteConnection.Mode.readOnly, .readWrite, .create])
  func links(suffix: String, mode: SQLiteConnection.Mode) throws {
    try FileManager.default.createSymbolicLink(atPath: path + suffix, withDestinationPath: victim.path)
    let error = open(mode)
    #expect(error?.isCannotOpen == true)
    #expect(error?.message.contains("Data.sqlite\(suffix)' is a symbolic link") == true, "\(String(describing: error))")
    #expect(try Data(contentsOf: victim) == Data("precious".utf8))
  }

  @Test("The files beside the database are looked at, and not those beside a link to it")
  func linkedDatabase() throws {
    let link = directory.path("Link.sqlite")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    try FileManager.default.createSymbolicLink(atPath: path + "-wal", withDestinationPath: victim.path)
    #expect(open(.readWrite, link)?.isCannotOpen == true)
    try FileManager.default.removeItem(atPath: path + "-wal")
    let connection = try SQLiteConnection(path: link, mode: .readWrite)
    try connection.run("INSERT INTO T (name) VALUES ('new')")
    #expect(try connection.rowCount(of: "T") == 4)
    try connection.close()
  }

  @Test("An attached database is looked at as well")
  func attached() throws {
    try FileManager.default.createSymbolicLink(atPath: path + "-wal", withDestinationPath: victim.path)
    let connection = try SQLiteConnection.inMemory()
    #expect(sqliteError { try connection.attach(path, as: "other") }?.isCannotOpen == true)
  }

  @Test("A pipe is refused and does not block", arguments: [SQLiteConnection.Mode.readOnly, .readWrite, .create])
  func pipe(mode: SQLiteConnection.Mode) throws {
    let pipe = directory.path("Pipe.sqlite")
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(open(mode, pipe)?.message.contains("is a FIFO") == true)
    try FileManager.default.removeItem(atPath: path + "-journal", ifPresent: true)
    #expect(mkfifo(path + "-journal", 0o600) == 0)
    #expect(open(mode)?.message.contains("is a FIFO") == true)
  }

  /// A journal that SQLite takes for hot, of one page, which names a super-journal.
  private func journal(naming name: String) throws -> Data {
    func number(_ value: Int) -> Data { Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }) }
    let magic = Data([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
    let pages = try Data(contentsOf: URL(fileURLWithPath: path)).count / 4096
    var journal = magic + number(0) + number(0) + number(pages) + number(512) + number(4096)
    journal.append(Data(count: 512 - journal.count))
    let bytes = Data(name.utf8)
    return journal + number(1) + bytes + number(bytes.count)
      + number(bytes.reduce(0) { $0 + Int(Int8(bitPattern: $1)) })
      + magic
  }

  @Test(
    "A journal that names any file as the journal of several databases is refused, and the file stays",
    arguments: [SQLiteConnection.Mode.readOnly, .readWrite])
  func superJournal(mode: SQLiteConnection.Mode) throws {
    try journal(naming: victim.path).write(to: URL(fileURLWithPath: path + "-journal"))
    let error = open(mode)
    #expect(error?.message.contains("names '\(victim.path)'") == true, "\(String(describing: error))")
    #expect(FileManager.default.fileExists(atPath: victim.path))
    #expect(FileManager.default.fileExists(atPath: path + "-journal"))
  }

  @Test("A journal that names a super-journal as SQLite names them is rolled back")
  func realSuperJournal() throws {
    let other = directory.path("Other.sqlite-mj01A2B3977")
    try Data((path + "\0").utf8).write(to: URL(fileURLWithPath: other))
    try journal(naming: other).write(to: URL(fileURLWithPath: path + "-journal"))
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    #expect(try connection.rowCount(of: "T") == 3)
    try connection.close()
    #expect(!FileManager.default.fileExists(atPath: path + "-journal"))
  }

  @Test("A journal waits where it begins with anything but a zero")
  func waiting() throws {
    let journal = URL(fileURLWithPath: path + "-journal")
    #expect(!DatabaseCompanions.hasJournal(path))
    for (content, expected) in [(Data(), false), (Data(count: 600), false), (Data([1]), true)] {
      try content.write(to: journal)
      #expect(DatabaseCompanions.hasJournal(path) == expected)
    }
    #expect(!DatabaseCompanions.hasJournal(path + "/none"))
  }
}

extension FileManager {
  fileprivate func removeItem(atPath path: String, ifPresent: Bool) throws {
    if fileExists(atPath: path) { try removeItem(atPath: path) }
  }
}
