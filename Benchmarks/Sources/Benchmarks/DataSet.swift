// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The data set: notes with two attachments and three tags each, with the same rows in every run.
struct DataSet {
  static let tagCount = 1_000

  let noteCount: Int
  let hasTags: Bool

  /// Creates the store with the library and fills it by hand.
  func make(at url: URL) throws {
    let model = hasTags ? NotesModel.first() : NotesModel.plain()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    try coordinator.remove(store)
    let database = try Database(url.path)
    try database.run("PRAGMA synchronous = OFF; BEGIN")
    var random = Random(seed: 20_240_229)
    try insertNotes(database, &random)
    try insertAttachments(database, &random)
    if hasTags { try insertTags(database, &random) }
    try database.run("COMMIT")
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    try database.close()
  }

  /// Creates a store without rows.
  static func makeEmpty(at url: URL) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NotesModel.first())
    try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: url))
  }

  /// The values of a note.
  struct Note {
    let title: String
    let body: String
    let fullName: String
    let dateCreated: Double
    let displayIndex: Int64

    init(number: Int, _ random: inout Random) {
      title = random.text(of: 30)
      body = random.text(of: 200)
      fullName = "\(random.name()) \(random.name())"
      dateCreated = Double(random.below(600_000_000)) / 2
      displayIndex = Int64(number)
    }
  }

  private func insertNotes(_ database: Database, _ random: inout Random) throws {
    let entity = try database.integer("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Note'")
    let insert = try database.prepare(
      "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZBODY, ZFULLNAME, ZDATECREATED, ZDISPLAYINDEX) "
        + "VALUES (?, \(entity), 1, ?, ?, ?, ?, ?)")
    for number in 1...noteCount {
      let note = Note(number: number, &random)
      insert.bind(Int64(number), 1)
      insert.bind(note.title, 2)
      insert.bind(note.body, 3)
      insert.bind(note.fullName, 4)
      insert.bind(note.dateCreated, 5)
      insert.bind(note.displayIndex, 6)
      try insert.run()
    }
    insert.finish()
    try database.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(noteCount) WHERE Z_NAME = 'Note'")
  }

  private func insertAttachments(_ database: Database, _ random: inout Random) throws {
    let entity = try database.integer("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Attachment'")
    let insert = try database.prepare(
      "INSERT INTO ZATTACHMENT (Z_PK, Z_ENT, Z_OPT, ZCAPTION, ZWIDTH, ZHEIGHT, ZNOTE) VALUES (?, \(entity), 1, ?, ?, ?, ?)"
    )
    for number in 1...noteCount * 2 {
      insert.bind(Int64(number), 1)
      insert.bind(random.text(of: 20), 2)
      insert.bind(Double(random.below(4_000)) + 0.5, 3)
      insert.bind(Double(random.below(3_000)) + 0.25, 4)
      // The keys visit the notes in a different order than the attachments.
      insert.bind(Int64((number * 7_919) % noteCount + 1), 5)
      try insert.run()
    }
    insert.finish()
    try database.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(noteCount * 2) WHERE Z_NAME = 'Attachment'")
  }

  private func insertTags(_ database: Database, _ random: inout Random) throws {
    let entity = try database.integer("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Tag'")
    let insert = try database.prepare("INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?, \(entity), 1, ?)")
    for number in 1...DataSet.tagCount {
      insert.bind(Int64(number), 1)
      insert.bind("tag \(number)", 2)
      try insert.run()
    }
    insert.finish()
    try database.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(DataSet.tagCount) WHERE Z_NAME = 'Tag'")
    let link = try database.prepare("INSERT INTO Z_2TAGS (Z_2NOTES, Z_3TAGS) VALUES (?, ?)")
    for number in 1...noteCount {
      let first = random.below(DataSet.tagCount)
      for step in 0..<3 {
        link.bind(Int64(number), 1)
        link.bind(Int64((first + step * 331) % DataSet.tagCount + 1), 2)
        try link.run()
      }
    }
    link.finish()
  }
}

/// SplitMix64 with a seed: the same numbers everywhere.
struct Random {
  private var state: UInt64
  private static let words = [
    "alder", "birch", "cedar", "dune", "ember", "fjord", "grove", "harbour", "island", "jetty", "kelp", "lagoon",
    "meadow", "needle", "orchard", "pebble", "quarry", "ridge", "spruce", "tundra", "upland", "valley", "willow",
    "yarrow",
  ]
  private static let names = [
    "Ada", "Boris", "Clara", "Dmitri", "Elena", "Farid", "Grete", "Hiro", "Ingrid", "Jamal", "Keiko", "Lucas",
    "Miriam", "Nadia", "Oskar", "Paula", "Quentin", "Rosa", "Stefan", "Tomoko", "Ulrike", "Viktor", "Wanda", "Zoltan",
  ]

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  mutating func name() -> String { Random.names[below(Random.names.count)] }

  /// Returns words with about the given number of characters.
  mutating func text(of length: Int) -> String {
    var text = ""
    while text.utf8.count < length {
      if !text.isEmpty { text += " " }
      text += Random.words[below(Random.words.count)]
    }
    return text
  }
}
