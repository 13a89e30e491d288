// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The migrations of `CopyWorkloads` as a loop over SQLite's C interface, with prepared statements, one transaction and
/// Swift strings. The new store is a separate file in Core Data's layout, complete on disk at the end.
enum CopyByHand {
  /// Copies like a careful developer: a new file needs no journal until it is complete, and building indexes from all rows
  /// is faster than row by row.
  @Sendable static func copy(_ place: Workload.Place) throws -> Measurement {
    let model = NotesModel.split()
    return try Measurement.of {
      try create(place.destination, model, pragmas: ["journal_mode": "DELETE"])
      let destination = try Database(place.destination.path)
      try destination.run("PRAGMA journal_mode = OFF")
      try destination.run("PRAGMA synchronous = OFF")
      let indexes = try destination.texts("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
      for name in try destination.texts("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL") {
        try destination.run("DROP INDEX \"\(name)\"")
      }
      try fill(destination, from: place.store) { for index in indexes { try destination.run(index) } }
      let file = try FileHandle(forUpdating: place.destination)
      try file.synchronize()
      try file.close()
    }
  }

  /// Copies with the write-ahead log and the indexes that a new store has from the start.
  @Sendable static func copyWithLog(_ place: Workload.Place) throws -> Measurement {
    let model = NotesModel.split()
    return try Measurement.of {
      try create(place.destination, model, pragmas: [:])
      try fill(Database(place.destination.path), from: place.store)
    }
  }

  private static func create(_ store: URL, _ model: NSManagedObjectModel, pragmas: [String: String]) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options = [NSSQLitePragmasOption: pragmas]
    try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: store, options: options))
  }

  private static func fill(_ destination: Database, from store: URL, finish: () throws -> Void = {}) throws {
    let source = try Database(store.path)
    try destination.run("BEGIN IMMEDIATE")
    let keys = try copyNotes(source, destination)
    try copyAttachments(source, destination, keys)
    try finish()
    try destination.run("COMMIT")
    try destination.close()
    try source.close()
  }

  /// - Returns: The new keys, indexed by the old ones.
  private static func copyNotes(_ source: Database, _ destination: Database) throws -> [Int64] {
    let greatest = try source.integer("SELECT MAX(Z_PK) FROM ZNOTE")
    var keys = [Int64](repeating: 0, count: Int(greatest) + 1)
    let select = try source.prepare(
      "SELECT Z_PK, ZTITLE, ZBODY, ZFULLNAME, ZDATECREATED, ZDISPLAYINDEX FROM ZNOTE ORDER BY Z_PK")
    let insert = try destination.prepare(
      "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZBODY, ZFIRSTNAME, ZLASTNAME, ZDATECREATED, ZDISPLAYINDEX) "
        + "VALUES (?, 2, 1, ?, ?, ?, ?, ?, ?)")
    var next: Int64 = 0
    while try select.step() {
      next += 1
      keys[Int(select.integer(0))] = next
      insert.bind(next, 1)
      insert.bind(select.text(1), 2)
      insert.bind(select.text(2), 3)
      let name = select.text(3)
      if let space = name.firstIndex(of: " ") {
        insert.bind(String(name[..<space]), 4)
        insert.bind(String(name[name.index(after: space)...]), 5)
      }
      insert.bind(select.double(4), 6)
      insert.bind(select.integer(5), 7)
      try insert.run()
    }
    select.finish()
    insert.finish()
    try destination.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(next) WHERE Z_NAME = 'Note'")
    return keys
  }

  private static func copyAttachments(_ source: Database, _ destination: Database, _ keys: [Int64]) throws {
    let select = try source.prepare("SELECT ZCAPTION, ZWIDTH, ZHEIGHT, ZNOTE FROM ZATTACHMENT ORDER BY Z_PK")
    let insert = try destination.prepare(
      "INSERT INTO ZATTACHMENT (Z_PK, Z_ENT, Z_OPT, ZCAPTION, ZWIDTH, ZHEIGHT, ZNOTE) VALUES (?, 1, 1, ?, ?, ?, ?)")
    var next: Int64 = 0
    while try select.step() {
      next += 1
      insert.bind(next, 1)
      insert.bind(select.text(0), 2)
      insert.bind(select.double(1), 3)
      insert.bind(select.double(2), 4)
      insert.bind(keys[Int(select.integer(3))], 5)
      try insert.run()
    }
    select.finish()
    insert.finish()
    try destination.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(next) WHERE Z_NAME = 'Attachment'")
  }
}
