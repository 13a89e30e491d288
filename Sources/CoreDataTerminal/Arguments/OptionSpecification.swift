// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A flag or an option with a value.
package struct OptionSpecification: Hashable, Sendable {
  /// The kind of value that an option takes.
  package enum Value: Hashable, Sendable {
    /// None: the option is a flag.
    case none
    /// Any text, with its placeholder in help, such as `FILE`.
    case text(String)
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

  /// Creates an option with a value.
  package init(
    _ name: String, short: Character? = nil, _ value: Value, repeats: Bool = false, summary: String
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.repeats = repeats
    self.summary = summary
  }

  /// Creates a flag.
  package static func flag(_ name: String, short: Character? = nil, summary: String) -> OptionSpecification {
    OptionSpecification(name, short: short, .none, summary: summary)
  }

  /// The option in a usage line, such as `--limit N`.
  package var usage: String {
    switch value {
    case .none: "--\(name)"
    case .text(let placeholder): "--\(name) \(placeholder)"
    case .oneOf(let words): "--\(name) \(words.joined(separator: "|"))"
    case .integer(let placeholder, _): "--\(name) \(placeholder)"
    case .pair(let key, let words): "--\(name) \(key)=\(words.joined(separator: "|"))"
    }
  }

  /// Returns the reason why a text is not a valid value, to follow the name of the option, or nil if it is valid.
  func refusal(of text: String) -> String? {
    switch value {
    case .none, .text:
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
  /// How often an argument may occur.
  package enum Count: Hashable, Sendable {
    case one, optional, any, atLeastOne
  }

  /// The name in help, such as `MODEL`, also used to look up the value.
  package var name: String
  /// How often the argument may occur. Only the last one of a command can repeat.
  package var count: Count
  /// A line for help.
  package var summary: String

  /// Creates an argument.
  package init(_ name: String, _ count: Count = .one, summary: String) {
    self.name = name
    self.count = count
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
