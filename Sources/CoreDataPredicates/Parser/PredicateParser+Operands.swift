// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Operands: literals, names, functions, placeholders and parenthesized expressions.
extension PredicateParser {
  mutating func primary() throws -> Node {
    noteLeaf()
    switch token {
    case .string(let text): return literal(.string(text))
    case .number(let text): return literal(try number(text, isNegative: false))
    case .variable(let name):
      advance()
      return .expression(.variable(name))
    case .collectionOperator(let name):
      advance()
      return .expression(.keyPath(name))
    case .placeholder(let specifier): return try placeholder(specifier)
    case .selector(let name):
      guard PredefinedFunction.argumentCounts.keys.contains(name) else { throw unexpected("the name of a function") }
      return try function(name)
    case .name(let name, isEscaped: true):
      advance()
      return .expression(.keyPath(name))
    case .name(let name, isEscaped: false): return try word(name)
    case .symbol("("):
      advance()
      let node = try disjunction()
      try expect(")")
      return node
    case .symbol("{"):
      advance()
      return .expression(.aggregate(try list(closing: "}")))
    case .symbol, .end: throw unexpected("a value or a key path")
    }
  }

  private mutating func literal(_ value: PlainValue) -> Node {
    advance()
    return .expression(.constant(value))
  }

  private mutating func word(_ name: String) throws -> Node {
    if nextToken == .symbol("(") {
      if let node = try reservedFunction(name.uppercased()) { return node }
      guard let function = PredefinedFunction.fullName(name) else { throw unexpected("the name of a function") }
      return try self.function(function)
    }
    switch name.uppercased() {
    case "NULL", "NIL": return literal(.null)
    case "TRUE", "YES": return literal(.boolean(true))
    case "FALSE", "NO": return literal(.boolean(false))
    case "TRUEPREDICATE", "FALSEPREDICATE":
      advance()
      return .predicate(.constant(name.uppercased() == "TRUEPREDICATE"))
    case "SELF":
      advance()
      return .expression(.evaluatedObject)
    case "ANYKEY":
      advance()
      return .expression(.anyKey)
    case let word where ReservedWords.operators.contains(word):
      throw unexpected("a value or a key path (write #\(name) for a key of that name)")
    default:
      advance()
      return .expression(.keyPath(name))
    }
  }

  // MARK: Functions

  private mutating func function(_ name: String) throws -> Node {
    let start = position
    advance()
    try expect("(")
    let arguments = try list(closing: ")")
    if let count = PredefinedFunction.argumentCounts[name] ?? nil, count != arguments.count {
      throw failure("\(arguments.count) arguments of \(name)", expected: "\(count)", at: start)
    }
    return .expression(Cast.folded(.function(operand: nil, name: name, arguments: arguments)))
  }

  private mutating func reservedFunction(_ name: String) throws -> Node? {
    guard ["FUNCTION", "CAST", "SUBQUERY", "TERNARY", "FETCH"].contains(name) else { return nil }
    let start = position
    advance()
    try expect("(")
    switch name {
    case "SUBQUERY": return .expression(try subquery())
    case "TERNARY": return .expression(try conditional())
    default: break
    }
    let arguments = try list(closing: ")")
    switch (name, arguments.count) {
    case ("CAST", 2):
      return .expression(Cast.folded(.function(operand: nil, name: PredefinedFunction.cast, arguments: arguments)))
    case ("FUNCTION", 2...):
      guard case .constant(.string(let selector)) = arguments[1] else {
        throw failure("FUNCTION", expected: "the name of a method as its second argument", at: start)
      }
      return .expression(.function(operand: arguments[0], name: selector, arguments: Array(arguments.dropFirst(2))))
    case ("FETCH", 3):
      let countOnly: Bool
      switch arguments[2] {
      case .constant(.boolean(let flag)): countOnly = flag
      case .constant(.integer(let flag)): countOnly = flag != 0
      default: throw failure("FETCH", expected: "YES or NO as its third argument", at: start)
      }
      return .expression(.fetch(request: arguments[0], context: arguments[1], countOnly: countOnly))
    default:
      throw failure("\(name) of \(arguments.count) arguments", expected: "another number of them", at: start)
    }
  }

  private mutating func subquery() throws -> ExpressionSyntax {
    let start = position
    let collection = try expression(try disjunction(), at: start)
    let collectionHeight = height
    try expect(",")
    guard case .variable(let variable) = token else { throw unexpected("a variable such as $x") }
    advance()
    try expect(",")
    let predicateStart = position
    let predicate = try self.predicate(try disjunction(), at: predicateStart)
    try join(collectionHeight, height)
    try expect(")")
    return .subquery(collection: collection, variable: variable, predicate: predicate)
  }

  private mutating func conditional() throws -> ExpressionSyntax {
    let start = position
    let condition = try predicate(try disjunction(), at: start)
    let conditionHeight = height
    try expect(",")
    let trueStart = position
    let whenTrue = try expression(try disjunction(), at: trueStart)
    let trueHeight = height
    try expect(",")
    let falseStart = position
    let whenFalse = try expression(try disjunction(), at: falseStart)
    try join(conditionHeight, trueHeight, height)
    try expect(")")
    return .conditional(condition, whenTrue, whenFalse)
  }

  private mutating func list(closing: String) throws -> [ExpressionSyntax] {
    noteLeaf()
    if accept([closing]) { return [] }
    var elements: [ExpressionSyntax] = []
    var highest = 0
    repeat {
      let start = position
      elements.append(try expression(try disjunction(), at: start))
      highest = max(highest, height)
    } while accept([","])
    try join(highest)
    guard accept([closing]) else { throw unexpected("',' or '\(closing)'") }
    return elements
  }

  // MARK: Placeholders

  /// Returns the key path passed for the current `%K`.
  mutating func keyPathArgument() throws -> String {
    guard case .value(.string(let path)) = try nextArgument(for: "K") else {
      throw failure("an argument of another type for '%K'", expected: "a key path as a string", at: position)
    }
    return path
  }

  private mutating func placeholder(_ specifier: String) throws -> Node {
    let node: Node
    switch specifier {
    case "K":
      let path = try keyPathArgument()
      node = .expression(path.uppercased() == "SELF" ? .evaluatedObject : .keyPath(path))
    case "@":
      switch try nextArgument(for: specifier) {
      case .value(let value): node = .expression(.constant(value))
      case .expression(let expression): node = .expression(expression)
      case .predicate(let predicate): node = .predicate(predicate)
      }
    default:
      node = .expression(.constant(try plainArgument(specifier)))
    }
    advance()
    return node
  }

  private mutating func plainArgument(_ specifier: String) throws -> PlainValue {
    let isReal = ["f", "lf", "g", "e"].contains(specifier)
    let isText = ["s", "S", "c", "C"].contains(specifier)
    switch try nextArgument(for: specifier) {
    case .value(.string(let text)) where isText: return .string(text)
    case .value(.boolean(let flag)): return isReal ? .real(flag ? 1 : 0) : .integer(flag ? 1 : 0)
    case .value(.integer(let number)): return isReal ? .real(Double(number)) : .integer(number)
    case .value(.real(let number)):
      if isReal { return .real(number) }
      return Int64(exactly: number.rounded(.towardZero)).map { .integer($0) } ?? .real(number)
    case .value(.decimal(let number)): return .decimal(number)
    default:
      let wanted = isText ? "a string" : "a number"
      throw failure("an argument of another type for '%\(specifier)'", expected: wanted, at: position)
    }
  }
}

/// Evaluates `CAST(…)` of constants, which expresses dates and other values without a literal.
enum Cast {
  /// Returns the constant for a cast of a constant, or the expression unchanged.
  static func folded(_ expression: ExpressionSyntax) -> ExpressionSyntax {
    guard case .function(operand: nil, name: PredefinedFunction.cast, let arguments) = expression,
      arguments.count == 2, case .constant(.string(let type)) = arguments[1]
    else { return expression }
    switch arguments[0] {
    case .constant(let value):
      return constant(value, type).map { .constant($0) } ?? expression
    case .aggregate(let elements):
      return collection(elements, type).map { .constant($0) } ?? expression
    default:
      return expression
    }
  }

  private static func constant(_ value: PlainValue, _ type: String) -> PlainValue? {
    switch (type, value) {
    case ("NSDate", .real(let seconds)): .date(Date(timeIntervalSinceReferenceDate: seconds))
    case ("NSDate", .integer(let seconds)): .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case ("NSDecimalNumber", .string(let text)):
      Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).map { .decimal($0) }
    case ("NSUUID", .string(let text)): UUID(uuidString: text).map { .uuid($0) }
    case ("NSURL", .string(let text)): URL(string: text).map { .url($0) }
    case ("NSData", .string(let text)): Data(base64Encoded: text).map { .data($0) }
    case ("Double", .string(let text)): Double(text).map { .real($0) }
    default: nil
    }
  }

  private static func collection(_ elements: [ExpressionSyntax], _ type: String) -> PlainValue? {
    var values: [PlainValue] = []
    for element in elements {
      guard case .constant(let value) = element else { return nil }
      values.append(value)
    }
    switch type {
    case "NSArray": return .array(values)
    case "NSSet": return .set(values)
    case "NSDictionary":
      guard values.count.isMultiple(of: 2) else { return nil }
      var dictionary: [String: PlainValue] = [:]
      for index in stride(from: 0, to: values.count, by: 2) {
        guard case .string(let key) = values[index] else { return nil }
        dictionary[key] = values[index + 1]
      }
      return .dictionary(dictionary)
    default: return nil
    }
  }
}
