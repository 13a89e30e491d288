// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Writes trees in the format language of `NSPredicate` and `NSExpression`.
public struct PredicatePrinter {
  /// How values are written that the language has no literal for.
  public enum Style: Sendable {
    /// As `predicateFormat` does: booleans as 1 and 0, decimals as numbers.
    case foundation
    /// So that reading the text gives an equal tree.
    case exact
  }

  let style: Style

  /// Makes a printer.
  public init(style: Style = .foundation) {
    self.style = style
  }

  // MARK: Predicates

  /// The format of a predicate.
  public func format(_ predicate: PredicateSyntax) -> String {
    switch predicate {
    case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let comparison): format(comparison)
    case .and(let operands): operands.isEmpty ? "TRUEPREDICATE" : operands.map(operand).joined(separator: " AND ")
    case .or(let operands): operands.isEmpty ? "FALSEPREDICATE" : operands.map(operand).joined(separator: " OR ")
    // Each pair of parentheses counts as a level when the text is read again.
    case .not(.not(let predicate)): "NOT " + format(.not(predicate))
    case .not(let predicate): "NOT " + operand(predicate)
    }
  }

  private func operand(_ predicate: PredicateSyntax) -> String {
    switch predicate {
    case .constant, .comparison: format(predicate)
    case .and, .or, .not: "(" + format(predicate) + ")"
    }
  }

  private func format(_ comparison: ComparisonSyntax) -> String {
    let modifier =
      switch comparison.modifier {
      case .direct: ""
      case .all: "ALL "
      case .any: "ANY "
      }
    let op = comparison.op == .customSelector ? comparison.selector ?? "" : Self.symbols[comparison.op] ?? ""
    return "\(modifier)\(format(comparison.left)) \(op)\(options(comparison.options)) \(format(comparison.right))"
  }

  private static let symbols: [ComparisonSyntax.Operator: String] = [
    .lessThan: "<", .lessThanOrEqualTo: "<=", .greaterThan: ">", .greaterThanOrEqualTo: ">=", .equalTo: "==",
    .notEqualTo: "!=", .matches: "MATCHES", .like: "LIKE", .beginsWith: "BEGINSWITH", .endsWith: "ENDSWITH",
    .in: "IN", .contains: "CONTAINS", .between: "BETWEEN",
  ]

  private func options(_ options: ComparisonSyntax.Options) -> String {
    let letters: [(ComparisonSyntax.Options, String)] = [
      (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
    ]
    let text = letters.filter { options.contains($0.0) }.map(\.1).joined()
    return text.isEmpty ? "" : "[\(text)]"
  }

  // MARK: Expressions

  /// The format of an expression.
  public func format(_ expression: ExpressionSyntax) -> String {
    switch expression {
    case .constant(let value): format(value)
    case .evaluatedObject: "SELF"
    case .variable(let name): "$" + name
    case .keyPath(let path): escaped(path)
    case .keyPathOf(let operand, let path): enclosed(operand) + "." + path
    case .anyKey: "ANYKEY"
    case .function(nil, let name, let arguments): function(name, arguments)
    case .function(let operand?, let name, let arguments):
      "FUNCTION(" + ([format(operand), quoted(name)] + arguments.map(format)).joined(separator: ", ") + ")"
    case .aggregate(let elements): list(elements.map(format))
    case .union(let left, let right): enclosed(left) + " UNION " + enclosed(right)
    case .intersect(let left, let right): enclosed(left) + " INTERSECT " + enclosed(right)
    case .minus(let left, let right): enclosed(left) + " MINUS " + enclosed(right)
    case .subquery(let collection, let variable, let predicate):
      "SUBQUERY(\(format(collection)), $\(variable), \(format(predicate)))"
    case .conditional(let condition, let whenTrue, let whenFalse):
      "TERNARY(\(format(condition)), \(format(whenTrue)), \(format(whenFalse)))"
    case .fetch(let request, let context, let countOnly):
      "FETCH(\(format(request)), \(format(context)), \(countOnly ? "YES" : "NO"))"
    }
  }

  private func function(_ name: String, _ arguments: [ExpressionSyntax]) -> String {
    if let symbol = PredefinedFunction.operators[name], arguments.count == 2 {
      return enclosed(arguments[0]) + " \(symbol) " + enclosed(arguments[1])
    }
    if name == PredefinedFunction.complement, arguments.count == 1 { return "~" + enclosed(arguments[0]) }
    if name == PredefinedFunction.index, arguments.count == 2 {
      return enclosed(arguments[0]) + "[" + format(arguments[1]) + "]"
    }
    if PredefinedFunction.symbolicIndexes.contains(name), arguments.isEmpty { return name }
    let callee = name == PredefinedFunction.cast ? "CAST" : name
    return callee + "(" + arguments.map(format).joined(separator: ", ") + ")"
  }

  /// The format of an expression as an operand: in parentheses if it is an operation itself.
  private func enclosed(_ expression: ExpressionSyntax) -> String {
    let isOperation: Bool
    switch expression {
    case .function(nil, let name, _):
      isOperation = PredefinedFunction.operators[name] != nil || name == PredefinedFunction.complement
    case .union, .intersect, .minus: isOperation = true
    // A number and a dot would be read as a fraction.
    case .constant(.integer), .constant(.real), .constant(.decimal), .constant(.boolean): isOperation = style == .exact
    default: isOperation = false
    }
    return isOperation ? "(" + format(expression) + ")" : format(expression)
  }

  /// A key path whose reserved words carry `#`; only the first key can be taken for one.
  private func escaped(_ path: String) -> String {
    let first = path.prefix { $0 != "." }
    return ReservedWords.all.contains(first.uppercased()) ? "#" + path : path
  }

  func list(_ elements: [String]) -> String {
    "{" + elements.joined(separator: ", ") + "}"
  }
}
