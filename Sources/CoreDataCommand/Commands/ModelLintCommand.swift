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
      + "errors.\n\n" + ModelInCode.help + "\n\n" + AllowanceArguments.help,
    positionals: [.model],
    options: [
      .flag("all-steps", summary: "Judge every step, not only the last one."),
      .flag(
        "rolling",
        summary:
          "Also say what programs with the old version can do while a server migrates their store; exit with 1 if "
          + "they have to be stopped first. As text or JSON only."),
      .level, .mappings, .lockFile, .allow, .allowances, .allowLoss,
      .format(.text, .json, .markdown, .github, .sarif, .junit),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let model = try invocation.model()
    try model.requireAllVersions()
    try model.requireCurrentVersion()
    try invocation.checkPlan(model)
    var options = try invocation.lintOptions(for: model)
    options.includesAllSteps = invocation.arguments.flag("all-steps")
    let lint = try ModelLint(model.modelVersions(), options)
    let rolling = try Self.rolling(invocation, model, includesAllSteps: options.includesAllSteps)
    let text = LintText(model: model.url, entries: lint.entries, isVerbose: invocation.options.isVerbose)
    switch invocation.options.format {
    case .json:
      var members: [JSONText.Member] = [
        .init("format", "coredata.model-lint/1"), .init("model", .string(model.url.path)),
        .init("current", .string(lint.current)), .init("steps", .integer(lint.stepCount)), .init("findings", text.json),
      ]
      if let rolling { members.append(.init("rolling", RollingText.json(rolling))) }
      try invocation.write(.object(members))
    case .markdown: try invocation.result.write(text.markdown)
    case .github: try invocation.result.write(text.annotations)
    case .sarif: try invocation.write(text.sarif(invocation.tool))
    case .junit:
      var report = TestReport("coredata model lint \(model.name)")
      report.cases = text.cases()
      try invocation.result.write(source: report.xml)
    default:
      var report = invocation.report()
      let versions = NumberText.counted(model.names.count, "version")
      report.line(
        "\(model.name)  \(versions), current \(lint.current); \(NumberText.counted(lint.stepCount, "step")) judged")
      report.line()
      text.write(to: &report)
      if let rolling {
        report.section("Rolling deployment") { RollingText.write(rolling, to: &$0) }
        report.line()
      }
      report.line(text.summary)
      try invocation.write(report)
    }
    return lint.count(of: .error) > 0 || rolling?.hasStops == true ? .no : .done
  }

  /// Returns the judgements about rolling deployments, if they are asked for.
  private static func rolling(
    _ invocation: CommandInvocation, _ model: ModelArgument, includesAllSteps: Bool
  ) throws -> RollingLint? {
    guard invocation.arguments.flag("rolling") else { return nil }
    guard [.text, .json].contains(invocation.options.format) else {
      throw CommandFailure(.usage, "--rolling writes text or JSON: use it without --format, or with --format json.")
    }
    return RollingLint(try model.modelVersions(), includesAllSteps: includesAllSteps)
  }
}
