// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A command line that is complete and correct.
///
/// Look-ups take the names of the specification; a name that is not declared there is a mistake of the program.
package struct ParsedCommand: Hashable, Sendable {
  /// The command that was called.
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

  /// The value of an option; nil where it was not given.
  package func value(_ name: String) -> String? {
    values(name).last
  }

  /// The values of an option that may be repeated, in order.
  package func values(_ name: String) -> [String] {
    precondition(options.contains { $0.name == name }, "\(path) has no option --\(name).")
    return optionValues[name] ?? []
  }

  /// The value of an option that takes a whole number.
  package func integer(_ name: String) -> Int? {
    value(name).map { text in
      guard let number = Int(text) else { preconditionFailure("--\(name) is not declared as a whole number.") }
      return number
    }
  }

  /// The value of an option that takes one word of a few, as a case of an enumeration.
  package func choice<Choice: RawRepresentable>(_ name: String, as type: Choice.Type = Choice.self) -> Choice?
  where Choice.RawValue == String {
    value(name).map { text in
      guard let choice = Choice(rawValue: text) else {
        preconditionFailure("--\(name) allows \"\(text)\", which \(Choice.self) does not know.")
      }
      return choice
    }
  }

  /// The values of an option that takes `KEY=WORD`, in order.
  package func pairs(_ name: String) -> [(key: String, word: String)] {
    values(name).map { text in
      guard let equals = text.firstIndex(of: "=") else {
        preconditionFailure("--\(name) is not declared as a pair.")
      }
      return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
  }

  /// An argument that must be there.
  package func argument(_ name: String) -> String {
    guard let value = arguments(name).first else { preconditionFailure("\(name) of \(path) may be absent.") }
    return value
  }

  /// An argument that may be absent.
  package func optionalArgument(_ name: String) -> String? {
    arguments(name).first
  }

  /// An argument that may be repeated, in order.
  package func arguments(_ name: String) -> [String] {
    precondition(specification.positionals.contains { $0.name == name }, "\(path) has no argument \(name).")
    return positionalValues[name] ?? []
  }

  private var path: String { specification.path.joined(separator: " ") }
}
