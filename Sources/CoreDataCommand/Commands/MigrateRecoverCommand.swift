// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// `coredata migrate recover`
enum MigrateRecoverCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "recover"], summary: "Finish or undo work on a store that was interrupted, or set a store aside.",
    discussion:
      "The store itself is whole at every moment, the old one or the new one; what is cleared up lies beside it. Opening "
      + "the store does the same. With --set-aside the store goes to the folder Incompatible beside it, under the date, "
      + "and an empty store of the model's current version takes its place.",
    positionals: [.store],
    options: [
      .flag("inspect", summary: "Change nothing; end with status 7 where unfinished work is found."),
      .flag("set-aside", summary: "Set the store aside; --model says for what."),
      OptionSpecification("model", .text("MODEL"), summary: "The model of the new store, with --set-aside."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let url = invocation.url("STORE")
    guard FileManager.default.fileExists(atPath: url.path) else {
      throw CommandFailure(.unreadableStore, "There is no file \(url.path). Check the path of the store.")
    }
    do {
      try RegularFile.check(url)
    } catch let problem as RegularFile.Problem {
      throw CommandFailure(.unreadableStore, "\(problem) There can be no store.")
    }
    guard arguments.flag("set-aside") == (arguments.value("model") != nil) else {
      throw CommandFailure(.usage, "--set-aside and --model go together.")
    }
    guard !(arguments.flag("set-aside") && arguments.flag("inspect")) else {
      throw CommandFailure(.usage, "--set-aside and --inspect exclude each other.")
    }
    if arguments.flag("inspect") { return try inspect(url, invocation) }
    let outcome = try StoreRecovery.recover(storeAt: url)
    // What SQLite has just repaired is no store to be set aside, unless the user still says so.
    let aside = try (outcome == .rolledBack ? nil : arguments.value("model")).map { path in
      try StoreRecovery.setAside(storeAt: url, model: .load(contentsOf: URL(fileURLWithPath: path)))
    }
    if aside != nil || outcome != nil {
      invocation.result.workDone = "What was to be done to \(url.lastPathComponent) is done."
    }
    if invocation.options.format == .json {
      try invocation.write([
        "format": "coredata.recovery/1", "outcome": .optional(outcome?.rawValue),
        "setAside": .optional(aside?.url.path),
      ])
    } else {
      try invocation.result.write(sentence(outcome, store: url.lastPathComponent) + "\n")
      if outcome == .rolledBack, arguments.flag("set-aside") {
        try invocation.result.write("It was not set aside. To set it aside all the same, run the command again.\n")
      }
      if let aside { try invocation.result.write("The store was set aside: \(aside.url.path)\n") }
    }
    return .done
  }

  private static func inspect(_ url: URL, _ invocation: CommandInvocation) throws -> ExitStatus {
    let found = try StoreRecovery.inspect(storeAt: url)
    if invocation.options.format == .json {
      try invocation.write([
        "format": "coredata.recovery/1",
        "unfinished": found.map { work in
          [
            "purpose": .optional(work.purpose?.rawValue), "started": .optional(work.started?.formatted(.iso8601)),
            "process": .optional(work.process), "from": .optional(work.source), "to": .optional(work.destination),
            "isRunning": .bool(work.isRunning), "isCommitted": .bool(work.isCommitted),
          ]
        } ?? .null,
      ])
    } else {
      try invocation.result.write(
        (found.map { text(of: $0, store: url) } ?? "\(url.lastPathComponent): nothing is unfinished.") + "\n")
    }
    return found == nil ? .done : .interruptedWorkFound
  }

  private static func sentence(_ outcome: StoreRecovery.Outcome?, store: String) -> String {
    switch outcome {
    case .finished: "\(store) is the new store, whole; what was left of the work has been removed."
    case .undone: "\(store) is the old store, whole; what had been made beside it has been removed."
    case .rolledBack:
      "A program was killed while it wrote to \(store). SQLite has rolled its transaction back; the store is whole, as it was "
        + "before it."
    case nil: "\(store): nothing was unfinished."
    }
  }

  private static func text(of work: StoreRecovery.UnfinishedWork, store: URL) -> String {
    let name = store.lastPathComponent
    let what: String =
      switch work.purpose {
      case .migration: "A migration"
      case .replacement: "The replacement"
      case .settingAside: "Setting aside"
      case .restoring: "Bringing back"
      case .destruction: "The destruction"
      case .transaction: "A transaction"
      case nil: "Work"
      }
    let began = work.started.map { " began \($0.formatted(.iso8601))" } ?? " began"
    let process = work.process.map { " in process \($0)" } ?? ""
    if work.purpose == .transaction {
      return "A program was killed while it wrote to \(name), and has left the journal of its transaction.\n"
        + "  Whoever opens the store for writing rolls it back; no committed row is lost.\n"
        + "  To do it now:  coredata migrate recover \(store.relativePath)"
    }
    if work.isRunning { return "\(what) of \(name)\(began)\(process), and still runs." }
    let state =
      work.isCommitted
      ? "The new store is in its place, whole." : "The store is the old one, whole; nothing has been replaced."
    return "\(what) of \(name)\(began)\(process), and was interrupted.\n  \(state)\n"
      + "  To clear up:  coredata migrate recover \(store.relativePath)"
  }
}
