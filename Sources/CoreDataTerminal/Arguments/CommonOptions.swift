// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How a command writes its result.
package enum OutputFormat: String, CaseIterable, Sendable {
  /// For people.
  case text
  /// For programs.
  case json
  /// For documents and comments.
  case markdown
  /// For the annotations of GitHub's workflows.
  case github
}

/// The options that every command has, as values.
package struct CommonOptions: Hashable, Sendable {
  /// How the result is written.
  package let format: OutputFormat
  /// Where the result goes instead of to standard output.
  package let output: String?
  /// When text is coloured.
  package let color: ColorChoice
  /// Whether progress and remarks are left out.
  package let isQuiet: Bool
  /// Whether more is told.
  package let isVerbose: Bool

  /// What a parsed command line says.
  package init(_ command: ParsedCommand) {
    format = command.choice("format") ?? .text
    output = command.value("output")
    color = command.choice("color") ?? .auto
    isQuiet = command.flag("quiet")
    isVerbose = command.flag("verbose")
  }

  /// How they are written on the command line.
  package static let specifications: [OptionSpecification] = [
    OptionSpecification(
      "format", .oneOf(OutputFormat.allCases.map(\.rawValue)), summary: "How the result is written (text)."),
    OptionSpecification(
      "output", short: "o", .text("FILE"), summary: "Where the result goes, instead of to standard output."),
    OptionSpecification(
      "color", .oneOf(ColorChoice.allCases.map(\.rawValue)),
      summary: "When text is coloured (auto: on a terminal, unless NO_COLOR is set)."),
    .flag("quiet", short: "q", summary: "No progress and no remarks."),
    .flag("verbose", short: "v", summary: "Tell more."),
    .flag("help", short: "h", summary: "Show help."),
    .flag("version", summary: "Show the version."),
  ]
}
