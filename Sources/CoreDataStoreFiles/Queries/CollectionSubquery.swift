// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite

/// The members of a collection, as a subquery that refers to the owner's row.
package struct CollectionSubquery {
  /// The members, preceded by those of the collections that the key path passes through.
  private var levels: [Level] = []

  private struct Level {
    let scope: SQLScope
    /// The tables, without the keyword before the first.
    let table: String
    let condition: String
    /// The join condition of further tables; nil if there is only `table`.
    let join: String?
  }

  package init(_ collection: SQLCollection, _ builder: PredicateSQL) throws {
    try append(collection, builder)
  }

  /// The members' rows.
  package var scope: SQLScope { levels[levels.count - 1].scope }

  /// Adds the members of a collection that starts from the present members.
  package mutating func append(_ collection: SQLCollection, _ builder: PredicateSQL) throws {
    guard let destination = builder.schema[collection.relationship.destinationEntity] else {
      throw NotExpressibleInSQL()
    }
    let scope = SQLScope(entity: destination, names: builder.aliases)
    let owner = "\(collection.source).Z_PK"
    let pairs = RelationshipPairs(of: collection.relationship, in: builder.schema)
    guard pairs.ownerColumn != "Z_PK" else { throw NotExpressibleInSQL() }
    let members = "\(builder.aliases.table(destination.table)) \(scope.alias)"
    let table = builder.aliases.table(pairs.table)
    let (near, far) = (SQLName.quoted(pairs.ownerColumn), SQLName.quoted(pairs.memberColumn))
    if pairs.isReflexive {
      let keys =
        "SELECT \(far) FROM \(table) WHERE \(near) = \(owner) UNION SELECT \(near) FROM \(table) WHERE \(far) = \(owner)"
      levels.append(Level(scope: scope, table: members, condition: "\(scope.alias).Z_PK IN (\(keys))", join: nil))
    } else if pairs.memberColumn == "Z_PK" {
      levels.append(Level(scope: scope, table: members, condition: "\(scope.alias).\(near) = \(owner)", join: nil))
    } else {
      let join = builder.aliases.next("j")
      levels.append(
        Level(
          scope: scope, table: "\(table) \(join)", condition: "\(join).\(near) = \(owner)",
          join: " JOIN \(members) ON \(scope.alias).Z_PK = \(join).\(far)"))
    }
  }

  /// The FROM and WHERE clauses. Must be read last, because key paths in conditions add joins to the scopes.
  package var from: String {
    var text = ""
    for (position, level) in levels.enumerated() {
      text += position == 0 ? " FROM \(level.table)" : " JOIN \(level.table) ON \(level.condition)"
      text += (level.join ?? "") + level.scope.joins
    }
    return text + " WHERE \(levels[0].condition)"
  }

  package func operand(_ path: [String], _ builder: PredicateSQL) throws -> SQLOperand {
    try builder.operand(path: path, from: scope)
  }
}

extension PredicateSQL {
  /// Returns the conditions of a collection's subqueries for a member, each with a leading AND.
  private func filters(_ collection: SQLCollection, _ rows: CollectionSubquery) throws -> BoundSQL {
    try collection.filters.map { filter in
      var names = filter.names
      names.variables[filter.variable] = rows.scope
      return " AND \(try condition(filter.predicate, names))" as BoundSQL
    }.joined("")
  }

  /// Returns an `EXISTS` condition over the members of a collection, nested if the key path passes through further
  /// collections.
  ///
  /// - Parameters:
  ///   - isFlat: whether the values of the members must not be collections themselves.
  ///   - ignoresMissing: whether `test` cannot hold for a missing value.
  func exists(
    _ collection: SQLCollection, isFlat: Bool = false, ignoresMissing: Bool = false,
    _ test: (SQLOperand) throws -> BoundSQL
  ) throws -> BoundSQL {
    let rows = try CollectionSubquery(collection, self)
    let filters = try filters(collection, rows)
    let member = try rows.operand(collection.rest, self)
    var condition: BoundSQL
    if case .collection(let inner) = member {
      // In memory, a missing owner in the middle of the key path is an element of an array; here it would be left out.
      guard !isFlat, inner.ownerMissing == nil || !collection.keepsMissingValues else { throw NotExpressibleInSQL() }
      condition = try exists(inner, ignoresMissing: ignoresMissing, test)
    } else {
      condition = try test(member)
      if !ignoresMissing, !collection.rest.isEmpty, !collection.keepsMissingValues {
        condition = "NOT (\(try missing(member))) AND \(condition)"
      }
    }
    return "EXISTS (SELECT 1\(raw: rows.from)\(filters) AND \(condition))"
  }

  /// Returns a condition that holds for all members, in other words that no member fails.
  func all(_ collection: SQLCollection, _ test: (SQLOperand) throws -> BoundSQL) throws -> BoundSQL {
    "NOT \(try exists(collection) { "NOT \(definite(try test($0)))" })"
  }

  /// The aggregate functions of collections, used as operators in key paths and as functions in expressions.
  enum Aggregate: String {
    case count
    case sum
    case minimum = "min"
    case maximum = "max"
    case average

    init?(operator name: String) {
      self.init(rawValue: name == "@avg" ? "average" : String(name.dropFirst()))
    }

    init?(function name: String) {
      guard name.hasSuffix(":") else { return nil }
      self.init(rawValue: String(name.dropLast()))
    }
  }

  /// The way in which an aggregate reads the members' values.
  enum AggregateForm {
    /// `items.@sum.price` or `SUBQUERY(…).@sum.price`: the values of the members themselves, without missing ones.
    case members
    /// `items.parts.price.@sum`: the values at the end of the path, through any number of collections.
    case flattened
    /// `sum(items.price)`: the values of the key path, without duplicates if the collection is a set.
    case argument
  }

  /// Applies an aggregate function to the values of a collection's key path.
  func aggregate(_ function: Aggregate, _ collection: SQLCollection, _ form: AggregateForm) throws -> SQLOperand {
    var rows = try CollectionSubquery(collection, self)
    let filters = try filters(collection, rows)
    var member = try rows.operand(collection.rest, self)
    while form == .flattened, case .collection(let inner) = member {
      try rows.append(inner, self)
      member = try rows.operand(inner.rest, self)
    }
    let isArgument = form == .argument
    let none = dialect.truth(false)
    // A missing collection counts as an empty one only for counting; a subquery of a missing collection is empty.
    let missing = isArgument && function == .count || !collection.filters.isEmpty ? nil : collection.ownerMissing
    func select(_ result: BoundSQL) -> BoundSQL { "(SELECT \(result)\(raw: rows.from)\(filters))" }
    /// - Parameter unknown: the condition under which the members have no result; nil if that is exactly when `sql` is
    ///   NULL.
    func scalar(
      _ sql: BoundSQL, _ kind: SQLOperand.Kind, _ unknown: BoundSQL?, isNumber: Bool = false
    ) -> SQLOperand {
      var value = SQLScalar(sql, kind, missing: unknown)
      if let missing {
        value = SQLScalar(
          "CASE WHEN \(missing) THEN NULL ELSE \(sql) END", kind, missing: unknown.map { "(\(missing) OR \($0))" })
      }
      value.isNumber = isNumber
      return .value(value)
    }
    switch member {
    case .object(let key, _):
      guard function == .count else { throw NotExpressibleInSQL() }
      // The objects of a key path may be missing, and a set contains each only once.
      let counted: BoundSQL =
        member.isRow(of: rows) || isArgument && collection.keepsMissingValues
        ? "COUNT(*)" : isArgument ? "COUNT(DISTINCT \(key))" : "COUNT(\(key))"
      return scalar(select(counted), .integer, none)
    case .value(let value):
      guard value.isExactlyNull else { throw NotExpressibleInSQL() }
      let (sql, isSet) = (value.sql, isArgument && !collection.keepsMissingValues)
      let values: BoundSQL = isSet ? "DISTINCT \(sql)" : sql
      /// Selects a sum or an average, which PostgreSQL computes from several parts of each distinct value.
      func selectReals(_ result: (BoundSQL) -> BoundSQL) -> BoundSQL {
        guard isSet, dialect == .postgreSQL, value.form == .double else { return select(result(values)) }
        let alias = aliases.next("d")
        return "(SELECT \(result("\(raw: alias).v")) FROM \(select("DISTINCT \(sql) AS v")) \(raw: alias))"
      }
      switch (function, value.kind) {
      case (.count, _):
        return scalar(select(isArgument && !isSet ? "COUNT(*)" : "COUNT(\(values))"), .integer, none)
      case (.minimum, .decimal), (.maximum, .decimal):
        // NaN is neither the least nor the greatest, unless all values are NaN.
        let extreme = try extreme(function == .minimum ? "MIN" : "MAX", SQLScalar("NULLIF(\(sql), 'NaN')", .decimal))
        return scalar(select(extreme), .decimal, select("COUNT(\(sql)) = 0"), isNumber: true)
      case (.minimum, let kind) where kind.isOrdered: return scalar(select(try extreme("MIN", value)), kind, nil)
      case (.maximum, let kind) where kind.isOrdered: return scalar(select(try extreme("MAX", value)), kind, nil)
      case (.sum, .integer):
        // An empty sum is 0 in memory but NULL in SQL.
        return scalar(dialect.coalesced(select(sum(values, of: value)), "0"), .integer, none)
      case (.sum, .real):
        return scalar(
          selectReals { "CASE COUNT(\($0)) WHEN 0 THEN 0 ELSE \(sum($0, of: value)) END" }, .real, none)
      case (.average, .integer):
        return scalar(select(average(values, of: value)), .real, select("COUNT(\(sql)) = 0"))
      case (.average, .real):
        return scalar(selectReals { average($0, of: value) }, .real, select("COUNT(\(sql)) = 0"))
      case (.sum, .decimal) where dialect == .sqlite, (.average, .decimal) where dialect == .sqlite:
        let text = ValueFunction.text(sql)
        let texts: BoundSQL = isSet ? "DISTINCT \(text)" : text
        let result = ValueFunction.decimals("\(function.rawValue):", select("GROUP_CONCAT(\(texts))"))
        return scalar(result, .calculated, function == .sum ? none : nil)
      default: throw NotExpressibleInSQL()
      }
    default: throw NotExpressibleInSQL()
    }
  }
}

extension PredicateSQL {
  /// Returns the least or the greatest of a value.
  ///
  /// - Throws: `NotExpressibleInSQL` for values that PostgreSQL can order, but has no MIN or MAX for.
  func extreme(_ name: String, _ value: SQLScalar) throws -> BoundSQL {
    // Both engines treat NaN as greater than all numbers.
    if name == "MAX", value.mayBeNotANumber { return "COALESCE(MAX(NULLIF(\(value.sql), 'NaN')), MAX(\(value.sql)))" }
    guard dialect == .postgreSQL else { return "\(raw: name)(\(value.sql))" }
    switch value.kind {
    // The order of the digits is that of the bytes.
    case .uuid: return "CAST(\(raw: name)(CAST(\(value.sql) AS text) COLLATE \"C\") AS uuid)"
    case .data: throw NotExpressibleInSQL()
    default: return "\(raw: name)(\(value.sql))"
    }
  }

  /// Returns the sum of numbers that are not decimals. PostgreSQL reports an error if the sum is out of range.
  ///
  /// - Parameter values: the value, or DISTINCT and the value, except for doubles in PostgreSQL.
  func sum(_ values: BoundSQL, of value: SQLScalar) -> BoundSQL {
    switch (dialect, value.form) {
    case (.sqlite, .double): "\(raw: ValueFunction.sumName)(\(values))"
    case (.sqlite, _): "SUM(\(values))"
    case (.postgreSQL, .whole): "CAST(SUM(\(values)) AS bigint)"
    case (.postgreSQL, .double): ExactSumSQL.sum(of: values)
    case (.postgreSQL, _): "NULLIF(SUM(\(values)), 'NaN')"
    }
  }

  /// Returns the average of numbers that are not decimals: their exact sum, rounded once, divided by their count.
  func average(_ values: BoundSQL, of value: SQLScalar) -> BoundSQL {
    let sum: BoundSQL = value.form == .whole ? "SUM(\(values))" : sum(values, of: value)
    return "CAST(\(sum) AS \(raw: dialect.realType)) / COUNT(\(values))"
  }
}

extension SQLOperand {
  /// Whether this is the object of the rows themselves, and not one at the end of a relationship.
  fileprivate func isRow(of rows: CollectionSubquery) -> Bool {
    if case .object(let key, _) = self { return key.sql == "\(rows.scope.alias).Z_PK" }
    return false
  }
}
