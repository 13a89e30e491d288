// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation

/// A command of the tool.
protocol Command {
  static var specification: CommandSpecification { get }

  /// Runs the command and writes its result.
  ///
  /// - Throws: Any error. A `CommandFailure` determines the exit status.
  static func run(_ invocation: CommandInvocation) throws -> ExitStatus
}

/// A parsed command line with the streams to write to.
struct CommandInvocation {
  let arguments: ParsedCommand
  let options: CommonOptions
  let streams: CommandStreams
  let result: ResultWriter
  /// Applies styles to the text of the result.
  let styler: TextStyler

  init(_ arguments: ParsedCommand, streams: CommandStreams) {
    self.arguments = arguments
    self.streams = streams
    options = CommonOptions(arguments)
    // If --output names the file that the command creates, the result is only the report about it.
    let makesFile =
      arguments.specification.options.contains { $0.name == "output" }
      || (arguments.specification.path == ["mapping", "infer"] && NewFile.isMapping(options.output))
    result = ResultWriter(path: makesFile ? nil : options.output, streams: streams)
    styler = TextStyler(options.color, environment: streams.environment, isTerminal: result.isTerminal)
  }

  /// Makes sure that the result can be written to `--output`, and that this is none of the files the command works on.
  ///
  /// - Throws: `CommandFailure`.
  func prepareResult() throws {
    guard let path = result.path else { return }
    try ProtectedFiles(arguments).check(path)
    try result.prepare()
  }

  /// The mapping models, or directories of them, that `--mappings` names.
  var mappings: [URL] { arguments.values("mappings").map { URL(fileURLWithPath: $0) } }

  /// Returns the file that an argument names.
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

  /// Calls a closure with a model that may read only some of its versions, then writes the remarks on those.
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

  /// Writes a text result.
  func write(_ report: TextReport) throws { try result.write(safe: report.text) }

  /// Writes a note to standard error, unless `--quiet` was given.
  func remark(_ text: String) {
    guard !options.isQuiet else { return }
    streams.say("note: \(text)\n")
  }
}

/// The streams and the environment of a command.
struct CommandStreams {
  var output: (String) throws -> Void
  var error: (String) -> Void
  var isOutputTerminal = false
  var isErrorTerminal = false
  /// The width of the terminal behind standard error, in columns.
  var columns = 80
  var environment: [String: String] = [:]

  /// Writes text to standard error, escaping control characters that could affect a terminal.
  func say(_ text: String) { error(StyledText.escaped(text)) }

  /// The streams of the process.
  static var process: CommandStreams {
    CommandStreams(
      output: { try TextSink.standardOutput.write($0) },
      error: { text in
        // There is nowhere left to report the error.
        try? TextSink.standardError.write(text)
      },
      isOutputTerminal: TextSink.standardOutput.isTerminal, isErrorTerminal: TextSink.standardError.isTerminal,
      columns: TextSink.standardError.columns, environment: ProcessInfo.processInfo.environment)
  }
}
