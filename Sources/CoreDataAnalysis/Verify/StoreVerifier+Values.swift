// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A rule for a value of a row that SQL can check.
private struct ValueRule {
  let kind: StoreDefect.Kind
  let property: String
  /// The SQL condition for rows that break the rule; the row's alias is `o`.
  let condition: String
  /// The value to show.
  let shown: String
  /// The description of the problem, after the name of the row.
  let complaint: String
  let cure: String
}

/// Values of an attribute that copying the objects would change.
package struct ConvertedValues: Hashable, Sendable {
  package let entity: String
  package let property: String
  package let count: Int
}

/// SQL functions that determine whether objects can read a value, as contexts do.
private enum ReadableText: String, CaseIterable {
  case decimal
  case string
  case uri

  var name: String { "verifier_reads_\(rawValue)" }

  func reads(_ call: SQLiteFunctionCall) -> Bool {
    if self == .string { return call.textBytes(0).map { SQLiteText.isUTF8(UnsafeRawBufferPointer($0)) } ?? false }
    return switch (self, call.value(0)) {
    case (.decimal, .text(let text)): StoredDecimal.object(text) != nil
    case (.decimal, .real(let number)): DecimalConversion.decimal(number) != nil
    case (.uri, .text(let text)): URL(string: text) != nil
    default: false
    }
  }
}

extension StoreVerifier {
  /// Registers the functions called by queries for values.
  func registerFunctions() throws {
    for function in ReadableText.allCases {
      try connection.register(directFunction: function.name, argumentCount: 1, deterministic: true) { call in
        call.setResult(.integer(function.reads(call) ? 1 : 0))
      }
    }
  }

  /// Checks types, ranges and required values of one entity's rows.
  func valueDefects(of entity: ReadableEntity, _ layout: EntityLayout) throws -> [StoreDefect] {
    let documents = Dictionary(attributes(of: entity.name).map { ($0.name, $0) }) { first, _ in first }
    var rules: [ValueRule] = []
    for (name, attribute) in layout.attributes.sorted(by: { $0.key < $1.key }) {
      guard let document = documents[name], !document.isTransient else { continue }
      rules += Self.rules(of: attribute, document, property: name)
    }
    if catalog.table(named: layout.table)?.column(named: "Z_OPT") != nil {
      rules.append(
        ValueRule(
          kind: .type, property: "Z_OPT", condition: "typeof(o.Z_OPT) NOT IN ('integer', 'null')", shown: "o.Z_OPT",
          complaint: "has a version that is not a whole number",
          cure: "It is used to detect conflicts. Set it to 1, or restore the store from a backup."))
    }
    let relationships = Dictionary(relationshipDocuments(of: entity.name).map { ($0.name, $0) }) { first, _ in first }
    for (name, relationship) in layout.relationships.sorted(by: { $0.key < $1.key }) {
      guard case .foreignKey(let key) = relationship.storage, !relationship.isToMany,
        let document = relationships[name], !document.isOptional, !document.isTransient
      else { continue }
      let column = "o.\(SQLName.quoted(key.column))"
      rules.append(
        ValueRule(
          kind: .requiredValue, property: name, condition: "\(column) IS NULL", shown: "NULL",
          complaint: "has no \(relationship.destinationEntity), which is required",
          cure: "Set the relationship in the app, or delete the objects."))
    }
    let source = "\(SQLName.quoted(layout.table)) o WHERE \(Self.condition(of: entity))"
    let counts = try self.counts(of: rules, from: source)
    return try zip(rules, counts).compactMap { rule, count in
      guard count > 0 else { return nil }
      return try defect(
        rule.kind, entity: entity.name, property: rule.property, count: count,
        rows: "SELECT o.Z_PK, \(rule.shown) FROM \(source) AND (\(rule.condition))", cure: rule.cure
      ) { row in
        let value = row[1].isNull ? "" : ": \(row[1].shortLiteral)"
        return "The row \(row[0].shortLiteral) \(rule.complaint)\(value)."
      }
    }
  }

  /// Counts the values that objects read differently from how they are stored, so that copied objects have other
  /// values: values that do not have their attribute's type, strings that are not UTF-8, and Booleans other than 0 and
  /// 1.
  ///
  /// - Throws: `StoreProblem`.
  package func convertedValues() throws -> [ConvertedValues] {
    try reader.explaining {
      try registerFunctions()
      var found: [ConvertedValues] = []
      for entity in reader.entities {
        guard let layout = entity.layout else { continue }
        let documents = Dictionary(attributes(of: entity.name).map { ($0.name, $0) }) { first, _ in first }
        let rules = layout.attributes.sorted { $0.key < $1.key }.flatMap { name, attribute in
          documents[name].map { document in
            document.isTransient
              ? []
              : Self.rules(of: attribute, document, property: name).filter { $0.kind == .type }
                + Self.odd(attribute, name)
          } ?? []
        }
        let source = "\(SQLName.quoted(layout.table)) o WHERE \(Self.condition(of: entity))"
        for (rule, count) in try zip(rules, counts(of: rules, from: source)) where count > 0 {
          found.append(ConvertedValues(entity: entity.name, property: rule.property, count: count))
        }
      }
      return found
    }
  }

  /// Returns the rule for Booleans that are other numbers, which objects read as true.
  private static func odd(_ attribute: AttributeLayout, _ property: String) -> [ValueRule] {
    guard attribute.kind == .boolean, let name = attribute.column else { return [] }
    let column = "o.\(SQLName.quoted(name))"
    return [
      ValueRule(
        kind: .type, property: property,
        condition: "typeof(\(column)) = 'integer' AND \(column) NOT IN (0, 1)", shown: column,
        complaint: "has a number that is not a Boolean", cure: "")
    ]
  }

  /// Returns the condition for exactly the entity's rows; the row's alias is `o`.
  static func condition(of entity: ReadableEntity) -> String {
    entity.isAlone ? "1" : "o.Z_ENT = \(entity.number)"
  }

  /// Returns the number of rows that break each rule.
  private func counts(of rules: [ValueRule], from source: String) throws -> [Int] {
    var counts: [Int] = []
    // SQLite limits the number of result columns.
    for start in stride(from: 0, to: rules.count, by: 500) {
      let some = rules[start..<min(start + 500, rules.count)]
      // Most rows satisfy all rules. Counting would take longer, since SQLite compares each aggregate with those before
      // it.
      let cases = some.map { "WHEN \($0.condition) THEN 1" }.joined(separator: " ")
      guard try connection.scalar("SELECT 1 FROM \(source) AND CASE \(cases) END LIMIT 1") != nil else {
        counts += some.map { _ in 0 }
        continue
      }
      let terms = some.map { "COUNT(CASE WHEN \($0.condition) THEN 1 END)" }
      let row = try connection.rows("SELECT \(terms.joined(separator: ", ")) FROM \(source)")[0]
      counts += row.values.map { Int($0.integer ?? 0) }
    }
    return counts
  }

  private func attributes(of entity: String) -> [AttributeDocument] {
    reader.modelIndex?.lineage(of: entity).flatMap(\.attributes) ?? []
  }

  func relationshipDocuments(of entity: String) -> [RelationshipDocument] {
    reader.modelIndex?.lineage(of: entity).flatMap(\.relationships) ?? []
  }

  /// Returns the rules for an attribute, or an element of a composite one.
  ///
  /// - Parameters:
  ///   - property: the attribute's name, preceded by those of the enclosing composite attributes.
  ///   - presence: SQL that is true if the composite attribute has a value.
  private static func rules(
    of attribute: AttributeLayout, _ document: AttributeDocument, property: String, presence: String = "1"
  ) -> [ValueRule] {
    var rules: [ValueRule] = []
    let isMissing = attribute.columns.map { "o.\(SQLName.quoted($0)) IS NULL" }.joined(separator: " AND ")
    // The columns of a composite whose elements are all missing are those of none.
    let canBeEmpty = !document.elements.isEmpty && document.elements.allSatisfy(\.isOptional)
    // Derived values are computed when an object is saved.
    if !document.isOptional, document.derivation == nil, !isMissing.isEmpty, !canBeEmpty {
      rules.append(
        ValueRule(
          kind: .requiredValue, property: property, condition: "\(presence) AND \(isMissing)", shown: "NULL",
          complaint: "has no value, which is required", cure: "Give the objects a value, or delete them."))
    }
    guard let name = attribute.column else {
      let documents = Dictionary(document.elements.map { ($0.name, $0) }) { first, _ in first }
      for element in attribute.elements {
        guard let document = documents[element.name] else { continue }
        rules += Self.rules(
          of: element, document, property: "\(property).\(element.name)", presence: "NOT (\(isMissing))")
      }
      return rules
    }
    let column = "o.\(SQLName.quoted(name))"
    if let isWrong = wrongType(attribute.kind, column) {
      rules.append(
        ValueRule(
          kind: .type, property: property, condition: isWrong, shown: column,
          complaint: "has a value that is not of type \(attribute.kind.title)",
          cure: "Such an object cannot be read. Correct the value in the file, or restore the store from a backup."))
    }
    if let range = attribute.kind.range {
      rules.append(
        ValueRule(
          kind: .validation, property: property,
          condition:
            "typeof(\(column)) = 'integer' AND \(column) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)",
          shown: column, complaint: "has a number that is outside the range of \(attribute.kind.title)",
          cure: "Such an object cannot be saved. Give it another number."))
    }
    return rules
  }

  /// Returns SQL that is true for values that cannot be read as the type; nil for types without a column.
  private static func wrongType(_ kind: AttributeKind, _ column: String) -> String? {
    switch kind {
    case .integer16, .integer32, .integer64, .boolean: "typeof(\(column)) NOT IN ('integer', 'null')"
    case .double, .float, .date: "typeof(\(column)) NOT IN ('real', 'integer', 'null')"
    case .decimal:
      // Smaller numbers are decimals.
      "typeof(\(column)) = 'blob' OR typeof(\(column)) = 'text' AND NOT \(ReadableText.decimal.name)(\(column)) "
        + "OR typeof(\(column)) = 'real' AND ABS(\(column)) > 1e100 AND NOT \(ReadableText.decimal.name)(\(column))"
    case .uri: "\(column) IS NOT NULL AND (typeof(\(column)) <> 'text' OR NOT \(ReadableText.uri.name)(\(column)))"
    case .string: "\(column) IS NOT NULL AND NOT \(ReadableText.string.name)(\(column))"
    case .uuid: "\(column) IS NOT NULL AND (typeof(\(column)) <> 'blob' OR length(\(column)) <> 16)"
    case .binaryData, .transformable: "typeof(\(column)) NOT IN ('blob', 'null')"
    case .undefined, .objectID, .composite: nil
    }
  }

  // MARK: Validation rules

  /// Checks the validation rules of one entity's attributes that need evaluation in memory.
  func ruleDefects(of entity: ReadableEntity, _ layout: EntityLayout, gaps: inout [String]) throws -> [StoreDefect] {
    var defects: [StoreDefect] = []
    for document in attributes(of: entity.name).sorted(by: { $0.name < $1.name })
    where !document.isTransient && !document.validations.isEmpty {
      guard let attribute = layout.attributes[document.name], let column = attribute.column,
        attribute.kind != .transformable
      else { continue }
      do {
        if let found = try ruleDefect(of: entity, layout.table, document, attribute, column) { defects.append(found) }
      } catch let failure as UnevaluableRule {
        gaps.append(
          "A rule of \(entity.name).\(document.name) cannot be evaluated, so its values were not checked: "
            + "\(failure.reason)")
      }
    }
    return defects
  }

  private struct UnevaluableRule: Error {
    let reason: String
  }

  private func ruleDefect(
    of entity: ReadableEntity, _ table: String, _ document: AttributeDocument, _ attribute: AttributeLayout,
    _ column: String
  ) throws -> StoreDefect? {
    var count = 0
    var examples: [StoreDefect.Example] = []
    let quoted = "o.\(SQLName.quoted(column))"
    try connection.prepare(
      "SELECT o.Z_PK, \(quoted) FROM \(SQLName.quoted(table)) o WHERE \(Self.condition(of: entity)) "
        + "AND \(quoted) IS NOT NULL ORDER BY o.Z_PK"
    ).forEachRow { statement in
      let stored = statement.value(at: 1)
      guard let value = StoredValue.object(stored, as: attribute) else { return }
      for rule in document.validations {
        let isKept: Bool
        do {
          isKept = try rule.isKept(by: value)
        } catch {
          throw UnevaluableRule(reason: String(describing: error))
        }
        guard !isKept else { continue }
        count += 1
        if examples.count < limit {
          let key = statement.int64(at: 0)
          examples.append(
            .init(key: key, text: "The row \(key) has a value that breaks a validation rule: \(stored.shortLiteral)."))
        }
        return
      }
    }
    guard count > 0 else { return nil }
    return StoreDefect(
      .validation, entity: entity.name, property: document.name, count: count, examples: examples,
      cure: "Such objects cannot be saved when they change. Correct the values in the app.")
  }
}

extension AttributeKind {
  /// The range of an integer type; nil for other types, and for one with the range of the column.
  fileprivate var range: ClosedRange<Int64>? {
    switch self {
    case .integer16: Int64(Int16.min)...Int64(Int16.max)
    case .integer32: Int64(Int32.min)...Int64(Int32.max)
    default: nil
    }
  }
}
