// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A complete and valid command line.
///
/// Values are looked up by the names in the specification. Looking up an undeclared name traps.
package struct ParsedCommand: Hashable, Sendable {
  package let specification: CommandSpecification
  private let options: [OptionSpecification]
  private let optionValues: [String: [String]]
  private let positionalValues: [String: [String]]

  init(
    specification: CommandSpecification, options: [OptionSpecification], optionValues: [String: [String]],
    positionalValues: [String: [String]]
  ) {
    self.specification = specification
    self.options = options
    self.optionValues = optionValues
    self.positionalValues = positionalValues
  }

  /// Returns whether a flag, or an option with a value, was given.
  package func flag(_ name: String) -> Bool {
    !values(name).isEmpty
  }

  /// Returns the value of an option, or nil if it was not given.
  package func value(_ name: String) -> String? {
    values(name).last
  }

  /// Returns the values of a repeatable option, in order.
  package func values(_ name: String) -> [String] {
    trap(unless: options.contains { $0.name == name }, "\(path) has no option --\(name).")
    return optionValues[name] ?? []
  }

  /// Returns the value of an integer option.
  package func integer(_ name: String) -> Int? {
    value(name).map { text in
      guard let number = Int(text) else { trap("--\(name) is not declared as an integer.") }
      return number
    }
  }

  /// Returns the value of an option with a fixed set of words, as a case of an enumeration.
  package func choice<Choice: RawRepresentable>(_ name: String, as type: Choice.Type = Choice.self) -> Choice?
  where Choice.RawValue == String {
    value(name).map { text in
      guard let choice = Choice(rawValue: text) else {
        trap("--\(name) allows \"\(text)\", which \(Choice.self) does not know.")
      }
      return choice
    }
  }

  /// Returns the values of an option that takes `KEY=WORD`, in order.
  package func pairs(_ name: String) -> [(key: String, word: String)] {
    values(name).map { text in
      guard let equals = text.firstIndex(of: "=") else {
        trap("--\(name) is not declared as a pair.")
      }
      return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
  }

  /// Returns a required argument.
  package func argument(_ name: String) -> String {
    guard let value = arguments(name).first else { trap("\(name) of \(path) is optional.") }
    return value
  }

  package func optionalArgument(_ name: String) -> String? {
    arguments(name).first
  }

  /// Returns the values of a repeatable argument, in order.
  package func arguments(_ name: String) -> [String] {
    trap(unless: specification.positionals.contains { $0.name == name }, "\(path) has no argument \(name).")
    return positionalValues[name] ?? []
  }

  /// All given values, each with its option as spelled on the command line or the name of its argument.
  package var allValues: [(name: String, value: String)] {
    optionValues.sorted { $0.key < $1.key }.flatMap { name, values in values.map { ("--\(name)", $0) } }
      + specification.positionals.flatMap { place in arguments(place.name).map { (place.name, $0) } }
  }

  /// All given paths, each with its option as spelled on the command line or the name of its argument.
  package var paths: [(name: String, value: String, role: PathRole)] {
    let roles = Dictionary(options.map { ($0.name, $0.role) }) { first, _ in first }
    let ofOptions = optionValues.sorted { $0.key < $1.key }.flatMap { name, values in
      values.map { (name: "--\(name)", value: $0, role: roles[name] ?? .none) }
    }
    let others = specification.positionals.flatMap { place in
      arguments(place.name).map { (name: place.name, value: $0, role: place.role) }
    }
    return (ofOptions + others).filter { $0.role != .none }
  }

  private var path: String { specification.path.joined(separator: " ") }
}

package enum CommandLineRequest: Hashable, Sendable {
  /// Run a command.
  case command(ParsedCommand)
  /// Print a help text.
  case help(String)
  /// Print the version.
  case version(String)
}

extension ToolSpecification {
  /// Parses a command line.
  ///
  /// Options may stand before, between and after arguments. `--key value` and `--key=value` are equivalent, letters can
  /// be joined, as in `-qv`, and everything after `--` is an argument.
  ///
  /// - Parameter arguments: The arguments after the name of the tool.
  /// - Throws: `UsageError`.
  package func parse(_ arguments: [String]) throws -> CommandLineRequest {
    var parser = ArgumentParser(tool: self, arguments: arguments)
    return try parser.parse()
  }
}

private struct ArgumentParser {
  let tool: ToolSpecification
  let arguments: [String]
  var next = 0
  var command: CommandSpecification?
  var words: [String] = []
  var options: [OptionSpecification]
  var optionValues: [String: [String]] = [:]
  var positionals: [String] = []
  var wantsHelp = false
  var wantsVersion = false

  init(tool: ToolSpecification, arguments: [String]) {
    self.tool = tool
    self.arguments = arguments
    options = tool.commonOptions
  }

  mutating func parse() throws -> CommandLineRequest {
    // Show help even if the command line is otherwise wrong.
    if arguments.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      return helpRequest()
    }
    if arguments.first == "help" {
      return ArgumentParser(tool: tool, arguments: Array(arguments.dropFirst())).helpRequest()
    }
    var onlyPositionals = false
    while next < arguments.count {
      let argument = arguments[next]
      next += 1
      if onlyPositionals || argument == "-" || !argument.hasPrefix("-") {
        if command == nil { try take(word: argument) } else { positionals.append(argument) }
      } else if argument == "--" {
        onlyPositionals = true
      } else if argument.hasPrefix("--") {
        try take(long: argument.dropFirst(2))
      } else {
        try take(letters: argument.dropFirst())
      }
    }
    if wantsHelp { return helpRequest() }
    if wantsVersion { return .version("\(tool.name) \(tool.version)") }
    guard let command else {
      throw error(words.isEmpty ? "a command is missing" : "a command of \(words[0]) is missing")
    }
    return .command(
      ParsedCommand(
        specification: command, options: options, optionValues: optionValues, positionalValues: try assign(command)))
  }

  /// Determines the help text from the words of a command, ignoring errors.
  private func helpRequest() -> CommandLineRequest {
    var found: [String] = []
    var skipsValue = false
    for argument in arguments {
      if skipsValue {
        skipsValue = false
      } else if argument.hasPrefix("-") {
        skipsValue = tool.commonOptions.contains {
          $0.value != .none && (argument == "--\($0.name)" || argument == $0.short.map { "-\($0)" })
        }
      } else {
        let path = found + [argument]
        guard tool.commands.contains(where: { $0.path.starts(with: path) }) else { break }
        found = path
      }
    }
    if let command = tool.commands.first(where: { $0.path == found }) { return .help(tool.help(of: command)) }
    return .help(found.first.flatMap { tool.help(ofGroup: $0) } ?? tool.help)
  }

  private mutating func take(word: String) throws {
    let path = words + [word]
    if let found = tool.commands.first(where: { $0.path == path }) {
      command = found
      // Keep the values of common options before the command.
      options = tool.options(of: found)
    } else if !tool.commands.contains(where: { $0.path.starts(with: path) }) {
      let siblings = tool.commands.filter { $0.path.starts(with: words) && $0.path.count > words.count }
      let candidates = Set(siblings.map { $0.path[words.count] })
      let place = words.isEmpty ? "" : " of \(words.joined(separator: " "))"
      // The group of a command is easily forgotten.
      let full = words.isEmpty ? tool.commands.filter { $0.path.count == 2 && $0.path[1] == word } : []
      let names = full.map { $0.path.joined(separator: " ") }
      let question =
        names.isEmpty
        ? Likeness.question(word, among: candidates.sorted()) : "; did you mean \(names.joined(separator: " or "))?"
      throw error("unknown command\(place) \"\(word)\"\(question)")
    }
    words = path
  }

  private mutating func take(long text: Substring) throws {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = options.first(where: { $0.name == name }) else {
      throw error("unknown flag --\(name)" + Likeness.question(name, among: options.map(\.name), prefix: "--"))
    }
    try take(option, as: "--\(name)", attached: parts.count == 2 ? String(parts[1]) : nil)
  }

  private mutating func take(letters: Substring) throws {
    var rest = letters
    while let letter = rest.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else { throw error("unknown flag -\(letter)") }
      if option.value == .none {
        try take(option, as: "-\(letter)", attached: nil)
      } else {
        try take(option, as: "-\(letter)", attached: rest.isEmpty ? nil : String(rest))
        return
      }
    }
  }

  private mutating func take(_ option: OptionSpecification, as spelling: String, attached: String?) throws {
    var value = attached ?? ""
    if option.value == .none {
      if attached != nil { throw error("\(spelling) takes no value") }
    } else if attached == nil {
      guard next < arguments.count, option.canBe(arguments[next]) else {
        throw error("\(spelling) needs a value: \(option.usage)")
      }
      value = arguments[next]
      next += 1
    }
    if let refusal = option.refusal(of: value) { throw error("\(spelling) \(refusal)") }
    if option.value != .none, !option.repeats, optionValues[option.name] != nil {
      throw error("\(spelling) was given twice")
    }
    // A command may define its own option with a value under these names.
    switch (option.name, option.value) {
    case ("help", .none): wantsHelp = true
    case ("version", .none): wantsVersion = true
    default: optionValues[option.name, default: []].append(value)
    }
  }

  private func assign(_ command: CommandSpecification) throws -> [String: [String]] {
    var rest = positionals[...]
    var values: [String: [String]] = [:]
    for specification in command.positionals {
      switch specification.count {
      case .one, .optional:
        if let value = rest.popFirst() { values[specification.name] = [value] }
      case .any, .atLeastOne:
        values[specification.name] = Array(rest)
        rest = []
      }
      let isNeeded = specification.count == .one || specification.count == .atLeastOne
      if isNeeded, values[specification.name, default: []].isEmpty { throw error("\(specification.name) is missing") }
    }
    if let extra = rest.first { throw error("unexpected argument \"\(extra)\"") }
    return values
  }

  private func error(_ message: String) -> UsageError {
    let path = ([tool.name] + words).joined(separator: " ")
    let usage = command.map { tool.usage(of: $0) } ?? "\(path) COMMAND [OPTIONS]"
    return UsageError(message: message, usage: usage, help: "\(path) --help")
  }
}

/// An invalid command line.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and what was probably meant.
  package let message: String
  /// The usage line of the command.
  package let usage: String
  /// The command that prints the help.
  package let help: String

  /// The text for standard error.
  package var description: String {
    "error: \(message)\nUsage: \(usage)\nSee \(help)"
  }
}

/// Suggests corrections of misspelled words.
package enum Likeness {
  /// Returns the candidate within a few typing mistakes of a word, or nil if there is none.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    let word = word.lowercased()
    let near = candidates.map { (candidate: $0, distance: distance(word, $0.lowercased())) }
      .filter { $0.distance <= max(1, min(word.count, $0.candidate.count) / 3) }
    return near.min { ($0.distance, $0.candidate) < ($1.distance, $1.candidate) }?.candidate
  }

  /// Returns `; did you mean X?`, or an empty text.
  static func question(_ word: String, among candidates: [String], prefix: String = "") -> String {
    nearest(to: word, among: candidates).map { "; did you mean \(prefix)\($0)?" } ?? ""
  }

  /// Returns the edit distance of two words: the number of letters to insert, delete, change or swap with a neighbor.
  package static func distance(_ first: String, _ second: String) -> Int {
    let first = Array(first)
    let second = Array(second)
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for row in first.indices {
      var current = [row + 1]
      for column in second.indices {
        let change = last[column] + (first[row] == second[column] ? 0 : 1)
        var best = min(change, last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[second.count]
  }
}

/// The format of a command's result.
package enum OutputFormat: String, CaseIterable, Sendable {
  /// Text for people.
  case text
  /// A table for people, of a command whose result is rows.
  case table
  /// JSON for programs.
  case json
  /// Comma-separated values for spreadsheets.
  case csv
  /// Markdown for documents and comments.
  case markdown
  /// GitHub workflow commands, which annotate the lines of a file.
  case github
  /// SARIF, the format of static analysis results, for code scanning services.
  case sarif
  /// JUnit XML, for continuous integration services that collect test results.
  case junit
  /// A page in one file that loads nothing, for browsers.
  case html

  /// The formats of a command that does not list its own.
  static let common: [OutputFormat] = [.text, .json, .markdown]
}

/// The values of the common options.
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

  package static let specifications: [OptionSpecification] = [
    OptionSpecification(
      "format", .oneOf(OutputFormat.common.map(\.rawValue)), summary: "The format of the result (default: text)."),
    OptionSpecification(
      "output", short: "o", .path("FILE", .output), summary: "The file for the result (default: standard output)."),
    OptionSpecification(
      "color", .oneOf(ColorChoice.allCases.map(\.rawValue)),
      summary: "When to color text (default: auto, on a terminal without NO_COLOR)."),
    .flag("quiet", short: "q", summary: "Omit progress and notes."),
    .flag("verbose", short: "v", summary: "Write more details."),
    .flag("help", short: "h", summary: "Show help."),
    .flag("version", summary: "Show the version."),
  ]
}
