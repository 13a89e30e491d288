// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Prints syntax trees in the format language of `NSPredicate` and `NSExpression`.
public struct PredicatePrinter {
  /// How to print values for which the language has no literal.
  public enum Style: Sendable {
    /// Like `predicateFormat`: booleans as 1 and 0, decimals as numbers.
    case foundation
    /// Parsing the text yields an equal tree.
    case exact
  }

  let style: Style

  /// Creates a printer.
  public init(style: Style = .foundation) {
    self.style = style
  }

  // MARK: Predicates

  /// Returns the format of a predicate.
  public func format(_ predicate: PredicateSyntax) -> String {
    switch predicate {
    case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let comparison): format(comparison)
    case .and(let operands): operands.isEmpty ? "TRUEPREDICATE" : operands.map(operand).joined(separator: " AND ")
    case .or(let operands): operands.isEmpty ? "FALSEPREDICATE" : operands.map(operand).joined(separator: " OR ")
    // Each pair of parentheses counts as a level when the text is parsed again.
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

  /// Returns the format of an expression.
  public func format(_ expression: ExpressionSyntax) -> String {
    switch expression {
    case .constant(let value): format(value)
    case .evaluatedObject: "SELF"
    case .variable(let name): "$" + name
    case .keyPath(let path): escaped(path)
    case .keyPathOf(let operand, let path): enclosed(operand) + "." + quotingKeys(path)
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
      let collection = enclosed(arguments[0])
      // A sign binds to a number more tightly than brackets do.
      return (collection.hasPrefix("-") ? "(\(collection))" : collection) + "[" + format(arguments[1]) + "]"
    }
    if PredefinedFunction.symbolicIndexes.contains(name), arguments.isEmpty { return name }
    let callee = name == PredefinedFunction.cast ? "CAST" : name
    return callee + "(" + arguments.map(format).joined(separator: ", ") + ")"
  }

  /// Returns the format of an expression as an operand, in parentheses if it is an operation.
  private func enclosed(_ expression: ExpressionSyntax) -> String {
    let isOperation: Bool
    switch expression {
    case .function(nil, let name, _):
      isOperation = PredefinedFunction.operators[name] != nil || name == PredefinedFunction.complement
    case .union, .intersect, .minus: isOperation = true
    // A number followed by a dot would be parsed as a fraction.
    case .constant(.integer), .constant(.real), .constant(.decimal), .constant(.boolean): isOperation = style == .exact
    default: isOperation = false
    }
    return isOperation ? "(" + format(expression) + ")" : format(expression)
  }

  /// Returns a key path with `#` before a reserved word. Only the first key can be mistaken for one.
  private func escaped(_ path: String) -> String {
    let first = path.prefix { $0 != "." }
    return ReservedWords.all.contains(first.uppercased()) ? "#" + path : quotingKeys(path)
  }

  /// Returns a key path in which keys with characters that end a name are quoted, as in `#"a-b"`.
  private func quotingKeys(_ path: String) -> String {
    path.split(separator: ".", omittingEmptySubsequences: false).map { key in
      let isPlain = key.allSatisfy { $0.isLetter || $0.isWholeNumber || $0 == "_" || $0 == "$" || $0 == "@" }
      return isPlain ? String(key) : "#" + quoted(String(key))
    }.joined(separator: ".")
  }

  func list(_ elements: [String]) -> String {
    "{" + elements.joined(separator: ", ") + "}"
  }
}

/// Constants, printed as a literal, a cast, or just a description.
extension PredicatePrinter {
  func format(_ value: PlainValue) -> String {
    switch value {
    case .null: "nil"
    case .boolean(let value): style == .exact ? (value ? "YES" : "NO") : (value ? "1" : "0")
    case .integer(let value): String(value)
    case .real(let value): format(value)
    case .decimal(let value): style == .exact ? cast(quoted(value.description), "NSDecimalNumber") : value.description
    case .string(let text): quoted(text)
    case .date(let date): cast(seconds(date.timeIntervalSinceReferenceDate), "NSDate")
    case .data(let data): cast(quoted(data.base64EncodedString()), "NSData")
    case .uuid(let uuid): cast(quoted(uuid.uuidString), "NSUUID")
    case .url(let url): cast(quoted(url.absoluteString), "NSURL")
    case .array(let elements): collection(elements.map(format), "NSArray")
    case .set(let elements): collection(elements.map(format), "NSSet")
    case .dictionary(let dictionary):
      collection(dictionary.sorted { $0.key < $1.key }.flatMap { [quoted($0.key), format($0.value)] }, "NSDictionary")
    case .object(let object): String(describing: object.value)
    }
  }

  private func collection(_ elements: [String], _ type: String) -> String {
    style == .exact || type == "NSDictionary" ? cast(list(elements), type) : list(elements)
  }

  private func format(_ value: Double) -> String {
    guard value.isFinite else { return cast(quoted(value.description), "Double") }
    guard style == .foundation else { return value.description }
    return Int64(exactly: value).map(String.init) ?? value.description
  }

  /// Returns the seconds of a date with six decimals, like Foundation, or more if six lose precision.
  private func seconds(_ interval: Double) -> String {
    let text = String(format: "%f", interval)
    return style == .foundation || Double(text) == interval ? text : interval.description
  }

  private func cast(_ value: String, _ type: String) -> String {
    "CAST(\(value), \"\(type)\")"
  }

  func quoted(_ text: String) -> String {
    var result = "\""
    for character in text {
      switch character {
      case "\"", "\\": result += "\\" + String(character)
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      default: result.append(character)
      }
    }
    return result + "\""
  }
}

/// Derivation expressions, in the form used by version hashes.
extension PredicatePrinter {
  private static let functions = [
    "@count": "count:", "@sum": "sum:", "@min": "min:", "@max": "max:", "@avg": "average:",
  ]

  /// Returns the format of a derivation expression from which version hashes are computed: `count:(pages)` for
  /// `pages.@count`, `sum:(items.price)` for `items.@sum.price`.
  public static func derivationFormat(_ expression: ExpressionSyntax) -> String {
    PredicatePrinter().format(withFunctions(expression))
  }

  /// Returns an expression with collection operators replaced by functions of the key path.
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

  /// Returns an expression with collection operators at the end of the key path in place of aggregate functions:
  /// `items.price.@sum` for both `sum:(items.price)` and `items.@sum.price`.
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
