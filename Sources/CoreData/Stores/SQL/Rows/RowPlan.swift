// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles

/// The plan for writing the rows of one entity. Created once for an open store.
package final class RowPlan {
  /// The columns that a slot writes in its row.
  package enum Step {
    case column(ColumnCoding, AttributeLayout, parameter: Int)
    /// A composite attribute, with several columns.
    case columns(AttributeLayout)
    case key(RelationshipLayout, ForeignKeyLayout, parameter: Int)
    /// A transient attribute, or a relationship without a column in the row.
    case nothing
  }

  /// The number of the first column's parameter. The first three parameters are the key, the entity and the version.
  private static let firstParameter = 4

  package let entity: NSEntityDescription
  package let layout: EntityLayout
  /// The steps, by slot.
  package let steps: [Step]
  /// The columns whose values may be stored in files.
  package let filed: [(position: Int, column: String)]
  /// The slots of relationships that are stored outside the row.
  package let outside: [(position: Int, relationship: RelationshipLayout)]
  /// Whether the row, or its members, have positions in an ordered relationship.
  package let hasPositions: Bool
  private let indexes: [String: Int]
  /// The columns that slots write, in the order of their parameters.
  package let columns: [String]

  init(_ entity: NSEntityDescription, _ layout: EntityLayout) {
    self.entity = entity
    self.layout = layout
    let table = entity.slotTable
    var indexes: [String: Int] = [:]
    steps = table.names.map { name in
      let step = RowPlan.step(of: name, in: layout, parameter: indexes.count + RowPlan.firstParameter)
      for column in RowPlan.columns(of: step) { indexes[column] = indexes.count + RowPlan.firstParameter }
      return step
    }
    self.indexes = indexes
    columns = indexes.sorted { $0.value < $1.value }.map(\.key)
    filed = table.names.enumerated().flatMap { position, name in
      (layout.attributes[name]?.filed ?? []).compactMap { $0.column }.map { (position, $0) }
    }
    outside = table.names.enumerated().compactMap { position, name in
      layout.relationships[name].flatMap { RowPlan.isOutside($0) ? (position, $0) : nil }
    }
    hasPositions = outside.contains { RowPlan.hasPositions($0.relationship) }
  }

  private static func step(of name: String, in layout: EntityLayout, parameter: Int) -> Step {
    if let attribute = layout.attributes[name] {
      guard attribute.column != nil, let coding = ColumnCoding(attribute) else { return .columns(attribute) }
      return .column(coding, attribute, parameter: parameter)
    }
    if let relationship = layout.relationships[name], case .foreignKey(let key) = relationship.storage {
      return .key(relationship, key, parameter: parameter)
    }
    return .nothing
  }

  /// Returns the columns of a row that a step writes.
  package static func columns(of step: Step) -> [String] {
    switch step {
    case .column(_, let attribute, _), .columns(let attribute): attribute.columns
    case .key(_, let key, _): [key.column] + (key.entityColumn.map { [$0] } ?? [])
    case .nothing: []
    }
  }

  /// Returns whether a change of the relationship is written outside the row. If it has an inverse, its members' rows
  /// contain the keys.
  private static func isOutside(_ relationship: RelationshipLayout) -> Bool {
    switch relationship.storage {
    case .foreignKey(let key): key.orderColumn != nil
    case .inverseForeignKey: relationship.inverseName == nil || relationship.isOrdered
    case .joinTable: true
    }
  }

  private static func hasPositions(_ relationship: RelationshipLayout) -> Bool {
    switch relationship.storage {
    case .foreignKey(let key): key.orderColumn != nil
    case .inverseForeignKey: relationship.isOrdered
    case .joinTable(let end): end.orderColumn != nil || end.inverseOrderColumn != nil
    }
  }

  /// Returns whether any of the slots has a column in the row.
  package func hasColumns(_ positions: SlotSet) -> Bool {
    positions.contains { position in
      if case .nothing = steps[position] { return false }
      return true
    }
  }

  /// Returns whether a change of the slots is written outside the row.
  package func writesOutside(_ changed: SlotSet) -> Bool { outside.contains { changed.contains($0.position) } }

  /// Returns the parameter of a column in the statement that inserts a row.
  package func index(of column: String) -> Int { indexes[column] ?? 0 }
}

/// The row plans of an open store's entities.
package final class RowPlans {
  private let entities: StoredEntities
  private var plans: [ObjectIdentifier: RowPlan] = [:]
  /// The most recent plan, because changes come grouped by entity.
  private var last: RowPlan?

  package init(entities: StoredEntities) {
    self.entities = entities
  }

  /// - Throws: `SchemaProblem` if the store does not have the entity.
  package func plan(for entity: NSEntityDescription) throws -> RowPlan {
    if let last, last.entity === entity { return last }
    let plan = try plans[ObjectIdentifier(entity)] ?? RowPlan(entity, entities.layout(of: entity))
    plans[ObjectIdentifier(entity)] = plan
    last = plan
    return plan
  }
}
