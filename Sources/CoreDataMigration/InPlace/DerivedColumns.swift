// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Recomputes derived attributes once all rows are in place: the attributes may be new, or their source values may have
/// changed.
///
/// The forms that Core Data supports are translated to SQL: key paths, aggregates over a to-many relationship, the text
/// functions, and `now()`, which is set only where there is no value. Any other expression is computed when its object
/// is next saved.
///
/// In a file, all derived attributes are computed. In a server, only those whose values may change, because computing
/// one reads every row.
package struct DerivedColumns {
  /// The SQL function that calls a text function. Its arguments are the function's name and the text.
  package static let textFunction = "Z_MIGRATION_TEXT"

  package let step: InPlaceStep

  /// Registers the text function.
  package static func register(in connection: SQLiteConnection, _ values: some ProgramValues) throws {
    try connection.register(function: textFunction, argumentCount: 2) { arguments in
      guard let name = arguments.first?.text, let text = arguments.last?.text else { return .null }
      return try values.text(name, of: text).map { .text($0) } ?? .null
    }
  }

  /// Returns the statements that compute the attributes.
  ///
  /// - Throws: `ServerStepObstacle` for an expression that PostgreSQL computes differently from objects.
  package func statements() throws -> [MigrationStatement] {
    var order = DerivationOrder(step: step)
    var statements: [(depth: Int, statement: MigrationStatement)] = []
    for entity in step.destinationSchema.entities {
      for attribute in entity.attributes.values.sorted(by: { $0.name < $1.name }) {
        guard let statement = try statement(for: attribute, of: entity) else { continue }
        statements.append((order.depth(of: attribute.name, in: entity), statement))
      }
    }
    // The sort is not stable.
    let depths = Set(statements.map(\.depth)).sorted()
    let ordered = depths.flatMap { depth in statements.filter { $0.depth == depth }.map(\.statement) }
    // Values that read each other, such as one of a parent of the same entity, are computed once more.
    return order.hasCycle ? ordered + ordered : ordered
  }

  private var dialect: SQLDialect { step.destinationSchema.dialect }

  private func statement(for attribute: AttributeLayout, of entity: EntityLayout) throws -> MigrationStatement? {
    guard !entity.isAbstract, step.mapping.sourceEntity(of: entity.name) != nil,
      let column = attribute.column.map(SQLName.quoted),
      let document = step.destination.attribute(attribute.name, of: entity.name),
      let expression = document.derivation.map(PredicatePrinter.withOperators),
      dialect == .sqlite || DerivedChange(step: step, entity: entity).mayChange(document)
    else { return nil }
    let table = SQLName.quoted(entity.table)
    let hierarchy = step.destinationSchema.entity(number: entity.rootNumber)?.numbers ?? []
    let own = hierarchy.count == 1 ? "" : "Z_ENT = \(entity.number) AND "
    if case .function(nil, "now", _) = expression {
      let now = SQLiteValue.real(Date().timeIntervalSinceReferenceDate)
      let values = step.destinationSchema.assignments(of: now, to: attribute, of: entity)
        .map { "\(column: $0.column) = \($0.value)" as BoundSQL }.joined(", ")
      return MigrationStatement(
        eachRowOf: entity.table, "UPDATE \(table) SET \(values.sql)", values.values,
        where: "\(own)\(column) IS NULL", in: entity.table)
    }
    guard let value = try value(of: expression, entity, kind: attribute.kind) else { return nil }
    if attribute.kind == .date {
      try refuse("A date that is derived from others has two columns", entity, attribute.name)
    }
    return MigrationStatement(
      eachRowOf: entity.table, "UPDATE \(table) SET \(column) = \(value)",
      where: "\(own)\(column) \(dialect.isDifferent) \(value)", in: entity.table)
  }

  /// Throws `ServerStepObstacle` if the store is in a server.
  private func refuse(_ reason: String, _ entity: EntityLayout, _ property: String) throws {
    if dialect == .sqlite { return }
    throw ServerStepObstacle(entity: entity.name, property: property, reason: "\(reason).")
  }

  private func value(
    of expression: ExpressionSyntax, _ entity: EntityLayout, kind: AttributeKind
  ) throws -> String? {
    switch expression {
    case .keyPath(let path):
      let names = path.split(separator: ".").map(String.init)
      guard let found = try value(at: names[...], of: entity, row: SQLName.quoted(entity.table), depth: 0) else {
        return nil
      }
      if found.kind == kind { return found.sql }
      guard found.kind.isNumeric, kind.isNumeric, kind != .boolean else { return nil }
      return NumberCast(from: found.kind, to: kind, dialect: dialect).sql(BoundSQL(found.sql)).sql
    case .function(nil, let name, let arguments)
    where ["canonical:", "uppercase:", "lowercase:"].contains(name) && arguments.count == 1 && kind == .string:
      let value = try value(of: arguments[0], entity, kind: .string)
      if value != nil { try refuse("PostgreSQL does not compute \(name) as objects do", entity, "\(arguments[0])") }
      return value.map { "\(Self.textFunction)('\(name)', \($0))" }
    default: return nil
    }
  }

  /// Returns the value at the end of a key path, as a scalar expression for a row, and its type.
  private func value(
    at path: ArraySlice<String>, of entity: EntityLayout, row: String, depth: Int
  ) throws -> (sql: String, kind: AttributeKind)? {
    guard let name = path.first else { return nil }
    let rest = path.dropFirst()
    if let attribute = entity.attributes[name] {
      let isInRow = dialect != .sqlite || !attribute.allowsExternalStorage
      guard rest.isEmpty, let column = attribute.column, isInRow else { return nil }
      return ("\(row).\(SQLName.quoted(column))", attribute.kind)
    }
    guard let relationship = entity.relationships[name],
      let destination = step.destinationSchema[relationship.destinationEntity]
    else { return nil }
    let alias = "d\(depth)"
    switch relationship.storage {
    case .foreignKey(let key):
      guard let value = try value(at: rest, of: destination, row: alias, depth: depth + 1) else { return nil }
      let condition = "\(alias).Z_PK = \(row).\(SQLName.quoted(key.column))"
      return ("(SELECT \(value.sql) FROM \(SQLName.quoted(destination.table)) \(alias) WHERE \(condition))", value.kind)
    case .inverseForeignKey, .joinTable:
      let members = RelationshipPairs(of: relationship, in: step.destinationSchema)
        .memberRows(of: destination, as: alias, owner: "\(row).Z_PK")
      return try aggregate(rest, of: destination, alias, members, depth)
    }
  }

  private func aggregate(
    _ path: ArraySlice<String>, of entity: EntityLayout, _ alias: String, _ rows: String, _ depth: Int
  ) throws -> (sql: String, kind: AttributeKind)? {
    if Array(path) == ["@count"] { return ("(SELECT COUNT(*) \(rows))", .integer64) }
    // Both `books.@sum.pages` and `books.pages.@sum` are valid.
    guard let position = path.firstIndex(where: { $0.hasPrefix("@") }) else { return nil }
    var names = path
    let name = names.remove(at: position)
    let functions = ["@sum": "SUM", "@min": "MIN", "@max": "MAX", "@avg": "AVG"]
    guard let function = functions[name],
      let value = try value(at: names, of: entity, row: alias, depth: depth + 1),
      value.kind.isNumeric || value.kind == .date
    else { return nil }
    let isWhole = [.integer16, .integer32, .integer64].contains(value.kind)
    let isExact = function == "SUM" ? isWhole : function != "AVG" && value.kind != .boolean
    if !isExact {
      try refuse("PostgreSQL does not compute \(name) as objects do", entity, names.joined(separator: "."))
    }
    if value.kind == .decimal, dialect == .sqlite, function == "SUM" || function == "AVG" {
      // Adding doubles would not yield the sum of the decimals.
      return (ValueFunction.total(function == "SUM" ? "sum:" : "average:", of: value.sql, in: rows), .decimal)
    }
    if function == "SUM", dialect != .sqlite {
      return ("CAST((SELECT COALESCE(SUM(\(value.sql)), 0) \(rows)) AS bigint)", .integer64)
    }
    if [.double, .float].contains(value.kind), function == "SUM" || function == "AVG" {
      let sum = "\(ValueFunction.sumName)(\(value.sql))"
      return function == "SUM"
        ? ("(SELECT IFNULL(\(sum), 0) \(rows))", value.kind)
        : ("(SELECT \(sum) / COUNT(\(value.sql)) \(rows))", .double)
    }
    let sql = "(SELECT \(function)(\(value.sql)) \(rows))"
    return (function == "SUM" ? "IFNULL(\(sql), 0)" : sql, function == "AVG" ? .double : value.kind)
  }
}

/// The order of derived attributes, of which some read the values of others.
private struct DerivationOrder {
  /// An attribute of all entities in a table.
  private struct Place: Hashable {
    let root: Int
    let name: String
  }

  private let step: InPlaceStep
  /// The number of derived values below each; nil while it is being found.
  private var depths: [Place: Int?] = [:]
  /// Whether an attribute reads its own values, directly or through others.
  private(set) var hasCycle = false

  init(step: InPlaceStep) { self.step = step }

  /// Returns 0 for an attribute that is not derived, otherwise more than for those that it reads.
  mutating func depth(of name: String, in entity: EntityLayout) -> Int {
    let place = Place(root: entity.rootNumber, name: name)
    if let known = depths[place] {
      if known == nil { hasCycle = true }
      return known ?? 0
    }
    depths[place] = .some(nil)
    var depth = 0
    // A sub-entity may derive an attribute in another way.
    for entity in step.destinationSchema.entities where entity.rootNumber == place.root {
      guard let expression = step.destination.attribute(name, of: entity.name)?.derivation else { continue }
      for path in expression.derivationPaths {
        depth = max(depth, 1 + self.depth(at: path.split(separator: ".").map(String.init)[...], of: entity))
      }
    }
    depths[place] = depth
    return depth
  }

  private mutating func depth(at path: ArraySlice<String>, of entity: EntityLayout) -> Int {
    guard let name = path.first else { return 0 }
    if name.hasPrefix("@") { return depth(at: path.dropFirst(), of: entity) }
    if entity.attributes[name] != nil { return depth(of: name, in: entity) }
    guard let relationship = entity.relationships[name],
      let destination = step.destinationSchema[relationship.destinationEntity]
    else { return 0 }
    return depth(at: path.dropFirst(), of: destination)
  }
}

extension ExpressionSyntax {
  /// The key paths in the forms of derivations that Core Data supports.
  fileprivate var derivationPaths: [String] {
    switch self {
    case .keyPath(let path): [path]
    case .function(nil, _, let arguments): arguments.flatMap(\.derivationPaths)
    default: []
    }
  }
}

/// Determines whether a step may change the values of a derived attribute.
private struct DerivedChange {
  let step: InPlaceStep
  let entity: EntityLayout

  func mayChange(_ attribute: AttributeDocument) -> Bool {
    guard let source = step.mapping.sourceEntity(of: entity.name),
      let name = step.mapping.sourceAttribute(of: attribute.name, in: entity.name),
      let old = step.source.attribute(name, of: source), let expression = attribute.derivation
    else { return true }
    guard old.kind == attribute.kind, old.derivation == expression else { return true }
    return expression.derivationPaths.contains { path in
      mayChange(path.split(separator: ".").map(String.init).filter { !$0.hasPrefix("@") }[...], of: entity)
    }
  }

  private func mayChange(_ path: ArraySlice<String>, of entity: EntityLayout) -> Bool {
    guard let name = path.first else { return false }
    if entity.attributes[name] != nil { return mayChangeAttribute(name, of: entity) }
    guard let relationship = entity.relationships[name],
      let destination = step.destinationSchema[relationship.destinationEntity]
    else { return false }
    let layouts = step.sourceLayouts(
      of: name, in: relationship.declaringEntity, inverse: relationship.inverseName, in: destination.name)
    guard layouts.own.count == 1, layouts.inverse.isEmpty, let old = layouts.own.first,
      !step.losesObjects(from: old.destinationEntity, to: destination.name)
    else { return true }
    return mayChange(path.dropFirst(), of: destination)
  }

  private func mayChangeAttribute(_ name: String, of entity: EntityLayout) -> Bool {
    guard let source = step.mapping.sourceEntity(of: entity.name),
      let oldName = step.mapping.sourceAttribute(of: name, in: entity.name),
      let old = step.source.attribute(oldName, of: source), let new = step.destination.attribute(name, of: entity.name)
    else { return true }
    let isFilled = old.isOptional && !new.isOptional && new.defaultValue != nil
    return old.kind != new.kind || isFilled || new.derivation != nil
  }
}

/// Values that in-place migration needs from the program: those of value transformers and predicate functions.
package protocol ProgramValues {
  /// Returns the default value of a transformable attribute as a save would write it, or nil if it has no value.
  ///
  /// - Throws: `UnwritableDefault`.
  func archivedDefault(of attribute: AttributeDocument) throws -> Data?

  /// Returns the result of a predicate function for a text.
  func text(_ function: String, of text: String) throws -> String?
}

/// A default value that cannot be written.
package struct UnwritableDefault: Error {
  /// The reason as a sentence; empty if unknown.
  package let reason: String

  package init(reason: String) { self.reason = reason }
}
