// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata migrate plan`
enum MigratePlanCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "plan"],
    summary: "Show the steps of a migration, its rows, disk space and findings, without migrating.",
    discussion:
      "Exits with status 1 if there are findings of level error, with which migrate run refuses to migrate.\n\n"
      + AllowanceArguments.help,
    positionals: [.store, .model],
    options: [
      .targetVersion, .mappings, .policies,
      .allow, .allowances, .allowLoss, .allowDowngrade,
      .flag("sql", summary: "Also show the SQL, as recorded by migrating a private copy."),
      .format(.text, .json, .markdown),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let allowances = try invocation.allowances()
    let (plan, target, known) = try invocation.withModel { model in
      let target = try model.version(invocation.arguments.value("to"))
      let known = try model.modelVersions()
      let plan = try MigrationPlan(
        storeAt: invocation.located(invocation.arguments.argument("STORE")).file, known: known, version: target.name,
        mappings: invocation.mappings,
        allowances: allowances)
      return (plan, target, known)
    }
    invocation.remarkAllowances(plan)
    for text in plan.remarks { invocation.remark(text) }
    var sql: [String]?
    if invocation.arguments.flag("sql") {
      sql = try StoreReader(url: plan.store).migrationStatements(
        known: known, version: target.name, mappings: invocation.mappings, allowsLoss: allowances.losses)
    }
    switch invocation.options.format {
    case .json:
      var members = PlanText.members(of: plan)
      if let sql { members.append(.init("sql", .array(sql.map { .string($0) }))) }
      try invocation.write(.object(members))
    case .markdown:
      try invocation.result.write(PlanText.markdown(plan))
      if let sql { try invocation.result.write("\n```sql\n" + sql.map { $0 + ";\n" }.joined() + "```\n") }
    default:
      var report = invocation.report()
      PlanText.write(plan, to: &report)
      if let sql, !sql.isEmpty {
        report.line()
        report.section("SQL") { report in for statement in sql { report.line(statement + ";") } }
      }
      try invocation.write(report)
    }
    return PlanText.refusal(plan, allowsDowngrade: invocation.arguments.flag("allow-downgrade")) == nil ? .done : .no
  }
}
