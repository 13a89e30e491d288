// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The reads and writes of `ObjectWorkloads` over SQLite's C interface.
enum ObjectWorkByHand {
  /// A note as plain values: the minimum to create from a row.
  struct Note {
    let key: Int64
    let title: String
    let body: String
    let fullName: String
    let dateCreated: Double
    let displayIndex: Int64
  }

  private static let insertion =
    "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZBODY, ZFULLNAME, ZDATECREATED, ZDISPLAYINDEX) "
    + "VALUES (?, 2, 1, ?, ?, ?, ?, ?)"

  @Sendable static func insert(_ place: Workload.Place) throws -> Measurement {
    let notes = ObjectWorkloads.notes(place)
    return try withDatabase(place) { database in
      let insert = try database.prepare(insertion)
      for note in notes { try fill(insert, with: note) }
      insert.finish()
      try database.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(notes.count) WHERE Z_NAME = 'Note'")
    }
  }

  @Sendable static func insertByThousands(_ place: Workload.Place) throws -> Measurement {
    var random = Random(seed: 7)
    return try withDatabase(place) { database in
      let insert = try database.prepare(insertion)
      for number in 1...place.noteCount {
        try fill(insert, with: DataSet.Note(number: number, &random))
        if number % 1_000 == 0 {
          try database.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(number) WHERE Z_NAME = 'Note'")
          try database.run("COMMIT")
          try database.run("BEGIN IMMEDIATE")
        }
      }
      insert.finish()
    }
  }

  private static func fill(_ insert: Statement, with note: DataSet.Note) throws {
    insert.bind(note.displayIndex, 1)
    insert.bind(note.title, 2)
    insert.bind(note.body, 3)
    insert.bind(note.fullName, 4)
    insert.bind(note.dateCreated, 5)
    insert.bind(note.displayIndex, 6)
    try insert.run()
  }

  @Sendable static func fetchAll(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      let notes = try notes(database, "")
      try ObjectWorkloads.check(notes.count == place.noteCount)
    }
  }

  @Sendable static func query(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      let notes = try notes(
        database, "WHERE ZDISPLAYINDEX > 100 AND ZFULLNAME = 'Ada Boris' ORDER BY ZDATECREATED DESC LIMIT 100")
      try ObjectWorkloads.check(!notes.isEmpty)
    }
  }

  @Sendable static func countMatching(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      try ObjectWorkloads.check(try database.integer("SELECT COUNT(*) FROM ZNOTE WHERE ZFULLNAME = 'Ada Boris'") > 0)
    }
  }

  /// Rows of the store and notes in memory, sorted together.
  @Sendable static func queryWithUnsaved(_ place: Workload.Place) throws -> Measurement {
    let unsaved = ObjectWorkloads.unsavedNotes()
    return try withDatabase(place) { database in
      let stored = try notes(
        database, "WHERE ZDISPLAYINDEX > 100 AND ZFULLNAME = 'Ada Boris' ORDER BY ZDATECREATED DESC LIMIT 100")
      let matching = unsaved.filter { $0.displayIndex > 100 && $0.fullName == "Ada Boris" }.map {
        Note(
          key: 0, title: $0.title, body: $0.body, fullName: $0.fullName, dateCreated: $0.dateCreated,
          displayIndex: $0.displayIndex)
      }
      let all = (stored + matching).sorted { $0.dateCreated > $1.dateCreated }.prefix(100)
      try ObjectWorkloads.check(!all.isEmpty)
    }
  }

  @Sendable static func countWithUnsaved(_ place: Workload.Place) throws -> Measurement {
    let unsaved = ObjectWorkloads.unsavedNotes()
    return try withDatabase(place) { database in
      let stored = try database.integer("SELECT COUNT(*) FROM ZNOTE WHERE ZFULLNAME = 'Ada Boris'")
      try ObjectWorkloads.check(Int(stored) + unsaved.filter { $0.fullName == "Ada Boris" }.count > 0)
    }
  }

  @Sendable static func update(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      let notes = try notes(database, "LIMIT \(ObjectWorkloads.count)")
      let update = try database.prepare("UPDATE ZNOTE SET ZTITLE = ?, Z_OPT = ? WHERE Z_PK = ? AND Z_OPT = ?")
      for note in notes {
        update.bind("changed", 1)
        update.bind(Int64(2), 2)
        update.bind(note.key, 3)
        update.bind(Int64(1), 4)
        try update.run()
      }
      update.finish()
    }
  }

  @Sendable static func delete(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      let keys = try attachments(database).map(\.key)
      let delete = try database.prepare("DELETE FROM ZATTACHMENT WHERE Z_PK = ? AND Z_OPT = ?")
      for key in keys {
        delete.bind(key, 1)
        delete.bind(Int64(1), 2)
        try delete.run()
      }
      delete.finish()
    }
  }

  /// As `delete`, and the versions of the notes at the other end grow, as Core Data and the library have it.
  @Sendable static func deleteWithVersions(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      let attachments = try attachments(database)
      let delete = try database.prepare("DELETE FROM ZATTACHMENT WHERE Z_PK = ? AND Z_OPT = ?")
      for attachment in attachments {
        delete.bind(attachment.key, 1)
        delete.bind(Int64(1), 2)
        try delete.run()
      }
      delete.finish()
      let update = try database.prepare("UPDATE ZNOTE SET Z_OPT = Z_OPT + 1 WHERE Z_PK = ?")
      for note in Set(attachments.map(\.note)).sorted() {
        update.bind(note, 1)
        try update.run()
      }
      update.finish()
    }
  }

  @Sendable static func lazily(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      let attachments = try attachments(database)
      let select = try database.prepare(
        "SELECT Z_PK, ZTITLE, ZBODY, ZFULLNAME, ZDATECREATED, ZDISPLAYINDEX FROM ZNOTE WHERE Z_PK = ?")
      var length = 0
      for attachment in attachments {
        select.bind(attachment.note, 1)
        if try select.step() { length += note(select).title.utf8.count }
        select.reset()
      }
      select.finish()
      try ObjectWorkloads.check(length > 0)
    }
  }

  @Sendable static func prefetched(_ place: Workload.Place) throws -> Measurement {
    try withDatabase(place) { database in
      let attachments = try attachments(database)
      let wanted = Set(attachments.map(\.note)).map(String.init).joined(separator: ", ")
      let notes = try notes(database, "WHERE Z_PK IN (\(wanted))")
      let byKey = Dictionary(notes.map { ($0.key, $0) }) { first, _ in first }
      var length = 0
      for attachment in attachments { length += byKey[attachment.note]?.title.utf8.count ?? 0 }
      try ObjectWorkloads.check(length > 0)
    }
  }

  /// Fills an empty store with a thousand notes of ten attachments each.
  static func makeMembers(_ place: Workload.Place) throws {
    let database = try Database(place.store.path)
    let numbers = "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT"
    try database.run(
      "\(numbers) 1000) INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) SELECT n, 2, 1, 'note ' || n FROM number")
    try database.run(
      "\(numbers) 10000) INSERT INTO ZATTACHMENT (Z_PK, Z_ENT, Z_OPT, ZNOTE, ZCAPTION, ZWIDTH, ZHEIGHT) "
        + "SELECT n, 1, 1, (n - 1) % 1000 + 1, 'a caption of attachment', n, n FROM number")
    try database.close()
  }

  /// The length of the captions of all members.
  static let lengthOfMembers = 10_000 * "a caption of attachment".utf8.count

  @Sendable static func members(_ place: Workload.Place) throws -> Measurement {
    try makeMembers(place)
    return try withDatabase(place) { database in
      let notes = try notes(database, "")
      let wanted = notes.map { String($0.key) }.joined(separator: ", ")
      let select = try database.prepare(
        "SELECT Z_PK, ZCAPTION, ZNOTE, ZWIDTH, ZHEIGHT FROM ZATTACHMENT WHERE ZNOTE IN (\(wanted))")
      var members: [Int64: [(key: Int64, caption: String)]] = [:]
      while try select.step() { members[select.integer(2), default: []].append((select.integer(0), select.text(1))) }
      select.finish()
      var length = 0
      for note in notes {
        for member in members[note.key] ?? [] { length += member.caption.utf8.count }
      }
      try ObjectWorkloads.check(length == lengthOfMembers)
    }
  }

  /// Reads a property of plain values.
  @Sendable static func readValues(_ place: Workload.Place) throws -> Measurement {
    var found: [Note] = []
    let database = try Database(place.store.path)
    found = try notes(database, "LIMIT 1000")
    try database.close()
    return try Measurement.of {
      var values: Int64 = 0
      for _ in 0..<1_000 {
        for note in found { values &+= note.displayIndex }
      }
      try ObjectWorkloads.check(values > 0)
    }
  }

  private static func notes(_ database: Database, _ rest: String) throws -> [Note] {
    let select = try database.prepare(
      "SELECT Z_PK, ZTITLE, ZBODY, ZFULLNAME, ZDATECREATED, ZDISPLAYINDEX FROM ZNOTE \(rest)")
    defer { select.finish() }
    var notes: [Note] = []
    while try select.step() { notes.append(note(select)) }
    return notes
  }

  private static func note(_ select: Statement) -> Note {
    Note(
      key: select.integer(0), title: select.text(1), body: select.text(2), fullName: select.text(3),
      dateCreated: select.double(4), displayIndex: select.integer(5))
  }

  private static func attachments(_ database: Database) throws -> [(key: Int64, caption: String, note: Int64)] {
    let select = try database.prepare(
      "SELECT Z_PK, ZCAPTION, ZNOTE, ZWIDTH, ZHEIGHT FROM ZATTACHMENT LIMIT \(ObjectWorkloads.count)")
    defer { select.finish() }
    var rows: [(key: Int64, caption: String, note: Int64)] = []
    while try select.step() { rows.append((select.integer(0), select.text(1), select.integer(2))) }
    return rows
  }

  private static func withDatabase(_ place: Workload.Place, _ work: (Database) throws -> Void) throws -> Measurement {
    let database = try Database(place.store.path)
    let measurement = try Measurement.of {
      try database.run("BEGIN IMMEDIATE")
      try work(database)
      try database.run("COMMIT")
    }
    try database.close()
    return measurement
  }
}
