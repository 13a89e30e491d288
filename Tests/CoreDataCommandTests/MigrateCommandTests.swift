// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata migrate")
struct MigrateCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop(orders: 4)
  }

  @Test("--mappings: plan, run and status go by the mapping models, and say so; a stale one is no way")
  func mappings() throws {
    let url = URL(fileURLWithPath: workshop.model)
    let (old, new) = try (
      NSManagedObjectModel.load(contentsOf: url, version: "Shop"),
      NSManagedObjectModel.load(contentsOf: url, version: "Shop 2")
    )
    let folder = workshop.path("Mappings")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let file = URL(fileURLWithPath: folder).appendingPathComponent("Shop.cdm")
    var mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new).document
    try mapping.writeCompiled(to: file)
    let plan = CommandRun("migrate", "plan", store, workshop.model, "--mappings", folder)
    #expect(plan.output.contains("1  Shop -> Shop 2   mapping Shop.cdm, copy   4 rows touched\n"))
    #expect(plan.output.contains("The mapping model 'Shop.cdm' is for these two versions.\n"))
    #expect(plan.output.contains("A mapping model exists for exactly the path from 'Shop' to 'Shop 2'.\n"))
    let json = try CommandRun(
      "migrate", "status", store, workshop.model, "--mappings", folder, "--format", "json"
    ).json
    #expect((json["steps"] as? [[String: Any]])?.map { $0["kind"] as? String } == ["mapping"])
    let run = CommandRun("migrate", "run", store, workshop.model, "--mappings", folder)
    #expect(run.status == .done, "\(run.error)")
    #expect(run.output.hasPrefix("Migrated Shop.sqlite: Shop -> Shop 2\n"))
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .done)

    let second = workshop.path("Second.sqlite")
    try workshop.fill(second, orders: 1)
    let position = try #require(mapping.entityMappings.firstIndex { $0.destinationEntityName == "Order" })
    mapping.entityMappings[position].policyClassName = "Shop.OrderPolicy"
    try mapping.writeCompiled(to: file)
    let content = FileManager.default.contents(atPath: second)
    let custom = CommandRun("migrate", "run", second, workshop.model, "--mappings", folder)
    #expect(custom.status == .migrationImpossible)
    #expect(
      custom.error.contains("need migration policies of the app, which this tool does not have: Shop.OrderPolicy."))
    #expect(FileManager.default.contents(atPath: second) == content)
    mapping.entityMappings[position].policyClassName = nil
    mapping.entityMappings[position].destinationEntityVersionHash = Data(repeating: 7, count: 32)
    try mapping.writeCompiled(to: file)
    let stale = CommandRun("migrate", "run", second, workshop.model, "--mappings", folder)
    #expect(stale.status == .migrationImpossible)
    #expect(stale.error.contains("Shop.cdm") && stale.error.contains(String(repeating: "07", count: 32)))
    let status = CommandRun("migrate", "status", second, workshop.model, "--mappings", folder)
    #expect(status.output.contains("1 version behind Shop 2. It cannot be migrated: The mapping model 'Shop.cdm'"))
    #expect(CommandRun("migrate", "status", second, workshop.model, "--mappings", "/nowhere.cdm").status != .done)
  }

  @Test("status: behind, then up to date; --check answers with the status")
  func status() throws {
    let behind = CommandRun("migrate", "status", store, workshop.model)
    #expect(behind.output == "Shop.sqlite has version Shop, 1 version behind Shop 2.\n")
    #expect(behind.status == .done)
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .no)
    #expect(CommandRun("migrate", "run", store, workshop.model).status == .done)
    let current = CommandRun("migrate", "status", store, workshop.model, "--check")
    #expect(current.output == "Shop.sqlite is up to date: Shop 2.\n")
    #expect(current.status == .done)
    let json = try CommandRun("migrate", "status", store, workshop.model, "--format", "json").json
    #expect(json["status"] as? String == "current")
  }

  @Test("plan: steps, changes and findings; nothing is written")
  func plan() throws {
    let before = FileManager.default.contents(atPath: store)
    let run = CommandRun("migrate", "plan", store, workshop.model)
    #expect(run.status == .done)
    #expect(
      run.output.hasPrefix(
        """
        Plan  Shop -> Shop 2      1 step

          1  Shop -> Shop 2   inferred, in place   4 rows touched
              Customer  +  new  1 property
              Order     ~  name -> title (renaming identifier)
                        ~  total  optional: yes -> no

          Findings
            info  DD202  Order.total: is required now, default 0 for 0 rows without a value  Shop 2
          Disk   needs\u{20}
        """))
    #expect(run.output.hasSuffix("\n0 errors, 0 warnings. Nothing was changed.\n"))
    let json = try CommandRun("migrate", "plan", store, workshop.model, "--format", "json").json
    #expect(json["format"] as? String == "coredata.plan/1")
    #expect(json["from"] as? String == "Shop")
    #expect(json["to"] as? String == "Shop 2")
    let steps = try #require(json["steps"] as? [[String: Any]])
    #expect(steps.map { $0["kind"] as? String } == ["inferred"])
    #expect(steps.map { $0["inPlace"] as? Bool } == [true])
    #expect(FileManager.default.contents(atPath: store) == before)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
  }

  @Test("plan: the SQL, found out on a copy")
  func sql() throws {
    let before = FileManager.default.contents(atPath: store)
    let json = try CommandRun("migrate", "plan", store, workshop.model, "--sql", "--format", "json").json
    let sql = try #require(json["sql"] as? [String])
    #expect(sql.contains { $0.contains("ZCUSTOMER") })
    #expect(FileManager.default.contents(atPath: store) == before)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
  }

  @Test("run: the rows are there afterwards, and a backup of the store as it was")
  func run() throws {
    let before = try CommandRun("store", "export", store).jsonLines
    let run = CommandRun("migrate", "run", store, workshop.model, "--format", "json")
    #expect(run.status == .done)
    #expect(run.error == "step 1 of 1: Shop -> Shop 2\n")
    let json = try run.json
    #expect(json["format"] as? String == "coredata.migration/1")
    let backup = try #require(json["backup"] as? String)
    #expect(URL(fileURLWithPath: backup).lastPathComponent == "Shop~.sqlite")
    let rows = try #require(json["rows"] as? [String: [String: Int]])
    #expect(rows["Order"] == ["before": 4, "after": 4])
    let after = try CommandRun("store", "export", store).jsonLines
    #expect(names(before, "name") == names(after, "title"))
    #expect(after.map { $0["id"] as? String } == before.map { $0["id"] as? String })
    #expect(try CommandRun("store", "export", backup).jsonLines.count == 4)
    #expect(
      try CommandRun("store", "match", backup, workshop.model, "--format", "json").json["version"] as? String == "Shop")
  }

  private func names(_ lines: [[String: Any]], _ key: String) -> [String?] {
    lines.map { ($0["values"] as? [String: Any])?[key] as? String }
  }

  @Test("run: --verbose tells the SQL, --quiet nothing")
  func verbosity() throws {
    let run = CommandRun("migrate", "run", store, workshop.model, "--verbose")
    #expect(run.error.contains("CREATE TABLE ZCUSTOMER ("))
    let other = workshop.path("Other.sqlite")
    try workshop.fill(other, orders: 1)
    #expect(CommandRun("migrate", "run", other, workshop.model, "--quiet").error.isEmpty)
  }

  @Test("run: a second time there is nothing to do")
  func again() throws {
    #expect(CommandRun("migrate", "run", store, workshop.model).status == .done)
    let files = try workshop.files()
    let run = CommandRun("migrate", "run", store, workshop.model)
    #expect(run.status == .done)
    #expect(run.output == "Shop.sqlite already has version Shop 2. Nothing was changed.\n")
    #expect(try workshop.files() == files)
  }

  @Test("run: backups go where they are wanted, or nowhere")
  func backups() throws {
    let folder = workshop.path("backups")
    #expect(CommandRun("migrate", "run", store, workshop.model, "--backup", folder).status == .done)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["Shop~.sqlite"])
    let second = workshop.path("Second.sqlite")
    try workshop.fill(second, orders: 1)
    #expect(CommandRun("migrate", "run", second, workshop.model, "--no-backup").status == .done)
    #expect(!FileManager.default.fileExists(atPath: workshop.path("Second~.sqlite")))
    let both = CommandRun("migrate", "run", store, workshop.model, "--no-backup", "--backup", folder)
    #expect(both.status == .usage)
  }

  @Test("run: progress as lines of JSON counts rows, and only grows")
  func progress() throws {
    let run = CommandRun("migrate", "run", store, workshop.model, "--progress", "json")
    let events = try run.error.split(separator: "\n").map { line in
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
    }
    #expect(!events.isEmpty)
    #expect(events.allSatisfy { $0["event"] as? String == "progress" && $0["of"] as? Int == 1 })
    let done = events.compactMap { $0["done"] as? Int }
    #expect(done == done.sorted())
    let silent = workshop.path("Silent.sqlite")
    try workshop.fill(silent, orders: 1)
    #expect(CommandRun("migrate", "run", silent, workshop.model, "--progress", "none").error.isEmpty)
  }

  @Test("A version that cannot be reached: the reason, status 5, and an untouched store")
  func unreachable() throws {
    #expect(CommandRun("migrate", "run", store, workshop.model, "--no-backup").status == .done)
    let before = FileManager.default.contents(atPath: store)
    for command in ["plan", "run"] {
      let run = CommandRun("migrate", command, store, workshop.model, "--to", "Shop 3")
      #expect(run.status == .migrationImpossible)
      #expect(run.output.isEmpty)
      #expect(run.error.hasPrefix("error: A mapping model could not be inferred. "))
      #expect(run.error.contains("'title' of entity 'Order' is String in the source, Date in the destination."))
    }
    #expect(FileManager.default.contents(atPath: store) == before)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
  }

  @Test("run: a version that lacks what both ends have is not gone through, whatever the order of names")
  func detour() throws {
    let name = "<attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
    let total = "<attribute name=\"total\" optional=\"YES\" attributeType=\"Integer 32\" defaultValueString=\"0\"/>"
    let note = "<attribute name=\"note\" optional=\"YES\" attributeType=\"String\"/>"
    // The store's own version is the last by name; the one in the middle is the oldest.
    for (version, attributes) in [("Alpha", name + total + note), ("Beta", total), ("Gamma", name + total)] {
      let folder = workshop.path("Other.xcdatamodeld/\(version).xcdatamodel")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let entity = "<entity name=\"Order\">\(attributes)</entity>"
      try Data("<?xml version=\"1.0\"?><model documentVersion=\"1.0\">\(entity)</model>".utf8)
        .write(to: URL(fileURLWithPath: folder + "/contents"))
    }
    let before = try CommandRun("store", "export", store).jsonLines
    let run = CommandRun("migrate", "run", store, workshop.path("Other.xcdatamodeld"), "--to", "Alpha")
    #expect(run.status == .done)
    #expect(run.error == "step 1 of 1: Gamma -> Alpha\n")
    #expect(names(try CommandRun("store", "export", store).jsonLines, "name") == names(before, "name"))
  }

  @Test("recover inspects, clears up and sets aside")
  func recover() throws {
    let idle = CommandRun("migrate", "recover", store, "--inspect")
    #expect(idle.status == .done)
    #expect(idle.output == "Shop.sqlite: there is no unfinished work.\n")
    // What a process leaves that ends right after it has begun.
    let work = URL(fileURLWithPath: store).deletingLastPathComponent().appendingPathComponent(".Shop.sqlite-migration")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    try Data("half".utf8).write(to: work.appendingPathComponent("step1.sqlite"))
    let found = CommandRun("migrate", "recover", store, "--inspect")
    #expect(found.status == .interruptedWorkFound)
    #expect(found.output.contains("was interrupted.\n  The store is the complete old one"))
    #expect(
      try CommandRun("migrate", "recover", store, "--inspect", "--format", "json").json["unfinished"] is [String: Any])
    let status = CommandRun("migrate", "status", store, workshop.model, "--check")
    #expect(status.status == .interruptedWorkFound)
    #expect(status.error.contains("migrate recover"))
    #expect(CommandRun("migrate", "recover", store).output.hasPrefix("Shop.sqlite is the complete old store"))
    #expect(!FileManager.default.fileExists(atPath: work.path))
    #expect(CommandRun("migrate", "recover", store).output == "Shop.sqlite: there was no unfinished work.\n")

    #expect(CommandRun("migrate", "recover", store, "--set-aside").status == .usage)
    #expect(
      CommandRun("migrate", "recover", store, "--set-aside", "--inspect", "--model", workshop.model).status == .usage)
    #expect(CommandRun("migrate", "recover", workshop.path("None.sqlite")).status == .unreadableStore)
    let aside = CommandRun("migrate", "recover", store, "--set-aside", "--model", workshop.model)
    #expect(aside.status == .done, "\(aside.error)")
    #expect(aside.output.contains("/Incompatible/"))
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .done)
  }

  @Test("status, plan and run name a stage of the app that is not finished, and status --check fails for it")
  func unfinishedStage() throws {
    let url = URL(fileURLWithPath: store)
    var metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    // SwiftData's, since an app cannot write the other one.
    metadata["OpenCoreDataSwiftDataStage"] = ["stage": "Split names"]
    metadata["color"] = "green"
    try NSPersistentStoreCoordinator.setMetadata(metadata, type: .sqlite, at: url)
    let info = CommandRun("store", "info", store)
    #expect(info.output.contains("color") && !info.output.contains("OpenCoreData"), "\(info.output)")
    let status = CommandRun("migrate", "status", store, workshop.model, "--check", "--format", "json")
    #expect(status.status == .interruptedWorkFound)
    #expect(try status.json["unfinishedStage"] as? String == "Split names")
    #expect(CommandRun("migrate", "status", store, workshop.model).status == .done)
    for command in ["status", "plan", "run"] {
      let found = CommandRun("migrate", command, store, workshop.model)
      #expect(found.status == .done)
      #expect(found.error.contains("the stage 'Split names' of a staged migration has begun, and is not finished."))
      #expect(found.error.contains("Open the store with the app that has the stage"))
    }
  }

  @Test("Triggers that Core Data does not make are named, and do not run")
  func foreignTriggers() throws {
    try SQLiteConnection.execute(
      "CREATE TRIGGER audit AFTER UPDATE ON Z_METADATA BEGIN DELETE FROM Z_PRIMARYKEY; END",
      at: URL(fileURLWithPath: store))
    for command in ["plan", "run"] {
      let found = CommandRun("migrate", command, store, workshop.model)
      #expect(found.status == .done, "\(found.error)")
      #expect(found.error.contains("triggers that Core Data does not create: 'audit' on Z_METADATA. They do not run"))
    }
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .done)
  }

  @Test("recover rolls back what a killed writer has left, says so, and does not set the store aside for it")
  func killedWriter() throws {
    let rows = CommandRun("store", "export", store).output
    let url = URL(fileURLWithPath: store)
    let table = try #require(
      try SQLiteConnection(url: url, mode: .readOnly).catalog().tables.map(\.name).first {
        $0.hasPrefix("Z") && !$0.hasPrefix("Z_")
      })
    try HotJournal.leave(at: url, table: table, isShort: true)
    #expect(CommandRun("store", "export", store).output == rows)
    let found = CommandRun("migrate", "recover", store, "--inspect")
    #expect(found.status == .interruptedWorkFound)
    #expect(found.output.contains("A program was killed while writing to Shop.sqlite"))
    let aside = CommandRun("migrate", "recover", store, "--set-aside", "--model", workshop.model)
    #expect(aside.status == .done)
    #expect(aside.output.contains("SQLite has rolled back its transaction; the store is as it was"))
    #expect(aside.output.contains("It was not set aside."))
    #expect(CommandRun("store", "export", store).output == rows)
    #expect(CommandRun("migrate", "recover", store).output == "Shop.sqlite: there was no unfinished work.\n")
    try HotJournal.leave(at: url, table: table, isShort: true)
    let run = CommandRun("migrate", "run", store, workshop.model)
    #expect(run.status == .done, "\(run.error)")
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .done)
  }
}
