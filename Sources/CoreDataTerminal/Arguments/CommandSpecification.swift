// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One command: its words, what it takes, and what it says about itself.
package struct CommandSpecification: Hashable, Sendable {
  /// The words that call it, as `["store", "info"]`, or `["doctor"]`.
  package var path: [String]
  /// One line for lists of commands.
  package var summary: String
  /// More for the help of the command alone; paragraphs are separated by blank lines.
  package var discussion: String
  /// The arguments in order.
  package var positionals: [PositionalSpecification]
  /// Options beyond the common ones. One with the name of a common option takes its place.
  package var options: [OptionSpecification]

  /// Describes a command.
  package init(
    _ path: [String], summary: String, discussion: String = "", positionals: [PositionalSpecification] = [],
    options: [OptionSpecification] = []
  ) {
    precondition((1...2).contains(path.count), "A command has one word, or a group and one word: \(path)")
    self.path = path
    self.summary = summary
    self.discussion = discussion
    self.positionals = positionals
    self.options = options
  }
}

/// A word under which several commands stand.
package struct GroupSpecification: Hashable, Sendable {
  /// The word.
  package var name: String
  /// One line for help.
  package var summary: String

  /// Describes a group.
  package init(_ name: String, summary: String) {
    self.name = name
    self.summary = summary
  }
}

/// A whole tool: groups, commands and the options that all of them have.
package struct ToolSpecification: Hashable, Sendable {
  /// The word that calls the tool.
  package var name: String
  /// The version that `--version` prints.
  package var version: String
  /// One line for help.
  package var summary: String
  /// The groups in the order of help.
  package var groups: [GroupSpecification]
  /// The commands in the order of help.
  package var commands: [CommandSpecification]
  /// Options of every command.
  package var commonOptions: [OptionSpecification]

  /// Describes a tool.
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

  /// The options that a command understands, its own first.
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
