// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import CoreDataTerminal
import Foundation

/// The command-line tool as a function from arguments and streams to an exit status.
enum CommandLineTool {
  static var commands: [any Command.Type] {
    [
      ModelShowCommand.self, ModelVersionsCommand.self, ModelDiffCommand.self, ModelLintCommand.self,
      ModelLockCommand.self, ModelGraphCommand.self, ModelCompileCommand.self, ModelDecompileCommand.self,
      ModelGenerateCommand.self, MappingInferCommand.self, MappingNewCommand.self, MappingShowCommand.self,
      MappingCheckCommand.self, MappingCompileCommand.self, StoreInfoCommand.self, StoreMatchCommand.self,
      StoreVerifyCommand.self, StoreDiffCommand.self, StoreQueryCommand.self, StoreGetCommand.self,
      StoreSetCommand.self, StoreDeleteCommand.self, StoreImportCommand.self, StoreExportCommand.self,
      StoreHistoryCommand.self, StoreBrowseCommand.self, StoreReportCommand.self, StoreCreateCommand.self,
      StoreCopyCommand.self, StoreExtractModelCommand.self, MigrateStatusCommand.self, MigratePlanCommand.self,
      MigrateRehearseCommand.self, MigrateCheckCommand.self, MigrateRunCommand.self, MigrateRecoverCommand.self,
      MigrateRestoreCommand.self, PortCommand.self,
      DoctorCommand.self, ExplainCommand.self, CompletionsCommand.self, ManualCommand.self,
    ]
  }

  static let specification = ToolSpecification(
    name: "coredata", version: version,
    summary: "inspects Core Data models and stores, and migrates stores",
    groups: [
      GroupSpecification("model", summary: "show, compare and convert models"),
      GroupSpecification("mapping", summary: "infer, write and check mapping models"),
      GroupSpecification("store", summary: "inspect, change, export and create stores"),
      GroupSpecification("migrate", summary: "migrate stores to another version of their model"),
    ],
    commands: commands.map { $0.specification })

  /// Runs a command line.
  ///
  /// - Parameter arguments: The arguments after the name of the tool.
  static func run(_ arguments: [String], streams: CommandStreams) -> ExitStatus {
    let mask = PasswordMask(arguments)
    var masked = streams
    masked.output = { try streams.output(mask.maskedResult($0)) }
    masked.error = { streams.error(mask.masked($0)) }
    masked.masked = mask.maskedResult
    if mask.isNeeded, !arguments.contains("--quiet") {
      masked.printError(
        "note: A URL contains a password, which other users of this machine can see in the list of processes. Keep it in "
          + "~/.pgpass, in a service file (?service=NAME) or in PGPASSWORD, or leave it out to be asked for it.\n")
    }
    return execute(arguments, streams: masked)
  }

  private static func execute(_ arguments: [String], streams: CommandStreams) -> ExitStatus {
    do {
      switch try specification.parse(arguments) {
      case .help(let text):
        try streams.output(text)
      case .version(let text):
        try streams.output(text + "\n")
      case .command(let parsed):
        guard let command = commands.first(where: { $0.specification.path == parsed.specification.path }) else {
          trap("There is no command \(parsed.specification.path).")
        }
        try checkPaths(parsed)
        return try run(command, CommandInvocation(parsed, of: specification, streams: streams))
      }
      return .done
    } catch let error as UsageError {
      streams.printError(
        wantsJSON(arguments) ? CommandFailure(.usage, error.description).json : error.description + "\n")
      return .usage
    } catch {
      StopSignals.leave()
      return report(CommandFailure(error), arguments, streams)
    }
  }

  /// Reports why a command line could not be run.
  static func report(_ failure: CommandFailure, _ arguments: [String], _ streams: CommandStreams) -> ExitStatus {
    streams.printError(wantsJSON(arguments) ? failure.json : failure.text(width: streams.errorWidth))
    return failure.status
  }

  /// The arguments that may be the URL of a store on a database server.
  private static let places: Set<String> = ["STORE", "TO", "A", "B", "PATH"]

  /// - Throws: `CommandFailure` for the URL of a store on a server where a path is required: a file of that name would
  ///   be created, or not be found.
  private static func checkPaths(_ command: ParsedCommand) throws {
    for (name, value) in command.allValues where !places.contains(name) {
      guard let mark = value.range(of: "://"),
        StoreKinds.server(at: URL(string: "\(value[..<mark.lowerBound])://host")) != nil
      else { continue }
      throw CommandFailure(
        .usage,
        "\(name) takes a path, and got the URL of a store in a database server (\(value[..<mark.lowerBound])://…).")
    }
  }

  /// Whether a command line requests JSON, even if it is otherwise wrong.
  private static func wantsJSON(_ arguments: [String]) -> Bool {
    arguments.contains("--format=json") || zip(arguments, arguments.dropFirst()).contains { $0 == ("--format", "json") }
  }

  private static func run(_ command: any Command.Type, _ invocation: CommandInvocation) throws -> ExitStatus {
    defer { invocation.copies.removeAll() }
    do {
      try invocation.prepareResult()
      try invocation.loadPolicies()
      try invocation.checkMappings()
      let status = try command.run(invocation)
      try invocation.result.commit()
      return status
    } catch {
      invocation.result.discard()
      guard let done = invocation.result.workDone else { throw invocation.copies.naming(error) }
      throw CommandFailure(
        .unreported, "\(done) Only the report could not be written. \(CommandFailure(error).message)")
    }
  }
}
