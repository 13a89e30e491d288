// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Generates predicates and expressions in the format language: mostly valid, of any shape and depth.
enum PredicateGrammar {
  private static let keys = [
    "name", "age", "badge", "steps", "isActive", "rating", "height", "salary", "hired", "photo", "scan", "token",
    "site",
    "tags", "mood", "department", "department.name", "projects", "projects.title", "friends.name", "manager.reports",
    "contract.number", "favourites.title", "SELF", "self.name", "nothing", "department.nothing", "@count",
    "projects.@count", "projects.@max.title", "friends.@sum.age", "friends.@avg.rating", "#size", "objectID",
  ]
  private static let constants = [
    "0", "1", "-1", "1.5", "1e308", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    "99999999999999999999999", "0x7FFFFFFFFFFFFFFF", "1e-400", "'text'", "\"\"", "'a\\'b'", "'\\u0041'", "'%'", "'*?'",
    "'[a-'", "'(a+)+$'", "'\\\\'", "nil", "NULL", "TRUE", "NO", "$variable", "$source.name", "%@", "%K", "%d", "{}",
    "{1, 2, 3}", "{'a', nil}", "{{1}, {2}}", "CAST(0, 'NSDate')", "CAST('x', 'NSNumber')", "CAST(1e300, 'NSDate')",
  ]
  private static let operators = [
    "==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "BEGINSWITH", "CONTAINS", "ENDSWITH", "LIKE", "MATCHES",
    "IN",
    "BETWEEN", "==[c]", "CONTAINS[cd]", "LIKE[n]", "MATCHES[c]", "BEGINSWITH[l]", "UTI-CONFORMS-TO",
  ]
  private static let functions = [
    "sum", "count", "min", "max", "average", "median", "mode", "stddev", "add:to", "from:subtract", "multiply:by",
    "divide:by", "modulus:by", "sqrt", "log", "ln", "raise:toPower", "exp", "ceiling", "abs", "trunc", "floor",
    "random",
    "random:", "now", "uppercase", "lowercase", "bitwiseAnd:with", "bitwiseOr:with", "bitwiseXor:with", "leftshift:by",
    "rightshift:by", "onesComplement", "noindex", "distanceToLocation:fromLocation", "length", "canonical", "nothing",
    "castObject:toType", "objectFrom:withIndex",
  ]

  /// Returns a predicate.
  static func predicate(_ random: inout FuzzRandom) -> String {
    if random.oneIn(40) { return deep(&random) }
    return predicate(&random, depth: random.small(7))
  }

  private static func predicate(_ random: inout FuzzRandom, depth: Int) -> String {
    if depth > 1 {
      switch random.below(6) {
      case 0: return "(\(predicate(&random, depth: depth - 1))) AND \(predicate(&random, depth: depth - 1))"
      case 1: return "\(predicate(&random, depth: depth - 1)) || (\(predicate(&random, depth: depth - 1)))"
      case 2: return "NOT (\(predicate(&random, depth: depth - 1)))"
      default: break
      }
    }
    switch random.below(20) {
    case 0: return "TRUEPREDICATE"
    case 1: return "FALSEPREDICATE"
    default:
      let modifier = random.oneIn(5) ? random.pick(["ANY ", "ALL ", "NONE ", "SOME ", "NOT "]) : ""
      return modifier + expression(&random, depth: depth) + " " + random.pick(operators) + " "
        + expression(&random, depth: depth)
    }
  }

  /// Returns an expression.
  static func expression(_ random: inout FuzzRandom, depth: Int) -> String {
    guard depth > 1 else { return random.oneIn(2) ? random.pick(keys) : random.pick(constants) }
    let inner = { (random: inout FuzzRandom) in expression(&random, depth: depth - 1) }
    switch random.below(12) {
    case 0: return "\(inner(&random)) \(random.pick(["+", "-", "*", "/", "**"])) \(inner(&random))"
    case 1: return "-\(inner(&random))"
    case 2: return "(\(inner(&random)))"
    case 3:
      let arguments = (0..<random.below(4)).map { _ in inner(&random) }.joined(separator: ", ")
      return "\(random.pick(functions)):(\(arguments))"
    case 4:
      let arguments = (0..<random.below(3)).map { _ in ", " + inner(&random) }.joined()
      return "FUNCTION(\(inner(&random)), '\(random.pick(functions)):'\(arguments))"
    case 5:
      return
        "SUBQUERY(\(inner(&random)), $x, $x.\(random.pick(keys)) \(random.pick(operators)) \(inner(&random))).@count"
    case 6: return "TERNARY(\(predicate(&random, depth: depth - 1)), \(inner(&random)), \(inner(&random)))"
    case 7: return "\(random.pick(keys))[\(random.oneIn(2) ? random.pick(["FIRST", "LAST", "SIZE"]) : inner(&random))]"
    case 8: return "{\((0..<random.below(5)).map { _ in inner(&random) }.joined(separator: ", "))}"
    case 9: return "CAST(\(inner(&random)), '\(random.pick(["NSDate", "NSNumber", "NSString", "Int", ""]))')"
    default: return random.oneIn(2) ? random.pick(keys) : random.pick(constants)
    }
  }

  /// Returns a predicate that nests or repeats a part many times.
  private static func deep(_ random: inout FuzzRandom) -> String {
    let count = random.pick([20, 190, 199, 201, 1_000, 20_000])
    func times(_ text: String) -> String { String(repeating: text, count: count) }
    switch random.below(12) {
    case 0: return times("(") + "a == 1" + times(")")
    case 1: return times("NOT ") + "a == 1"
    case 2: return times("a == 1 AND ") + "a == 1"
    case 3: return "a == " + times("1 + ") + "1"
    case 4: return "a == " + times("-") + "1"
    case 5: return "a IN " + times("{") + times("}")
    case 6: return times("a.") + "a == 1"
    case 7: return "a == " + times("lowercase:(") + "'x'" + times(")")
    case 8: return times("SUBQUERY(a, $x, ") + "1 == 1" + times(").@count > 0")
    case 9: return "a == " + times("2 ** ") + "2"
    case 10: return "a" + times("[0]") + " == 1"
    default: return times("TERNARY(1 == 1, ") + "1" + times(", 1)") + " == 1"
    }
  }
}
