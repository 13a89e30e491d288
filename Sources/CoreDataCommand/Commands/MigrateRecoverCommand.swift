// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// `coredata migrate recover`
enum MigrateRecoverCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "recover"], summary: "Finish or undo interrupted work on a store, or set a store aside.",
    discussion:
      "The store itself is always complete, either the old one or the new one; recovery removes what is left beside "
      + "it. Opening the store does the same. With --set-aside, the store is moved to a dated directory in "
      + "Incompatible beside it, and replaced by an empty store of the model's current version.\n\nAn XML or binary store is one "
      + "file, which is replaced whole by every save, so that nothing of a save can be half done. A damaged one is refused: "
      + "parts of it cannot be recovered, and migrate restore replaces it by a backup. It cannot be set aside this way.",
    positionals: [PositionalSpecification("STORE", summary: "A SQLite, XML or binary store.")],
    options: [
      .flag("inspect", summary: "Change nothing; exit with status 7 if there is unfinished work."),
      .flag("set-aside", summary: "Set the store aside; requires --model."),
      OptionSpecification("model", .path("MODEL", .input), summary: "With --set-aside: the model of the new store."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let url = try invocation.file("STORE")
    guard FileManager.default.fileExists(atPath: url.path) else {
      throw CommandFailure(.unreadableStore, "There is no file \(url.path). Check the path of the store.")
    }
    do {
      try RegularFile.check(url)
    } catch let problem as RegularFile.Problem {
      throw CommandFailure(.unreadableStore, "\(problem) It cannot be a store.")
    }
    guard arguments.flag("set-aside") == (arguments.value("model") != nil) else {
      throw CommandFailure(.usage, "--set-aside and --model must be used together.")
    }
    guard !(arguments.flag("set-aside") && arguments.flag("inspect")) else {
      throw CommandFailure(.usage, "--set-aside and --inspect cannot be used together.")
    }
    try checkWholeFile(url, isSetAside: arguments.flag("set-aside"))
    if arguments.flag("inspect") { return try inspect(url, invocation) }
    let outcome = try StoreRecovery.recover(storeAt: url)
    // A store that SQLite has just rolled back is set aside only if the user runs the command again.
    let aside = try (outcome == .rolledBack ? nil : arguments.value("model")).map { path in
      try StoreRecovery.setAside(storeAt: url, model: .load(contentsOf: URL(fileURLWithPath: path)))
    }
    if aside != nil || outcome != nil {
      invocation.result.workDone = "The work on \(url.lastPathComponent) is complete."
    }
    if invocation.options.format == .json {
      try invocation.write([
        "format": "coredata.recovery/1", "outcome": .optional(outcome?.rawValue),
        "setAside": .optional(aside?.url.path),
      ])
    } else {
      try invocation.result.write(sentence(outcome, store: url.lastPathComponent) + "\n")
      if outcome == .rolledBack, arguments.flag("set-aside") {
        try invocation.result.write("It was not set aside. To set it aside anyway, run the command again.\n")
      }
      if let aside { try invocation.result.write("The store was set aside: \(aside.url.path)\n") }
    }
    return .done
  }

  /// Refuses an XML or binary store that is damaged, or that would be replaced by a store of another type.
  private static func checkWholeFile(_ url: URL, isSetAside: Bool) throws {
    let kind: StoreFileKind?
    do {
      kind = try StoreFileKind(ofFileAt: url)
    } catch {
      throw CommandFailure(
        .unreadableStore,
        "\(CommandFailure(error).message) Parts of a damaged XML or binary store cannot be recovered. Nothing was changed.",
        advice: MigrateRestoreCommand.restoring(url))
    }
    guard let kind, isSetAside else { return }
    throw CommandFailure(
      .usage,
      "\(url.lastPathComponent) is \(kind.articleAndName) store, and --set-aside would replace it by a SQLite store. Nothing was "
        + "changed. Move the file away, and create an empty store.",
      advice: [
        ShellWord.line(["coredata", "store", "create", url.relativePath, "MODEL", "--type", kind.rawValue])
      ])
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
        (found.map { text(of: $0, store: url) } ?? "\(url.lastPathComponent): there is no unfinished work.") + "\n")
    }
    return found == nil ? .done : .interruptedWorkFound
  }

  private static func sentence(_ outcome: StoreRecovery.Outcome?, store: String) -> String {
    switch outcome {
    case .finished: "\(store) is the complete new store. Left-over files were removed."
    case .undone: "\(store) is the complete old store. The unfinished new files were removed."
    case .rolledBack:
      "A program was killed while writing to \(store). SQLite has rolled back its transaction; the store is as it was "
        + "before."
    case nil: "\(store): there was no unfinished work."
    }
  }

  private static func text(of work: StoreRecovery.UnfinishedWork, store: URL) -> String {
    let name = store.lastPathComponent
    let what: String =
      switch work.purpose {
      case .migration: "A migration"
      case .replacement: "The replacement"
      case .settingAside: "The setting aside"
      case .restoring: "The restoration"
      case .destruction: "The destruction"
      case .transaction: "A transaction"
      case nil: "An operation"
      }
    let began = work.started.map { " began \($0.formatted(.iso8601))" } ?? " began"
    let process = work.process.map { " in process \($0)" } ?? ""
    if work.purpose == .transaction {
      return "A program was killed while writing to \(name), and left the journal of its transaction.\n"
        + "  The next program to open the store for writing rolls it back. No committed row is lost.\n"
        + "  To roll back now:  coredata migrate recover \(ShellWord.quoted(store.relativePath))"
    }
    if work.isRunning { return "\(what) of \(name)\(began)\(process), and is still running." }
    let state =
      work.isCommitted
      ? "The new store is complete and in place." : "The store is the complete old one; nothing has been replaced."
    return "\(what) of \(name)\(began)\(process), and was interrupted.\n  \(state)\n"
      + "  To clear up:  coredata migrate recover \(ShellWord.quoted(store.relativePath))"
  }
}

/// `coredata migrate restore`
enum MigrateRestoreCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "restore"], summary: "Restore a store from a backup.",
    discussion:
      "Atomically replaces the store, including its external data, with a copy of the backup. The replaced store is "
      + "kept under the next free backup name. First quit all programs that use the store. The backup of an XML or binary "
      + "store is a file of the same type.",
    positionals: [
      PositionalSpecification("STORE", summary: "The path of the store, which may be missing."),
      PositionalSpecification("BACKUP", summary: "A backup made by migrate run, such as Orders~.sqlite."),
    ],
    options: [.format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let (store, backup) = (try invocation.file("STORE"), try invocation.file("BACKUP"))
    guard FileManager.default.fileExists(atPath: backup.path) else {
      throw CommandFailure(.unreadableStore, "There is no file \(backup.path).", advice: advice(store))
    }
    let kept: URL?
    if let kind = try kind(ofBackup: backup) {
      kept = try restoreFile(kind, from: backup, to: store)
    } else {
      _ = try StoreReader(url: backup)
      try checkType(.sqlite, backup, store)
      kept = try StoreBackup.restore(backup, to: store)
    }
    let (name, source) = (store.lastPathComponent, backup.lastPathComponent)
    invocation.result.workDone = "\(name) was restored from \(source)."
    if invocation.options.format == .json {
      try invocation.write([
        "format": "coredata.restore/1", "store": .string(store.path), "backup": .string(backup.path),
        "kept": .optional(kept?.path),
      ])
    } else {
      try invocation.result.write("Restored \(name) from \(source). The backup is unchanged.\n")
      if let kept { try invocation.result.write("Kept    \(kept.path)\n") }
    }
    return .done
  }

  /// Returns the type of an XML or binary backup; nil for any other file.
  private static func kind(ofBackup backup: URL) throws -> StoreFileKind? {
    do {
      return try StoreFileKind(ofFileAt: backup)
    } catch {
      throw CommandFailure(
        .unreadableStore, "The backup \(backup.lastPathComponent) cannot be restored. \(CommandFailure(error).message)")
    }
  }

  /// Replaces an XML or binary store by a copy of a backup, which was read whole before.
  ///
  /// - Returns: the location of the replaced store's backup; nil if there was no store.
  private static func restoreFile(_ kind: StoreFileKind, from backup: URL, to store: URL) throws -> URL? {
    try checkType(kind, backup, store)
    let kept = FileManager.default.fileExists(atPath: store.path) ? try StoreBackup.make(of: store) : nil
    do {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
      try coordinator.replacePersistentStore(at: store, withPersistentStoreFrom: backup, type: kind.storeType)
    } catch {
      // The store is as it was, so that a copy of it is needless. The error of the replacement takes precedence.
      if let kept { try? StoreBackup.remove(kept) }
      throw error
    }
    return kept
  }

  /// Makes sure that an app that opens the store finds one of the type that it expects.
  private static func checkType(_ kind: StoreFileKind, _ backup: URL, _ store: URL) throws {
    guard let found = StoreFileKind(firstBytesOf: store), found != kind else { return }
    throw CommandFailure(
      .unreadableStore,
      "\(backup.lastPathComponent) is \(kind.articleAndName) store, and \(store.lastPathComponent) is "
        + "\(found.articleAndName) store. Nothing was changed. To change the type, remove the store and use store copy."
    )
  }

  /// Returns advice to restore a store from one of the backups beside it.
  static func restoring(_ store: URL) -> [String] {
    ["To restore a backup:  \(ShellWord.line(["coredata", "migrate", "restore", store.relativePath, "BACKUP"]))"]
      + advice(store)
  }

  /// Returns advice that lists the existing backups.
  private static func advice(_ store: URL) -> [String] {
    let prefix = "\(store.deletingPathExtension().lastPathComponent)~"
    let folder = store.deletingLastPathComponent()
    // If the directory cannot be read, there is nothing to suggest.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let backups = names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".\(store.pathExtension)") }.sorted()
    return backups.isEmpty ? [] : ["Beside the store there are \(backups.joined(separator: ", "))."]
  }
}
