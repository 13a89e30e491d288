// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The contents of the dictionaries in a request.
package struct ResultCriteria {
  /// A value of a dictionary, with its key.
  package struct Column {
    package let name: String
    package let expression: ExpressionSyntax

    package init(name: String, expression: ExpressionSyntax) {
      self.name = name
      self.expression = expression
    }
  }

  package var columns: [Column]
  /// The columns whose values divide the rows into groups.
  package var groups: [Column]
  /// The condition for groups.
  package var having: PredicateSyntax?
  package var isDistinct: Bool

  package init(columns: [Column], groups: [Column] = [], having: PredicateSyntax? = nil, isDistinct: Bool = false) {
    self.columns = columns
    self.groups = groups
    self.having = having
    self.isDistinct = isDistinct
  }

  /// Whether all rows are combined into one dictionary.
  var isSummary: Bool { groups.isEmpty && columns.contains { $0.expression.summary != nil } }
}

extension ExpressionSyntax {
  /// The aggregate function and its argument, for expressions such as `max:(price)`, `@max.price` and `@count`; nil for
  /// other expressions.
  var summary: (function: PredicateSQL.Aggregate, argument: ExpressionSyntax)? {
    switch self {
    case .keyPath("@count"): return (.count, .evaluatedObject)
    case .keyPath(let path) where path.hasPrefix("@"):
      let parts = path.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, let function = PredicateSQL.Aggregate(operator: parts[0]) else { return nil }
      return (function, .keyPath(parts[1]))
    case .function(operand: nil, let name, let arguments) where arguments.count == 1:
      return PredicateSQL.Aggregate(function: name).map { ($0, arguments[0]) }
    default: return nil
    }
  }
}

/// A statement for dictionaries, and the way to read its columns.
package struct ResultSelect {
  package enum Form {
    /// The value of an attribute, at the end of a key path.
    case attribute(AttributeLayout, path: [String])
    /// The primary key of an object. If `hasNumber` is true, the next column is its entity number.
    case object(entity: EntityLayout, hasNumber: Bool)
    /// A computed value. If it is NULL and the next column is 0, the value is NaN rather than missing.
    case computed(SQLOperand.Kind, hasTest: Bool)
    case constant(PlainValue)
  }

  package struct Column {
    package let name: String
    package let form: Form
    /// The position of its first column in the statement.
    package let position: Int
  }

  package let statement: BoundSQL
  package let columns: [Column]
  /// The position of the column that is nonzero in a row whose aggregates may differ from those in memory; nil if there
  /// is no such column.
  package let inexactCount: Int?
}
