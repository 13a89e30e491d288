// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A flag, or an option with a value, that a command understands.
package struct OptionSpecification: Hashable, Sendable {
  /// What an option wants after its name.
  package enum Value: Hashable, Sendable {
    /// Nothing: the option is there or not.
    case none
    /// Any text; the associated text stands for it in help, as `FILE`.
    case text(String)
    /// One of these words.
    case oneOf([String])
    /// A whole number that is not less than `minimum`.
    case integer(String, minimum: Int)
    /// `KEY=WORD` with one of these words; the first text stands for the key in help.
    case pair(String, oneOf: [String])
  }

  /// The name without its two dashes.
  package var name: String
  /// The letter of the short form.
  package var short: Character?
  /// What follows the name.
  package var value: Value
  /// Whether the option may be given more than once.
  package var repeats: Bool
  /// One line for help.
  package var summary: String

  /// Describes an option with a value.
  package init(
    _ name: String, short: Character? = nil, _ value: Value, repeats: Bool = false, summary: String
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.repeats = repeats
    self.summary = summary
  }

  /// Describes a flag.
  package static func flag(_ name: String, short: Character? = nil, summary: String) -> OptionSpecification {
    OptionSpecification(name, short: short, .none, summary: summary)
  }

  /// The option as it stands in a line of usage, as `--limit N`.
  package var usage: String {
    switch value {
    case .none: "--\(name)"
    case .text(let placeholder): "--\(name) \(placeholder)"
    case .oneOf(let words): "--\(name) \(words.joined(separator: "|"))"
    case .integer(let placeholder, _): "--\(name) \(placeholder)"
    case .pair(let key, let words): "--\(name) \(key)=\(words.joined(separator: "|"))"
    }
  }

  /// Why a text cannot be the value, as a sentence that follows the name of the option; nil where it can.
  func refusal(of text: String) -> String? {
    switch value {
    case .none, .text:
      return nil
    case .oneOf(let words):
      if words.contains(text) { return nil }
      return "takes \(list(words)), not \"\(text)\"" + Likeness.question(text, among: words)
    case .integer(_, let minimum):
      guard let number = Int(text) else { return "takes a whole number, not \"\(text)\"" }
      return number >= minimum ? nil : "takes a number that is not less than \(minimum), not \(number)"
    case .pair(let key, let words):
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, !parts[0].isEmpty, words.contains(String(parts[1])) { return nil }
      return "takes \(key)= and one of \(list(words)), not \"\(text)\""
    }
  }

  private func list(_ words: [String]) -> String {
    guard words.count > 1, let last = words.last else { return words.joined() }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}

/// An argument that is known by its place.
package struct PositionalSpecification: Hashable, Sendable {
  /// How often the argument may be there.
  package enum Count: Hashable, Sendable {
    case one, optional, any, atLeastOne
  }

  /// The name in help, as `MODEL`; also the key of look-ups.
  package var name: String
  /// How often it may be there. Only the last argument of a command can repeat.
  package var count: Count
  /// One line for help.
  package var summary: String

  /// Describes an argument.
  package init(_ name: String, _ count: Count = .one, summary: String) {
    self.name = name
    self.count = count
    self.summary = summary
  }

  /// The argument as it stands in a line of usage, as `[MODEL]`.
  package var usage: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .any: "[\(name)...]"
    case .atLeastOne: "\(name)..."
    }
  }
}
