// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A group of commands with a common first word.
package struct GroupSpecification: Hashable, Sendable {
  /// The first word of the commands.
  package var name: String
  /// A line for help.
  package var summary: String

  package init(_ name: String, summary: String) {
    self.name = name
    self.summary = summary
  }
}

/// A command line tool: its groups, commands and common options.
package struct ToolSpecification: Hashable, Sendable {
  package var name: String
  /// The version that `--version` prints.
  package var version: String
  /// A line for help.
  package var summary: String
  /// The groups, in the order in which help lists them.
  package var groups: [GroupSpecification]
  /// The commands, in the order in which help lists them.
  package var commands: [CommandSpecification]
  /// The options of every command.
  package var commonOptions: [OptionSpecification]

  package init(
    name: String, version: String, summary: String, groups: [GroupSpecification], commands: [CommandSpecification],
    commonOptions: [OptionSpecification] = CommonOptions.specifications
  ) {
    self.name = name
    self.version = version
    self.summary = summary
    self.groups = groups
    self.commands = commands
    self.commonOptions = commonOptions
  }

  /// Returns the options of a command, its own before the common ones.
  package func options(of command: CommandSpecification) -> [OptionSpecification] {
    let own = Set(command.options.map(\.name))
    let letters = Set(command.options.compactMap(\.short))
    let common = commonOptions.filter { !own.contains($0.name) }.map { option in
      var option = option
      if let short = option.short, letters.contains(short) { option.short = nil }
      return option
    }
    return command.options + common
  }

  func commands(of group: String) -> [CommandSpecification] {
    commands.filter { $0.path.count == 2 && $0.path[0] == group }
  }
}

/// Help texts.
extension ToolSpecification {
  private static var width: Int { TextLayout.terminalWidth }

  /// Returns the usage line of a command.
  package func usage(of command: CommandSpecification) -> String {
    let words = [name] + command.path + command.positionals.map(\.usage) + command.options.map { "[\($0.usage)]" }
    return words.joined(separator: " ")
  }

  package var help: String {
    var lines = ["\(name) \(version): \(summary)", "", "Usage: \(name) COMMAND [OPTIONS]"]
    for group in groups {
      lines += ["", "\(group.name): \(group.summary)"]
      lines += entries(commands(of: group.name).map { ("\($0.path[0]) \($0.path[1])", $0.summary) })
    }
    let others = commands.filter { $0.path.count == 1 }
    if !others.isEmpty {
      lines += ["", "Other commands"]
      lines += entries(others.map { ($0.path[0], $0.summary) })
    }
    lines += commonOptionLines
    lines += ["", "Exit status"]
    lines += entries(ExitStatus.allCases.map { (String($0.rawValue), $0.meaning) })
    lines += ["", "See \(name) COMMAND --help for a command."]
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns the help of a group, or nil if there is no such group.
  package func help(ofGroup group: String) -> String? {
    guard let specification = groups.first(where: { $0.name == group }) else { return nil }
    var lines = ["\(name) \(group): \(specification.summary)", "", "Usage: \(name) \(group) COMMAND [OPTIONS]", ""]
    lines += entries(commands(of: group).map { ($0.path[1], $0.summary) })
    lines += ["", "See \(name) \(group) COMMAND --help for a command."]
    return lines.joined(separator: "\n") + "\n"
  }

  package func help(of command: CommandSpecification) -> String {
    let title = "\(([name] + command.path).joined(separator: " ")): \(command.summary)"
    var lines = TextLayout.wrapped(title, width: Self.width, hanging: 2) + [""]
    lines += TextLayout.wrapped("Usage: " + usage(of: command), width: Self.width, indent: 0, hanging: 2)
    if !command.discussion.isEmpty {
      for paragraph in command.discussion.components(separatedBy: "\n\n") {
        lines += [""] + TextLayout.wrapped(paragraph, width: Self.width)
      }
    }
    if !command.positionals.isEmpty {
      lines += ["", "Arguments"] + entries(command.positionals.map { ($0.name, $0.summary) })
    }
    if !command.options.isEmpty {
      lines += ["", "Options"] + entries(command.options.map { (label($0), $0.summary) })
    }
    lines += commonOptionLines(without: Set(command.options.map(\.name)))
    return lines.joined(separator: "\n") + "\n"
  }

  private var commonOptionLines: [String] { commonOptionLines(without: []) }

  private func commonOptionLines(without names: Set<String>) -> [String] {
    let options = commonOptions.filter { !names.contains($0.name) }
    return options.isEmpty ? [] : ["", "Options of every command"] + entries(options.map { (label($0), $0.summary) })
  }

  private func label(_ option: OptionSpecification) -> String {
    (option.short.map { "-\($0), " } ?? "") + option.usage
  }

  /// Formats names and summaries side by side. A name that is too long for its column gets its own line.
  private func entries(_ pairs: [(name: String, summary: String)]) -> [String] {
    let longest = 30
    let column = pairs.map { TextLayout.width(of: $0.name) }.filter { $0 <= longest }.max() ?? longest
    let indent = column + 4
    return pairs.flatMap { pair -> [String] in
      let summary = TextLayout.wrapped(pair.summary, width: Self.width, indent: indent)
      let start = "  " + TextLayout.padded(pair.name, to: column) + "  "
      guard TextLayout.width(of: pair.name) <= column, let first = summary.first else {
        return ["  " + pair.name] + summary
      }
      return [start + first.dropFirst(indent)] + summary.dropFirst()
    }
  }
}

/// A command: its name, arguments, options and help.
package struct CommandSpecification: Hashable, Sendable {
  /// The words of the command, such as `["store", "info"]` or `["doctor"]`.
  package var path: [String]
  /// A line for the list of commands.
  package var summary: String
  /// Text for the help of the command; paragraphs are separated by blank lines.
  package var discussion: String
  /// The positional arguments, in order.
  package var positionals: [PositionalSpecification]
  /// Options beyond the common ones. An option with the name of a common one replaces it.
  package var options: [OptionSpecification]

  package init(
    _ path: [String], summary: String, discussion: String = "", positionals: [PositionalSpecification] = [],
    options: [OptionSpecification] = []
  ) {
    trap(unless: (1...2).contains(path.count), "A command consists of a word, or of a group and a word: \(path)")
    self.path = path
    self.summary = summary
    self.discussion = discussion
    self.positionals = positionals
    self.options = options
  }
}

/// What a command does with the file or directory that a value names.
package enum PathRole: Hashable, Sendable {
  /// Reads it or operates on it.
  case input
  /// Creates or replaces it.
  case output
  /// Creates files in it, with names that the command chooses.
  case outputDirectory
  /// Reads and replaces it.
  case updated
  /// Nothing: the value is not a path.
  case none

  package var isRead: Bool { self == .input || self == .updated }
  package var isWritten: Bool { self == .output || self == .outputDirectory || self == .updated }
}

/// A flag or an option with a value.
package struct OptionSpecification: Hashable, Sendable {
  /// The kind of value that an option takes.
  package enum Value: Hashable, Sendable {
    /// None: the option is a flag.
    case none
    /// Any text except a path, with its placeholder in help, such as `V`.
    case text(String)
    /// A path, with its placeholder in help, such as `FILE`.
    case path(String, PathRole)
    /// One of these words.
    case oneOf([String])
    /// An integer that is at least `minimum`, with its placeholder in help.
    case integer(String, minimum: Int)
    /// `KEY=WORD` with one of these words, and the placeholder of the key in help.
    case pair(String, oneOf: [String])
  }

  /// The name without the dashes.
  package var name: String
  /// The letter of the short form.
  package var short: Character?
  /// The kind of value.
  package var value: Value
  /// Whether the option may be given more than once.
  package var repeats: Bool
  /// A line for help.
  package var summary: String

  package init(_ name: String, short: Character? = nil, _ value: Value, repeats: Bool = false, summary: String) {
    self.name = name
    self.short = short
    self.value = value
    self.repeats = repeats
    self.summary = summary
  }

  package static func flag(_ name: String, short: Character? = nil, summary: String) -> OptionSpecification {
    OptionSpecification(name, short: short, .none, summary: summary)
  }

  /// Whether the next argument is the option's value, rather than another option. A value begins with a minus sign only if
  /// the placeholder has one, such as `K,-K`.
  func canBe(_ argument: String) -> Bool {
    if argument == "-" || !argument.hasPrefix("-") { return true }
    switch value {
    case .text(let placeholder): return placeholder.contains("-") && !argument.hasPrefix("--")
    // A negative number is refused for what it is.
    case .integer: return Int(argument) != nil
    default: return false
    }
  }

  /// What the command does with the path that the option takes.
  package var role: PathRole {
    if case .path(_, let role) = value { role } else { .none }
  }

  /// The option in a usage line, such as `--limit N`.
  package var usage: String {
    switch value {
    case .none: "--\(name)"
    case .text(let placeholder), .path(let placeholder, _): "--\(name) \(placeholder)"
    case .oneOf(let words): "--\(name) \(words.joined(separator: "|"))"
    case .integer(let placeholder, _): "--\(name) \(placeholder)"
    case .pair(let key, let words): "--\(name) \(key)=\(words.joined(separator: "|"))"
    }
  }

  /// Returns the reason why a text is not a valid value, to follow the name of the option, or nil if it is valid.
  func refusal(of text: String) -> String? {
    switch value {
    case .none, .text, .path:
      return nil
    case .oneOf(let words):
      if words.contains(text) { return nil }
      return "takes \(list(words)), not \"\(text)\"" + Likeness.question(text, among: words)
    case .integer(_, let minimum):
      guard let number = Int(text) else { return "takes an integer, not \"\(text)\"" }
      return number >= minimum ? nil : "takes an integer of at least \(minimum), not \(number)"
    case .pair(let key, let words):
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, !parts[0].isEmpty, words.contains(String(parts[1])) { return nil }
      return "takes \(key)= followed by \(list(words)), not \"\(text)\""
    }
  }

  private func list(_ words: [String]) -> String {
    guard words.count > 1, let last = words.last else { return words.joined() }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}

/// A positional argument.
package struct PositionalSpecification: Hashable, Sendable {
  /// The number of times an argument may occur.
  package enum Count: Hashable, Sendable {
    case one, optional, any, atLeastOne
  }

  /// The name in help, such as `MODEL`, also used to look up the value.
  package var name: String
  /// The number of times the argument may occur. Only the last argument of a command can repeat.
  package var count: Count
  /// What the command does with the path that the argument names.
  package var role: PathRole
  /// A line for help.
  package var summary: String

  package init(_ name: String, _ count: Count = .one, _ role: PathRole = .input, summary: String) {
    self.name = name
    self.count = count
    self.role = role
    self.summary = summary
  }

  /// The argument in a usage line, such as `[MODEL]`.
  package var usage: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .any: "[\(name)...]"
    case .atLeastOne: "\(name)..."
    }
  }
}
