// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// `coredata store verify`
enum StoreVerifyCommand: Command {
  static let specification = CommandSpecification(
    ["store", "verify"], summary: "Check a store by every rule, and repair what needs no guessing.",
    discussion:
      "Checks the pages of the file and its indexes, the metadata, the tables against those that Core Data makes for the "
      + "model, keys and entity numbers, the types of values, required values, validation rules and uniqueness, "
      + "relationships from both sides, the order and the number of their members, and the files of large values. "
      + "Exits with status 1 if it finds a problem.\n\nNothing is changed without --repair. With it, the store is backed up "
      + "first, and what can be repaired without guessing is, in one transaction: foreign keys of optional "
      + "relationships and rows of join tables that lead nowhere, order keys, entity numbers, the greatest keys, "
      + "indexes, empty metadata, and a model in the store that cannot be read if MODEL is named. "
      + "Persistent history does not record repairs. Files of large values are never moved or removed. A store whose "
      + "write-ahead log belongs to another store is not repaired; one whose log is probably missing only with "
      + "--without-log, because the log would not fit any more.\n\n"
      + "A store in a server is checked for privileges, constraints, indexes, sequences, columns and triggers, too. With "
      + "--repair, missing constraints, indexes and sequences are created and changed columns get their type and "
      + "collation back, in one transaction. No row is changed, and no backup is made.\n\n"
      + "coredata explain KIND describes a kind of problem.",
    positionals: [
      .anyStore,
      PositionalSpecification(
        "MODEL", .optional, summary: "The model of the store (default: the one that the store contains)."),
    ],
    options: [
      OptionSpecification(
        "limit", .integer("N", minimum: 0), summary: "How many rows to list for each problem (default: 10)."),
      .flag("repair", summary: "Repair what can be repaired without guessing, after a backup."),
      OptionSpecification(
        "backup", .path("DIR", .outputDirectory),
        summary: "With --repair: the directory for the backup (default: that of the store)."),
      .flag(
        "without-log",
        summary: "With --repair: also if the write-ahead log seems to be missing, which is looked for first."),
      .format(.text, .json),
    ])

  private static let defaultLimit = 10

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    guard arguments.flag("repair") || arguments.value("backup") == nil else {
      throw CommandFailure(.usage, "--backup can only be used with --repair.")
    }
    guard arguments.flag("repair") || !arguments.flag("without-log") else {
      throw CommandFailure(.usage, "--without-log can only be used with --repair.")
    }
    if case .server(let url, let kind) = try StoreAddress(arguments.argument("STORE")) {
      return try verifyServer(url, kind, invocation)
    }
    let opened = try OpenedStore(
      invocation, arguments.argument("STORE"), model: arguments.optionalArgument("MODEL"))
    let limit = arguments.integer("limit") ?? defaultLimit
    guard arguments.flag("repair") else {
      // A store in an XML or binary file is read from a private copy.
      let isCopy = opened.summary != nil
      let found = try StoreVerifier(opened.reader, limit: limit, looksForLog: !isCopy).run()
      let verdict = isCopy ? found.withoutRepairs : found
      try write(verdict, nil, opened, invocation)
      return verdict.isSound ? .done : .no
    }
    let repair = try self.repair(opened, limit: limit, invocation)
    if let backup = repair.backup {
      invocation.result.workDone = "\(opened.reader.url.lastPathComponent) was repaired. The backup is \(backup.path)."
    }
    try write(repair.after, repair, opened, invocation)
    return repair.after.isSound ? .done : .no
  }

  /// Verifies a store in a server: its declarations there, and its rows in a private copy.
  private static func verifyServer(
    _ url: URL, _ kind: any ServerStore.Type, _ invocation: CommandInvocation
  ) throws -> ExitStatus {
    let arguments = invocation.arguments
    guard arguments.value("backup") == nil, !arguments.flag("without-log") else {
      throw CommandFailure(
        .usage, "--backup and --without-log are for files. Back up a store in a server with the tools of the server.")
    }
    guard try kind.hasStore(at: url) else {
      throw CommandFailure(.unreadableStore, "There is no store at \(url.locationText). Check the URL.")
    }
    let before = try kind.problems(at: url)
    let outcome = try arguments.flag("repair") ? kind.repair(at: url) : nil
    if let outcome, !outcome.repaired.isEmpty { invocation.result.workDone = "\(url.storeName) was repaired." }
    // The rows of a store with changed columns can be read only after the repair.
    let remaining = try outcome.map { _ in try kind.problems(at: url) } ?? before
    let defects = remaining.map { problem in
      StoreDefect(problem, isRefused: outcome?.refused.contains { $0.text == problem.text } ?? false)
    }
    let (verdict, opened) = try rows(defects, invocation)
    let repair = outcome.map {
      StoreRepair(
        before: verdict.adding($0.repaired.map { StoreDefect($0) }), after: verdict,
        repaired: $0.repaired.map { StoreDefect($0) })
    }
    try write(
      verdict, repair, opened?.reader.findings(isVersionKnown: opened?.versionName != nil) ?? [],
      opened?.reader.url ?? URL(fileURLWithPath: "/\(url.storeName)"), invocation)
    return verdict.isSound ? .done : .no
  }

  /// Verifies the rows of a store in a server, in addition to the defects of its declarations, which may be the reason
  /// why the rows cannot be read.
  private static func rows(_ defects: [StoreDefect], _ invocation: CommandInvocation) throws -> (
    StoreVerdict, OpenedStore?
  ) {
    let arguments = invocation.arguments
    do {
      let opened = try OpenedStore(
        invocation, arguments.argument("STORE"), model: arguments.optionalArgument("MODEL"))
      let verdict = try StoreVerifier(
        opened.reader, limit: arguments.integer("limit") ?? defaultLimit, looksForLog: false
      ).run()
      return (verdict.withoutRepairs.adding(defects), opened)
    } catch  where defects.contains(where: { !$0.kind.isRemark }) {
      let reason = CommandFailure(error).message
      return (StoreVerdict(ofServer: defects, gap: "The rows were not checked: \(reason)"), nil)
    }
  }

  private static func repair(_ opened: OpenedStore, limit: Int, _ invocation: CommandInvocation) throws -> StoreRepair {
    let url = try invocation.file("STORE")
    guard opened.summary == nil else {
      throw CommandFailure(
        .usage,
        "--repair works on SQLite stores, and \(url.lastPathComponent) is of another type. Correct the file, or "
          + "change the objects in the app.")
    }
    guard try StoreRecovery.inspect(storeAt: url) == nil else {
      throw CommandFailure(
        .interruptedWorkFound, "Earlier work on \(url.lastPathComponent) was interrupted. Nothing was repaired.",
        advice: ["To clear up:  coredata migrate recover \(ShellWord.quoted(url.relativePath))"])
    }
    guard FileManager.default.isWritableFile(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) is read-only and cannot be repaired. Check its permissions.")
    }
    let stop = StopSignal()
    defer { stop.end() }
    let folder = invocation.arguments.value("backup").map { URL(fileURLWithPath: $0, isDirectory: true) }
    return try StoreRepair(
      of: url, model: opened.reader.origin == .given ? opened.reader.model : nil, limit: limit, backupsIn: folder,
      isWithoutLog: invocation.arguments.flag("without-log")
    ) { try stop.check() }
  }

  private static func write(
    _ verdict: StoreVerdict, _ repair: StoreRepair?, _ opened: OpenedStore, _ invocation: CommandInvocation
  ) throws {
    let findings = opened.reader.findings(isVersionKnown: opened.versionName != nil)
    try write(verdict, repair, findings, opened.reader.url, invocation)
  }

  private static func write(
    _ verdict: StoreVerdict, _ repair: StoreRepair?, _ findings: [Finding], _ store: URL,
    _ invocation: CommandInvocation
  ) throws {
    let text = VerdictText(
      verdict: verdict, repair: repair, findings: findings, store: store,
      arguments: [invocation.arguments.argument("STORE")] + invocation.arguments.arguments("MODEL"))
    if invocation.options.format == .json { return try invocation.write(text.json) }
    var report = invocation.report()
    text.write(to: &report)
    try invocation.write(report)
  }
}
