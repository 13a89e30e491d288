// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The words of the format language that cannot be used as keys.
enum ReservedWords {
  static let operators: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "UNION", "INTERSECT",
    "MINUS", "ANY", "SOME", "ALL", "NONE",
  ]

  /// The words that must be escaped as `#word` to name a key.
  static let all = operators.union([
    "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "TRUEPREDICATE", "FALSEPREDICATE", "ANYKEY", "FIRST", "LAST",
    "SIZE", "SUBQUERY", "CAST", "TERNARY", "FUNCTION", "FETCH",
  ])
}
