// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal

/// The tool as a function: words in, text and a status out.
enum CommandLineTool {
  static var commands: [any Command.Type] {
    [
      ModelShowCommand.self, ModelVersionsCommand.self, ModelDiffCommand.self,
      ModelCompileCommand.self, ModelDecompileCommand.self,
      MappingInferCommand.self, MappingNewCommand.self, MappingShowCommand.self, MappingCheckCommand.self,
      MappingCompileCommand.self,
      StoreInfoCommand.self, StoreMatchCommand.self, StoreExportCommand.self, StoreCreateCommand.self,
      StoreExtractModelCommand.self,
      MigrateStatusCommand.self, MigratePlanCommand.self, MigrateRunCommand.self, MigrateRecoverCommand.self,
      MigrateRestoreCommand.self, ExplainCommand.self,
    ]
  }

  static let specification = ToolSpecification(
    name: "coredata", version: "0.1.0", summary: "models, stores and migrations of Core Data",
    groups: [
      GroupSpecification("model", summary: "what models say, and what changed between their versions"),
      GroupSpecification("mapping", summary: "how objects of one version become those of another"),
      GroupSpecification("store", summary: "what stores hold, and which version of a model wrote them"),
      GroupSpecification("migrate", summary: "bring stores to another version of their model"),
    ],
    commands: commands.map { $0.specification },
    // Annotations for workflows belong to commands that are not here yet.
    commonOptions: CommonOptions.specifications.map { $0.name == "format" ? .format(.text, .json, .markdown) : $0 })

  /// Runs one command line.
  ///
  /// - Parameter arguments: the words after the name of the tool.
  static func run(_ arguments: [String], streams: CommandStreams) -> ExitStatus {
    do {
      switch try specification.parse(arguments) {
      case .help(let text):
        try streams.output(text)
      case .version(let text):
        try streams.output(text + "\n")
      case .command(let parsed):
        guard let command = commands.first(where: { $0.specification.path == parsed.specification.path }) else {
          preconditionFailure("No command has the words \(parsed.specification.path).")
        }
        return try run(command, CommandInvocation(parsed, streams: streams))
      }
      return .done
    } catch let error as UsageError {
      streams.say(wantsJSON(arguments) ? CommandFailure(.usage, error.description).json : error.description + "\n")
      return .usage
    } catch {
      let failure = CommandFailure(error)
      streams.say(wantsJSON(arguments) ? failure.json : failure.text)
      return failure.status
    }
  }

  /// Whether a command line asks for JSON, also one that is wrong otherwise.
  private static func wantsJSON(_ arguments: [String]) -> Bool {
    arguments.contains("--format=json") || zip(arguments, arguments.dropFirst()).contains { $0 == ("--format", "json") }
  }

  private static func run(_ command: any Command.Type, _ invocation: CommandInvocation) throws -> ExitStatus {
    do {
      try invocation.prepareResult()
      let status = try command.run(invocation)
      try invocation.result.commit()
      return status
    } catch {
      invocation.result.abandon()
      guard let done = invocation.result.workDone else { throw error }
      throw CommandFailure(.unreported, "\(done) Only the report of it failed. \(CommandFailure(error).message)")
    }
  }
}

/// One command: what it takes, and what it does.
protocol Command {
  static var specification: CommandSpecification { get }

  /// Does the work and writes the result.
  ///
  /// - Throws: anything; `CommandFailure` says what it means for the caller.
  static func run(_ invocation: CommandInvocation) throws -> ExitStatus
}
