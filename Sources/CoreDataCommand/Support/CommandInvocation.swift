// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTerminal
import CoreDataTesting
import Foundation

/// A command of the tool.
protocol Command {
  static var specification: CommandSpecification { get }

  /// Runs the command and writes its result.
  ///
  /// - Throws: Any error. A `CommandFailure` determines the exit status.
  static func run(_ invocation: CommandInvocation) throws -> ExitStatus
}

/// A parsed command line with its output streams.
struct CommandInvocation {
  let arguments: ParsedCommand
  /// The specification of the tool that the command belongs to.
  let tool: ToolSpecification
  let options: CommonOptions
  let streams: CommandStreams
  let result: ResultWriter
  /// The private copies of stores on servers that the command reads.
  let copies = PrivateCopies()
  /// Applies styles to the text of the result.
  let styler: TextStyler

  init(_ arguments: ParsedCommand, of tool: ToolSpecification, streams: CommandStreams) {
    self.arguments = arguments
    self.tool = tool
    self.streams = streams
    options = CommonOptions(arguments)
    // If --output names the file that the command creates, the result is only the report about it.
    let makesFile =
      arguments.specification.options.contains { $0.name == "output" }
      || (arguments.specification.path == ["mapping", "infer"] && NewFile.isMapping(options.output))
    result = ResultWriter(path: makesFile ? nil : options.output, streams: streams)
    styler = TextStyler(options.color, environment: streams.environment, isTerminal: result.isTerminal)
  }

  /// Loads the classes of the library given by `--policies`.
  ///
  /// - Throws: `CommandFailure`.
  func loadPolicies() throws {
    guard arguments.specification.options.contains(.policies) else { return }
    for path in arguments.values("policies") { try PolicyLibrary.load(path) }
  }

  /// Makes sure that the command's outputs do not overwrite its inputs, and that the result can be written to
  /// `--output`.
  ///
  /// - Throws: `CommandFailure`.
  func prepareResult() throws {
    try ProtectedFiles.check(arguments)
    try result.prepare()
  }

  /// Returns a writer for an additional file, which appears when it is complete.
  ///
  /// - Throws: `CommandFailure` if the file cannot be written.
  func writer(to path: String) throws -> ResultWriter {
    let writer = ResultWriter(path: path, streams: streams)
    try writer.prepare()
    return writer
  }

  /// The mapping models, or directories of them, given by `--mappings`.
  var mappings: [URL] { arguments.values("mappings").map { URL(fileURLWithPath: $0) } }

  /// Makes sure that every path given by `--mappings` contains a readable mapping model.
  ///
  /// - Throws: `CommandFailure`, the errors of reading mapping models.
  func checkMappings() throws {
    guard arguments.specification.options.contains(.mappings) else { return }
    _ = try MappingFile.files(at: mappings, requiresSome: true)
  }

  /// Reports mapping models given by `--mappings` that match no two versions of the model.
  ///
  /// - Throws: the errors of reading mapping models.
  func remarkUnusedMappings(_ known: ModelVersions, of model: ModelArgument) throws {
    guard !mappings.isEmpty else { return }
    for file in try MappingFile.files(at: mappings).unused(among: known.versions) {
      let (source, destination) = (file.document.sourceVersionName, file.document.destinationVersionName)
      let versions = source.flatMap { source in destination.map { " It names \"\(source)\" and \"\($0)\"." } } ?? ""
      remark("The mapping model \(file.name) is not used: it fits no two versions of \(model.name).\(versions)")
    }
  }

  /// Returns the file given by an argument.
  func url(_ name: String) -> URL { URL(fileURLWithPath: arguments.argument(name)) }

  /// Reads a model and writes its remarks.
  ///
  /// - Parameter path: The path; nil for the argument MODEL.
  /// - Throws: The errors of `ModelArgument.init(path:)`.
  func model(_ path: String? = nil) throws -> ModelArgument {
    let model = try ModelArgument(path: path ?? arguments.argument("MODEL"))
    for text in model.remarks { remark(text) }
    return model
  }

  /// Calls a closure with a model that may read only some of its versions, then reports remarks on those versions.
  ///
  /// - Throws: The errors of `ModelArgument.init(path:)`, and of the closure.
  func withModel<Result>(_ path: String? = nil, _ work: (ModelArgument) throws -> Result) throws -> Result {
    let model = try ModelArgument(path: path ?? arguments.argument("MODEL"))
    defer { for text in model.remarksSoFar { remark(text) } }
    return try work(model)
  }

  /// Reads MODEL or MODEL@VERSION and writes the model's remarks.
  ///
  /// - Throws: The errors of `ModelArgument.version(of:)`.
  func version(_ name: String) throws -> (model: ModelArgument, version: ModelArgument.Version) {
    let found = try ModelArgument.version(of: arguments.argument(name))
    for text in found.model.remarks { remark(text) }
    return found
  }

  /// Reads MODEL or MODEL@VERSION from an option, like `version(_:)`.
  func namedVersion(_ value: String) throws -> ModelArgument.Version {
    let found = try ModelArgument.version(of: value)
    for text in found.model.remarks { remark(text) }
    return found.version
  }

  /// Writes a JSON result, which contains no control characters.
  func write(_ json: JSONText) throws { try result.write(safe: json.pretty()) }

  /// Returns an empty report for the result. It is as wide as the terminal, and not wrapped if a program may read it.
  func report() -> TextReport {
    TextReport(styler: styler, width: result.isTerminal ? max(60, streams.columns) : nil)
  }

  func write(_ report: TextReport) throws { try result.write(safe: report.text) }

  /// Returns a writer of progress to standard error, in the format given by `--progress`.
  func progressWriter() -> ProgressWriter {
    let mode: ProgressWriter.Mode = arguments.choice("progress") ?? (options.isQuiet ? .none : .auto)
    return ProgressWriter(mode, isTerminal: streams.isErrorTerminal, width: streams.columns, write: streams.error)
  }

  /// Writes a note to standard error, unless `--quiet` was given.
  func remark(_ text: String) {
    guard !options.isQuiet else { return }
    streams.printError("note: \(text)\n")
  }
}

/// The streams and the environment of a command.
struct CommandStreams {
  var output: (String) throws -> Void
  var error: (String) -> Void
  var isOutputTerminal = false
  var isErrorTerminal = false
  /// The width of the terminal, in columns.
  var columns = 80
  var environment: [String: String] = [:]
  /// Removes passwords from a result that is written to a file.
  var masked: (String) -> String = { $0 }

  /// Writes text to standard error, escaping control characters that could affect a terminal.
  func printError(_ text: String) {
    let escaped = StyledText.escaped(text)
    error(errorWidth.map { TextLayout.fitted(escaped, width: $0) } ?? escaped)
  }

  /// The width of standard error in columns, if it is a terminal.
  var errorWidth: Int? { isErrorTerminal ? max(60, columns) : nil }

  static var process: CommandStreams {
    CommandStreams(
      output: { try TextSink.standardOutput.write($0) },
      error: { text in
        // There is no other stream to report the error to.
        try? TextSink.standardError.write(text)
      },
      isOutputTerminal: TextSink.standardOutput.isTerminal, isErrorTerminal: TextSink.standardError.isTerminal,
      columns: TextSink.standardError.columns, environment: ProcessInfo.processInfo.environment)
  }
}

/// Arguments shared by several commands.
extension PositionalSpecification {
  static let store = PositionalSpecification(
    "STORE", summary: "A SQLite store, or the URL of a store in a database server.")
  /// A store of any type that the command reads. Without a model, only `store info` reads one that contains none.
  static let anyStore = PositionalSpecification(
    "STORE",
    summary: "A SQLite store, an XML or binary store, which contains no model, or the URL of a store in a database "
      + "server.")
  static let model = PositionalSpecification(
    "MODEL",
    summary:
      "An .xcdatamodeld, .xcdatamodel, .momd or .mom, or a store with its model; MODEL@VERSION for one version."
  )
  static let olderModel = PositionalSpecification("A", summary: "The older model: MODEL or MODEL@VERSION.")
  static let newerModel = PositionalSpecification("B", summary: "The newer model: MODEL or MODEL@VERSION.")
  static let mapping = PositionalSpecification(
    "FILE", summary: "A mapping model: an .xcmappingmodel, .cdm or .mapping.")
}

/// Options shared by several commands.
extension OptionSpecification {
  /// The version to migrate to.
  static let targetVersion = OptionSpecification(
    "to", .text("V"), summary: "The version to migrate to (default: the current one).")
  static let mappings = OptionSpecification(
    "mappings", .path("DIR", .input), repeats: true,
    summary: "A mapping model (.cdm, .xcmappingmodel or .mapping), or a directory with some.")
  static let policies = OptionSpecification(
    "policies", .path("LIB.so", .input), repeats: true,
    summary: "A shared library with the app's migration policies, of the module that it is named after.")
  static let progress = OptionSpecification(
    "progress", .oneOf(ProgressWriter.Mode.allCases.map(\.rawValue)),
    summary:
      "How to show progress on standard error (default: auto, a bar on a terminal, otherwise a line per step).")
  /// The progress option of commands that only read.
  static let readingProgress = OptionSpecification(
    "progress", .oneOf(ProgressWriter.Mode.allCases.map(\.rawValue)),
    summary: "How to show progress on standard error (default: a bar on a terminal, unless the result goes there too).")
  static let allowDowngrade = OptionSpecification.flag(
    "allow-downgrade", summary: "Allow migrating to an earlier version, which can hold less.")

  /// Returns the common option, with the formats that a command supports.
  static func format(_ formats: OutputFormat..., default usual: OutputFormat = .text) -> OptionSpecification {
    OptionSpecification(
      "format", .oneOf(formats.map(\.rawValue)), summary: "The format of the result (default: \(usual.rawValue)).")
  }
}

/// The options of `migrate plan`, `run` and `status` that allow findings.
enum AllowanceArguments {
  /// The paragraph about findings in the help of a command.
  static let help =
    "Each finding has a code, such as DS102; coredata explain DS102 describes it and what to do about it. An allowed "
    + "finding is information only, and so is one about objects that a migration policy creates. A finding that would "
    + "make the migration fail cannot be allowed."

  /// The codes of losses, such as `DS101 to DS108 and CM305`.
  fileprivate static var losses: String {
    let codes = FindingCode.allCases.filter(\.isLoss).map(\.rawValue)
    let family = codes.filter { $0.hasPrefix("DS") }
    let others = codes.filter { !$0.hasPrefix("DS") }
    return (["\(family.first ?? "") to \(family.last ?? "")"] + others).joined(separator: " and ")
  }
}

extension OptionSpecification {
  static let allow = OptionSpecification(
    "allow", .text("CODE[:Entity[.property]]"), repeats: true,
    summary: "Allow findings with a code, everywhere or for one entity or property.")
  static let allowances = OptionSpecification(
    "allowances", .path("FILE", .input), repeats: true,
    summary: "Allow the findings listed in a file, one per line: CODE:Entity.property  reason. # starts a comment.")
  static let allowLoss = OptionSpecification.flag(
    "allow-loss", summary: "Allow any data loss: findings \(AllowanceArguments.losses).")
}

extension OptionSpecification {
  static let allowRefusal = OptionSpecification(
    "allow-refusal", .text("V"), repeats: true,
    summary: "Expect that stores of this version are refused; if they are not, that is an error.")
}

extension CommandInvocation {
  /// Returns the versions whose stores are expected to be refused.
  ///
  /// - Throws: `CommandFailure` for a version that the model does not have.
  func allowedRefusals(of model: ModelArgument) throws -> ExpectedRefusals {
    ExpectedRefusals(try arguments.values("allow-refusal").map { .init(from: try model.version($0).name) })
  }

  /// Returns the allowances of the command line, the most specific first.
  ///
  /// - Throws: `CommandFailure` for an allowance or a file that cannot be read.
  func allowances() throws -> FindingAllowances {
    do {
      var items = try arguments.values("allow").map { try FindingAllowances.item(ofOption: "--allow", $0) }
      for path in arguments.values("allowances") {
        items += try FindingAllowances(contentsOf: URL(fileURLWithPath: path)).items
      }
      items.sort { Self.breadth($0) < Self.breadth($1) }
      if arguments.flag("allow-loss") { items += FindingAllowances.losses(origin: .option("--allow-loss")).items }
      return FindingAllowances(items)
    } catch let problem as AllowanceProblem {
      throw CommandFailure(.usage, problem.description)
    }
  }

  private static func breadth(_ item: FindingAllowance) -> Int {
    item.entity == nil ? 2 : item.property == nil ? 1 : 0
  }

  /// Reports allowances without effect, so that lists of them do not become outdated.
  func remarkAllowances(_ plan: MigrationPlan) {
    guard !plan.steps.isEmpty else { return }
    for item in plan.unmatchedAllowances where item.origin != .option("--allow-loss") {
      switch item.origin {
      case .file(let path, let line):
        remark("\(path), line \(line): no finding matches \(item.text). Remove the line if it is no longer needed.")
      default: remark("\(item.author ?? item.text): no finding matches.")
      }
    }
    for item in plan.powerlessAllowances where item.origin != .option("--allow-loss") {
      remark("\(item.author ?? item.text): the migration would fail, which cannot be allowed.")
    }
  }
}

/// The failure of a command: a message and an exit status.
struct CommandFailure: Error {
  let status: ExitStatus
  let message: String
  /// Lines to indent below the message, such as commands to try.
  var advice: [String] = []

  init(_ status: ExitStatus, _ message: String, advice: [String] = []) {
    self.status = status
    self.message = message
    self.advice = advice
  }

  /// Translates an error of the library.
  init(_ error: any Error) {
    switch error {
    case let failure as CommandFailure:
      self = failure
    case let error as ModelFileError:
      self.init(.invalidModel, error.description)
    case let failure as FileFailure:
      let advice = ProcessLimits.fileSizeAdvice(for: failure).map { " \($0)" } ?? ""
      self.init(
        .failed, "Cannot \(failure.operation) '\(failure.path)': \(String(cString: strerror(failure.number))).\(advice)"
      )
    case let problem as RegularFile.Problem:
      self.init(.failed, problem.description)
    case let problem as SchemaProblem:
      self.init(.invalidModel, problem.description)
    case let problem as StoreProblem:
      self.init(Self.status(of: problem), problem.description)
    default:
      let advice = ProcessLimits.fileSizeAdvice(for: error).map { " \($0)" } ?? ""
      self.init(Self.status(of: error as NSError), Self.sentence(of: error as NSError) + advice)
    }
  }

  /// Returns the text for standard error.
  ///
  /// - Parameter width: the width in columns to which sentences are wrapped; nil for no limit. Commands to copy are not.
  func text(width: Int? = nil) -> String {
    let lines = advice.flatMap { line in
      guard let width, !line.hasPrefix("coredata "), !line.contains("  ") else { return ["  \(line)"] }
      return TextLayout.wrapped(StyledText.escaped(line), width: width, indent: 2, hanging: 2)
    }
    return (["error: \(message)"] + lines).joined(separator: "\n") + "\n"
  }

  /// The failure as a line of JSON, like the other events on standard error.
  var json: String {
    let text: JSONText = [
      "event": "error", "status": .integer(Int(status.rawValue)), "message": .string(message),
      "advice": .array(advice.map { .string($0) }),
    ]
    return text.line() + "\n"
  }

  private static func status(of problem: StoreProblem) -> ExitStatus {
    switch problem.kind {
    case .interrupted: .interruptedWorkFound
    case .noSpace, .log: .failed
    default: .unreadableStore
    }
  }

  private static func status(of error: NSError) -> ExitStatus {
    guard error.domain == NSCocoaErrorDomain else { return .failed }
    // A model or a mapping model could not be read.
    if error.userInfo[NSUnderlyingErrorKey] is ModelFileError { return .invalidModel }
    switch error.code {
    case NSMigrationMissingMappingModelError, NSInferredMappingModelError: return .migrationImpossible
    case NSMigrationMissingSourceModelError, NSPersistentStoreIncompatibleVersionHashError, NSPersistentStoreOpenError,
      NSPersistentStoreInvalidTypeError, NSPersistentStoreTypeMismatchError, NSPersistentStoreTimeoutError:
      return .unreadableStore
    case NSMigrationCancelledError: return .stopped
    default: return .failed
    }
  }

  private static func sentence(of error: NSError) -> String {
    let parts = [error.localizedDescription, error.localizedFailureReason, error.localizedRecoverySuggestion]
    var sentences: [String] = []
    for part in parts.compactMap({ $0 }) where !sentences.contains(part) { sentences.append(part) }
    return sentences.joined(separator: " ")
  }
}
