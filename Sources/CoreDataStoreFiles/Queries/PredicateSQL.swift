// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// Builds SQL conditions from predicates. Every constant is bound, never written into the SQL.
///
/// A condition gives the same result as the predicate in memory, even for missing values: `a != 1` and `NOT (a == 1)`
/// hold for rows without `a`. Predicates that SQL cannot express exactly throw `NotExpressibleInSQL`.
package struct PredicateSQL {
  package let schema: StoreSchema
  package let objects: any ObjectKeys
  package let aliases: AliasNames
  var dialect: SQLDialect { schema.dialect }

  package init(schema: StoreSchema, objects: any ObjectKeys, aliases: AliasNames) {
    self.schema = schema
    self.objects = objects
    self.aliases = aliases
  }

  package func condition(_ predicate: PredicateSyntax, _ names: SQLNames) throws -> BoundSQL {
    switch predicate {
    case .constant(let value): return dialect.truth(value)
    case .and(let parts): return try combined(parts, " AND ", empty: true, names)
    case .or(let parts): return try combined(parts, " OR ", empty: false, names)
    case .not(let part): return "NOT \(definite(try condition(part, names)))"
    case .comparison(let comparison): return try condition(comparison, names)
    }
  }

  private func combined(
    _ parts: [PredicateSyntax], _ word: String, empty: Bool, _ names: SQLNames
  ) throws -> BoundSQL {
    if parts.isEmpty { return dialect.truth(empty) }
    return Self.joined(try parts.map { try condition($0, names) }, word)
  }

  /// Joins conditions in groups. SQLite limits the depth of an expression, and a chain of n conditions has depth n.
  static func joined(_ conditions: [BoundSQL], _ word: String) -> BoundSQL {
    let longest = 100
    if conditions.count <= longest { return "(\(conditions.joined(word)))" }
    let groups = stride(from: 0, to: conditions.count, by: longest).map { start in
      joined(Array(conditions[start..<min(start + longest, conditions.count)]), word)
    }
    return joined(groups, word)
  }

  /// Returns a condition that is never NULL: NULL in SQL is false in memory.
  package func definite(_ condition: BoundSQL) -> BoundSQL { dialect.definite(condition) }

  func condition(_ comparison: ComparisonSyntax, _ names: SQLNames) throws -> BoundSQL {
    try NotExpressibleInSQL.naming(.predicate(.comparison(comparison))) {
      try translated(comparison, names) { try compare($0, comparison.op, $1, comparison.options) }
    }
  }

  /// - Parameter compare: compares an element of the left side, or the left side itself, with the right side.
  func translated(
    _ comparison: ComparisonSyntax, _ names: SQLNames, _ compare: (SQLOperand, SQLOperand) throws -> BoundSQL
  ) throws -> BoundSQL {
    guard comparison.op != .customSelector else { throw NotExpressibleInSQL() }
    let left = try operand(comparison.left, names)
    let right = try operand(comparison.right, names)
    func test(_ element: SQLOperand) throws -> BoundSQL { try compare(element, right) }
    switch (comparison.modifier, left) {
    case (.direct, _): return try test(left)
    case (.any, .collection(let collection)):
      return try exists(collection, ignoresMissing: failsForMissing(comparison.op, right), test)
    case (.all, .collection(let collection)): return try all(collection, test)
    case (let modifier, .list(let elements)):
      return try combined(try Self.flattened(elements).map { try test(.constant($0)) }, modifier)
    case (let modifier, .tuple(let elements)): return try combined(try elements.map(test), modifier)
    case (.any, .constant(.null)): return dialect.truth(false)
    case (.all, .constant(.null)): return dialect.truth(true)
    // A single value is a collection of one element, or of none if it is missing.
    case (.any, _): return "(NOT (\(try missing(left))) AND \(try test(left)))"
    case (.all, _): return "(\(try missing(left)) OR \(try test(left)))"
    }
  }

  private func combined(_ tests: [BoundSQL], _ modifier: ComparisonSyntax.Modifier) throws -> BoundSQL {
    if tests.isEmpty { return dialect.truth(modifier != .any) }
    return "(\(tests.joined(modifier == .any ? " OR " : " AND ")))"
  }

  private static func flattened(_ values: [PlainValue]) -> [PlainValue] {
    values.flatMap { value in
      switch value {
      case .array(let elements), .set(let elements): flattened(elements)
      default: [value]
      }
    }
  }

  /// Whether a comparison is false or NULL for a missing value, whatever the other operand is.
  private func failsForMissing(_ op: Operator, _ right: SQLOperand) -> Bool {
    switch (op, right) {
    case (.notEqualTo, _): false
    case (.equalTo, .constant(let value)): value != .null
    case (.equalTo, _): false
    case (.in, .list(let elements)): !elements.contains(.null)
    case (.in, _): false
    default: true
    }
  }
}

/// Finds the rows of objects in predicates.
package protocol ObjectKeys {
  /// Returns the primary key of an object or identifier; nil for one without a row in the root entity's table of this
  /// store.
  ///
  /// - Throws: `NotExpressibleInSQL` for a value that is neither.
  func primaryKey(of object: OpaqueObject, root: Int) throws -> Int64?
}

/// The error for a predicate or a sort order that SQL cannot express; the caller evaluates it in memory, or reports
/// which part is not expressible.
package struct NotExpressibleInSQL: Error, CustomStringConvertible {
  package enum Part {
    case expression(ExpressionSyntax)
    case predicate(PredicateSyntax)
  }

  private static let longestText = 200

  /// The smallest part that cannot be expressed; nil until code that knows it has added it.
  private let part: Part?

  package init(_ part: Part? = nil) { self.part = part }

  /// Adds the part being translated to an error of the translation, unless the error already has a smaller one.
  package static func naming<Result>(_ part: Part, _ translation: () throws -> Result) throws -> Result {
    do {
      return try translation()
    } catch let error as NotExpressibleInSQL where error.part == nil {
      throw NotExpressibleInSQL(part)
    }
  }

  /// The part in the predicate format language, between quotation marks.
  package var description: String {
    let text: String
    switch part {
    case .expression(let expression)?: text = PredicatePrinter().format(expression)
    case .predicate(let predicate)?: text = PredicatePrinter().format(predicate)
    case nil: return "it"
    }
    return text.count > Self.longestText ? "'\(text.prefix(Self.longestText))…'" : "'\(text)'"
  }
}
