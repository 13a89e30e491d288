// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import CoreDataTesting
import Foundation

/// `coredata migrate rehearse`
enum MigrateRehearseCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "rehearse"], summary: "Migrate stores of old versions, copies or made up, and compare the results.",
    discussion:
      "PATH is the model, after the stores to rehearse with. Without stores, one of every version is made and filled three "
      + "times: with plain values, with single relations, and with the ends of every range. Stores are copied and never "
      + "changed. Results of inferred steps are compared with what the two models say; of steps with mapping models it is "
      + "checked that the store opens, is sound, and can be read, and without policies also how many objects there are and which "
      + "values were copied. Exit with 1 if a migration fails, if no store of a version with rows reaches the destination, if a "
      + "given store is refused or skipped, or if an allowed refusal does not happen; and with 5 if nothing could be "
      + "rehearsed. --format html is a page with what was run, rows, losses and times.\n\n"
      + "The code of a SwiftData migration plan is rehearsed in a test of the app: expectMigration of SwiftDataTesting. "
      + ModelInCode.help + "\n\n"
      + PolicyLibrary.help,
    positionals: [
      PositionalSpecification("PATH", .atLeastOne, summary: "Stores to rehearse with, if any, and then the model.")
    ],
    options: [
      .targetVersion, .mappings, .policies,
      OptionSpecification("from", .text("V"), repeats: true, summary: "A version to begin with (default: every one)."),
      .allowRefusal,
      OptionSpecification(
        "seed", .integer("N", minimum: 0), summary: "What made-up values begin with (default: 1)."),
      OptionSpecification(
        "keep", .path("DIR", .outputDirectory),
        summary: "Keep the stores of failing migrations in this directory."),
      OptionSpecification(
        "report", .path("FILE.html", .output), summary: "Also write the page of --format html to a file."),
      .format(.text, .json, .markdown, .github, .junit, .html),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let paths = arguments.arguments("PATH")
    guard let path = paths.last else { throw CommandFailure(.usage, "Name the model.") }
    let model = try invocation.model(path)
    try model.requireAllVersions()
    try invocation.checkPlan(model, isRehearsed: true)
    let stores = try paths.dropLast().map { try invocation.located($0, orOneOf: path).file }
    let versions = arguments.values("from")
    guard stores.isEmpty || versions.isEmpty else {
      throw CommandFailure(.usage, "--from is for stores that are made. Omit it, or the stores.")
    }
    let expected = try invocation.allowedRefusals(of: model)
    for version in versions + arguments.values("to") { _ = try model.version(version) }
    for store in stores where !FileManager.default.fileExists(atPath: store.path) {
      throw CommandFailure(.unreadableStore, "There is no file \(store.path). Check the path of the store.")
    }
    let page = try arguments.value("report").map { try invocation.writer(to: $0) }
    let source: MigrationRehearsal.Source =
      !stores.isEmpty ? .stores(stores) : versions.isEmpty ? .everyVersion : .versions(versions)
    let known = try model.modelVersions()
    try invocation.remarkUnusedMappings(known, of: model)
    let rehearsal = try MigrationRehearsal(
      known, to: arguments.value("to"), from: source, mappings: invocation.mappings,
      expecting: expected, seed: arguments.integer("seed") ?? 1,
      keptIn: arguments.value("keep").map { URL(fileURLWithPath: $0) }
    ) { item in
      if invocation.options.isVerbose { invocation.streams.printError("\(item.name)\n") }
    }
    let text = RehearsalText(rehearsal: rehearsal, model: model, invocation)
    func html() throws -> String {
      var options = ModelLint.Options()
      (options.includesAllSteps, options.mappings) = (true, invocation.mappings)
      let lint = try ModelLint(model.modelVersions(), options)
      return RehearsalPage(text: text, entries: lint.entries).html
    }
    if let page {
      try page.write(source: html())
      try page.commit()
    }
    switch invocation.options.format {
    case .json:
      try invocation.write([
        "format": "coredata.rehearsal/1", "model": .string(model.url.path), "seed": .integer(rehearsal.seed),
        "cases": text.json, "problems": .array(text.problemsJSON),
      ])
    case .markdown: try invocation.result.write(text.markdown)
    case .github: try invocation.result.write(text.annotations)
    case .junit:
      var report = TestReport("coredata migrate rehearse \(model.name)")
      report.cases = text.cases
      try invocation.result.write(source: report.xml)
    case .html: try invocation.result.write(source: html())
    default:
      var report = invocation.report()
      text.write(to: &report)
      try invocation.write(report)
    }
    return RehearsalText.status([text])
  }
}
