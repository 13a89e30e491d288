// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
