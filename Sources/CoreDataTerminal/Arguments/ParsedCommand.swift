// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A complete and valid command line.
///
/// Values are looked up by the names of the specification. To use a name that is not declared there is a programming
/// error.
package struct ParsedCommand: Hashable, Sendable {
  /// The command.
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

  /// Whether a flag, or an option with a value, was given.
  package func flag(_ name: String) -> Bool {
    !values(name).isEmpty
  }

  /// Returns the value of an option, or nil if it was not given.
  package func value(_ name: String) -> String? {
    values(name).last
  }

  /// Returns the values of a repeatable option, in order.
  package func values(_ name: String) -> [String] {
    precondition(options.contains { $0.name == name }, "\(path) has no option --\(name).")
    return optionValues[name] ?? []
  }

  /// Returns the value of an integer option.
  package func integer(_ name: String) -> Int? {
    value(name).map { text in
      guard let number = Int(text) else { preconditionFailure("--\(name) is not declared as an integer.") }
      return number
    }
  }

  /// Returns the value of an option with a fixed set of words, as a case of an enumeration.
  package func choice<Choice: RawRepresentable>(_ name: String, as type: Choice.Type = Choice.self) -> Choice?
  where Choice.RawValue == String {
    value(name).map { text in
      guard let choice = Choice(rawValue: text) else {
        preconditionFailure("--\(name) allows \"\(text)\", which \(Choice.self) does not know.")
      }
      return choice
    }
  }

  /// Returns the values of an option that takes `KEY=WORD`, in order.
  package func pairs(_ name: String) -> [(key: String, word: String)] {
    values(name).map { text in
      guard let equals = text.firstIndex(of: "=") else {
        preconditionFailure("--\(name) is not declared as a pair.")
      }
      return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
  }

  /// Returns a required argument.
  package func argument(_ name: String) -> String {
    guard let value = arguments(name).first else { preconditionFailure("\(name) of \(path) is optional.") }
    return value
  }

  /// Returns an optional argument.
  package func optionalArgument(_ name: String) -> String? {
    arguments(name).first
  }

  /// Returns the values of a repeatable argument, in order.
  package func arguments(_ name: String) -> [String] {
    precondition(specification.positionals.contains { $0.name == name }, "\(path) has no argument \(name).")
    return positionalValues[name] ?? []
  }

  private var path: String { specification.path.joined(separator: " ") }
}
