// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The request of a command line.
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
      // Common options before the command keep their values.
      options = tool.options(of: found)
    } else if !tool.commands.contains(where: { $0.path.starts(with: path) }) {
      let siblings = tool.commands.filter { $0.path.starts(with: words) && $0.path.count > words.count }
      let candidates = Set(siblings.map { $0.path[words.count] })
      let place = words.isEmpty ? "" : " of \(words.joined(separator: " "))"
      throw error(
        "unknown command\(place) \"\(word)\"" + Likeness.question(word, among: candidates.sorted()))
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
      guard next < arguments.count, arguments[next] == "-" || !arguments[next].hasPrefix("-") else {
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
