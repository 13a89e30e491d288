// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The format of a command's result.
package enum OutputFormat: String, CaseIterable, Sendable {
  /// Text for people.
  case text
  /// JSON for programs.
  case json
  /// Markdown for documents and comments.
  case markdown
}

/// The values of the options that every command has.
package struct CommonOptions: Hashable, Sendable {
  /// The format of the result.
  package let format: OutputFormat
  /// The file for the result; nil for standard output.
  package let output: String?
  /// When to color text.
  package let color: ColorChoice
  /// Whether to omit progress and notes.
  package let isQuiet: Bool
  /// Whether to write more details.
  package let isVerbose: Bool

  /// Reads the options of a parsed command line.
  package init(_ command: ParsedCommand) {
    format = command.choice("format") ?? .text
    output = command.value("output")
    color = command.choice("color") ?? .auto
    isQuiet = command.flag("quiet")
    isVerbose = command.flag("verbose")
  }

  /// The specifications of the options.
  package static let specifications: [OptionSpecification] = [
    OptionSpecification(
      "format", .oneOf(OutputFormat.allCases.map(\.rawValue)), summary: "The format of the result (default: text)."),
    OptionSpecification(
      "output", short: "o", .text("FILE"), summary: "The file for the result (default: standard output)."),
    OptionSpecification(
      "color", .oneOf(ColorChoice.allCases.map(\.rawValue)),
      summary: "When to color text (default: auto, on a terminal without NO_COLOR)."),
    .flag("quiet", short: "q", summary: "Omit progress and notes."),
    .flag("verbose", short: "v", summary: "Write more details."),
    .flag("help", short: "h", summary: "Show help."),
    .flag("version", summary: "Show the version."),
  ]
}
