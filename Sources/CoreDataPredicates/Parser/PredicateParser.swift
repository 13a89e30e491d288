// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Reads the format language of `NSPredicate` and `NSExpression` into trees.
///
/// One descent reads predicates and expressions alike, because `(` may begin either; what was read is a `Node`, and
/// every operator says which kind it needs. Nesting is bounded, so that no format can exhaust the stack.
public struct PredicateParser {
  enum Node {
    case predicate(PredicateSyntax)
    case expression(ExpressionSyntax)
  }

  /// How deep parentheses and functions may nest, and how long a chain of operators may be.
  public static let maximumDepth = 200
  /// How high the tree may be: chains of operators in nested parentheses would make one that nothing could walk over, or
  /// free, without exhausting the stack.
  public static let maximumHeight = 400

  /// What is expected in the place of a predicate that nests too deep.
  private static let simpler = "a simpler predicate"

  let format: String
  private let tokens: [(token: PredicateToken, position: Int)]
  /// The symbol, or the name in capitals, that each token is, where it can be a reserved word.
  private let words: [String?]
  private var index = 0
  private var depth = 0
  /// The greatest depth so far.
  private var deepest = 0
  /// The height of the tree that was read last.
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

  /// Reads a predicate.
  ///
  /// - Parameters:
  ///   - format: The predicate in the format language.
  ///   - arguments: What stands for `%@`, `%K` and the like, in order. More than needed are ignored.
  /// - Throws: `PredicateSyntaxError`.
  public static func parse(_ format: String, arguments: [PredicateArgument] = []) throws -> PredicateSyntax {
    var parser = try PredicateParser(format, arguments: arguments)
    let predicate = try parser.wholePredicate()
    try parser.checkPrintable { $0.format(predicate) }
    return predicate
  }

  /// Reads a single expression.
  ///
  /// - Throws: `PredicateSyntaxError`.
  public static func parseExpression(
    _ format: String, arguments: [PredicateArgument] = []
  ) throws -> ExpressionSyntax {
    var parser = try PredicateParser(format, arguments: arguments)
    let start = parser.position
    let node = try parser.disjunction()
    try parser.expectEnd()
    let expression = try parser.expression(node, at: start)
    // As an operand, since not every expression is a predicate.
    try parser.checkPrintable { $0.format(expression) + " == 0" }
    return expression
  }

  private mutating func wholePredicate() throws -> PredicateSyntax {
    let start = position
    let node = try disjunction()
    try expectEnd()
    return try predicate(node, at: start)
  }

  /// Refuses a tree whose text could not be read again: printing puts parentheses where the text at hand has none, and each
  /// pair of them counts as a level.
  private func checkPrintable(_ print: (PredicatePrinter) -> String) throws {
    guard max(deepest, height) > Self.maximumDepth / 4 else { return }
    for style in [PredicatePrinter.Style.foundation, .exact] {
      do {
        var parser = try PredicateParser(print(PredicatePrinter(style: style)), arguments: [])
        _ = try parser.wholePredicate()
      } catch let error as PredicateSyntaxError where error.expected == Self.simpler {
        throw tooDeep()
      } catch {
        // A value without a literal, which only the program has.
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

  /// Whether a symbol or reserved word stands here; words in any case.
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

  /// Notes that a single value, or a tree that the program has made, was read.
  mutating func noteLeaf() { height = 1 }

  /// Notes that a node was made of trees of these heights.
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
