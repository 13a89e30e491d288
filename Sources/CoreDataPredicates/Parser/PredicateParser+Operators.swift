// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Operators on expressions, and what may follow an operand: `.name`, `[0]`.
extension PredicateParser {
  /// The operators between expressions, from the loosest to the tightest; all of them tighter than comparisons.
  private static let levels: [[String]] = [
    ["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-", "UNION", "INTERSECT", "MINUS"], ["*", "/", "%%"], ["**"],
  ]

  mutating func sum() throws -> Node { try operation(from: 0) }

  /// An operand, and what operators of a level or tighter ones make of it and what follows.
  private mutating func operation(from level: Int) throws -> Node {
    var start = position
    let first = try sign()
    guard operatorAhead(from: level) != nil else { return first }
    var result = try expression(first, at: start)
    var length = 0
    var reached = height
    while let (symbol, found) = operatorAhead(from: level) {
      advance()
      start = position
      length += 1
      // Every link makes the tree deeper by one.
      guard length <= Self.maximumDepth else { throw tooDeep() }
      result = Self.apply(symbol, result, try expression(try operation(from: found + 1), at: start))
      try join(reached, height)
      reached = height
    }
    return .expression(result)
  }

  private func operatorAhead(from level: Int) -> (symbol: String, level: Int)? {
    guard let word else { return nil }
    return Self.levels.indices.dropFirst(level).first { Self.levels[$0].contains(word) }.map { (word, $0) }
  }

  private static func apply(
    _ symbol: String, _ left: ExpressionSyntax, _ right: ExpressionSyntax
  ) -> ExpressionSyntax {
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
      return .expression(
        .function(operand: nil, name: "from:subtract:", arguments: [.constant(.integer(0)), operand]))
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
        let index = try self.index()
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

  private mutating func index() throws -> ExpressionSyntax {
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

  /// The value of a number as it is written; beyond 64 bits it is a real.
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
