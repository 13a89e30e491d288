// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation

/// One call of a command: its words, and where its text goes.
struct CommandInvocation {
  let arguments: ParsedCommand
  let options: CommonOptions
  let streams: CommandStreams
  let result: ResultWriter
  /// Puts styles on text of the result.
  let styler: TextStyler

  init(_ arguments: ParsedCommand, streams: CommandStreams) {
    self.arguments = arguments
    self.streams = streams
    options = CommonOptions(arguments)
    // Where --output names what a command makes, the result is what it says about that.
    let makesFile =
      arguments.specification.options.contains { $0.name == "output" }
      || (arguments.specification.path == MappingInferCommand.specification.path && NewFile.isMapping(options.output))
    result = ResultWriter(path: makesFile ? nil : options.output, streams: streams)
    styler = TextStyler(options.color, environment: streams.environment, isTerminal: result.isTerminal)
  }

  /// Sees to it that the result can be written to `--output`, and is none of the files that the command works on.
  ///
  /// - Throws: `CommandFailure`.
  func prepareResult() throws {
    guard let path = result.path else { return }
    try ProtectedFiles(arguments).check(path)
    try result.prepare()
  }

  /// The mapping models, and folders of such, that `--mappings` names.
  var mappings: [URL] { arguments.values("mappings").map { URL(fileURLWithPath: $0) } }

  /// The file that an argument names.
  func url(_ name: String) -> URL { URL(fileURLWithPath: arguments.argument(name)) }

  /// Reads a model, and says what is odd about it.
  ///
  /// - Parameter path: where it is; nil for the argument MODEL.
  /// - Throws: as `ModelArgument.init(path:)`.
  func model(_ path: String? = nil) throws -> ModelArgument {
    let model = try ModelArgument(path: path ?? arguments.argument("MODEL"))
    for text in model.remarks { remark(text) }
    return model
  }

  /// Finds a model of which not all versions may be needed, and at the end says what is odd about those that were read.
  ///
  /// - Throws: as `ModelArgument.init(path:)`; what the work throws.
  func withModel<Result>(_ path: String? = nil, _ work: (ModelArgument) throws -> Result) throws -> Result {
    let model = try ModelArgument(path: path ?? arguments.argument("MODEL"))
    defer { for text in model.remarksSoFar { remark(text) } }
    return try work(model)
  }

  /// Reads MODEL or MODEL@VERSION, and says what is odd about the model.
  ///
  /// - Throws: as `ModelArgument.version(of:)`.
  func version(_ name: String) throws -> (model: ModelArgument, version: ModelArgument.Version) {
    let found = try ModelArgument.version(of: arguments.argument(name))
    for text in found.model.remarks { remark(text) }
    return found
  }

  /// Reads MODEL or MODEL@VERSION of an option, as `version(_:)`.
  func namedVersion(_ value: String) throws -> ModelArgument.Version {
    let found = try ModelArgument.version(of: value)
    for text in found.model.remarks { remark(text) }
    return found.version
  }

  /// Writes a result made of JSON, which has no control characters.
  func write(_ json: JSONText) throws { try result.write(safe: json.pretty()) }

  /// Writes a result for people.
  func write(_ report: TextReport) throws { try result.write(safe: report.text) }

  /// Says something beside the result, unless silence is asked for.
  func remark(_ text: String) {
    guard !options.isQuiet else { return }
    streams.say("note: \(text)\n")
  }
}

extension OptionSpecification {
  /// The option of commands that plan migrations to an earlier version.
  static var allowDowngrade: OptionSpecification {
    .flag("allow-downgrade", summary: "Allow to go back to an earlier version, which has less.")
  }

  /// The option for the formats that a command has.
  static func format(_ formats: OutputFormat...) -> OptionSpecification {
    OptionSpecification("format", .oneOf(formats.map(\.rawValue)), summary: "How the result is written (text).")
  }
}
