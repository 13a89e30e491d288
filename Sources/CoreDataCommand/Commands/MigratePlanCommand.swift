// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataTerminal
import Foundation

/// `coredata migrate plan`
enum MigratePlanCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "plan"],
    summary: "Show the steps of a migration, its rows, disk space and findings, without migrating.",
    discussion:
      "Exits with status 1 if there are findings of level error, with which migrate run refuses to migrate, or if the store is "
      + "in a server that lets only read.\n\n"
      + AllowanceArguments.help,
    positionals: [.anyStore, .model],
    options: [
      .targetVersion, .mappings, .policies,
      .allow, .allowances, .allowLoss, .allowDowngrade,
      .flag("sql", summary: "Also show the SQL, as recorded by migrating a private copy."),
      .format(.text, .json, .markdown),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let allowances = try invocation.allowances()
    let argument = invocation.arguments.argument("STORE")
    let (plan, target, known) = try invocation.withModel { model in
      let target = try model.version(invocation.arguments.value("to"))
      let known = try model.modelVersions()
      try invocation.remarkUnusedMappings(known, of: model)
      return (
        try invocation.plan(argument, known: known, version: target.name, allowances), target, known
      )
    }
    invocation.remarkAllowances(plan)
    for text in plan.remarks { invocation.remark(text) }
    var sql: [String]?
    let inServer = try Self.inServer(argument, plan)
    if inServer?.isRefused == true {
      invocation.remark(
        "The server is a standby, or lets only read, so that the store cannot be migrated there. Use the URL of the primary "
          + "server, or a role that may write.")
    }
    if invocation.arguments.flag("sql"), inServer == nil {
      sql = try StoreReader(url: plan.store).migrationStatements(
        known: known, version: target.name, mappings: invocation.mappings, allowsLoss: allowances.losses)
    }
    switch invocation.options.format {
    case .json:
      var members = PlanText.members(of: plan)
      if let sql { members.append(.init("sql", .array(sql.map { .string($0) }))) }
      if let inServer {
        members.append(.init("server", Self.json(inServer)))
        if let rolling = RollingText(inServer, plan) { members.append(.init("oldInstances", rolling.json)) }
        members.append(.init("serverIsReadOnly", .bool(inServer.isRefused)))
      }
      try invocation.write(.object(members))
    case .markdown:
      try invocation.result.write(PlanText.markdown(plan))
      if let inServer { try invocation.result.write("\n" + Self.lines(inServer).map { "    \($0)\n" }.joined()) }
      if let inServer, let rolling = RollingText(inServer, plan) {
        try invocation.result.write("\n" + rolling.lines.map { "- \($0)\n" }.joined())
      }
      if let sql { try invocation.result.write("\n```sql\n" + sql.map { $0 + ";\n" }.joined() + "```\n") }
    default:
      var report = invocation.report()
      PlanText.write(plan, to: &report)
      if let inServer {
        report.line()
        report.section("In the server") { report in for line in Self.lines(inServer) { report.line(line) } }
        if let rolling = RollingText(inServer, plan) {
          report.line()
          report.section("Old instances") { rolling.write(to: &$0) }
        }
      }
      if let sql, !sql.isEmpty {
        report.line()
        report.section("SQL") { report in for statement in sql { report.line(statement + ";") } }
      }
      try invocation.write(report)
    }
    let isRefused = PlanText.refusal(plan, allowsDowngrade: invocation.arguments.flag("allow-downgrade")) != nil
    return isRefused || inServer?.isRefused == true ? .no : .done
  }

  // MARK: Stores on database servers

  /// Returns the migration plan of a store on a server; nil for a file.
  private static func inServer(_ argument: String, _ plan: MigrationPlan) throws -> ServerMigrationPlan? {
    guard case .server(let url, let kind) = try StoreAddress(argument) else { return nil }
    return try ServerMigrationPlan(plan.migration, of: url, kind)
  }

  /// Returns the effect of each statement, and the tables that it locks until the migration ends.
  private static func lines(_ plan: ServerMigrationPlan) -> [String] {
    if let reason = plan.reason {
      return ["The rows are copied, migrated beside the server and written back: \(reason)."]
    }
    if plan.statements.isEmpty { return ["Nothing to do."] }
    return plan.statements.flatMap { statement in
      [statement.text + ";", "  " + ([statement.work.title] + statement.locks.map(words)).joined(separator: "; ")]
    }
  }

  private static func words(_ lock: ServerStatement.Lock) -> String { "\(lock.table): \(lock.mode.rawValue) lock" }

  private static func json(_ plan: ServerMigrationPlan) -> JSONText {
    if let reason = plan.reason { return .object([.init("copied", .string(reason))]) }
    return .array(
      plan.statements.map { statement in
        .object([
          .init("sql", .string(statement.text)), .init("work", .string(statement.work.title)),
          .init("locks", .array(statement.locks.map { .string(words($0)) })),
        ])
      })
  }
}
