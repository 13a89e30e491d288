// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The migrations of `CopyWorkloads` as a loop over SQLite's C interface, with prepared statements, one transaction and
/// Swift strings. The new store is a separate file in Core Data's layout, complete on disk at the end.
enum CopyByHand {
  @Sendable static func copy(_ place: Workload.Place) throws -> Measurement {
    let model = NotesModel.split()
    return try Measurement.of {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: place.destination))
      let source = try Database(place.store.path)
      let destination = try Database(place.destination.path)
      try destination.run("BEGIN IMMEDIATE")
      let keys = try copyNotes(source, destination)
      try copyAttachments(source, destination, keys)
      try destination.run("COMMIT")
      try destination.close()
      try source.close()
    }
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
