// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The form in which derivation expressions enter version hashes.
extension PredicatePrinter {
  private static let functions = [
    "@count": "count:", "@sum": "sum:", "@min": "min:", "@max": "max:", "@avg": "average:",
  ]

  /// The format of a derivation expression: `pages.@count` is `count:(pages)`, `items.@sum.price` is
  /// `sum:(items.price)`. Version hashes are made from this text.
  public static func derivationFormat(_ expression: ExpressionSyntax) -> String {
    PredicatePrinter().format(withFunctions(expression))
  }

  /// An expression whose collection operators are functions of the key path.
  public static func withFunctions(_ expression: ExpressionSyntax) -> ExpressionSyntax {
    switch expression {
    case .keyPath(let path):
      guard let (name, plainPath) = split(path), !plainPath.isEmpty else { return expression }
      return .function(operand: nil, name: name, arguments: [.keyPath(plainPath)])
    case .function(let operand, let name, let arguments):
      return .function(operand: operand, name: name, arguments: arguments.map(withFunctions))
    default:
      return expression
    }
  }

  /// An expression whose aggregate functions of a key path are collection operators at its end: `sum:(items.price)` is
  /// `items.price.@sum`, and so is `items.@sum.price`.
  public static func withOperators(_ expression: ExpressionSyntax) -> ExpressionSyntax {
    switch withFunctions(expression) {
    case .function(nil, let name, let arguments):
      guard let symbol = functions.first(where: { $0.value == name })?.key, case .keyPath(let path)? = arguments.first,
        arguments.count == 1
      else { return .function(operand: nil, name: name, arguments: arguments.map(withOperators)) }
      return .keyPath("\(path).\(symbol)")
    case let other: return other
    }
  }

  private static func split(_ path: String) -> (function: String, path: String)? {
    let keys = path.split(separator: ".").map(String.init)
    guard let index = keys.firstIndex(where: { functions[$0] != nil }), let name = functions[keys[index]] else {
      return nil
    }
    return (name, (keys[..<index] + keys[(index + 1)...]).joined(separator: "."))
  }
}
