// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

/// Commands over XML and binary stores, which contain no model.
@Suite("coredata with XML and binary stores")
struct WholeFileStoreTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop(orders: 3)
  }

  /// Makes a store of the first version.
  private func makeStore(_ type: String) throws -> String {
    let path = workshop.path("Shop.\(type)")
    let run = CommandRun("store", "copy", workshop.store, path, "--type", type)
    try #require(run.status == .done, "\(run.error)")
    return path
  }

  private func objects(_ store: String) throws -> [String] {
    let run = CommandRun("store", "export", store, "--model", workshop.model)
    try #require(run.status == .done, "\(run.error)")
    return run.output.split(separator: "\n").map { String($0.replacing(/"id":"[^"]*",/, with: "")) }
  }

  @Test("Their version, the way to the current one, and its steps are shown", arguments: ["xml", "binary"])
  func reading(type: String) throws {
    let store = try makeStore(type)
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let files = try workshop.files()
    let match = CommandRun("store", "match", store, workshop.model)
    #expect(match.status == .done && match.output.hasPrefix("Shop.\(type) was written by Shop of "), "\(match)")
    let status = CommandRun("migrate", "status", store, workshop.model, "--check")
    #expect(status.status == .no && status.output.contains("has version Shop, 1 version behind Shop 2."), "\(status)")
    let plan = CommandRun("migrate", "plan", store, workshop.model)
    #expect(plan.status == .done && plan.output.contains("Shop -> Shop 2"), "\(plan)")
    let rehearsal = CommandRun("migrate", "rehearse", store, workshop.model)
    #expect(rehearsal.status == .done && rehearsal.output.contains("Shop.\(type)"), "\(rehearsal)")
    let doctor = CommandRun("doctor", store, workshop.model)
    #expect(doctor.status == .done && doctor.output.contains("3 rows satisfy every rule"), "\(doctor)")
    #expect(doctor.output.contains("the current one is Shop 2"), "\(doctor)")
    let bare = CommandRun("doctor", store)
    #expect(bare.status == .done && bare.output.contains("contains no model"), "\(bare)")
    let extraction = CommandRun("store", "extract-model", store, "-o", workshop.path("X.xcdatamodel"))
    #expect(extraction.status == .unreadableStore && extraction.error.contains("contains no model"), "\(extraction)")
    #expect(try workshop.files() == files)
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
  }

  @Test("They are migrated in place of themselves, after a backup", arguments: ["xml", "binary"])
  func migration(type: String) throws {
    let store = try makeStore(type)
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let run = CommandRun("migrate", "run", store, workshop.model)
    #expect(run.status == .done && run.output.hasPrefix("Migrated Shop.\(type): Shop -> Shop 2\n"), "\(run)")
    #expect(run.output.contains("Order"), "\(run)")
    let backup = workshop.path("Shop~.\(type)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: backup)) == before)
    #expect(
      CommandRun("store", "info", store, "--model", workshop.model).output.contains(type == "xml" ? "XML" : "Binary"))
    let found = try objects(store)
    #expect(found.count == 3 && found.allSatisfy { $0.contains("\"title\":") })
    let again = CommandRun("migrate", "run", store, workshop.model)
    #expect(
      again.status == .done && again.output.contains("already has version Shop 2. Nothing was changed."), "\(again)")
    #expect(try workshop.files().filter { $0.hasPrefix("Shop~") } == ["Shop~.\(type)"])
  }

  @Test("Without a backup, and with one elsewhere")
  func backups() throws {
    let store = try makeStore("xml")
    let original = try Data(contentsOf: URL(fileURLWithPath: store))
    #expect(CommandRun("migrate", "run", store, workshop.model, "--no-backup").status == .done)
    #expect(try workshop.files().allSatisfy { !$0.hasPrefix("Shop~") })
    try original.write(to: URL(fileURLWithPath: store))
    let folder = workshop.path("backups")
    #expect(CommandRun("migrate", "run", store, workshop.model, "--backup", folder).status == .done)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["Shop~.xml"])
  }

  @Test("A migration that is impossible leaves the store as it was, and no backup")
  func impossible() throws {
    let store = try makeStore("xml")
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let files = try workshop.files()
    let run = CommandRun("migrate", "run", store, workshop.model, "--to", "Shop 3")
    #expect(run.status == .migrationImpossible, "\(run)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
    #expect(try workshop.files() == files)
  }

  @Test("A store that no version wrote is told so")
  func unknown() throws {
    let store = try makeStore("xml")
    let other = try PictureShop()
    let match = CommandRun("store", "match", store, other.model)
    #expect(match.status == .unreadableStore && match.output.contains("was not written by any version"), "\(match)")
    let status = CommandRun("migrate", "status", store, other.model)
    #expect(
      status.status == .unreadableStore && status.output.contains("not written by any known version"), "\(status)")
    for command in [["migrate", "plan"], ["migrate", "run"]] {
      let run = CommandRun(command + [store, other.model])
      #expect(run.status == .unreadableStore && run.error.contains("No version of "), "\(run)")
    }
    #expect(CommandRun("doctor", store, other.model).status == .no)
  }
}
