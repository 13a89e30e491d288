// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataPredicates

/// Computes a `StoreSchema` from the selected entities and their numbers.
package struct SchemaBuilder {
  package let selection: SchemaSelection
  package let numbers: [String: Int]
  package let joinNames: JoinNames
  package let elementNames: ElementNames
  /// The entities by ascending number.
  package let ordered: [EntityDocument]

  package var tables: [TableLayout] = []
  package var tableNames: [String: String] = [:]
  package var attributes: [String: [AttributeLayout]] = [:]
  package var foreignKeys: [DeclaredRelationship: ForeignKeyLayout] = [:]
  package var joinTables: [JoinTableLayout] = []
  package var joinTablePositions: [DeclaredRelationship: Int] = [:]
  package var indexes: [IndexLayout] = []
  package var register = NameRegister(reserved: StoreSchema.housekeepingNames)
  /// The positions in `ordered` of each entity and its descendants.
  private let families: [String: [Int]]
  /// The stored relationships that each entity declares.
  private var stored: [String: [DeclaredRelationship]] = [:]
  /// The to-many relationships without inverse whose destination is each entity, by their owners' numbers.
  private var ownerKeys: [String: [DeclaredRelationship]] = [:]
  /// The columns of attributes by entity and attribute; nil for composite attributes.
  private var attributeColumns: [String: [String: String?]] = [:]
  /// The indexes of each entity by name.
  private var modelIndexes: [String: [String: [FetchIndexDocument]]] = [:]

  package init(
    selection: SchemaSelection, numbers: [String: Int], joinNames: JoinNames = JoinNames(), elementNames: ElementNames
  ) {
    self.selection = selection
    self.joinNames = joinNames
    self.elementNames = elementNames
    self.numbers = numbers
    let ordered = selection.entities.sorted { (numbers[$0.name] ?? 0) < (numbers[$1.name] ?? 0) }
    self.ordered = ordered
    var families: [String: [Int]] = [:]
    for (position, entity) in ordered.enumerated() {
      for ancestor in selection.index.lineageNames(of: entity.name) { families[ancestor, default: []].append(position) }
    }
    self.families = families
  }

  package mutating func build() throws -> StoreSchema {
    let roots = ordered.filter { $0.parentName == nil }
    for entity in ordered {
      let relationships = try selection.storedRelationships(of: entity)
      stored[entity.name] = relationships
      for relationship in relationships
      where relationship.document.isToMany && selection.inverse(of: relationship) == nil {
        ownerKeys[relationship.document.destinationEntityName ?? "", default: []].append(relationship)
      }
    }
    for root in roots {
      let name = register.unique("Z" + root.name.uppercased())
      for entity in hierarchy(of: root) { tableNames[entity.name] = name }
    }
    for root in roots { try layOutTable(of: root) }
    try layOutJoinTables()
    let joins = Dictionary(grouping: joinTables, by: \.ownerEntity)
    for (root, table) in zip(roots, tables) { layOutIndexes(of: root, table: table, joins) }
    return StoreSchema(
      dialect: .sqlite, entities: try entityLayouts(), tables: tables, joinTables: joinTables,
      indexes: indexes)
  }

  /// Returns an entity and its descendants, by ascending number.
  package func hierarchy(of root: EntityDocument) -> [EntityDocument] {
    (families[root.name] ?? []).map { ordered[$0] }
  }

  package func number(of entity: String) -> Int {
    guard let number = numbers[entity] else {
      trap("The entity \(entity) has been laid out without a number.")
    }
    return number
  }

  /// Returns the layouts of all entities, by ascending number.
  private func entityLayouts() throws -> [EntityLayout] {
    var layouts: [String: EntityLayout] = [:]
    // Parents come before their sub-entities, whatever their numbers in an existing store.
    for root in ordered where root.parentName == nil {
      var waiting = [root]
      while let entity = waiting.popLast() {
        layouts[entity.name] = try layout(of: entity, in: root, parent: entity.parentName.flatMap { layouts[$0] })
        waiting += selection.subentities(of: entity.name)
      }
    }
    return ordered.compactMap { layouts[$0.name] }
  }

  private func layout(of entity: EntityDocument, in root: EntityDocument, parent: EntityLayout?) throws -> EntityLayout
  {
    // Inherited properties are laid out as in the parent, even if the entity declares them again.
    var attributes = parent?.attributes ?? [:]
    for attribute in self.attributes[entity.name] ?? [] where parent?.attributes[attribute.name] == nil {
      attributes[attribute.name] = attribute
    }
    var relationships = parent?.relationships ?? [:]
    for relationship in stored[entity.name] ?? [] where parent?.relationships[relationship.name] == nil {
      relationships[relationship.name] = try layout(of: relationship)
    }
    return EntityLayout(
      name: entity.name, number: number(of: entity.name),
      parentNumber: entity.parentName.map(number(of:)) ?? 0, rootName: root.name, rootNumber: number(of: root.name),
      table: tableNames[entity.name] ?? "", isAbstract: entity.isAbstract,
      numbers: (families[entity.name] ?? []).map { number(of: ordered[$0].name) }, attributes: attributes,
      relationships: relationships)
  }

  private func layout(of relationship: DeclaredRelationship) throws -> RelationshipLayout {
    try RelationshipLayout(
      name: relationship.name, declaringEntity: relationship.entity,
      destinationEntity: relationship.document.destinationEntityName ?? "",
      inverseName: selection.inverse(of: relationship)?.name, isToMany: relationship.document.isToMany,
      isOrdered: relationship.document.isOrdered, deleteRule: relationship.document.deleteRule,
      storage: storage(of: relationship))
  }

  private func storage(of relationship: DeclaredRelationship) throws -> RelationshipStorage {
    if let position = joinTablePositions[relationship] {
      return .joinTable(joinTables[position].end(entity: relationship.entity, relationship: relationship.name))
    }
    guard let key = foreignKeys[relationship] ?? selection.inverse(of: relationship).flatMap({ foreignKeys[$0] }) else {
      throw SchemaProblem.inverseOfAnother(relationship)
    }
    guard relationship.document.isToMany else { return .foreignKey(key) }
    let holder = selection.inverse(of: relationship)?.entity ?? relationship.document.destinationEntityName ?? ""
    return .inverseForeignKey(table: tableNames[holder] ?? "", key: key)
  }
}

/// Assigns the names and the order of the columns of one table.
private struct ColumnList {
  let rootEntity: String
  var register = NameRegister(reserved: TableLayout.housekeepingColumns.map(\.name))
  private var columns: [(group: ColumnGroup, column: ColumnLayout)] = []

  init(rootEntity: String) { self.rootEntity = rootEntity }

  /// Adds a column under the next available form of `name`, and returns that form.
  mutating func add(_ name: String, _ group: ColumnGroup, _ type: ColumnType, _ role: ColumnRole) -> String {
    let unique = register.unique(name)
    append(unique, group, type, role)
    return unique
  }

  /// Adds a column whose name has already been reserved.
  mutating func append(_ name: String, _ group: ColumnGroup, _ type: ColumnType, _ role: ColumnRole) {
    columns.append((group, ColumnLayout(name: name, type: type, role: role)))
  }

  /// The housekeeping columns, then the groups; within a group in the order of addition.
  var sorted: [ColumnLayout] {
    let grouped = Dictionary(grouping: columns, by: \.group).sorted { $0.key < $1.key }
    return TableLayout.housekeepingColumns + grouped.flatMap { $0.value.map(\.column) }
  }
}

/// A foreign key whose rows need an order key for an ordered relationship.
private struct PendingOrder {
  let key: DeclaredRelationship
  let columnName: String
  let inverseName: String
}

extension SchemaBuilder {
  /// Lays out the table of a hierarchy: entity by entity, attributes before relationships, sorted by name.
  package mutating func layOutTable(of root: EntityDocument) throws {
    var list = ColumnList(rootEntity: root.name)
    var pending: [PendingOrder] = []
    for entity in hierarchy(of: root) {
      let stored = entity.attributes.filter { !$0.isTransient }.sorted { $0.name < $1.name }
      var names: [[String]: String] = [:]
      for attribute in stored { reserveNames(of: attribute, path: [], from: &list, into: &names) }
      let layouts = try stored.map { try add($0, path: [], of: entity.name, names, to: &list) }
      attributes[entity.name] = layouts
      attributeColumns[entity.name] = Dictionary(layouts.map { ($0.name, $0.column) }) { first, _ in first }
      pending += addForeignKeys(of: entity, to: &list)
      pending += addOwnerKeys(into: entity, to: &list)
    }
    for order in pending {
      foreignKeys[order.key]?.orderColumn = list.add(
        "Z_FOK_" + order.columnName, .order, .integer,
        .order(entity: order.key.entity, relationship: order.key.name))
    }
    tables.append(TableLayout(name: tableNames[root.name] ?? "", rootEntity: root.name, columns: list.sorted))
  }

  /// Reserves the name of an attribute's column, or those of its elements' columns.
  ///
  /// Names are numbered in the order of the elements' names. The declared order is not part of version hashes, so it
  /// must not decide which of two columns holds a value.
  private func reserveNames(
    of attribute: AttributeDocument, path: [String], from list: inout ColumnList, into names: inout [[String]: String]
  ) {
    let path = path + [attribute.name]
    guard attribute.kind == .composite else {
      names[path] = list.register.unique(elementNames.column(path, inTableOf: list.rootEntity))
      return
    }
    for element in attribute.elements.sorted(by: { $0.name < $1.name }) {
      reserveNames(of: element, path: path, from: &list, into: &names)
    }
  }

  private func add(
    _ attribute: AttributeDocument, path: [String], of entity: String, _ names: [[String]: String],
    to list: inout ColumnList
  ) throws -> AttributeLayout {
    let path = path + [attribute.name]
    var layout = AttributeLayout(
      name: attribute.name, kind: attribute.kind, column: nil, elements: [],
      allowsExternalStorage: attribute.allowsExternalBinaryDataStorage)
    if attribute.kind == .composite {
      // The columns are in declared order.
      layout.elements = try attribute.elements.map { try add($0, path: path, of: entity, names, to: &list) }
        .sorted { $0.name < $1.name }
      return layout
    }
    guard let (group, type) = ColumnGroup.placing(attribute.kind) else {
      throw SchemaProblem.unstorableAttribute(
        entity: entity, attribute: path.joined(separator: "."), kind: "\(attribute.kind)")
    }
    guard let name = names[path] else { trap("No name was taken for \(path.joined(separator: ".")).") }
    list.append(name, group, type, .attribute(entity: entity, path: path))
    layout.column = name
    return layout
  }

  private mutating func addForeignKeys(of entity: EntityDocument, to list: inout ColumnList) -> [PendingOrder] {
    var pending: [PendingOrder] = []
    for relationship in stored[entity.name] ?? [] where !relationship.document.isToMany {
      let name = relationship.name.uppercased()
      var key = ForeignKeyLayout(
        column: list.add(
          "Z" + name, .integer, .integer, .foreignKey(entity: entity.name, relationship: relationship.name)))
      key.entityColumn = addEntityColumn(for: relationship, to: relationship.document.destinationEntityName, in: &list)
      foreignKeys[relationship] = key
      if let inverse = selection.inverse(of: relationship), inverse.document.isToMany, inverse.document.isOrdered {
        pending.append(PendingOrder(key: relationship, columnName: name, inverseName: inverse.name))
      }
    }
    // Descending by the ordered relationship's name: the only rule that matches every store seen with two such columns.
    return pending.sorted {
      $0.inverseName == $1.inverseName ? $0.columnName < $1.columnName : $0.inverseName > $1.inverseName
    }
  }

  /// Adds the columns of to-many relationships without inverse to the destination's table.
  private mutating func addOwnerKeys(into entity: EntityDocument, to list: inout ColumnList) -> [PendingOrder] {
    var pending: [PendingOrder] = []
    for relationship in ownerKeys[entity.name] ?? [] {
      let name = String(number(of: relationship.entity)) + relationship.name.uppercased()
      foreignKeys[relationship] = ForeignKeyLayout(
        column: list.add(
          "Z" + name, .integer, .integer, .ownerKey(entity: relationship.entity, relationship: relationship.name)))
      if relationship.document.isOrdered {
        pending.append(PendingOrder(key: relationship, columnName: name, inverseName: relationship.name))
      }
    }
    return pending
  }

  /// Adds the column for the destination's entity number, which is needed only if the destination has sub-entities.
  private func addEntityColumn(
    for relationship: DeclaredRelationship, to destination: String?, in list: inout ColumnList
  ) -> String? {
    guard let destination, !selection.subentities(of: destination).isEmpty else { return nil }
    return list.add(
      "Z\(number(of: destination))_\(relationship.name.uppercased())", .integer, .integer,
      .foreignEntity(entity: relationship.entity, relationship: relationship.name))
  }

  /// A pair of to-many relationships that are each other's inverses, the owner's first.
  private typealias Pair = (relationship: DeclaredRelationship, inverse: DeclaredRelationship)

  /// Lays out a join table for each pair of to-many relationships that are inverse to each other, in the order of the
  /// owners' numbers.
  package mutating func layOutJoinTables() throws {
    var pairs: [Pair] = []
    var claimed: Set<DeclaredRelationship> = []
    let firstNames = self.firstNames()
    for entity in ordered {
      for relationship in stored[entity.name] ?? [] where relationship.document.isToMany {
        guard let inverse = selection.inverse(of: relationship), inverse.document.isToMany,
          owns(relationship, over: inverse, firstNames)
        else { continue }
        guard claimed.insert(relationship).inserted, relationship == inverse || claimed.insert(inverse).inserted else {
          throw SchemaProblem.inverseOfAnother(relationship)
        }
        pairs.append((relationship, inverse))
      }
    }
    let columns = columnNames(of: pairs, firstNames)
    for pair in pairs {
      joinTablePositions[pair.relationship] = joinTables.count
      joinTablePositions[pair.inverse] = joinTables.count
      joinTables.append(joinTable(of: pair, columns))
    }
  }

  /// Returns the column that is named after each relationship.
  ///
  /// If several columns would have the same name, the first gets it, and the others get numbers: first the columns that
  /// a store already has, in their order there, then the others in the order of the owners' first names (`firstNames`).
  /// This order was observed in 60 stores of one app, where it differs from the order of the owners' numbers, and in a
  /// schema where an owner's sub-entity comes before the owner. Relationships of one owner are ordered by `precedes`.
  private func columnNames(
    of pairs: [Pair], _ firstNames: [String: FirstName]
  ) -> [DeclaredRelationship: String] {
    func isBefore(_ left: DeclaredRelationship, _ right: DeclaredRelationship) -> Bool {
      if left.entity == right.entity { return Self.precedes(left.name, right.name) }
      guard let own = firstNames[left.entity], let other = firstNames[right.entity], own != other else {
        return left.entity < right.entity
      }
      return own < other
    }
    var wanted: [(relationship: DeclaredRelationship, name: String)] = []
    for (relationship, inverse) in pairs.sorted(by: { isBefore($0.relationship, $1.relationship) }) {
      // The owner's column comes first, so it keeps its name if both would be equal.
      wanted.append((inverse, "Z_\(number(of: relationship.entity))\(inverse.name.uppercased())"))
      if relationship != inverse {
        wanted.append((relationship, "Z_\(number(of: inverse.entity))\(relationship.name.uppercased())"))
      }
    }
    func known(_ relationship: DeclaredRelationship) -> Int {
      joinNames.columnNumbers[[relationship.entity, relationship.name]] ?? Int.max
    }
    var register = NameRegister()
    var names: [DeclaredRelationship: String] = [:]
    let sorted = wanted.enumerated().sorted {
      (known($0.element.relationship), $0.offset) < (known($1.element.relationship), $1.offset)
    }
    for (_, column) in sorted { names[column.relationship] = register.unique(column.name) }
    return names
  }

  /// Whether the join table is named after the first of two relationships: the one whose entity comes first
  /// (`firstNames`), which usually has the lower number. Within one entity, an existing store's table keeps its name,
  /// and otherwise `isTableNamed(after:ratherThan:)` decides.
  private func owns(
    _ relationship: DeclaredRelationship, over inverse: DeclaredRelationship, _ firstNames: [String: FirstName]
  ) -> Bool {
    let (own, other) = (number(of: relationship.entity), number(of: inverse.entity))
    guard own == other else {
      guard let first = firstNames[relationship.entity], let second = firstNames[inverse.entity], first != second else {
        return own < other
      }
      return first < second
    }
    let isNamed = joinNames.tableNames.contains([relationship.entity, relationship.name])
    let isInverseNamed = joinNames.tableNames.contains([inverse.entity, inverse.name])
    guard isNamed == isInverseNamed else { return isNamed }
    return Self.isTableNamed(after: relationship.name, ratherThan: inverse.name)
  }

  private mutating func joinTable(of pair: Pair, _ columns: [DeclaredRelationship: String]) -> JoinTableLayout {
    let (relationship, inverse) = pair
    let name = "\(number(of: relationship.entity))\(relationship.name.uppercased())"
    let destination = "\(number(of: inverse.entity))\(relationship.name.uppercased())"
    let owner = "\(number(of: relationship.entity))\(inverse.name.uppercased())"
    // If the names of two relationships within one entity differ only in case, both order columns would have the same
    // name.
    var orders = NameRegister()
    let isReflexive = relationship == inverse
    let inverseOrder = inverse.document.isOrdered && !isReflexive ? orders.unique("Z_FOK_" + owner) : nil
    let order = relationship.document.isOrdered ? orders.unique("Z_FOK_" + destination) : nil
    return JoinTableLayout(
      name: register.unique("Z_" + name), ownerEntity: relationship.entity, relationship: relationship.name,
      inverseEntity: inverse.entity, inverse: inverse.name, ownerColumn: columns[inverse] ?? "",
      // The name used by public schemas for a relationship that is its own inverse.
      destinationColumn: isReflexive ? "REFLEXIVE" : columns[relationship] ?? "", orderColumn: order,
      inverseOrderColumn: inverseOrder)
  }

  /// Lays out the indexes of a hierarchy in Core Data's order: keys, entity number, join tables, then those of the
  /// model.
  private mutating func layOutIndexes(
    of root: EntityDocument, table: TableLayout, _ joins: [String: [JoinTableLayout]]
  ) {
    let entities = hierarchy(of: root)
    for column in table.columns {
      switch column.role {
      case .foreignKey, .ownerKey:
        indexes.append(
          IndexLayout(
            name: "\(table.name)_\(column.name)_INDEX", table: table.name, elements: [.init(column: column.name)],
            purpose: .foreignKey))
      default: continue
      }
    }
    if entities.count > 1 {
      indexes.append(
        IndexLayout(
          name: "\(table.name)_Z_ENT_INDEX", table: table.name, elements: [.init(column: "Z_ENT")],
          purpose: .entityNumber))
    }
    for join in entities.flatMap({ joins[$0.name] ?? [] }) {
      indexes.append(
        IndexLayout(
          name: "\(join.name)_\(join.destinationColumn)_INDEX", table: join.name,
          elements: [.init(column: join.destinationColumn), .init(column: join.ownerColumn)], purpose: .joinTable))
    }
    for entity in entities { modelIndexes[entity.name] = Dictionary(grouping: entity.effectiveIndexes, by: \.name) }
    for entity in entities { layOutModelIndexes(of: entity, table: table.name) }
  }

  private mutating func layOutModelIndexes(of entity: EntityDocument, table: String) {
    var names: Set<String> = []
    // SQLite's names are case-insensitive, unlike those in models.
    var spelled = NameRegister()
    func add(
      _ name: String, _ elements: [IndexLayout.Element]?, _ purpose: IndexLayout.Purpose,
      where predicate: PredicateSyntax? = nil
    ) {
      guard let elements, !elements.isEmpty, names.insert(name).inserted else { return }
      let suffix = spelled.unique(name.uppercased()).dropFirst(name.uppercased().count)
      indexes.append(
        IndexLayout(name: name + suffix, table: table, elements: elements, purpose: purpose, predicate: predicate))
    }
    for index in entity.effectiveIndexes where !isInherited(index, by: entity) && !isOfForeignKey(index, of: entity) {
      let columns: [IndexLayout.Element]? = index.elements.reduce(into: []) { columns, element in
        let column = element.expression == nil ? column(of: element.propertyName, in: entity) : nil
        guard let column else { return columns = nil }
        columns?.append(.init(column: column, isAscending: element.isAscending))
      }
      add(
        "Z_\(entity.name)_\(index.name)", columns, .fetch(entity: entity.name), where: index.partialIndexPredicate)
    }
    // For old systems, model compilers repeat a fetch index of several elements as a compound index.
    let known = Set(entity.indexes.map { $0.elements.map(\.propertyName) })
    for compound in entity.compoundIndexes where !known.contains(compound) {
      add(
        "Z_\(entity.name)_\(compound.joined(separator: "_"))", elements(compound, of: entity),
        .fetch(entity: entity.name))
    }
    for constraint in entity.uniquenessConstraints where !isInherited(constraint, by: entity) {
      add(
        "Z_\(entity.name)_UNIQUE_\(constraint.joined(separator: "_"))", elements(constraint, of: entity),
        .uniqueness(entity: entity.name))
    }
  }

  /// Whether an index has a to-one relationship as its only element, whose foreign key always has an index anyway.
  private func isOfForeignKey(_ index: FetchIndexDocument, of entity: EntityDocument) -> Bool {
    guard index.elements.count == 1, index.elements[0].expression == nil else { return false }
    return selection.relationship(index.elements[0].propertyName, of: entity.name).flatMap { foreignKeys[$0] } != nil
  }

  private func isInherited(_ index: FetchIndexDocument, by entity: EntityDocument) -> Bool {
    selection.index.lineageNames(of: entity.name).dropFirst()
      .contains { modelIndexes[$0]?[index.name]?.contains(index) ?? false }
  }

  private func isInherited(_ constraint: [String], by entity: EntityDocument) -> Bool {
    selection.index.lineage(of: entity.name).dropFirst().contains { $0.uniquenessConstraints.contains(constraint) }
  }

  /// Returns the columns of all these properties; nil if one of them has none.
  private func elements(_ properties: [String], of entity: EntityDocument) -> [IndexLayout.Element]? {
    let columns = properties.map { property -> [String] in
      if let column = column(of: property, in: entity) { return [column] }
      return composite(property.split(separator: ".").map(String.init)[...], of: entity)?.columns ?? []
    }
    return columns.contains([]) ? nil : columns.flatMap { $0 }.map { .init(column: $0) }
  }

  /// Returns a composite attribute, or an element of one.
  private func composite(_ path: ArraySlice<String>, of entity: EntityDocument) -> AttributeLayout? {
    let own = selection.index.lineageNames(of: entity.name).lazy.flatMap { attributes[$0] ?? [] }
    guard var found = own.first(where: { $0.name == path.first }) else { return nil }
    for name in path.dropFirst() {
      guard let element = found.elements.first(where: { $0.name == name }) else { return nil }
      found = element
    }
    return found
  }

  private func column(of property: String, in entity: EntityDocument) -> String? {
    for ancestor in selection.index.lineageNames(of: entity.name) {
      if let column = attributeColumns[ancestor]?[property] { return column }
    }
    return selection.relationship(property, of: entity.name).flatMap { foreignKeys[$0]?.column }
  }
}

/// Finds names of a database that match others except for the entity numbers after their first letters.
struct NumberedNames<Element> {
  private let elements: [[Substring]: [Element]]

  init(_ elements: [Element], name: (Element) -> String) {
    var found: [[Substring]: [Element]] = [:]
    for element in elements {
      guard let key = Self.key(of: name(element)) else { continue }
      found[key, default: []].append(element)
    }
    self.elements = found
  }

  private static func key(of name: String) -> [Substring]? {
    let name = NumberedName(name.uppercased())
    return name.number.isEmpty ? nil : [name.prefix, name.rest]
  }

  func all(like name: String) -> [Element] { Self.key(of: name).flatMap { elements[$0] } ?? [] }

  /// Returns the element whose name matches; nil if none or several do.
  func only(like name: String) -> Element? {
    let found = all(like: name)
    return found.count == 1 ? found[0] : nil
  }
}

/// A name that contains an entity number, split into its parts: `Z_12BOOKS`, `Z3_OWNER`, `Z_FOK_1FAVORITES`.
package struct NumberedName: Equatable {
  package let prefix: Substring
  package let number: Substring
  package let rest: Substring

  package init(_ name: String) {
    let text = name[...]
    let prefix = ["Z_FOK_", "Z_", "Z"].first { text.hasPrefix($0) } ?? ""
    self.prefix = prefix[...]
    let tail = text.dropFirst(prefix.count)
    number = tail.prefix { $0.isASCII && $0.isNumber }
    rest = tail.dropFirst(number.count)
  }
}

/// Makes names of tables and columns unique: the second `ZVALUE` becomes `ZVALUE1`, the third `ZVALUE2`.
package struct NameRegister {
  private let dialect: SQLDialect
  private var taken: Set<String>
  /// The last suffix of each name that has been used more than once.
  private var suffixes: [String: Int] = [:]

  package init(reserved: [String] = [], dialect: SQLDialect = .sqlite) {
    self.dialect = dialect
    taken = Set(reserved.map(dialect.spelling))
  }

  /// Reserves the next available form of a name, and returns it as spelled by the engine.
  package mutating func unique(_ name: String) -> String {
    var candidate = dialect.spelling(of: name)
    guard !taken.insert(candidate).inserted else { return candidate }
    var suffix = suffixes[name] ?? 0
    repeat {
      suffix += 1
      candidate = dialect.spelling(of: name + String(suffix))
    } while !taken.insert(candidate).inserted
    suffixes[name] = suffix
    return candidate
  }
}
