// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataTerminal
import CoreDataTesting
import Foundation

/// `coredata migrate check`
enum MigrateCheckCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "check"], summary: "Judge every step, and migrate stores of every version: the check for a release.",
    discussion:
      "Does the work of model lint --all-steps, with the lock, and of migrate rehearse: for continuous integration. The stores "
      + "in --fixtures, which may be those of shipped releases, are copied and never changed. Exit with 1 if a version that "
      + "was shipped has been edited, a finding is an error, no path leads from a version, a migration fails, no store of "
      + "a version with rows reaches the current one, a store in --fixtures is refused or skipped, or an allowed refusal "
      + "does not happen; and with 5 if no migration could be rehearsed. A model with one version has none to rehearse. "
      + "Of more than 31 earlier versions, stores of the oldest one and of the newest eight are migrated to the current "
      + "version, and those of each other one to the next version on its path, whose own stores go on from there.\n\n"
      + ModelInCode.help + "\n\n" + AllowanceArguments.help,
    positionals: [.model],
    options: [
      OptionSpecification(
        "fixtures", .path("DIR", .input),
        summary: "A directory with stores to rehearse with as well."),
      .level, .mappings, .policies, .lockFile, .allow, .allowances, .allowLoss,
      .allowRefusal,
      OptionSpecification("seed", .integer("N", minimum: 0), summary: "What made-up values begin with (default: 1)."),
      OptionSpecification(
        "keep", .path("DIR", .outputDirectory),
        summary: "Keep the stores of failing migrations in this directory."),
      .format(.text, .json, .markdown, .github, .sarif, .junit),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let model = try invocation.model()
    try model.requireAllVersions()
    try model.requireCurrentVersion()
    try invocation.checkPlan(model, isRehearsed: true)
    var options = try invocation.lintOptions(for: model)
    options.includesAllSteps = true
    let known = try model.modelVersions()
    let lint = try ModelLint(known, options)
    let seed = arguments.integer("seed") ?? 1
    let kept = arguments.value("keep").map { URL(fileURLWithPath: $0) }
    let expected = try invocation.allowedRefusals(of: model)
    func rehearsal(from source: MigrationRehearsal.Source) throws -> MigrationRehearsal {
      try MigrationRehearsal(
        known, to: nil, from: source, mappings: options.mappings, expecting: expected, seed: seed, keptIn: kept
      ) { item in
        if invocation.options.isVerbose { invocation.streams.printError("\(item.name)\n") }
      }
    }
    var found = [try rehearsal(from: .everyVersion)]
    if let path = arguments.value("fixtures") {
      found.append(try rehearsal(from: .stores(try stores(in: path, invocation))))
    }
    let rehearsals = texts(found, model, invocation)
    let text = LintText(model: model.url, entries: lint.entries, isVerbose: invocation.options.isVerbose)
    try write(lint, text, rehearsals, hasLock: options.lock != nil, model, invocation)
    return lint.count(of: .error) > 0 ? .no : RehearsalText.status(rehearsals)
  }

  /// Returns the rehearsals with the problems that count: an allowed refusal may happen in any of them, one of them
  /// suffices to rehearse something, and a model with one version has nothing to rehearse.
  private static func texts(
    _ rehearsals: [MigrationRehearsal], _ model: ModelArgument, _ invocation: CommandInvocation
  ) -> [RehearsalText] {
    let isNothing = rehearsals.allSatisfy { $0.problems.contains { $0.kind == .nothing } }
    var settled = rehearsals.reduce(into: Set<ExpectedRefusals.Refusal>()) { $0.formUnion($1.happened) }
    return rehearsals.map { rehearsal in
      let problems = rehearsal.problems.filter { problem in
        switch problem.kind {
        case .missingRefusal(let refusal): settled.insert(refusal).inserted
        case .nothing: isNothing && model.names.count > 1
        case .unreached, .refused, .skipped, .unreadableVersion: true
        }
      }
      return RehearsalText(rehearsal: rehearsal, problems: problems, model: model, invocation)
    }
  }

  /// Returns the stores below a directory, recognized by content or extension. Other files are reported.
  private static func stores(in path: String, _ invocation: CommandInvocation) throws -> [URL] {
    let folder = URL(fileURLWithPath: path)
    guard let names = FileManager.default.enumerator(atPath: path)?.compactMap({ $0 as? String }) else {
      throw CommandFailure(.usage, "\(path) is not a directory. Name the one with the stores.")
    }
    let kinds = ["sqlite", "sqlite3", "db", "store", "data"]
    var (stores, others): ([URL], [String]) = ([], [])
    for name in names.sorted() where !isBesideStore(name) {
      let file = folder.appendingPathComponent(name)
      var isDirectory: ObjCBool = false
      let exists = FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory)
      guard exists, !isDirectory.boolValue else { continue }
      // A file that cannot be read is not a database; one with the extension of a store fails when it is rehearsed.
      let isDatabase = (try? RegularFile.firstBytes(15, of: file)) == Data("SQLite format 3".utf8)
      if isDatabase || kinds.contains(file.pathExtension) { stores.append(file) } else { others.append(name) }
    }
    guard !stores.isEmpty else {
      throw CommandFailure(
        .usage,
        "\(path) has no SQLite store, nor a file named as one (\(kinds.map { ".\($0)" }.joined(separator: ", "))).")
    }
    if !others.isEmpty {
      invocation.remark("Not rehearsed, since they are not SQLite stores: \(others.joined(separator: ", "))")
    }
    return stores
  }

  /// Whether a file belongs to a store beside it, or is hidden.
  private static func isBesideStore(_ name: String) -> Bool {
    let parts = name.split(separator: "/")
    return ["-wal", "-shm", "-journal"].contains { name.hasSuffix($0) } || parts.contains { $0.hasPrefix(".") }
  }

  private static func write(
    _ lint: ModelLint, _ text: LintText, _ rehearsals: [RehearsalText], hasLock: Bool, _ model: ModelArgument,
    _ invocation: CommandInvocation
  ) throws {
    switch invocation.options.format {
    case .json:
      try invocation.write([
        "format": "coredata.check/1", "model": .string(model.url.path), "current": .string(lint.current),
        "locked": .bool(hasLock), "findings": text.json, "rehearsals": .array(rehearsals.map(\.json)),
        "problems": .array(rehearsals.flatMap(\.problemsJSON)),
      ])
    case .markdown:
      try invocation.result.write(([text.markdown] + rehearsals.map(\.markdown)).joined(separator: "\n"))
    case .github: try invocation.result.write(([text.annotations] + rehearsals.map(\.annotations)).joined())
    case .sarif: try invocation.write(text.sarif(invocation.tool, rehearsals.flatMap(\.remarks)))
    case .junit:
      var report = TestReport("coredata migrate check \(model.name)")
      report.cases = text.cases() + rehearsals.flatMap(\.cases)
      try invocation.result.write(source: report.xml)
    default:
      var report = invocation.report()
      let versions = NumberText.counted(model.names.count, "version")
      report.line(
        "\(model.name)  \(versions), current \(lint.current); \(NumberText.counted(lint.stepCount, "step")) judged")
      if !hasLock { report.line("There is no lock. Write one at each release with coredata model lock.") }
      report.line()
      text.write(to: &report)
      report.line("Findings   \(text.summary)")
      for rehearsal in rehearsals {
        rehearsal.writeNotes(to: &report)
        report.line("Rehearsal  \(rehearsal.summary)")
      }
      try invocation.write(report)
    }
  }
}
