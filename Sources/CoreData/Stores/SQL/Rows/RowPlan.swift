// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// How rows of one entity are written, with the prepared statements. Made once for an open store.
final class RowPlan {
  /// What a slot writes to its row.
  enum Step {
    case column(ColumnCoding, AttributeLayout, parameter: Int)
    /// A composite attribute: several columns.
    case columns(AttributeLayout)
    case key(RelationshipLayout, ForeignKeyLayout, parameter: Int)
    /// A transient attribute, or a relationship without a column in the row.
    case nothing
  }

  /// The first three parameters are the key, the entity and the version.
  private static let firstParameter = 4
  /// The number of update statements that are kept, one for each set of changed slots.
  private static let statementLimit = 32

  let entity: NSEntityDescription
  let layout: EntityLayout
  /// By slot.
  let steps: [Step]
  /// The columns whose values may be files.
  let filed: [(position: Int, column: String)]
  /// The slots of relationships that are stored outside the row.
  let outside: [(position: Int, relationship: RelationshipLayout)]
  /// Whether a relationship stores the position of the row, or of its members, in an order.
  let hasPlaces: Bool
  private let connection: SQLiteConnection
  private let indexes: [String: Int]
  private var insertion: SQLiteStatement?
  private var updates: [SlotSet: SQLiteStatement] = [:]

  init(_ entity: NSEntityDescription, _ layout: EntityLayout, _ connection: SQLiteConnection) {
    self.entity = entity
    self.layout = layout
    self.connection = connection
    let table = entity.slotTable
    var indexes: [String: Int] = [:]
    steps = table.names.map { name in
      let step = RowPlan.step(of: name, in: layout, parameter: indexes.count + RowPlan.firstParameter)
      for column in RowPlan.columns(of: step) { indexes[column] = indexes.count + RowPlan.firstParameter }
      return step
    }
    self.indexes = indexes
    filed = table.names.enumerated().compactMap { position, name in
      guard let attribute = layout.attributes[name], attribute.allowsExternalStorage else { return nil }
      return attribute.column.map { (position, $0) }
    }
    outside = table.names.enumerated().compactMap { position, name in
      layout.relationships[name].flatMap { RowPlan.isOutside($0) ? (position, $0) : nil }
    }
    hasPlaces = outside.contains { RowPlan.hasPlaces($0.relationship) }
  }

  private static func step(of name: String, in layout: EntityLayout, parameter: Int) -> Step {
    if let attribute = layout.attributes[name] {
      guard attribute.column != nil, let coding = ColumnCoding(attribute) else { return .columns(attribute) }
      return .column(coding, attribute, parameter: parameter)
    }
    if let relationship = layout.relationships[name], case .foreignKey(let key) = relationship.place {
      return .key(relationship, key, parameter: parameter)
    }
    return .nothing
  }

  private static func columns(of step: Step) -> [String] {
    switch step {
    case .column(_, let attribute, _), .columns(let attribute): attribute.columns
    case .key(_, let key, _): [key.column] + (key.entityColumn.map { [$0] } ?? [])
    case .nothing: []
    }
  }

  /// Whether a change of the relationship is written outside the row. If it has an inverse, its members write their own
  /// columns.
  private static func isOutside(_ relationship: RelationshipLayout) -> Bool {
    switch relationship.place {
    case .foreignKey(let key): key.orderColumn != nil
    case .inverseForeignKey: relationship.inverseName == nil || relationship.isOrdered
    case .joinTable: true
    }
  }

  private static func hasPlaces(_ relationship: RelationshipLayout) -> Bool {
    switch relationship.place {
    case .foreignKey(let key): key.orderColumn != nil
    case .inverseForeignKey: relationship.isOrdered
    case .joinTable(let end): end.orderColumn != nil || end.inverseOrderColumn != nil
    }
  }

  /// Returns the statement that inserts a row. Its parameters are key, entity and version, and then the columns.
  func insertStatement() throws -> SQLiteStatement {
    if let insertion { return insertion }
    let columns = indexes.sorted { $0.value < $1.value }.map(\.key)
    let names = (["Z_PK", "Z_ENT", "Z_OPT"] + columns).map(SQLName.quoted).joined(separator: ", ")
    let marks = (1...columns.count + 3).map { "?\($0)" }.joined(separator: ", ")
    let made = try connection.prepare(
      "INSERT INTO \(SQLName.quoted(layout.table)) (\(names)) VALUES (\(marks))", persistent: true)
    insertion = made
    return made
  }

  /// Returns the statement that updates some slots of a row. Parameter 1 is the key, 2 the new version and 3 the old one; the
  /// columns have the same parameters as in `insertStatement()`.
  func updateStatement(_ changed: SlotSet) throws -> SQLiteStatement {
    if let known = updates[changed] { return known }
    let assignments = changed.flatMap { RowPlan.columns(of: steps[$0]) }
      .compactMap { column in indexes[column].map { "\(SQLName.quoted(column)) = ?\($0)" } }
    let made = try connection.prepare(
      "UPDATE \(SQLName.quoted(layout.table)) SET \((assignments + ["Z_OPT = ?2"]).joined(separator: ", ")) "
        + "WHERE Z_PK = ?1 AND \(RowVersion.stored) = ?3", persistent: true)
    if updates.count >= RowPlan.statementLimit { updates = [:] }
    updates[changed] = made
    return made
  }

  /// The parameter of a column.
  func index(of column: String) -> Int { indexes[column] ?? 0 }
}

/// The row plans of an open store's entities.
final class RowPlans {
  private let entities: StoredEntities
  private let connection: SQLiteConnection
  private var plans: [ObjectIdentifier: RowPlan] = [:]
  /// The most recent plan: changes come entity by entity.
  private var last: RowPlan?

  init(entities: StoredEntities, connection: SQLiteConnection) {
    self.entities = entities
    self.connection = connection
  }

  /// - Throws: `SchemaProblem` when the store does not have the entity.
  func plan(for entity: NSEntityDescription) throws -> RowPlan {
    if let last, last.entity === entity { return last }
    let plan = try plans[ObjectIdentifier(entity)] ?? RowPlan(entity, entities.layout(of: entity), connection)
    plans[ObjectIdentifier(entity)] = plan
    last = plan
    return plan
  }
}
