// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata model lint`
enum ModelLintCommand: Command {
  static let specification = CommandSpecification(
    ["model", "lint"], summary: "Judge a model, and the steps between its versions, without a store.",
    discussion:
      "The current version and the step that leads to it are judged; with --all-steps every step up to it. With a lock, steps "
      + "between shipped versions are information: nothing can be done about them any more. Exit with 1 if there are "
      + "errors.\n\n" + AllowanceArguments.help,
    positionals: [.model],
    options: [
      .flag("all-steps", summary: "Judge every step, not only the last one."),
      .level, .mappings, .lockFile, .allow, .allowances, .allowLoss,
      .format(.text, .json, .markdown, .github, .sarif, .junit),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let model = try invocation.model()
    try model.requireAllVersions()
    try model.requireCurrentVersion()
    var options = try invocation.lintOptions(for: model)
    options.includesAllSteps = invocation.arguments.flag("all-steps")
    let lint = try ModelLint(model.modelVersions(), options)
    let text = LintText(model: model.url, entries: lint.entries, isVerbose: invocation.options.isVerbose)
    switch invocation.options.format {
    case .json:
      try invocation.write([
        "format": "coredata.model-lint/1", "model": .string(model.url.path), "current": .string(lint.current),
        "steps": .integer(lint.stepCount), "findings": text.json,
      ])
    case .markdown: try invocation.result.write(text.markdown)
    case .github: try invocation.result.write(text.annotations)
    case .sarif: try invocation.write(text.sarif(invocation.tool))
    case .junit:
      var report = TestReport("coredata model lint \(model.name)")
      report.cases = text.cases()
      try invocation.result.write(source: report.xml)
    case .text:
      var report = invocation.report()
      let versions = NumberText.counted(model.names.count, "version")
      report.line(
        "\(model.name)  \(versions), current \(lint.current); \(NumberText.counted(lint.stepCount, "step")) judged")
      report.line()
      text.write(to: &report)
      report.line(text.summary)
      try invocation.write(report)
    }
    return lint.count(of: .error) > 0 ? .no : .done
  }
}
