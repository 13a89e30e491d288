// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Parses the format language of `NSPredicate` and `NSExpression` into syntax trees.
///
/// Because `(` may begin either, predicates and expressions are parsed by the same recursive descent. Its results are
/// `Node`s, and every operator states which kind it needs. Nesting is limited, so that no format can exhaust the stack.
public struct PredicateParser {
  enum Node {
    case predicate(PredicateSyntax)
    case expression(ExpressionSyntax)
  }

  /// The maximum nesting depth of parentheses and functions, and the maximum length of a chain of operators.
  public static let maximumDepth = 1_000
  /// The maximum height of the tree. Chains of operators in nested parentheses could otherwise make a tree that cannot
  /// be traversed or freed without exhausting the stack.
  public static let maximumHeight = 1_000

  /// The `expected` text of the error for a predicate that is nested too deeply.
  private static let simpler = "a simpler predicate"

  let format: String
  private let tokens: [(token: PredicateToken, position: Int)]
  /// For each token, its symbol or upper-case name, if it can be a reserved word.
  private let words: [String?]
  private var index = 0
  private var depth = 0
  /// The maximum depth reached so far.
  private var deepest = 0
  /// The height of the last tree parsed.
  private(set) var height = 0
  private var arguments: ArraySlice<PredicateArgument>

  private init(_ format: String, arguments: [PredicateArgument]) throws {
    self.format = format
    self.arguments = arguments[...]
    tokens = try PredicateLexer.tokens(of: format)
    words = tokens.map { token, _ in
      switch token {
      case .symbol(let symbol): symbol
      case .name(let name, isEscaped: false): name.uppercased()
      default: nil
      }
    }
  }

  /// Returns the placeholders of a format, such as `@`, `K` and `ld`, in order.
  ///
  /// - Throws: `PredicateSyntaxError`.
  package static func placeholders(in format: String) throws -> [String] {
    try PredicateLexer.tokens(of: format).compactMap { token, _ in
      if case .placeholder(let specifier) = token { return specifier }
      return nil
    }
  }

  /// Parses a predicate.
  ///
  /// - Parameters:
  ///   - format: The predicate in the format language.
  ///   - arguments: The values for `%@`, `%K` and the like, in order. Surplus arguments are ignored.
  /// - Throws: `PredicateSyntaxError`.
  public static func parse(_ format: String, arguments: [PredicateArgument] = []) throws -> PredicateSyntax {
    let parser = try PredicateParser(format, arguments: arguments)
    return try parser.withStack { parser in
      let predicate = try parser.wholePredicate()
      try parser.checkPrintable { $0.format(predicate) }
      return predicate
    }
  }

  /// Parses a single expression.
  ///
  /// - Throws: `PredicateSyntaxError`.
  public static func parseExpression(_ format: String, arguments: [PredicateArgument] = []) throws -> ExpressionSyntax {
    let parser = try PredicateParser(format, arguments: arguments)
    return try parser.withStack { parser in
      let start = parser.position
      let node = try parser.disjunction()
      try parser.expectEnd()
      let expression = try parser.expression(node, at: start)
      // Check it as an operand, because not every expression is a predicate.
      try parser.checkPrintable { $0.format(expression) + " == 0" }
      return expression
    }
  }

  /// Runs a body with a copy of the parser, on a thread with a large stack if the format may be nested deeply.
  private func withStack<Tree>(_ body: @escaping (inout PredicateParser) throws -> Tree) throws -> Tree {
    var parser = self
    let nesting = words.count { word in word.map(Self.nestingWords.contains) ?? false }
    if nesting <= LargeStack.depthWithout { return try body(&parser) }
    var result: Result<Tree, any Error>?
    guard LargeStack.run({ result = Result { try body(&parser) } }), let result else { throw tooDeep() }
    return try result.get()
  }

  /// The symbols and words that can begin another nesting level.
  private static let nestingWords: Set<String> = [
    "(", "{", "[", "!", "NOT", "-", "~", "+", "*", "/", "**", "%%", "|", "&", "^", "<<", ">>", "UNION", "INTERSECT",
    "MINUS",
  ]

  private mutating func wholePredicate() throws -> PredicateSyntax {
    let start = position
    let node = try disjunction()
    try expectEnd()
    return try predicate(node, at: start)
  }

  /// Throws an error if the printed text of a tree would be nested too deeply to be parsed again: printing can add
  /// parentheses, and each pair counts as a level.
  private func checkPrintable(_ print: (PredicatePrinter) -> String) throws {
    guard max(deepest, height) > Self.maximumDepth / 4 else { return }
    for style in [PredicatePrinter.Style.foundation, .exact] {
      do {
        var parser = try PredicateParser(print(PredicatePrinter(style: style)), arguments: [])
        _ = try parser.wholePredicate()
      } catch let error as PredicateSyntaxError where error.expected == Self.simpler {
        throw tooDeep()
      } catch {
        // The tree contains a value without a literal, passed as an argument. Its text cannot be parsed at any depth.
        continue
      }
    }
  }

  // MARK: Logic

  mutating func disjunction() throws -> Node {
    try deeper { parser in
      try parser.joined(by: ["||", "OR"], operand: { try $0.conjunction() }, result: PredicateSyntax.or)
    }
  }

  private mutating func conjunction() throws -> Node {
    try joined(by: ["&&", "AND"], operand: { try $0.negation() }, result: PredicateSyntax.and)
  }

  private mutating func joined(
    by operators: [String], operand: (inout PredicateParser) throws -> Node,
    result: ([PredicateSyntax]) -> PredicateSyntax
  ) throws -> Node {
    let start = position
    let first = try operand(&self)
    guard isAt(operators) else { return first }
    var operands = [try predicate(first, at: start)]
    var highest = height
    while accept(operators) {
      let start = position
      operands.append(try predicate(try operand(&self), at: start))
      highest = max(highest, height)
    }
    try join(highest)
    return .predicate(result(operands))
  }

  private mutating func negation() throws -> Node {
    guard accept(["!", "NOT"]) else { return try comparison() }
    return try deeper { parser in
      let start = parser.position
      let operand = try parser.predicate(try parser.negation(), at: start)
      try parser.join(parser.height)
      return .predicate(.not(operand))
    }
  }

  // MARK: Kinds

  func predicate(_ node: Node, at position: Int) throws -> PredicateSyntax {
    switch node {
    case .predicate(let predicate): return predicate
    case .expression(.constant(.boolean(let value))): return .constant(value)
    case .expression: throw failure("an expression", expected: "a predicate (a comparison of it)", at: position)
    }
  }

  func expression(_ node: Node, at position: Int) throws -> ExpressionSyntax {
    guard case .expression(let expression) = node else {
      throw failure("a predicate", expected: "an expression", at: position)
    }
    return expression
  }

  // MARK: Tokens

  var token: PredicateToken { tokens[index].token }
  var nextToken: PredicateToken { tokens[min(index + 1, tokens.count - 1)].token }
  var position: Int { tokens[index].position }
  var word: String? { words[index] }

  mutating func advance() {
    index = min(index + 1, tokens.count - 1)
  }

  /// Returns whether the current token is one of the given symbols or reserved words, ignoring case.
  func isAt(_ words: [String]) -> Bool {
    word.map(words.contains) ?? false
  }

  mutating func accept(_ words: [String]) -> Bool {
    guard isAt(words) else { return false }
    advance()
    return true
  }

  mutating func expect(_ symbol: String) throws {
    guard accept([symbol]) else { throw unexpected("'\(symbol)'") }
  }

  private func expectEnd() throws {
    guard token == .end else { throw unexpected("an operator or the end") }
  }

  mutating func nextArgument(for specifier: String) throws -> PredicateArgument {
    guard let argument = arguments.popFirst() else {
      throw failure("'%\(specifier)'", expected: "an argument for it", at: position)
    }
    return argument
  }

  // MARK: Depth and errors

  mutating func deeper<Result>(_ body: (inout PredicateParser) throws -> Result) throws -> Result {
    depth += 1
    deepest = max(deepest, depth)
    defer { depth -= 1 }
    guard depth <= Self.maximumDepth else { throw tooDeep() }
    return try body(&self)
  }

  /// Records that a single value, or a tree passed by the program, was parsed.
  mutating func noteLeaf() { height = 1 }

  /// Records that a node was built from trees of the given heights.
  mutating func join(_ heights: Int...) throws {
    height = (heights.max() ?? 0) + 1
    guard height <= Self.maximumHeight else { throw tooDeep() }
  }

  func tooDeep() -> PredicateSyntaxError {
    failure("nesting deeper than \(Self.maximumDepth)", expected: Self.simpler, at: position)
  }

  func unexpected(_ expected: String) -> PredicateSyntaxError {
    failure(token.description, expected: expected, at: position)
  }

  func failure(_ found: String, expected: String, at position: Int) -> PredicateSyntaxError {
    PredicateSyntaxError(format: format, position: position, found: found, expected: expected)
  }
}

/// Comparisons: `ANY books.title BEGINSWITH[cd] "a"`.
extension PredicateParser {
  private static let operators: [String: ComparisonSyntax.Operator] = [
    "=": .equalTo, "==": .equalTo, "!=": .notEqualTo, "<>": .notEqualTo, "<": .lessThan, "<=": .lessThanOrEqualTo,
    "=<": .lessThanOrEqualTo, ">": .greaterThan, ">=": .greaterThanOrEqualTo, "=>": .greaterThanOrEqualTo,
    "BETWEEN": .between, "IN": .in, "CONTAINS": .contains, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith,
    "LIKE": .like, "MATCHES": .matches,
  ]

  mutating func comparison() throws -> Node {
    if isAt(["ANY", "SOME"]) { return .predicate(.comparison(try comparison(modifier: .any))) }
    if isAt(["ALL"]) { return .predicate(.comparison(try comparison(modifier: .all))) }
    if isAt(["NONE"]) { return .predicate(.not(.comparison(try comparison(modifier: .any)))) }

    let start = position
    let left = try sum()
    guard comparisonOperator != nil else { return left }
    return .predicate(.comparison(try comparison(of: try expression(left, at: start), modifier: .direct)))
  }

  private mutating func comparison(modifier: ComparisonSyntax.Modifier) throws -> ComparisonSyntax {
    advance()
    let start = position
    return try comparison(of: try expression(try sum(), at: start), modifier: modifier)
  }

  private mutating func comparison(
    of left: ExpressionSyntax, modifier: ComparisonSyntax.Modifier
  ) throws -> ComparisonSyntax {
    guard let op = comparisonOperator else { throw unexpected("a comparison operator") }
    let leftHeight = height
    advance()
    let options = try self.options()
    let start = position
    let right = try expression(try sum(), at: start)
    try join(leftHeight, height)
    return ComparisonSyntax(left, op, right, modifier: modifier, options: options)
  }

  private var comparisonOperator: ComparisonSyntax.Operator? {
    switch token {
    case .symbol(let symbol): Self.operators[symbol]
    case .name(let name, isEscaped: false): Self.operators[name.uppercased()]
    default: nil
    }
  }

  private mutating func options() throws -> ComparisonSyntax.Options {
    guard accept(["["]) else { return [] }
    guard case .name(let letters, _) = token else { throw unexpected("the options c, d, n or l") }
    var options: ComparisonSyntax.Options = []
    for letter in letters.lowercased() {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      case "n": options.insert(.normalized)
      case "l": options.insert(.localeSensitive)
      default: throw unexpected("the options c, d, n or l")
      }
    }
    advance()
    try expect("]")
    return options
  }
}

/// Operators on expressions, and suffixes of operands: `.name`, `[0]`.
extension PredicateParser {
  /// The binary operators, from the lowest to the highest precedence. All bind tighter than comparisons.
  private static let levels: [[String]] = [
    ["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-", "UNION", "INTERSECT", "MINUS"], ["*", "/", "%%"], ["**"],
  ]

  mutating func sum() throws -> Node { try operation(from: 0) }

  /// Parses an operand and the operators that follow it, from the given precedence level upwards.
  private mutating func operation(from level: Int) throws -> Node {
    var start = position
    let first = try sign()
    guard nextOperator(from: level) != nil else { return first }
    var result = try expression(first, at: start)
    var length = 0
    var reached = height
    while let (symbol, found) = nextOperator(from: level) {
      advance()
      start = position
      length += 1
      // Every operator makes the tree deeper by one level.
      guard length <= Self.maximumDepth else { throw tooDeep() }
      result = Self.apply(symbol, result, try expression(try operation(from: found + 1), at: start))
      try join(reached, height)
      reached = height
    }
    return .expression(result)
  }

  private func nextOperator(from level: Int) -> (symbol: String, level: Int)? {
    guard let word else { return nil }
    return Self.levels.indices.dropFirst(level).first { Self.levels[$0].contains(word) }.map { (word, $0) }
  }

  private static func apply(_ symbol: String, _ left: ExpressionSyntax, _ right: ExpressionSyntax) -> ExpressionSyntax {
    switch symbol {
    case "UNION": return .union(left, right)
    case "INTERSECT": return .intersect(left, right)
    case "MINUS": return .minus(left, right)
    default:
      let name = PredefinedFunction.operators.first { $0.value == symbol }?.key ?? "modulus:by:"
      return .function(operand: nil, name: name, arguments: [left, right])
    }
  }

  private mutating func sign() throws -> Node {
    if isAt(["~"]) {
      return try deeper { parser in
        parser.advance()
        let start = parser.position
        let operand = try parser.expression(try parser.sign(), at: start)
        try parser.join(parser.height)
        return .expression(.function(operand: nil, name: PredefinedFunction.complement, arguments: [operand]))
      }
    }
    guard accept(["-"]) else { return try postfix() }
    if case .number(let text) = token {
      let value = try number(text, isNegative: true)
      advance()
      noteLeaf()
      return .expression(.constant(value))
    }
    return try deeper { parser in
      let start = parser.position
      let operand = try parser.expression(try parser.sign(), at: start)
      try parser.join(parser.height)
      return .expression(.function(operand: nil, name: "from:subtract:", arguments: [.constant(.integer(0)), operand]))
    }
  }

  private mutating func postfix() throws -> Node {
    let start = position
    let first = try primary()
    guard isAt([".", "["]) else { return first }
    var result = try expression(first, at: start)
    var length = 0
    var reached = height
    while isAt([".", "["]) {
      length += 1
      guard length <= Self.maximumDepth else { throw tooDeep() }
      if accept(["."]) {
        result = Self.join(result, try pathComponent())
        try join(reached)
      } else {
        advance()
        let index = try elementIndex()
        try expect("]")
        result = .function(operand: nil, name: PredefinedFunction.index, arguments: [result, index])
        try join(reached, height)
      }
      reached = height
    }
    return .expression(result)
  }

  private static func join(_ expression: ExpressionSyntax, _ component: String) -> ExpressionSyntax {
    switch expression {
    case .evaluatedObject: .keyPath(component)
    case .keyPath(let path): .keyPath(path + "." + component)
    case .keyPathOf(let operand, let path): .keyPathOf(operand, path + "." + component)
    default: .keyPathOf(expression, component)
    }
  }

  private mutating func pathComponent() throws -> String {
    switch token {
    case .name(let name, _), .collectionOperator(let name):
      advance()
      return name
    case .placeholder("K"):
      let path = try keyPathArgument()
      advance()
      return path
    default:
      throw unexpected("a key")
    }
  }

  private mutating func elementIndex() throws -> ExpressionSyntax {
    if case .name(let name, isEscaped: false) = token, nextToken == .symbol("]"),
      PredefinedFunction.symbolicIndexes.contains(name.uppercased())
    {
      advance()
      noteLeaf()
      return .function(operand: nil, name: name.uppercased(), arguments: [])
    }
    let start = position
    return try deeper { parser in try parser.expression(try parser.sum(), at: start) }
  }

  /// Returns the value of a number literal: a real if it needs more than 64 bits.
  func number(_ text: String, isNegative: Bool) throws -> PlainValue {
    let sign = isNegative ? "-" : ""
    for (mark, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where text.lowercased().hasPrefix(mark) {
      guard let value = Int64(sign + text.dropFirst(2), radix: radix) else {
        throw unexpected("a number of 64 bits to the base \(radix)")
      }
      return .integer(value)
    }
    if let value = Int64(sign + text) { return .integer(value) }
    guard let value = Double(sign + text) else { throw unexpected("a number") }
    return .real(value)
  }
}

/// An argument for `%@`, `%K`, `%d` and the like in a predicate format.
public enum PredicateArgument: Hashable, Sendable {
  case value(PlainValue)
  case expression(ExpressionSyntax)
  case predicate(PredicateSyntax)
}

/// An error at a position of a predicate format.
public struct PredicateSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The complete format.
  public let format: String
  /// The number of characters before the error.
  public let position: Int
  /// What was found at the position.
  public let found: String
  /// What was expected instead.
  public let expected: String

  /// Creates an error at a position of a format.
  public init(format: String, position: Int, found: String, expected: String) {
    self.format = format
    self.position = position
    self.found = found
    self.expected = expected
  }

  /// A sentence with the position, what was found and what was expected. Quotes about 80 characters around the position
  /// of a long format.
  public var description: String {
    let found = found.count > Self.longestPart ? "\(found.prefix(Self.longestPart))…" : found
    return "Unable to parse the format string \"\(excerpt)\": at character \(position + 1) there is \(found), "
      + "but \(expected) was expected."
  }

  private static let longestPart = 40

  private var excerpt: String {
    guard format.count > 2 * Self.longestPart else { return format }
    let rest = format.dropFirst(max(0, position - Self.longestPart))
    let start = position > Self.longestPart ? "…" : ""
    let part = rest.prefix(2 * Self.longestPart)
    return start + part + (part.endIndex < format.endIndex ? "…" : "")
  }
}
