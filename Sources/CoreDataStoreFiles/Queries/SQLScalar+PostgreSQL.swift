// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// PostgreSQL has typed columns, and loses precision in some conversions between number types. So each number has a
/// form, and a constant gets the form of the value it is compared with.
extension SQLScalar {
  /// Creates the scalar of an attribute's column in PostgreSQL.
  init(_ attribute: AttributeLayout, column name: String, of alias: String) {
    let kind = SQLOperand.Kind(attribute, .postgreSQL)
    let column: BoundSQL = "\(raw: alias).\(column: name)"
    switch attribute.kind {
    case .boolean: self.init(column: column, readBy: "CAST(\(column) AS integer)", kind)
    case .float: self.init(column: column, readBy: "CAST(\(column) AS double precision)", kind)
    case .date:
      let remainder = attribute.remainderColumn.map { SQLDialect.remainder($0, of: alias) } ?? "0"
      self.init(
        column: column,
        readBy: """
          CASE WHEN isfinite(\(column)) \
          THEN CAST((extract(epoch FROM \(column)) - 978307200) * 1000000 AS double precision) / 1e6 \
          + \(raw: remainder) WHEN \(column) IS NOT NULL THEN \(raw: remainder) END
          """,
        kind, date: DateColumns(timestamp: column, remainder: "\(raw: remainder)"))
    default: self.init(column, kind)
    }
  }

  /// Creates the scalar of a constant; nil for a string that PostgreSQL cannot store.
  init?(postgreSQL constant: PlainValue, _ kind: SQLOperand.Kind) {
    switch constant {
    case .integer, .boolean, .real, .data:
      guard let bound = kind.binding(constant) else { return nil }
      self.init("\(value: bound)", kind, missing: "FALSE")
    case .string(let text):
      guard Self.isStorable(text) else { return nil }
      self.init("\(value: .text(text))", kind, missing: "FALSE")
    case .url(let url): self.init("\(value: .text(url.absoluteString))", kind, missing: "FALSE")
    case .decimal(let decimal): self.init(Self.numeric(decimal), .decimal, missing: "FALSE")
    case .uuid(let uuid): self.init("CAST(\(value: .text(uuid.uuidString)) AS uuid)", kind, missing: "FALSE")
    case .date(let date):
      let seconds = date.timeIntervalSinceReferenceDate
      self.init("\(value: .real(seconds))", kind, missing: "FALSE")
      self.date = StoredDate(seconds: seconds).map {
        DateColumns(
          timestamp: "CAST(\(value: .text($0.text)) AS timestamptz)", remainder: "\(value: .real($0.remainder ?? 0))")
      }
    case .null, .array, .set, .dictionary, .object: return nil
    }
    self.constant = constant
  }

  private static func numeric(_ decimal: Decimal) -> BoundSQL {
    decimal.isNaN
      ? "CAST(\(value: .null) AS numeric)" : "CAST(\(value: .text(DecimalConversion.text(of: decimal))) AS numeric)"
  }

  /// Whether PostgreSQL can store a string, which must not contain U+0000.
  static func isStorable(_ text: String) -> Bool { !text.utf8.contains(0) }

  /// Whether this constant is NaN. It is bound as NULL, so that all comparisons with it are NULL.
  var isNotANumber: Bool {
    switch sql.values.first {
    case .real(let number)?: constant != nil && number.isNaN
    case .null?: constant != nil
    default: false
    }
  }

  /// Returns the constant in the form in which it is compared with this value; nil for a constant of another type,
  /// which equals no value of this kind.
  ///
  /// - Throws: `NotExpressibleInSQL` if PostgreSQL's rounding differs from that in memory.
  func comparand(postgreSQL constant: PlainValue) throws -> SQLScalar? {
    guard let plain = SQLScalar(constant, .postgreSQL), kind.isComparable(with: plain.kind) else { return nil }
    if plain.isNotANumber || !kind.isNumber { return plain }
    switch (form, constant) {
    case (.whole, .real(let number)): return Self.whole(number)
    case (.whole, .decimal(let decimal)):
      let number = NSDecimalNumber(decimal: decimal)
      let whole = NSDecimalNumber(value: number.int64Value)
      return whole.compare(number) == .orderedSame
        ? SQLScalar(.integer(number.int64Value), .postgreSQL) : plain
    // In memory, a decimal compared with a double is rounded to a double.
    case (.double, .decimal(let decimal)):
      return SQLScalar(.real(DecimalConversion.double(decimal)), .postgreSQL)
    case (.double, .integer(let number)):
      return Double(exactly: number).flatMap { SQLScalar(.real($0), .postgreSQL) } ?? plain
    case (.double, .boolean(let value)): return SQLScalar(.real(value ? 1 : 0), .postgreSQL)
    case (.decimal, .real): throw NotExpressibleInSQL()
    default: return plain
    }
  }

  /// Returns a number that compares with all integers as a double does.
  private static func whole(_ number: Double) -> SQLScalar? {
    if let integer = Int64(exactly: number) { return SQLScalar(.integer(integer), .postgreSQL) }
    let place: String
    if let floor = Int64(exactly: number.rounded(.down)) {
      place = floor < 0 ? "-\(-(floor + 1)).5" : "\(floor).5"
    } else {
      place = number < 0 ? "-9223372036854775809" : "9223372036854775808"
    }
    return SQLScalar("CAST(\(value: .text(place)) AS numeric)", .decimal, missing: "FALSE")
  }

  /// Returns the value to search a list for; nil for a constant that equals no value of this kind.
  ///
  /// - Throws: the same errors as `comparand(postgreSQL:)`.
  func element(postgreSQL constant: PlainValue) throws -> SQLiteValue? {
    guard let value = try comparand(postgreSQL: constant), !value.isNotANumber else { return nil }
    switch (kind, constant) {
    case (.uuid, .uuid(let uuid)): return .text(uuid.uuidString)
    case (.date, .date(let date)): return .real(date.timeIntervalSinceReferenceDate)
    default: break
    }
    // A constant in another form than the list's values equals none of them.
    switch (form, value.form) {
    case (.whole, .whole), (.double, .double), (.other, .other): return value.sql.values.first
    case (.decimal, .whole): return value.sql.values.first?.integer.map { .text(String($0)) }
    case (.decimal, .decimal): return value.sql.values.first
    default: return nil
    }
  }

  /// The type of the values that a list is searched for.
  var listType: ColumnType {
    switch (kind, form) {
    case (_, .whole): .bigint
    case (.date, _), (_, .double): .doublePrecision
    case (_, .decimal): .numeric
    case (.uuid, _): .uuid
    case (.data, _): .bytea
    default: .text
    }
  }

  /// The columns for grouping and sorting rows by this value: they are equal and ordered exactly as the values are.
  var keys: [BoundSQL] { date.map { [$0.timestamp, $0.remainder] } ?? [column ?? sql] }
}

extension PredicateSQL {
  /// Compares two values in PostgreSQL as memory does.
  ///
  /// - Parameter sign: an operator for two values of a type, or for two rows.
  func comparedInPostgreSQL(_ left: SQLScalar, _ sign: String, _ right: SQLScalar) throws -> BoundSQL {
    if let a = left.date, let b = right.date {
      return "(\(a.timestamp), \(a.remainder)) \(raw: sign) (\(b.timestamp), \(b.remainder))"
    }
    switch (left.form, right.form) {
    case (.whole, .whole):
      // Comparing the column itself lets PostgreSQL use an index.
      if let column = left.column, let truth = right.boolean, sign == "=" || sign == dialect.isDifferent {
        return "\(column) \(raw: sign) \(truth)"
      }
      return "\(left.sql) \(raw: sign) \(right.sql)"
    case (.double, .double):
      let column = right.constant == nil ? left.sql : left.column ?? left.sql
      return "\(column) \(raw: sign) \(right.sql)"
    case (.whole, .double):
      return "\(Self.row(ofWhole: left.sql)) \(raw: sign) \(Self.row(ofDouble: right.sql))"
    case (.double, .whole):
      return "\(Self.row(ofDouble: left.sql)) \(raw: sign) \(Self.row(ofWhole: right.sql))"
    case (.decimal, .double), (.double, .decimal): throw NotExpressibleInSQL()
    case (.decimal, .decimal), (.decimal, .whole), (.whole, .decimal), (.other, _), (_, .other):
      return "\(left.sql) \(raw: sign) \(right.sql)"
    }
  }

  /// Returns an integer as a row that can be compared with that of a double: first as doubles, and exactly if these are
  /// equal.
  private static func row(ofWhole sql: BoundSQL) -> BoundSQL {
    "(CAST(\(sql) AS double precision), CAST(\(sql) AS numeric))"
  }

  /// Returns a double as a row that can be compared with that of an integer. If the doubles are equal, this one has no
  /// fraction, or is 2 to the power of 63, which is greater than all integers.
  private static func row(ofDouble sql: BoundSQL) -> BoundSQL {
    """
    (\(sql), CASE WHEN \(sql) >= -9223372036854775808.0 AND \(sql) < 9223372036854775808.0 \
    THEN CAST(CAST(\(sql) AS bigint) AS numeric) WHEN \(sql) IS NOT NULL THEN 9223372036854775808 END)
    """
  }

  // MARK: Calculations

  /// Returns a calculation with doubles. NaN becomes NULL, as in SQLite.
  private static func real(_ sql: BoundSQL, missing: BoundSQL) -> SQLScalar {
    SQLScalar("NULLIF(\(sql), 'NaN')", .real, missing: missing)
  }

  private static func double(_ value: SQLScalar) -> BoundSQL {
    value.form == .whole ? "CAST(\(value.sql) AS double precision)" : value.sql
  }

  /// Returns an integer as `bigint`, since PostgreSQL would otherwise use smaller types for arithmetic.
  private static func integer(_ value: SQLScalar) -> BoundSQL {
    value.column == nil ? value.sql : "CAST(\(value.sql) AS bigint)"
  }

  /// Calls a function of one number or string. PostgreSQL reports an error for results out of range, which have a value
  /// in memory.
  func unaryInPostgreSQL(_ name: String, _ value: SQLScalar) throws -> SQLScalar {
    let missing = value.isExactlyNull ? nil : value.missing
    switch (name, value.kind, value.form) {
    case ("length:", .string, _): return SQLScalar(Self.length(value.sql), .integer, missing: missing)
    case ("abs:", _, .whole):
      return SQLScalar("ABS(\(Self.integer(value)))", value.kind, missing: missing, form: .whole)
    case ("abs:", _, .double): return SQLScalar("ABS(\(value.sql))", .real, missing: value.missing)
    case ("abs:", _, .decimal): return SQLScalar("ABS(\(value.sql))", .decimal, missing: missing)
    case ("chs:", _, .whole):
      return SQLScalar("(0 - \(Self.integer(value)))", .real, missing: missing, form: .whole)
    case ("chs:", _, .double): return SQLScalar("(0 - \(value.sql))", .real, missing: value.missing)
    case ("chs:", _, .decimal): return SQLScalar("(0 - \(value.sql))", .decimal, missing: missing)
    case ("onesComplement:", .integer, _): return SQLScalar("(~\(Self.integer(value)))", .integer, missing: missing)
    case ("trunc:", _, .whole), ("floor:", _, .whole), ("ceiling:", _, .whole):
      return SQLScalar(Self.integer(value), .real, missing: missing, form: .whole)
    case ("trunc:", _, .double): return SQLScalar("TRUNC(\(value.sql))", .real, missing: value.missing)
    case ("floor:", _, .double): return SQLScalar("FLOOR(\(value.sql))", .real, missing: value.missing)
    case ("ceiling:", _, .double): return SQLScalar("CEIL(\(value.sql))", .real, missing: value.missing)
    case ("sqrt:", _, .whole), ("sqrt:", _, .double):
      return SQLScalar("SQRT(\(Self.double(value)))", .real, missing: value.missing)
    default: throw NotExpressibleInSQL()
    }
  }

  /// Returns the length in UTF-16 code units; characters beyond U+FFFF have two.
  private static func length(_ text: BoundSQL) -> BoundSQL {
    """
    CAST(CASE WHEN OCTET_LENGTH(\(text)) = CHAR_LENGTH(\(text)) THEN CHAR_LENGTH(\(text)) \
    ELSE 2 * CHAR_LENGTH(\(text)) - CHAR_LENGTH(REGEXP_REPLACE(\(text), E'[\\\\U00010000-\\\\U0010FFFF]', '', 'g')) END AS bigint)
    """
  }

  /// Calls a function of two numbers, like `unaryInPostgreSQL(_:_:)`.
  func binaryInPostgreSQL(
    _ name: String, _ left: SQLScalar, _ right: SQLScalar, _ missing: BoundSQL
  ) throws -> SQLScalar {
    let (a, b) = (Self.integer(left), Self.integer(right))
    guard left.form == .whole, right.form == .whole else {
      let signs = ["add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/"]
      guard let sign = signs[name], left.form != .decimal, right.form != .decimal else { throw NotExpressibleInSQL() }
      return Self.real("\(Self.double(left)) \(raw: sign) \(Self.double(right))", missing: missing)
    }
    // Integer arithmetic never gives NaN, so a result is NULL only if an operand is.
    func whole(_ sql: BoundSQL, _ kind: SQLOperand.Kind) -> SQLScalar { SQLScalar(sql, kind, form: .whole) }
    switch name {
    case "add:to:": return whole("(\(a) + \(b))", .real)
    case "from:subtract:": return whole("(\(a) - \(b))", .real)
    case "multiply:by:": return whole("(\(a) * \(b))", .real)
    case "divide:by:": return whole("(\(a) / \(b))", .real)
    case "modulus:by:": return whole("(\(a) % \(b))", .real)
    default: break
    }
    guard left.kind == .integer, right.kind == .integer else { throw NotExpressibleInSQL() }
    switch name {
    case "bitwiseAnd:with:": return whole("(\(a) & \(b))", .integer)
    case "bitwiseOr:with:": return whole("(\(a) | \(b))", .integer)
    case "bitwiseXor:with:": return whole("(\(a) # \(b))", .integer)
    // PostgreSQL takes greater shift counts modulo 64.
    case "leftshift:by:":
      guard case .integer(0..<64)? = right.constant else { throw NotExpressibleInSQL() }
      return whole("(\(a) << CAST(\(b) AS integer))", .integer)
    case "rightshift:by:":
      guard case .integer(0..<64)? = right.constant else { throw NotExpressibleInSQL() }
      return whole("(\(a) >> CAST(\(b) AS integer))", .integer)
    default: throw NotExpressibleInSQL()
    }
  }

  /// Translates a date plus or minus seconds, and the seconds between two dates.
  func datesInPostgreSQL(
    _ left: SQLScalar, _ sign: String, _ right: SQLScalar, _ kind: SQLOperand.Kind, _ missing: BoundSQL
  ) throws -> SQLScalar {
    guard left.form != .decimal, right.form != .decimal else { throw NotExpressibleInSQL() }
    var result = Self.real("\(Self.double(left)) \(raw: sign) \(Self.double(right))", missing: missing)
    result.kind = kind
    return result
  }

  /// Casts a value to another kind; the result has that kind's SQL type.
  func castInPostgreSQL(_ value: SQLScalar, to kind: SQLOperand.Kind) throws -> SQLScalar {
    guard value.form != .decimal else { throw NotExpressibleInSQL() }
    return SQLScalar(
      Self.double(value), kind, missing: value.isExactlyNull ? nil : value.missing,
      form: kind == .real ? .double : .other)
  }

  // MARK: Strings

  /// Searches a string literally. Strings from a column compare byte by byte.
  func searchInPostgreSQL(
    _ function: StringFunction, _ subject: BoundSQL, _ pattern: BoundSQL
  ) throws -> BoundSQL {
    switch function {
    case .beginsWith: return "STARTS_WITH(\(subject), \(pattern))"
    case .endsWith: return "RIGHT(\(subject), CHAR_LENGTH(\(pattern))) = \(pattern)"
    case .contains: return "STRPOS(\(subject), \(pattern)) > 0"
    // A wildcard stands for a character with its combining marks, which PostgreSQL does not support.
    case .like, .matches, .equal, .order: throw NotExpressibleInSQL()
    }
  }
}

extension SQLScalar {
  /// The Boolean for this constant; nil for numbers other than 0 and 1.
  fileprivate var boolean: BoundSQL? {
    switch constant {
    case .boolean(let value): "(\(value: .integer(value ? 1 : 0)) <> 0)"
    case .integer(let number) where number == 0 || number == 1: "(\(value: .integer(number)) <> 0)"
    default: nil
    }
  }
}
