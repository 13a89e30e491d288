// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import Foundation

/// Runs stores with hostile files beside them: the journal of unfinished work and its directory, external data, stores
/// set aside. Files outside the store's directory must never change.
struct JournalRunner: FuzzRunner {
  private let maker: StoreMaker
  private let model: NSManagedObjectModel

  init(_ lab: FuzzLab) throws {
    maker = try StoreMaker(lab)
    let folder = try lab.fresh()
    try FuzzInput(files: maker.samples[0].modelFiles).write(to: folder)
    model = try NSManagedObjectModel(
      document: ModelBundle(contentsOf: folder.appendingPathComponent(Sample.model)).currentDocument())
  }

  private static let names = [
    "../../outside/thesis.txt", "../outside/thesis.txt", "../../../outside/thesis.txt", "/etc/passwd", "..", ".", "",
    "../Store.sqlite", "A2C8F8B0-4C33-4E6D-9D8B-000000000001", "A2C8F8B0-4C33-4E6D-9D8B-000000000002", "a/b",
    "a\\u0000b",
    "Incompatible/x/Store.sqlite", "../outside/new/evil.sh", "Store~.sqlite", "Store.sqlite", "ä", "../../outside",
    "outside", "../outside",
  ]

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    let store = maker.samples[0].files[Sample.store] ?? Data()
    let work = "s/.Store.sqlite-migration/"
    var input = FuzzInput(files: ["outside/thesis.txt": Data("precious".utf8)])
    if !random.oneIn(8) { input.files["s/Store.sqlite"] = store }
    if !random.oneIn(3) { input.files[work + "new.sqlite"] = random.oneIn(3) ? Data("x".utf8) : store }
    if random.oneIn(2) { input.files[work + "old.sqlite"] = random.oneIn(3) ? Data() : store }
    if random.oneIn(2) { input.files[work + "lock"] = Data() }
    if random.oneIn(3) { input.files[work + "step1.sqlite"] = StoreMutation.pages(store, &random) }
    for number in 1...2 where random.oneIn(2) {
      input.files["s/.Store_SUPPORT/_EXTERNAL_DATA/A2C8F8B0-4C33-4E6D-9D8B-00000000000\(number)"] = Data([1, 2, 3])
    }
    var journal = Data(Self.journal(&random).utf8)
    if random.oneIn(3) { journal = TextMutation.damage(journal, &random) }
    if random.oneIn(30) {
      let count = random.pick([500, 20_000, 200_000])
      journal = Data((String(repeating: "[", count: count) + String(repeating: "]", count: count)).utf8)
    }
    if !random.oneIn(12) { input.files[work + "journal.json"] = journal }
    if random.oneIn(4) {
      let aside = "s/Incompatible/2026-01-01T00-00-00Z/"
      input.files[aside + "Store.sqlite"] = store
      input.files[aside + random.pick(["note.json", "Store.json", "Store.sqlite.json"])] = journal
    }
    // Directories that are links to outside.
    let places = [
      "s/.Store.sqlite-migration", "s/.Store_SUPPORT", "s/Incompatible", "s/.Store_SUPPORT/_EXTERNAL_DATA",
      work + "new.sqlite", work + "journal.json", work + "lock", "s/Store.sqlite", "s/Store~.sqlite",
    ]
    if random.oneIn(4) {
      let place = random.pick(places)
      input.files = input.files.filter { $0.key != place && !$0.key.hasPrefix(place + "/") }
      let up = place.split(separator: "/").count - 1
      let target = String(repeating: "../", count: up) + random.pick(["outside", "outside/thesis.txt", "nowhere"])
      input.links[place] = target
    }
    return input
  }

  private static func journal(_ random: inout FuzzRandom) -> String {
    func list(_ random: inout FuzzRandom) -> String {
      let count = random.pick([0, 0, 1, 2, 4])
      return "[" + (0..<count).map { _ in "\"\(random.pick(names))\"" }.joined(separator: ", ") + "]"
    }
    let purpose = random.pick(["migration", "replacement", "settingAside", "restoring", "destruction"])
    var fields = [
      "\"version\": \(random.oneIn(20) ? random.pick(["2", "-1", "99999999999999999999"]) : "1")",
      "\"purpose\": \"\(purpose)\"", "\"phase\": \"\(random.pick(["preparing", "exchanging", "exchanging"]))\"",
      "\"started\": \"\(random.pick(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "99999-99-99T00:00:00Z"]))\"",
      "\"process\": \(random.pick(["1", "0", "-1", "2147483647", "999999"]))",
      "\"added\": \(list(&random))", "\"obsolete\": \(list(&random))", "\"kept\": \(list(&random))",
    ]
    if random.oneIn(2) { fields.append("\"keptAt\": \"\(random.pick(names))\"") }
    if random.oneIn(3) {
      fields.append("\"source\": \"V1\", \"destination\": \"\(random.pick(TextMutation.values).escapedForXML)\"")
    }
    if random.oneIn(10) { fields.remove(at: random.below(fields.count)) }
    return "{\n" + fields.joined(separator: ",\n") + "\n}"
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let folder = try maker.lab.fresh()
    try input.write(to: folder)
    let outside = try DirectoryContent(folder.appendingPathComponent("outside"))
    let store = folder.appendingPathComponent("s/Store.sqlite")
    var results: [String] = []
    func attempt(_ name: String, _ body: () throws -> String) throws {
      do {
        results.append("\(name): \(try body())")
      } catch {
        results.append("\(name): \(ErrorText.of(error))")
      }
      let now = try DirectoryContent(folder.appendingPathComponent("outside"))
      guard now == outside else {
        throw Broken("\(name) has changed files outside of the store's directory: \(now.differences(from: outside)).")
      }
    }
    let before = try DirectoryContent(folder)
    try attempt("inspect") { "\(try StoreRecovery.inspect(storeAt: store)?.purpose?.rawValue ?? "nothing")" }
    try attempt("set aside") { "\(try StoreRecovery.storesSetAside(from: store).count)" }
    try attempt("read") { "\(try StoreReader(url: store).rowCounts().count)" }
    let after = try DirectoryContent(folder)
    guard before == after else { throw Broken("Looking has changed files: \(after.differences(from: before)).") }
    if random.oneIn(2) {
      try attempt("recover") { "\(try StoreRecovery.recover(storeAt: store)?.rawValue ?? "nothing")" }
    }
    if random.oneIn(4) {
      try attempt("destroy") {
        try NSPersistentStoreCoordinator(managedObjectModel: model).destroyPersistentStore(at: store, type: .sqlite)
        return "done"
      }
    }
    try attempt("open") {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let opened = try coordinator.addPersistentStore(
        type: .sqlite, at: store,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          StoreSetAsideOption: random.oneIn(2),
        ])
      try coordinator.remove(opened)
      return "opened"
    }
    return results.joined(separator: "; ")
  }
}
