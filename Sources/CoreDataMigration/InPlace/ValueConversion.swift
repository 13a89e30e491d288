// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The conversion of stored values when an attribute's type or storage changes.
package struct ValueConversion {
  /// The SQL function that returns the value for the bytes of a column, even if the value is stored in a separate file.
  package static let inlineFunction = "Z_MIGRATION_INLINE"
  /// The SQL function that rounds a number to a `Float`.
  package static let floatFunction = "Z_MIGRATION_FLOAT"

  private enum Change {
    case number(NumberCast)
    case intoFiles, outOfFiles
  }

  private let change: Change

  /// Determines the conversion.
  ///
  /// - Throws: `InPlaceProblem` for types that cannot be converted. Inference refuses them earlier.
  package init(
    from old: AttributeDocument, to new: AttributeDocument, entity: String, dialect: SQLDialect = .sqlite
  ) throws {
    if old.kind == new.kind {
      // Only SQLite stores keep large values in separate files.
      let movesValues =
        dialect == .sqlite && old.allowsExternalBinaryDataStorage != new.allowsExternalBinaryDataStorage
      change =
        old.kind != .binaryData || !movesValues
        ? .number(.none) : new.allowsExternalBinaryDataStorage ? .intoFiles : .outOfFiles
      return
    }
    guard old.kind.isNumeric, new.kind.isNumeric else {
      throw InPlaceProblem(
        entity: entity, property: new.name,
        reason: "The type of '\(new.name)' changes from \(old.kind) to \(new.kind), and no conversion is defined.",
        suggestion: "Write a mapping model, or give the attribute another name.")
    }
    change = .number(NumberCast(from: old.kind, to: new.kind, dialect: dialect))
  }

  /// Whether the stored values can be kept unchanged.
  package var keepsValues: Bool { if case .number(.none) = change { true } else { false } }

  /// Returns the converted value as SQL.
  package func sql(_ value: BoundSQL) -> BoundSQL {
    switch change {
    case .number(let cast): cast.sql(value)
    // Values that may be kept in files begin with a byte for their location; 1 means inline.
    case .intoFiles: "CASE WHEN \(value) IS NULL THEN NULL ELSE CAST(x'01' || \(value) AS BLOB) END"
    case .outOfFiles:
      "CASE WHEN \(value) IS NULL THEN NULL ELSE \(raw: Self.inlineFunction)(\(value)) END"
    }
  }
}

/// The conversion of a stored number to another numeric type, as setting it on an object would convert it.
///
/// `DecimalConversion` documents the rules.
package enum NumberCast {
  case none, boolean, integer, real, float, decimal
  /// To a PostgreSQL column. Its types differ in cases where those of SQLite do not.
  case typed(from: AttributeKind, to: AttributeKind)

  package init(from old: AttributeKind, to new: AttributeKind, dialect: SQLDialect = .sqlite) {
    if dialect == .postgreSQL {
      self = old.isWhole && new.isWhole ? .none : .typed(from: old, to: new)
      return
    }
    self =
      switch new {
      case .boolean: .boolean
      case .integer16, .integer32, .integer64: [.double, .float, .decimal].contains(old) ? .integer : .none
      case .double: .real
      case .float: old == .boolean || old == .integer16 ? .real : .float
      // Several doubles may represent one decimal. Predicates match only the nearest one.
      case .decimal: old == .double || old == .float ? .decimal : .none
      default: .none
      }
  }

  package func sql(_ value: BoundSQL) -> BoundSQL {
    switch self {
    case .none: value
    case .boolean: "(\(value) <> 0)"
    case .integer: "CAST(\(value) AS INTEGER)"
    case .real: "CAST(\(value) AS REAL)"
    case .float: "\(raw: ValueConversion.floatFunction)(\(value))"
    case .decimal: "\(raw: ValueFunction.decimalNumberName)(\(value))"
    case .typed(let old, let new): Self.sql(value, from: old, to: new)
    }
  }

  private static func sql(_ value: BoundSQL, from old: AttributeKind, to new: AttributeKind) -> BoundSQL {
    // A Boolean is 0 or 1.
    let number: BoundSQL = old == .boolean ? "CAST(\(value) AS integer)" : value
    switch new {
    case .boolean: return "(\(value) <> 0)"
    case .integer16, .integer32, .integer64:
      return old == .boolean ? "CAST(\(number) AS bigint)" : "CAST(trunc(\(value)) AS bigint)"
    case .double: return "CAST(\(number) AS double precision)"
    case .float:
      let double: BoundSQL = old == .double ? value : "CAST(\(number) AS double precision)"
      // PostgreSQL rejects numbers nearer to 0 than to the smallest real. Half of the smallest real rounds to 0 too.
      return """
        CASE WHEN abs(\(double)) <= CAST('7.006492321624085e-46' AS double precision) \
        THEN CAST(\(double) * 0 AS real) ELSE CAST(\(double) AS real) END
        """
    default:
      guard old == .float || old == .double else { return "CAST(\(number) AS numeric)" }
      let double: BoundSQL = old == .double ? value : "CAST(\(value) AS double precision)"
      // Convert through the shortest text, because a cast to numeric rounds to 15 digits.
      return """
        CASE WHEN \(double) = trunc(\(double)) AND abs(\(double)) < 9223372036854775808.0 \
        THEN CAST(CAST(\(double) AS bigint) AS numeric) ELSE CAST(CAST(\(double) AS text) AS numeric) END
        """
    }
  }
}

extension AttributeKind {
  fileprivate var isWhole: Bool { [.integer16, .integer32, .integer64].contains(self) }
}

/// Converts default values to their stored form.
package struct StoredDefault {
  private let attribute: AttributeDocument
  private let entity: String
  private let values: any ProgramValues
  private let dialect: SQLDialect

  package init(
    _ attribute: AttributeDocument, entity: String, values: any ProgramValues, dialect: SQLDialect = .sqlite
  ) {
    self.attribute = attribute
    self.entity = entity
    self.values = values
    self.dialect = dialect
  }

  package func value(of plain: PlainValue) throws -> SQLiteValue {
    switch (plain, attribute.kind) {
    case (.null, _): return .null
    case (_, .transformable): return try archived()
    case (.boolean(let value), _): return .integer(value ? 1 : 0)
    case (.integer(let value), .double), (.integer(let value), .float): return .real(Double(value))
    case (.integer(let value), _): return .integer(value)
    case (.real(let value), .float): return .real(Double(Float(value)))
    case (.real(let value), _): return .real(value)
    case (.decimal(let value), .decimal) where dialect == .postgreSQL: return .text(DecimalConversion.text(of: value))
    case (.decimal(let value), .decimal): return StoredDecimal.number(NSDecimalNumber(decimal: value))
    case (.decimal(let value), _): return .real(DecimalConversion.double(value))
    case (.string(let value), _): return .text(value)
    case (.date(let value), _): return .real(value.timeIntervalSinceReferenceDate)
    case (.uuid(let value), _): return .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
    case (.url(let value), _): return .text(value.absoluteString)
    case (.data(let value), _):
      let isMarked = dialect == .sqlite && attribute.allowsExternalBinaryDataStorage
      return .blob(isMarked ? Data([1]) + value : value)
    default: throw unwritable("")
    }
  }

  /// Returns the parts of the value by column. Columns that stay NULL are left out.
  package func columns(
    of plain: PlainValue, _ layout: AttributeLayout, of entity: EntityLayout, in schema: StoreSchema
  ) throws -> [String: BoundSQL] {
    let assignments = schema.assignments(of: try value(of: plain), to: layout, of: entity)
    return Dictionary(assignments.filter { $0.value.values != [.null] }) { first, _ in first }
  }

  /// Returns the value as a save would write it, encoded by the attribute's transformer.
  private func archived() throws -> SQLiteValue {
    do {
      return try values.archivedDefault(of: attribute).map { .blob($0) } ?? .null
    } catch let problem as UnwritableDefault {
      throw unwritable(problem.reason.isEmpty ? "" : " \(problem.reason)")
    }
  }

  private func unwritable(_ cause: String) -> InPlaceProblem {
    InPlaceProblem(
      entity: entity, property: attribute.name,
      reason: "The default value of '\(attribute.name)' cannot be written into existing rows.\(cause)",
      suggestion: "Remove the default value, or set the values by a mapping model.")
  }
}

/// SQL conditions for stored numbers that another numeric type cannot hold unchanged.
package struct NumberConversion {
  private let column: String
  private let old: AttributeKind
  private let new: AttributeKind
  private let dialect: SQLDialect

  /// Creates the conditions for a column.
  ///
  /// - Parameter column: The quoted name of the column.
  package init(column: String, from old: AttributeKind, to new: AttributeKind, dialect: SQLDialect = .sqlite) {
    self.column = column
    self.old = old
    self.new = new
    self.dialect = dialect
  }

  private var isReal: Bool { [.double, .float, .decimal].contains(old) }
  private var areNumbers: Bool { old != new && old.isNumeric && new.isNumeric && old != .boolean }

  /// The condition that selects values the new type cannot hold, which a migration refuses; nil if it can hold all.
  package var refused: String? {
    guard areNumbers else { return nil }
    var conditions: [String] = []
    // NaN is stored as text in a decimal column of SQLite.
    if old == .decimal { conditions.append(dialect == .sqlite ? "typeof(\(column)) = 'text'" : "\(column) = 'NaN'") }
    switch new {
    case .integer16: conditions.append("\(column) >= 32768 OR \(column) <= -32769")
    case .integer32 where old != .integer16: conditions.append("\(column) >= 2147483648 OR \(column) <= -2147483649")
    case .integer64 where isReal:
      conditions.append("\(column) >= 9223372036854775808.0 OR \(column) < -9223372036854775808.0")
    case .float where old == .double || old == .decimal:
      conditions.append("ABS(\(column)) > 3.4028235677973366e38 AND ABS(\(column)) <= 1.7976931348623157e308")
    // A decimal holds any 38 digits, shifted by up to 127 places.
    case .decimal where isReal: conditions.append("ABS(\(column)) >= 1e165")
    default: break
    }
    return conditions.isEmpty ? nil : conditions.map { "(\($0))" }.joined(separator: " OR ")
  }

  /// The condition that selects values to be changed: truncated, rounded or converted to Booleans; nil if there can be
  /// none.
  package var changed: String? {
    guard areNumbers, let condition = changes else { return nil }
    return refused.map { "(\(condition)) AND NOT \(dialect.definite("(\(raw: $0))").sql)" } ?? condition
  }

  private var changes: String? {
    let isWhole = [.integer16, .integer32, .integer64].contains(old)
    switch new {
    case .boolean: return "\(column) NOT IN (0, 1)"
    case .integer16, .integer32, .integer64: return isReal ? "\(truncated(column)) <> \(column)" : nil
    case .float where old != .integer16:
      // Multiplying by 2^29 + 1 and subtracting rounds the 53 bits of a Double to the 24 bits of a Float.
      let rounded = "(\(real) * 536870913.0 - (\(real) * 536870913.0 - \(real)))"
      let isRounded = "\(inRangeOfFloat(rounded)) <> \(real)"
      return isWhole ? "\(isRounded) OR \(whole(real)) <> \(column)" : isRounded
    case .double where old == .integer64: return "\(whole(real)) <> \(column)"
    default: return nil
    }
  }

  private var real: String { "CAST(\(column) AS \(dialect.realType))" }

  /// Returns a number without its fraction, which PostgreSQL would round in a cast.
  private func truncated(_ number: String) -> String {
    dialect == .sqlite ? "CAST(\(number) AS INTEGER)" : "TRUNC(\(number))"
  }

  /// Returns the integer for a double that was converted from an integer. As in SQLite's cast, 2^63 becomes the maximum
  /// integer.
  private func whole(_ real: String) -> String {
    dialect == .sqlite
      ? "CAST(\(real) AS INTEGER)"
      : "CASE WHEN \(real) < 9223372036854775808.0 THEN CAST(\(real) AS bigint) ELSE 9223372036854775807 END"
  }

  /// Returns a calculation restricted to numbers for which PostgreSQL does not overflow. `refused` selects greater
  /// numbers.
  private func inRangeOfFloat(_ calculation: String) -> String {
    dialect == .sqlite ? calculation : "CASE WHEN ABS(\(real)) <= 3.4028235677973366e38 THEN \(calculation) END"
  }
}

/// Finds numbers that the new type of their attribute cannot hold.
///
/// Conversions of numbers truncate fractions and round digits. A value out of range is an error.
package struct NumberRanges {
  package let step: InPlaceStep
  package let connection: any SQLDatabase

  /// Checks all attributes.
  ///
  /// - Throws: `InPlaceProblem` for the first attribute with such values, naming one of them.
  package func check() throws {
    for destination in step.destinationSchema.entities {
      guard let sourceName = step.mapping.sourceEntity(of: destination.name),
        let source = step.sourceSchema[sourceName]
      else { continue }
      for name in destination.attributes.keys.sorted() {
        guard let new = step.destination.attribute(name, of: destination.name),
          let oldName = step.mapping.sourceAttribute(of: name, in: destination.name),
          let old = step.source.attribute(oldName, of: sourceName), let layout = source.attributes[oldName]
        else { continue }
        try check(layout, old, new, source, entity: destination.name)
      }
    }
  }

  private func check(
    _ layout: AttributeLayout, _ old: AttributeDocument, _ new: AttributeDocument, _ source: EntityLayout,
    entity: String
  ) throws {
    guard let column = layout.column else {
      let elements = Pairing(old.elements, new.elements, name: \.name, declared: \.renamingIdentifier)
      for (oldElement, newElement) in elements.matched {
        guard let element = layout.elements.first(where: { $0.name == oldElement.name }) else { continue }
        try check(element, oldElement, newElement, source, entity: entity)
      }
      return
    }
    let conversion = NumberConversion(
      column: SQLName.quoted(column), from: old.kind, to: new.kind, dialect: connection.dialect)
    guard let misfit = conversion.refused else { return }
    let rows =
      "FROM \(SQLName.quoted(source.table))" + InPlaceStep.whereClause(step.condition(source), "(\(misfit))")
    guard
      let example = try connection.rows("SELECT Z_PK, \(SQLName.quoted(column)) \(rows) ORDER BY Z_PK LIMIT 1").first
    else { return }
    let count = try connection.scalar("SELECT COUNT(*) \(rows)")?.integer ?? 1
    throw InPlaceProblem(
      entity: entity, property: new.name,
      reason:
        "'\(new.name)' of entity '\(entity)' becomes \(new.kind.title), which cannot hold the values of \(count) "
        + "\(count == 1 ? "object" : "objects"); that of \(source.name)/p\(example[0].literal) is \(example[1].shortLiteral).",
      suggestion:
        "Keep a type that holds all values, change these values first, or write a mapping model that says what becomes "
        + "of them.")
  }
}
