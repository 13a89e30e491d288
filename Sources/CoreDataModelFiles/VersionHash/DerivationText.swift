// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The text of a derivation expression as Core Data prints it, which is all that a derived attribute's hash holds.
///
/// Sources say `messages.@count`; an expression made from that prints itself as `count:(messages)`.
package enum DerivationText {
  /// The printed form of an expression.
  package static func text(of expression: ExpressionSyntax) -> String {
    switch expression {
    case .keyPath(let path):
      return text(ofKeyPath: path)
    case .function(nil, let name, let arguments):
      return "\(name)(\(arguments.map(text).joined(separator: ", ")))"
    case .keyPathOf(let operand, let path):
      return "\(text(of: operand)).\(path)"
    case .evaluatedObject:
      return "SELF"
    case .variable(let name):
      return "$\(name)"
    case .aggregate(let elements):
      return "{\(elements.map(text).joined(separator: ", "))}"
    case .constant(let value):
      return text(of: value)
    default:
      // Core Data derives from key paths and functions only; anything else still needs a text of its own.
      return String(describing: expression)
    }
  }

  private static func text(ofKeyPath path: String) -> String {
    let keys = path.split(separator: ".", omittingEmptySubsequences: false)
    guard let position = keys.firstIndex(where: { $0.hasPrefix("@") }), position > 0 else { return path }
    let operation = keys[position].dropFirst()
    guard ["count", "sum", "min", "max", "avg"].contains(operation) else { return path }
    let function = operation == "avg" ? "average" : String(operation)
    let collection = keys[..<position] + keys[(position + 1)...]
    return "\(function):(\(collection.joined(separator: ".")))"
  }

  private static func text(of value: PlainValue) -> String {
    switch value {
    case .null: "nil"
    case .boolean(let flag): flag ? "1" : "0"
    case .integer(let number): String(number)
    case .real(let number): String(number)
    case .decimal(let number): number.description
    case .string(let text): "\"\(text)\""
    default: String(describing: value)
    }
  }
}
