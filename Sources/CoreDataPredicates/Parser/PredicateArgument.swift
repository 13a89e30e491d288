// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What stands for a `%@`, `%K`, `%d` … in a predicate format.
public enum PredicateArgument: Hashable, Sendable {
  case value(PlainValue)
  case expression(ExpressionSyntax)
  case predicate(PredicateSyntax)
}
