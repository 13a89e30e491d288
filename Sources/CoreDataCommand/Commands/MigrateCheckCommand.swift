// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
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
      + "was shipped has been edited, a finding is an error, no path leads from a version, or a migration fails, and "
      + "with 5 if no migration could be rehearsed.\n\n"
      + AllowanceArguments.help,
    positionals: [.model],
    options: [
      OptionSpecification("fixtures", .text("DIR"), summary: "A directory with stores to rehearse with as well."),
      .level, .mappings, .policies, .lockFile, .allow, .allowances, .allowLoss,
      OptionSpecification("seed", .integer("N", minimum: 0), summary: "What made-up values begin with (default: 1)."),
      OptionSpecification("keep", .text("DIR"), summary: "Keep the stores of failing migrations in this directory."),
      .format(.text, .json, .markdown, .github, .sarif, .junit),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let model = try invocation.model()
    try model.requireAllVersions()
    var options = try invocation.lintOptions(for: model)
    options.includesAllSteps = true
    let known = try model.modelVersions()
    let lint = try ModelLint(known, options)
    let seed = arguments.integer("seed") ?? 1
    let kept = arguments.value("keep").map { URL(fileURLWithPath: $0) }
    func rehearsal(from source: MigrationRehearsal.Source) throws -> MigrationRehearsal {
      try MigrationRehearsal(
        known, to: nil, from: source, mappings: options.mappings, seed: seed, keptIn: kept
      ) { item in
        if invocation.options.isVerbose { invocation.streams.say("\(item.name)\n") }
      }
    }
    var rehearsals = [RehearsalText(rehearsal: try rehearsal(from: .everyVersion), model: model, invocation)]
    if let path = arguments.value("fixtures") {
      let stores = try stores(in: path)
      rehearsals.append(RehearsalText(rehearsal: try rehearsal(from: .stores(stores)), model: model, invocation))
    }
    let text = LintText(model: model.url, entries: lint.entries, isVerbose: invocation.options.isVerbose)
    try write(lint, text, rehearsals, hasLock: options.lock != nil, model, invocation)
    return lint.count(of: .error) > 0 ? .no : RehearsalText.status(rehearsals.map(\.rehearsal))
  }

  /// The stores below a directory.
  private static func stores(in path: String) throws -> [URL] {
    let folder = URL(fileURLWithPath: path)
    guard let names = FileManager.default.enumerator(atPath: path)?.compactMap({ $0 as? String }) else {
      throw CommandFailure(.usage, "\(path) is not a directory. Name the one with the stores.")
    }
    let kinds = ["sqlite", "sqlite3", "db", "store", "data"]
    let stores = names.sorted().map { folder.appendingPathComponent($0) }.filter { kinds.contains($0.pathExtension) }
    guard !stores.isEmpty else {
      throw CommandFailure(.usage, "\(path) has no store (\(kinds.map { ".\($0)" }.joined(separator: ", "))).")
    }
    return stores
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
      ])
    case .markdown:
      try invocation.result.write(([text.markdown] + rehearsals.map(\.markdown)).joined(separator: "\n"))
    case .github: try invocation.result.write(([text.annotations] + rehearsals.map(\.annotations)).joined())
    case .sarif: try invocation.write(text.sarif(invocation.tool, rehearsals.flatMap(\.remarks)))
    case .junit:
      var report = TestReport("coredata migrate check \(model.name)")
      report.cases = text.cases() + rehearsals.flatMap(\.cases)
      try invocation.result.write(source: report.xml)
    case .text:
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
