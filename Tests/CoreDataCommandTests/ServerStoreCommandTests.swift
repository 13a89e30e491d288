// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataCommand

/// Commands with the URL of a store in a server, which is one in this process.
@Suite("coredata with stores in servers", .serialized)
struct ServerStoreCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }
  private let server: String

  init() throws {
    _ = TestServerStore.registration
    workshop = try Workshop()
    try workshop.makeStore(at: workshop.store, ["Order": 3, "Customer": 1])
    server = "teststore://user:secret@host/shop-\(UUID().uuidString)"
  }

  private var name: String { server.split(separator: "/").last.map(String.init) ?? "" }

  /// The objects of a store as lines of JSON without identifiers: the server numbers all objects together.
  private func objects(_ store: String) throws -> [String] {
    let run = CommandRun(["store", "export", store])
    try #require(run.status == .done, "\(run.error)")
    return run.output.split(separator: "\n").map { String($0.replacing(/"id":"[^"]*",/, with: "")) }
  }

  private func copyToServer() {
    let run = CommandRun(["store", "copy", store, server])
    #expect(run.status == .done, "\(run.error)")
    #expect(
      run.output.hasPrefix("\(name): 4 rows of 2 entities, teststore\nChecked: the copy has the objects of Shop."))
  }

  @Test("A store is copied into a server and back, and exports of both are equal but for the store")
  func thereAndBack() throws {
    copyToServer()
    let taken = CommandRun(["store", "copy", store, server])
    #expect(taken.status == .failed && !taken.error.contains("secret"))
    for type in ["sqlite", "xml"] {
      let back = workshop.path("Back.\(type)")
      let run = CommandRun(["store", "copy", server, back, "--type", type])
      #expect(run.status == .done, "\(run.error)")
      #expect(run.output.contains("4 rows of 2 entities, \(type)\nChecked: the copy has the objects of \(name)"))
    }
    let exports = try [store, server, workshop.path("Back.sqlite")].map(objects)
    #expect(Set(exports).count == 1 && exports[0].count == 4)
    let other = server + "-2"
    let json = try CommandRun(["store", "copy", server, other, "--format", "json"]).json
    #expect(json["type"] as? String == "teststore" && (json["rows"] as? [String: Int])?["Order"] == 3)
    #expect((json["store"] as? String)?.contains("secret") == false)
    #expect(CommandRun(["store", "copy", store, server + "-3", "--type", "xml"]).status == .usage)
  }

  @Test("Commands that read a store read one in a server, and leave no copy behind")
  func reading() throws {
    copyToServer()
    let folder = FileManager.default.temporaryDirectory.path
    func leftovers() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(name) }
    }
    let info = CommandRun(["store", "info", server])
    #expect(info.status == .done && info.output.hasPrefix(name), "\(info.error)")
    #expect(info.output.contains("Order") && !info.output.contains("secret"))
    #expect(info.output.contains("TestServer") && info.output.contains("7 kB"), "\(info.output)")
    let facts = try CommandRun(["store", "info", server, "--format", "json"]).json
    #expect(facts["type"] as? String == "TestServer" && facts["bytes"] as? Int == 7_000)
    let match = CommandRun(["store", "match", server, workshop.model])
    #expect(match.status == .done && match.output.hasPrefix("\(name) was written by Shop 2"), "\(match.error)")
    #expect(CommandRun(["store", "verify", server]).status == .done)
    #expect(CommandRun(["store", "verify", server, "--repair"]).status == .done)
    #expect(CommandRun(["store", "verify", server, "--repair", "--backup", "."]).status == .usage)
    #expect(CommandRun(["store", "diff", store, server, "--exit-code"]).status == .done)
    #expect(CommandRun(["migrate", "status", server, workshop.model]).status == .done)
    let page = CommandRun(["store", "report", server])
    #expect(page.status == .done && page.output.contains("Order, 3 of 3"))
    #expect(
      CommandRun(["store", "extract-model", server, "--output", workshop.path("Found.xcdatamodel")]).status == .done)
    #expect(CommandRun(["migrate", "recover", server]).status == .usage)
    #expect(try leftovers().isEmpty)
  }

  @Test("A store in a server is planned, rehearsed and migrated")
  func migrating() throws {
    copyToServer()
    let to = ["--to", "Shop", "--allow-loss", "--allow-downgrade"]
    let plan = CommandRun(["migrate", "plan", server, workshop.model] + to)
    #expect(plan.status == .done && plan.output.contains("Shop 2 -> Shop"), "\(plan.error)\(plan.output)")
    #expect(
      plan.output.contains("Old instances\n  stop them first: Their reads and saves wait while"), "\(plan.output)")
    let members = CommandRun(["migrate", "plan", server, workshop.model, "--format", "json"] + to)
    #expect(members.output.contains("\"verdict\": \"stop them first\""), "\(members.output)")
    // The disk of the private copy is of no interest.
    #expect(!plan.output.contains("beside the store") && !plan.output.contains("ST602"))
    let refused = CommandRun(["migrate", "plan", server, workshop.model, "--to", "Shop 3"])
    #expect(refused.error.contains("teststore://user@host/\(name)"), "\(refused.error)")
    let rehearsal = CommandRun(["migrate", "rehearse", server, workshop.model, "--to", "Shop"])
    #expect(rehearsal.status == .done, "\(rehearsal.error) \(rehearsal.output)")
    #expect(CommandRun(["migrate", "run", server, workshop.model, "--backup", "."] + to).status == .usage)
    let run = CommandRun(["migrate", "run", server, workshop.model] + to)
    #expect(run.status == .done, "\(run.error)")
    let match = CommandRun(["store", "match", server, workshop.model])
    #expect(match.output.hasPrefix("\(name) was written by Shop of"), "\(match.error)")
    // The first version has no customers.
    #expect(CommandRun(["store", "export", server]).output.split(separator: "\n").count == 3)
  }

  @Test("What the server finds is a part of what verify finds")
  func verifying() throws {
    copyToServer()
    TestServerStore.knownProblems.value = [
      ServerStoreProblem(.constraint, entity: "Order", "The foreign key k is missing.", cure: "Make it."),
      ServerStoreProblem(.index, entity: "Order", "The index i is missing.", cure: "Make it, too."),
    ]
    defer { TestServerStore.knownProblems.value = [] }
    let run = CommandRun(["store", "verify", server])
    #expect(run.status == .no && run.output.contains("problem  layout  Order\n  The foreign key k is missing."))
    #expect(run.output.contains("note  missing-index  Order") && run.output.contains("1 problem, 1 note."))
  }

  @Test("What a server can repair without guessing is repaired, and what rows do not allow stays a problem")
  func repairing() throws {
    copyToServer()
    TestServerStore.knownProblems.value = [
      ServerStoreProblem(.constraint, entity: "Order", "The constraint k is missing.", repair: ["k"], cure: "Make k."),
      ServerStoreProblem(
        .constraint, entity: "Order", "The constraint u is missing.", repair: ["refused"], cure: "Make u."),
      ServerStoreProblem(.privilege, entity: "Order", "The role lacks SELECT.", cure: "Grant it."),
      ServerStoreProblem(.trigger, entity: "Order", "There is a trigger.", cure: "Drop it."),
    ]
    defer { TestServerStore.knownProblems.value = [] }
    let before = CommandRun(["store", "verify", server])
    #expect(before.status == .no && before.output.contains("--repair: Make k."), "\(before.output)")
    #expect(before.output.contains("3 problems, 1 note.") && before.output.contains("2 of them can be repaired:"))
    let run = CommandRun(["store", "verify", server, "--repair"])
    #expect(run.status == .no && run.output.contains("layout Order: Make k."), "\(run.output)")
    #expect(run.output.contains("To do: Rows violate it.") && run.output.contains("2 problems, 1 note."))
    #expect(run.output.contains("problem  privilege  Order") && run.output.contains("note  trigger  Order"))
    let again = try CommandRun(["store", "verify", server, "--repair", "--format", "json"]).json
    #expect((again["repaired"] as? [Any])?.isEmpty == true && (again["defects"] as? [Any])?.count == 3)
  }

  @Test("A mapping model that names its versions is carried out in a server, too")
  func mapping() throws {
    copyToServer()
    let mapping = workshop.path("Shop.mapping")
    let versions = [workshop.model + "@Shop 2", workshop.model + "@Shop"]
    try #require(CommandRun(["mapping", "new"] + versions + ["-o", mapping]).status == .done)
    let text = try String(contentsOfFile: mapping, encoding: .utf8)
    let changed = text.replacingOccurrences(of: "$source.title", with: "\"mapped\"")
    try #require(changed != text)
    try Data(changed.utf8).write(to: URL(fileURLWithPath: mapping))
    let run = CommandRun(
      [
        "migrate", "run", server, workshop.model, "--to", "Shop", "--mappings", mapping, "--allow-loss",
        "--allow-downgrade",
      ]
    )
    #expect(run.status == .done, "\(run.error)")
    let rows = CommandRun(["store", "export", server]).output.split(separator: "\n")
    #expect(rows.count == 3 && rows.allSatisfy { $0.contains("mapped") }, "\(rows)")
  }

  @Test("The password of a URL in a wrong place is shown nowhere, and nothing is named after the URL")
  func wrongPlaces() throws {
    copyToServer()
    let before = try workshop.files()
    let wrong = [
      ["doctor", store, server], ["model", "show", server], ["model", "versions", server],
      ["model", "lint", server], ["model", "diff", server, server], ["mapping", "infer", server, server],
      ["migrate", "check", server], ["migrate", "status", store, server], ["store", "info", store, "-o", server],
      ["store", "extract-model", store, "--output", server], ["store", "info", store, server],
      ["migrate", "run", store, workshop.model, "--backup", server], ["store", "create", server, workshop.model],
      ["store", "info", "teststore://u:secret@one:1,two:2/shop"], ["store", "info", server + "-2?password=secret"],
      ["migrate", "rehearse", workshop.model, server], ["explain", server],
    ]
    for arguments in wrong {
      for more in [[], ["--format", "json"]] {
        let run = CommandRun(arguments + more)
        #expect(run.status != .done && !run.error.isEmpty, "\(arguments)")
        #expect(!(run.output + run.error).contains("secret"), "\(arguments): \(run.error)")
      }
    }
    #expect(try workshop.files() == before)
    let two = CommandRun(["store", "info", "teststore://u:secret@one:1,two:2/shop"])
    #expect(two.error.contains("?host=a,b&port="))
    let short = CommandRun(["model", "show", "teststore://u:se@host/shop"])
    #expect(!short.error.contains(":se@"))
  }

  @Test("A copy into a server that failed goes on when the command is run again")
  func resuming() throws {
    TestServerStore.allowedWrites.value = 1
    let failed = CommandRun(["store", "copy", store, server])
    TestServerStore.allowedWrites.value = nil
    #expect(failed.status == .failed)
    copyToServer()
    #expect(try objects(server) == objects(store))
  }

  @Test("An unfinished copy in a server is removed with --restart, and a complete store never")
  func restarting() throws {
    TestServerStore.allowedWrites.value = 1
    #expect(CommandRun(["store", "copy", store, server]).status == .failed)
    TestServerStore.allowedWrites.value = nil
    // The copy of a changed store cannot go on.
    try FileManager.default.removeItem(atPath: store)
    try workshop.makeStore(at: store, ["Order": 2, "Customer": 1])
    #expect(CommandRun(["store", "copy", store, server]).status == .failed)
    TestServerStore.otherRows.value = 2
    let asking = CommandRun(["store", "copy", store, server, "--restart"])
    #expect(asking.status == .failed && asking.error.contains("rows that were not copied: 2 of 'Order'"))
    #expect(asking.error.contains("add --discard-others"), "\(asking.error)")
    #expect(CommandRun(["store", "copy", store, server, "--discard-others"]).status == .usage)
    let discarding = CommandRun(["store", "copy", store, server, "--restart", "--discard-others"])
    #expect(discarding.status == .done && discarding.error.contains("was removed"), "\(discarding.error)")
    try TestServerStore.destroy(at: try #require(URL(string: server)))
    TestServerStore.otherRows.value = 0
    TestServerStore.allowedWrites.value = 1
    #expect(CommandRun(["store", "copy", store, server]).status == .failed)
    TestServerStore.allowedWrites.value = nil
    let run = CommandRun(["store", "copy", store, server, "--restart"])
    #expect(run.status == .done && run.error.contains("The unfinished copy in \(name) was removed"), "\(run.error)")
    #expect(try objects(server).count == 3)
    let refused = CommandRun(["store", "copy", store, server, "--restart"])
    #expect(refused.status == .failed && refused.error.contains("has a complete store"), "\(refused.error)")
    #expect(try objects(server).count == 3)
    #expect(CommandRun(["store", "copy", store, server + "-2", "--restart"]).status == .done)
    #expect(CommandRun(["store", "copy", store, workshop.path("Other.sqlite"), "--restart"]).status == .usage)
  }

  @Test("A copy says which values it has otherwise than the file")
  func converted() throws {
    try SQLiteConnection.execute(
      "UPDATE ZORDER SET ZTOTAL = 2.5 WHERE Z_PK = 1; UPDATE ZORDER SET ZTITLE = CAST(x'61ff' AS TEXT) WHERE Z_PK < 3",
      at: URL(fileURLWithPath: store))
    let run = CommandRun(["store", "copy", store, server])
    #expect(run.status == .done, "\(run.error)")
    #expect(
      run.error.contains("2 values of Order.title are not of the attribute's type, or not valid."), "\(run.error)")
    #expect(run.error.contains("1 value of Order.total is not of the attribute's type"), "\(run.error)")
    #expect(run.output.contains("the same relationships, and the same values but for those named above."))
    let json = try CommandRun(["store", "copy", store, server + "-2", "--format", "json"]).json
    let values = try #require(json["convertedValues"] as? [[String: Any]])
    #expect(values.map { $0["property"] as? String } == ["title", "total"])
    #expect(values.map { $0["count"] as? Int } == [2, 1])
    // The pages of a file are copied as they are.
    let file = CommandRun(["store", "copy", store, workshop.path("Same.sqlite")])
    #expect(file.status == .done && file.output.contains("with the same values and relationships."), "\(file.error)")
  }

  @Test("A plan says that a server which lets only read refuses the migration")
  func standby() throws {
    copyToServer()
    let arguments = ["migrate", "plan", server, workshop.model, "--to", "Shop", "--allow-loss", "--allow-downgrade"]
    #expect(try CommandRun(arguments + ["--format", "json"]).json["serverIsReadOnly"] as? Bool == false)
    TestServerStore.isStandby.value = true
    defer { TestServerStore.isStandby.value = false }
    let plan = CommandRun(arguments)
    #expect(plan.status == .no && plan.error.contains("so that the store cannot be migrated there"), "\(plan.error)")
    #expect(try CommandRun(arguments + ["--format", "json"]).json["serverIsReadOnly"] as? Bool == true)
    // Where nothing is to be done, nothing is refused.
    let current = CommandRun(["migrate", "plan", server, workshop.model])
    #expect(current.status == .done && !current.error.contains("cannot be migrated"), "\(current.error)")
  }

  @Test("Of two runs at once, the one that waited says that the other has migrated the store")
  func atOnce() throws {
    copyToServer()
    let arguments = ["migrate", "run", server, workshop.model, "--to", "Shop", "--allow-loss", "--allow-downgrade"]
    let first = Guarded<CommandRun?>(nil)
    TestServerStore.beforeMigration.value = {
      TestServerStore.beforeMigration.value = nil
      first.value = CommandRun(arguments)
    }
    let second = CommandRun(arguments)
    #expect(first.value?.status == .done && first.value?.output.contains("Migrated \(name)") == true)
    #expect(second.status == .done && !second.output.contains("Migrated"), "\(second.output)")
    #expect(second.error.contains("Another process has already migrated \(name)."), "\(second.error)")
  }

  @Test("A store that another process migrates before it is opened is examined again, and refused")
  func migratedBeforeOpening() throws {
    copyToServer()
    let arguments = ["migrate", "run", server, workshop.model, "--to", "Shop", "--allow-loss", "--allow-downgrade"]
    let other = Guarded<CommandRun?>(nil)
    TestServerStore.beforeOpening.value = {
      TestServerStore.beforeOpening.value = nil
      other.value = CommandRun(arguments)
    }
    defer { TestServerStore.beforeOpening.value = nil }
    let model = try #require(NSManagedObjectModel(contentsOf: URL(fileURLWithPath: workshop.model)))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let url = try #require(URL(string: server))
    let error = #expect(throws: (any Error).self) {
      try coordinator.addPersistentStore(ofType: "TestServer", configurationName: nil, at: url, options: nil)
    }
    #expect(other.value?.status == .done, "\(other.value?.error ?? "")")
    #expect(error.map { ($0 as NSError).isCocoa(NSPersistentStoreIncompatibleVersionHashError) } == true)
    #expect(coordinator.persistentStores.isEmpty)
  }

  @Test("A URL of an unknown scheme, and one without a store, are errors that name it without its password")
  func unknown() {
    for arguments in [["store", "info", "nothing://u:secret@h/d"], ["store", "info", server]] {
      let run = CommandRun(arguments)
      #expect(run.status == .unreadableStore && !run.error.contains("secret"), "\(run.error)")
      #expect(run.error.contains(arguments[2].split(separator: "@")[1]))
    }
  }
}
