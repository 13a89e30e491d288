// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

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

  /// Creates a command.
  package init(
    _ path: [String], summary: String, discussion: String = "", positionals: [PositionalSpecification] = [],
    options: [OptionSpecification] = []
  ) {
    precondition((1...2).contains(path.count), "A command consists of a word, or of a group and a word: \(path)")
    self.path = path
    self.summary = summary
    self.discussion = discussion
    self.positionals = positionals
    self.options = options
  }
}
