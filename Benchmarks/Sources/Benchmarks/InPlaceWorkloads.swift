// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Migration in place when the store is opened, compared with hand-written SQL. Both are measured from opening to
/// closing the store.
enum InPlaceWorkloads {
  private static let withoutRows = "migration of a store without rows"

  static let all = [
    Workload(
      name: "opening", start: .notes,
      library: { try open($0.store, NotesModel.first()) },
      byHand: { try script($0.store, ["SELECT Z_PLIST FROM Z_METADATA"]) }),
    // The cost of a migration apart from rows: reading and comparing models, writing metadata and the model cache.
    Workload(
      name: withoutRows, start: .empty,
      library: { try open($0.store, NotesModel.withAddedAttribute()) },
      byHand: { try script($0.store, ["ALTER TABLE ZNOTE ADD COLUMN ZSUBTITLE VARCHAR"]) }),
    Workload(
      name: "in place: add an attribute", start: .notes, limit: 1.3, fixedCost: withoutRows,
      library: { try open($0.store, NotesModel.withAddedAttribute()) },
      byHand: { try script($0.store, ["ALTER TABLE ZNOTE ADD COLUMN ZSUBTITLE VARCHAR"]) }),
    Workload(
      name: "in place: rename, add a required one", start: .notes, limit: 1.3, fixedCost: withoutRows,
      library: { try open($0.store, NotesModel.withRenamedAndRequired()) },
      byHand: {
        // Core Data's tables have no DEFAULT clauses, so the value is written to every row here too.
        try script(
          $0.store,
          [
            "ALTER TABLE ZNOTE RENAME COLUMN ZTITLE TO ZHEADING", "ALTER TABLE ZNOTE ADD COLUMN ZRATING INTEGER",
            "UPDATE ZNOTE SET ZRATING = 3",
          ])
      }),
    Workload(
      name: "in place: rebuild of a table", start: .notes, limit: 1.2, fixedCost: withoutRows,
      library: { try open($0.store, NotesModel.withoutFullName()) },
      byHand: {
        let columns = "Z_PK, Z_ENT, Z_OPT, ZDISPLAYINDEX, ZDATECREATED, ZBODY, ZTITLE"
        return try script(
          $0.store,
          [
            "PRAGMA secure_delete = OFF",
            "CREATE TABLE ZNOTE_NEW (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZDISPLAYINDEX INTEGER, "
              + "ZDATECREATED TIMESTAMP, ZBODY VARCHAR, ZTITLE VARCHAR)",
            "INSERT INTO ZNOTE_NEW SELECT \(columns) FROM ZNOTE", "DROP TABLE ZNOTE",
            "ALTER TABLE ZNOTE_NEW RENAME TO ZNOTE",
          ])
      }),
  ]

  private static func open(_ url: URL, _ model: NSManagedObjectModel) throws -> Measurement {
    // Computing the model's hashes is part of opening; creating the model is not.
    try Measurement.of {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(
        type: .sqlite, at: url,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          // One of the models drops an attribute of a store that was not written by a known version.
          MigrationOption.allowsLoss: true,
        ])
      try coordinator.remove(store)
    }
  }

  private static func script(_ url: URL, _ statements: [String]) throws -> Measurement {
    try Measurement.of {
      let database = try Database(url.path)
      let settings = statements.filter { $0.hasPrefix("PRAGMA") }
      for setting in settings { try database.run(setting) }
      try database.run("BEGIN IMMEDIATE")
      for statement in statements where !statement.hasPrefix("PRAGMA") { try database.run(statement) }
      try database.run("COMMIT")
      try database.close()
    }
  }
}
