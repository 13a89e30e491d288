// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The changes of a step to the tables of a store in a server.
struct ServerTables {
  /// A table whose rows stay in place.
  struct Altered {
    let old: TableLayout
    let new: TableLayout
    let columns: AlteredColumns
    /// The renames of the old columns, including columns that are dropped in the end.
    let renames: Renames
    /// Columns that change their type, each with its converted value as an expression over the column itself.
    let retyped: [(column: ColumnLayout, value: BoundSQL)]
    /// The old names of the columns that change their type.
    let retypedOrigins: Set<String>
    /// New columns that have the same value in every row.
    let defaults: [String: BoundSQL]
    let rowChanges: [RowChange]
    /// The number of entities that can have rows in the table.
    let concreteCount: Int
  }

  /// New values for rows of some entities.
  struct RowChange {
    var entities: [EntityLayout]
    let values: [(column: String, value: BoundSQL)]
    /// The column that is NULL in the rows to change; nil to change all rows.
    let nullColumn: String?
    /// The property whose values change; nil for other columns.
    let property: String?
  }

  /// A table for entities that leave their hierarchy.
  struct Split {
    struct Copy {
      let source: EntityLayout
      let destination: EntityLayout
      let columns: [String: ColumnSource]
    }

    let old: TableLayout
    let new: TableLayout
    let copies: [Copy]
  }

  /// A join table whose rows stay in place.
  struct KeptJoin {
    let old: JoinTableLayout
    let new: JoinTableLayout
    let renames: Renames
    /// The order key columns that are no longer needed.
    let removed: [String]
  }

  private(set) var created: [TableLayout] = []
  private(set) var altered: [Altered] = []
  private(set) var split: [Split] = []
  private(set) var keptJoins: [KeptJoin] = []
  private(set) var madeJoins: [(table: JoinTableLayout, source: JoinTableSource)] = []
  private let step: InPlaceStep

  /// Plans the changes of a step.
  ///
  /// - Throws: `ServerStepObstacle`; `InPlaceProblem` for values that cannot be converted.
  init(step: InPlaceStep) throws {
    self.step = step
    let planner = TablePlanner(step: step)
    for table in step.destinationSchema.tables {
      let sources = Set(step.pairs(in: table).map(\.source.table)).sorted()
        .compactMap { step.sourceSchema.table(named: $0) }
      guard let old = sources.first else {
        created.append(table)
        continue
      }
      if sources.count > 1 {
        let names = sources.map { "'\($0.rootEntity)'" }.joined(separator: " and ")
        throw ServerStepObstacle(
          entity: table.rootEntity,
          reason: "The objects of \(names) move into one table, where some of them need other primary keys.")
      }
      if Self.successor(of: old, step) == table.name {
        altered.append(try Altered(old: old, new: table, planner))
      } else {
        split.append(try Self.split(table, from: old, step))
      }
    }
    planJoins()
  }

  /// Returns the destination table that keeps the rows of a source table: the table of its root entity, if that still
  /// exists.
  private static func successor(of old: TableLayout, _ step: InPlaceStep) -> String? {
    let root = step.mapping.destinationEntity(of: old.rootEntity).flatMap { step.destinationSchema[$0]?.table }
    return root
      ?? step.destinationSchema.tables.first { table in
        step.pairs(in: table).contains { $0.source.table == old.name }
      }?.name
  }

  private static func split(_ table: TableLayout, from old: TableLayout, _ step: InPlaceStep) throws -> Split {
    let copies = try step.pairs(in: table).filter { !$0.source.isAbstract }.map { source, destination in
      Split.Copy(
        source: source, destination: destination,
        columns: try ColumnSources(step: step, source: source, destination: destination).all())
    }
    return Split(old: old, new: table, copies: copies)
  }

  private mutating func planJoins() {
    let planner = JoinTablePlanner(step: step)
    var claimed: Set<String> = []
    for join in step.destinationSchema.joinTables {
      if let old = planner.renamed(join), claimed.insert(old.name).inserted {
        keptJoins.append(KeptJoin(old: old, new: join))
      } else {
        madeJoins.append((join, planner.plan(join)))
      }
    }
  }

  /// Returns whether the step creates a destination table.
  func isNew(_ table: String) -> Bool {
    !altered.contains { $0.new.name == table } && !keptJoins.contains { $0.new.name == table }
  }

  /// Returns whether a destination table has no rows after the step.
  func isEmpty(_ table: String) -> Bool {
    if created.contains(where: { $0.name == table }) { return true }
    return madeJoins.contains { join in
      if case .none = join.source { return join.table.name == table }
      return false
    }
  }

  /// Returns the new names of the columns that are kept, with the same or updated values, by old name.
  func columns(of table: String) -> [String: String] {
    if let table = altered.first(where: { $0.old.name == table }) {
      var names = Dictionary(
        uniqueKeysWithValues: table.old.columns.map { ($0.name, table.renames.name($0.name)) })
      for column in table.columns.removed { names[column] = nil }
      return names
    }
    guard let join = keptJoins.first(where: { $0.old.name == table }) else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: [join.old.ownerColumn, join.old.destinationColumn].map { ($0, join.renames.name($0)) })
  }
}

extension ServerTables.Altered {
  fileprivate init(old: TableLayout, new: TableLayout, _ planner: TablePlanner) throws {
    let step = planner.step
    let pairs = step.pairs(in: new).filter { !$0.source.isAbstract }
    let columns = try planner.alteredColumns(of: new, from: old)
    self.init(old: old, new: new, columns, pairs.map(\.source))
  }

  private init(old: TableLayout, new: TableLayout, _ changes: AlteredColumns, _ entities: [EntityLayout]) {
    var columns = changes
    let updates = entities.map { entity in
      (entity, changes.updates.first { $0.entity.number == entity.number }?.values ?? [])
    }
    func sources(of column: String) -> [ColumnSource] {
      updates.compactMap { _, values in values.first { $0.column == column }?.value }
    }

    // If the values of a column are converted in every row, change its type.
    var retyped: [(column: ColumnLayout, value: BoundSQL)] = []
    var origins: [String: String] = [:]
    for column in changes.added where changes.recomputed.contains(column.name) {
      let values = sources(of: column.name)
      guard values.count == entities.count, case .changed(let origin, _)? = values.first,
        values.allSatisfy({ if case .changed(origin, _) = $0 { true } else { false } }),
        changes.removed.contains(origin), origins[origin] == nil, let value = values.first
      else { continue }
      origins[origin] = column.name
      retyped.append((column, value.expression { _ in column.name }))
    }
    let retypedNames = Set(retyped.map(\.column.name))
    columns.added.removeAll { retypedNames.contains($0.name) }

    // If a new column has the same value in every row, add it with a default.
    var defaults: [String: BoundSQL] = [:]
    for column in columns.added {
      let values = sources(of: column.name)
      guard values.count == entities.count, case .constant(let value)? = values.first,
        values.allSatisfy({ if case .constant(value) = $0 { true } else { false } })
      else { continue }
      defaults[column.name] = value
    }

    var wanted = origins
    for column in old.columns where !changes.removed.contains(column.name) { wanted[column.name] = column.name }
    for (from, to) in changes.renamed { wanted[from] = to }
    let renames = Renames(
      taken: Set(old.columns.map(\.name)), wanted: wanted, created: Set(columns.added.map(\.name)),
      temporary: "z_migration_column_")

    self.old = old
    self.new = new
    self.columns = columns
    self.renames = renames
    self.retyped = retyped
    retypedOrigins = Set(origins.keys)
    self.defaults = defaults
    concreteCount = entities.count
    rowChanges = Self.rowChanges(new, updates, without: retypedNames.union(defaults.keys), changes.recomputed, renames)
  }

  private static func rowChanges(
    _ table: TableLayout, _ updates: [(EntityLayout, [(column: String, value: ColumnSource)])],
    without done: Set<String>, _ recomputed: Set<String>, _ renames: Renames
  ) -> [ServerTables.RowChange] {
    var changes: [ServerTables.RowChange] = []
    func add(_ values: [(column: String, value: BoundSQL)], _ nullColumn: String?, _ entity: EntityLayout) {
      let position = changes.firstIndex { change in
        change.nullColumn == nullColumn
          && change.values.elementsEqual(values) { $0.column == $1.column && $0.value == $1.value }
      }
      if let position {
        changes[position].entities.append(entity)
        return
      }
      let properties = Set(
        values.map { value in table.columns.first { $0.name == value.column }?.role.owner?.property })
      changes.append(
        ServerTables.RowChange(
          entities: [entity], values: values, nullColumn: nullColumn,
          property: properties.count == 1 ? properties.first ?? nil : nil))
    }
    // Compute columns from others before those others are filled.
    for (entity, values) in updates {
      let computed = values.filter { column, value in
        if case .filled = value, !recomputed.contains(column) { return false }
        return !done.contains(column)
      }.map { (column: $0.column, value: $0.value.expression(renames.name)) }
      if !computed.isEmpty { add(computed, nil, entity) }
    }
    for (entity, values) in updates {
      var filled: [String: [(column: String, value: BoundSQL)]] = [:]
      for (column, value) in values where !recomputed.contains(column) {
        if case .filled(_, let constant, let decisive) = value {
          filled[decisive, default: []].append((column, constant))
        }
      }
      for (decisive, values) in filled.sorted(by: { $0.key < $1.key }) {
        add(values, renames.name(decisive), entity)
      }
    }
    return changes
  }
}

extension ServerTables.KeptJoin {
  fileprivate init(old: JoinTableLayout, new: JoinTableLayout) {
    self.old = old
    self.new = new
    var wanted = [old.ownerColumn: new.ownerColumn, old.destinationColumn: new.destinationColumn]
    if let column = old.orderColumn { wanted[column] = new.orderColumn }
    if let column = old.inverseOrderColumn { wanted[column] = new.inverseOrderColumn }
    let all = JoinTablePlanner.columns(of: old)
    removed = all.filter { wanted[$0] == nil }
    renames = Renames(taken: Set(all), wanted: wanted, created: [], temporary: "z_migration_column_")
  }
}

/// The changes of a step to the indexes and constraints of a store in a server.
struct ServerIndexes {
  /// The definition of an index without its name.
  private struct Definition: Hashable {
    let table: String
    let elements: [IndexLayout.Element]
    let isUnique: Bool
    let isFetch: Bool
    let predicate: PartialPredicate?
  }

  private struct PartialPredicate: Hashable {
    let entity: String
    let text: String
  }

  /// The new names of the indexes that are kept, by current name.
  private(set) var keptIndexes: [String: String] = [:]
  private(set) var droppedIndexes: [IndexLayout] = []
  private(set) var madeIndexes: Set<String> = []
  private(set) var droppedKeys: [PostgreSQLDefinitions.ForeignKey] = []
  private(set) var madeKeys: Set<PostgreSQLDefinitions.ForeignKey> = []

  init(step: InPlaceStep, tables: ServerTables) {
    var names: [String: String] = [:]
    for table in tables.altered { names[table.old.name] = table.new.name }
    for join in tables.keptJoins { names[join.old.name] = join.new.name }
    planIndexes(step, tables, names)
    planKeys(step, tables, names)
  }

  private mutating func planIndexes(_ step: InPlaceStep, _ tables: ServerTables, _ names: [String: String]) {
    let new = PostgreSQLDefinitions(step.destinationSchema)
    let old = PostgreSQLDefinitions(step.sourceSchema)
    func definition(_ index: IndexLayout, _ table: String, _ elements: [IndexLayout.Element], _ text: String?)
      -> Definition
    {
      var predicate: PartialPredicate?
      if let text, case .fetch(let entity) = index.purpose { predicate = PartialPredicate(entity: entity, text: text) }
      let isFetch = if case .fetch = index.purpose { true } else { false }
      return Definition(
        table: table, elements: elements, isUnique: index.isUnique, isFetch: isFetch, predicate: predicate)
    }
    // Several indexes may differ only in their names.
    var wanted: [Definition: [String]] = [:]
    for index in step.destinationSchema.indexes {
      let text = index.predicate == nil ? nil : new.statement(of: index).sql
      wanted[definition(index, index.table, index.elements, text), default: []].append(index.name)
    }
    func take(_ definition: Definition, _ name: String) -> String? {
      guard let names = wanted[definition], let first = names.first else { return nil }
      let taken = names.contains(name) ? name : first
      wanted[definition] = names.filter { $0 != taken }
      return taken
    }
    for index in step.sourceSchema.indexes {
      let columns = tables.columns(of: index.table)
      let elements = index.elements.compactMap { element -> IndexLayout.Element? in
        guard let column = columns[element.column] else { return nil }
        var moved = element
        moved.column = column
        guard let remainder = element.remainderColumn else { return moved }
        guard let column = columns[remainder] else { return nil }
        moved.remainderColumn = column
        return moved
      }
      // The statement contains the predicate with its columns. A partial index is kept only if it is equal.
      let text = index.predicate == nil ? nil : old.statement(of: index).sql
      if let table = names[index.table], elements.count == index.elements.count,
        let name = take(definition(index, table, elements, text), index.name)
      {
        keptIndexes[index.name] = name
      } else if names[index.table] != nil {
        droppedIndexes.append(index)
      }
    }
    madeIndexes = Set(step.destinationSchema.indexes.map(\.name)).subtracting(keptIndexes.values)
  }

  private mutating func planKeys(_ step: InPlaceStep, _ tables: ServerTables, _ names: [String: String]) {
    madeKeys = Set(PostgreSQLDefinitions(step.destinationSchema).foreignKeys)
    for key in PostgreSQLDefinitions(step.sourceSchema).foreignKeys {
      let stays = madeKeys.first { new in
        new.table == names[key.table] && new.column == tables.columns(of: key.table)[key.column]
          && new.destination == names[key.destination] && new.name == key.name
      }
      if let stays {
        madeKeys.remove(stays)
      } else {
        droppedKeys.append(key)
      }
    }
  }
}
