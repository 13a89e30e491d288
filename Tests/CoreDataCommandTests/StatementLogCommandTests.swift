// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataAnalysis

/// The log of statements as a user of the tool sees it.
@Suite(
  "The program with COREDATA_LOG", .enabled(if: ProgramRun.isPresent, "The program was not built beside the tests"))
struct StatementLogCommandTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
    try #require(CommandRun("store", "create", workshop.store, workshop.model, "--version", "Shop").status == .done)
  }

  private func run(_ log: String, _ script: String) throws -> ProgramRun.End {
    try ProgramRun(shell: "COREDATA_LOG=\(log) \"$0\" \(script)", workshop.store, workshop.model).end()
  }

  @Test("Statements go to standard error, and the result is the same")
  func statements() throws {
    let plain = try run("", "store info \"$1\"")
    #expect(plain.status == 0 && plain.error.isEmpty)
    let logged = try run("sql", "store info \"$1\"")
    #expect(logged.status == 0 && logged.output == plain.output)
    let lines = logged.error.split(separator: "\n")
    #expect(!lines.isEmpty && lines.allSatisfy { $0.hasPrefix("CoreData: sql: ") }, "\(logged.error)")
    #expect(lines.contains { $0.contains("SELECT") && $0.contains("Z_METADATA") && $0.hasSuffix(".sqlite") })
    #expect(!logged.error.contains(" ms,"))
    let timed = try run("timing", "store info \"$1\"")
    #expect(timed.error.split(separator: "\n").count == lines.count)
    let form = #/^CoreData: [0-9]+[.][0-9]{3} ms, [0-9]+ rows?; /#
    #expect(timed.error.split(separator: "\n").allSatisfy { $0.contains(form) }, "\(timed.error)")
  }

  @Test("A migration is logged as one, with values only on request")
  func migration() throws {
    let migrated = try run("sql,timing", "migrate run \"$1\" \"$2\" --no-backup -q")
    #expect(migrated.status == 0)
    let lines = migrated.error.split(separator: "\n").filter { $0.contains("; migration; ") }
    #expect(lines.contains { $0.contains("ALTER TABLE") || $0.contains("INSERT INTO") }, "\(migrated.error)")
    #expect(lines.contains { $0.contains("?") })
  }

  @Test("A word that means nothing is named")
  func unknownWord() throws {
    let end = try run("sqll", "store info \"$1\"")
    #expect(end.status == 0)
    #expect(end.error == "CoreData: warning: COREDATA_LOG has 'sqll'; the words are sql, timing, values.\n")
  }
}

@Suite("coredata doctor with the URL of a server", .serialized)
struct ServerDoctorCommandTests {
  private let workshop: Workshop
  private let server = "teststore://user:secret@host/shop-\(UUID().uuidString)"

  init() throws {
    _ = TestServerStore.registration
    workshop = try Workshop()
    try #require(CommandRun("store", "create", workshop.store, workshop.model, "--version", "Shop").status == .done)
  }

  @Test("The version and the path of a store in a server are told, with commands that work, and without the password")
  func version() throws {
    try #require(CommandRun(["store", "copy", workshop.store, server]).status == .done)
    let run = CommandRun("doctor", server, workshop.model)
    #expect(run.output.contains("There is a way: Shop -> Shop 2."), "\(run.output)")
    #expect(run.output.contains("coredata migrate run ") && !run.output.contains("secret"))
    let alone = CommandRun("doctor", server)
    #expect(alone.output.contains("coredata store verify "), "\(alone.output)")
  }

  @Test("A URL without a store is a problem")
  func missing() throws {
    let run = CommandRun("doctor", server)
    #expect(run.status == .no && run.output.contains("problem  store: There is no store at"), "\(run.output)")
    #expect(!run.output.contains("secret"))
  }
}
