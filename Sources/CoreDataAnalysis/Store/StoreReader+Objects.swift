// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension StoreReader {
  /// Shows every object to a body, one at a time: sorted by entity and key.
  ///
  /// - Parameters:
  ///   - names: the entities whose objects are wanted, nil for all; objects of their sub-entities are not among them.
  ///   - limit: how many objects at most; nil for all.
  ///   - didMissValue: called for a value whose file is missing or cannot be read, and which is null then; nil for an
  ///     error.
  ///   - body: gets each object.
  /// - Throws: `StoreProblem`, or what `body` or `didMissValue` throws.
  package func forEachObject(
    of names: [String]? = nil, limit: Int? = nil, didMissValue: ((StoreProblem) throws -> Void)? = nil,
    _ body: (ExportedObject) throws -> Void
  ) throws {
    var left = limit ?? Int.max
    for name in names ?? [] where !entities.contains(where: { $0.name == name }) {
      throw StoreProblem(
        .unknownEntity, "The store has no entity \(name). It has \(entityNames.joined(separator: ", ")).")
    }
    try checkTables(of: entities.filter { names?.contains($0.name) ?? true })
    // Entities that were asked for by name can be had from a damaged store, too.
    if names == nil { try checkEntityNumbers() }
    let references = ObjectReferences(reader: self, didMissValue: didMissValue)
    for entity in entities where names?.contains(entity.name) ?? true {
      guard left > 0, let table = entity.table else { continue }
      let plan = rowPlan(of: entity, table: table)
      let columns = (["Z_PK"] + plan.columns).map { SQLName.quoted($0) }.joined(separator: ", ")
      let sql =
        "SELECT \(columns) FROM \(SQLName.quoted(table)) WHERE \(entity.condition) ORDER BY Z_PK LIMIT ?1"
      let statement = try explaining { () -> SQLiteStatement in
        let statement = try connection.prepare(sql)
        try statement.bind([.integer(Int64(left))])
        return statement
      }
      while try explaining({ try statement.step() }) {
        let key = statement.int64(at: 0)
        let values = try explaining {
          try plan.steps.map { step in (step.name, try step.value(statement, key, references)) }
        }
        try body(
          ExportedObject(entity: entity.name, id: references.id(entity.name, key), values: values))
        left -= 1
      }
    }
    try StoreProblem.translating(url, file.checkUnchanged)
  }

  /// The entity and all its sub-entities by name; nil where the store has no such entity.
  package func family(of name: String) -> [String]? {
    guard entities.contains(where: { $0.name == name }) else { return nil }
    guard let layout = schema?[name] else { return [name] }
    return entities.filter { layout.numbers.contains($0.number) }.map(\.name)
  }

  private func rowPlan(of entity: ReadableEntity, table: String) -> ExportPlan {
    var plan = ExportPlan(entity: entity.name)
    guard let layout = entity.layout else {
      plan.addDeclared(catalog.table(named: table)?.columns ?? [])
      return plan
    }
    for (name, attribute) in layout.attributes { plan.add(attribute, name: name) }
    for (name, relationship) in layout.relationships { plan.add(relationship, name: name) }
    plan.sort()
    return plan
  }
}

/// Which columns of a table are needed for an entity's properties, and how each property is made from them.
struct ExportPlan {
  /// How one property is read from the current row.
  struct Step {
    let name: String
    let value: (SQLiteStatement, Int64, ObjectReferences) throws -> ExportedValue
  }

  private let entity: String
  private(set) var columns: [String] = []
  private(set) var steps: [Step] = []

  init(entity: String) {
    self.entity = entity
  }

  mutating func sort() {
    steps.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  mutating func add(_ attribute: AttributeLayout, name: String) {
    let value = reading(attribute)
    steps.append(Step(name: name) { statement, key, references in try value(statement, key, references) })
  }

  private mutating func reading(
    _ attribute: AttributeLayout
  ) -> (SQLiteStatement, Int64, ObjectReferences) throws -> ExportedValue {
    guard let column = attribute.column else {
      let parts = attribute.elements.sorted { $0.name < $1.name }.map { ($0.name, reading($0)) }
      return { statement, key, references in
        let values = try parts.map { ExportedValue.Part(name: $0.0, value: try $0.1(statement, key, references)) }
        return values.allSatisfy { $0.value == .null } ? .null : .composite(values)
      }
    }
    let index = position(of: column)
    let (kind, isExternal) = (attribute.kind, attribute.allowsExternalStorage)
    let (name, entity) = (attribute.name, entity)
    return { statement, key, references in
      let stored = StoredValue.exported(statement.value(at: index), as: kind)
      guard isExternal, case .binary(let data) = stored else { return stored }
      return try references.externalData(data, property: name, of: entity, key: key).map { .binary($0) } ?? .null
    }
  }

  mutating func add(_ relationship: RelationshipLayout, name: String) {
    let destination = relationship.destinationEntity
    if case .foreignKey(let key) = relationship.place, !relationship.isToMany {
      let index = position(of: key.column)
      let entityIndex = key.entityColumn.map { position(of: $0) }
      steps.append(
        Step(name: name) { statement, _, references in
          guard !statement.isNull(at: index) else { return .null }
          let number = entityIndex.flatMap { statement.isNull(at: $0) ? nil : Int(statement.int64(at: $0)) }
          return .reference(try references.reference(to: statement.int64(at: index), of: destination, number: number))
        })
    } else {
      steps.append(
        Step(name: name) { _, key, references in .references(try references.members(of: relationship, owner: key)) })
    }
  }

  /// Columns of a table whose model is not known: everything that is not housekeeping.
  mutating func addDeclared(_ tableColumns: [DatabaseCatalog.Column]) {
    let housekeeping: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
    for column in tableColumns where !housekeeping.contains(column.name) && !column.name.hasPrefix("Z_FOK_") {
      let index = position(of: column.name)
      let isDate = column.declaredType == "TIMESTAMP"
      let isDecimal = column.declaredType == "DECIMAL"
      steps.append(
        Step(name: column.name) { statement, _, _ in
          StoredValue.exported(statement.value(at: index), as: isDate ? .date : isDecimal ? .decimal : .undefined)
        })
    }
    sort()
  }

  private mutating func position(of column: String) -> Int {
    if let known = columns.firstIndex(of: column) { return known + 1 }
    columns.append(column)
    return columns.count
  }
}

/// What a value in a column means.
enum StoredValue {
  /// A value that cannot be of the kind is exported as what it is, so that nothing is lost.
  static func exported(_ value: SQLiteValue, as kind: AttributeKind) -> ExportedValue {
    switch (kind, value) {
    case (_, .null): .null
    case (.boolean, .integer(let number)): number == 0 || number == 1 ? .boolean(number == 1) : .integer(number)
    case (.date, .integer(let number)): .date(Double(number))
    case (.date, .real(let number)): .date(number)
    case (.decimal, .integer(let number)): .decimal(String(number))
    case (.decimal, .real(let number)): .decimal(DecimalText.plain(number))
    case (.decimal, .text(let text)): .decimal(DecimalText.plain(text))
    case (.double, .integer(let number)), (.float, .integer(let number)): .real(Double(number))
    case (.uuid, .blob(let data)) where data.count == 16:
      .string(data.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString)
    case (_, .integer(let number)): .integer(number)
    case (_, .real(let number)): .real(number)
    case (_, .text(let text)): .string(text)
    case (_, .blob(let data)): .binary(data)
    }
  }
}
