// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles

/// How rows of one entity are written. Made once for an open store.
package final class RowPlan {
  /// What a slot writes to its row.
  package enum Step {
    case column(ColumnCoding, AttributeLayout, parameter: Int)
    /// A composite attribute: several columns.
    case columns(AttributeLayout)
    case key(RelationshipLayout, ForeignKeyLayout, parameter: Int)
    /// A transient attribute, or a relationship without a column in the row.
    case nothing

    /// Whether the value that is written can be neither a file nor an object of the program's.
    fileprivate var isPlain: Bool {
      switch self {
      case .column(.archived, _, _), .column(.externalData, _, _), .columns: false
      case .column, .key, .nothing: true
      }
    }
  }

  /// The first three parameters are the key, the entity and the version.
  private static let firstParameter = 4

  package let entity: NSEntityDescription
  package let layout: EntityLayout
  /// By slot.
  package let steps: [Step]
  /// The columns whose values may be files.
  package let filed: [(position: Int, column: String)]
  /// The slots of relationships that are stored outside the row.
  package let outside: [(position: Int, relationship: RelationshipLayout)]
  /// Whether a relationship stores the position of the row, or of its members, in an order.
  package let hasPlaces: Bool
  /// Whether no value is a file, or an object of the program's.
  private let isPlain: Bool
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
    hasPlaces = outside.contains { RowPlan.hasPlaces($0.relationship) }
    isPlain = filed.isEmpty && steps.allSatisfy(\.isPlain)
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

  /// The columns of a row that a step writes.
  package static func columns(of step: Step) -> [String] {
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

  /// Whether any of some slots has a column in the row.
  package func hasColumns(_ positions: SlotSet) -> Bool {
    positions.contains { position in
      if case .nothing = steps[position] { return false }
      return true
    }
  }

  /// Whether a change is a new row, and writing it concerns no other row, no file, and none of the program's code.
  package func isAlone(_ change: RowChange) -> Bool {
    change.kind == .insert && isPlain && !writesOutside(change.changed)
  }

  /// Whether a change of some slots is written outside the row.
  package func writesOutside(_ changed: SlotSet) -> Bool { outside.contains { changed.contains($0.position) } }

  /// The parameter of a column in the statement that inserts a row.
  package func index(of column: String) -> Int { indexes[column] ?? 0 }
}

/// The row plans of an open store's entities.
package final class RowPlans {
  private let entities: StoredEntities
  private var plans: [ObjectIdentifier: RowPlan] = [:]
  /// The most recent plan: changes come entity by entity.
  private var last: RowPlan?

  package init(entities: StoredEntities) {
    self.entities = entities
  }

  /// - Throws: `SchemaProblem` when the store does not have the entity.
  package func plan(for entity: NSEntityDescription) throws -> RowPlan {
    if let last, last.entity === entity { return last }
    let plan = try plans[ObjectIdentifier(entity)] ?? RowPlan(entity, entities.layout(of: entity))
    plans[ObjectIdentifier(entity)] = plan
    last = plan
    return plan
  }
}
