// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Where a model's entities and properties stand in a SQLite store: Core Data's own layout, computed from the model.
///
/// A schema is a value and knows nothing of files. `init(document:configuration:)` gives the layout of a new store;
/// `init(document:configuration:catalog:primaryKeys:)` that of an existing one, which may have grown through migrations
/// into something that no rule predicts.
package struct StoreSchema: Hashable, Sendable {
  /// Entities by ascending number.
  package internal(set) var entities: [EntityLayout]
  /// The entities' tables, by the number of their root entities.
  package internal(set) var tables: [TableLayout]
  package internal(set) var joinTables: [JoinTableLayout]
  package internal(set) var indexes: [IndexLayout]
  private let positions: [String: Int]
  private let positionsByNumber: [Int: Int]

  package init(entities: [EntityLayout], tables: [TableLayout], joinTables: [JoinTableLayout], indexes: [IndexLayout]) {
    self.entities = entities
    self.tables = tables
    self.joinTables = joinTables
    self.indexes = indexes
    positions = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1.name, $0) })
    positionsByNumber = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1.number, $0) })
  }

  /// The layout of a new store for the entities of a configuration, all entities where it is nil.
  ///
  /// - Throws: `SchemaProblem` where the model names entities or types that cannot be stored.
  package init(document: ModelDocument, configuration: String? = nil) throws {
    let selection = try SchemaSelection(document: document, configuration: configuration)
    var builder = SchemaBuilder(selection: selection, numbers: selection.freshNumbers())
    self = try builder.build()
  }

  /// The layout that a store has after it was migrated in place: that of a new store, but for names of join tables and their
  /// columns that no rule predicts, which stay.
  ///
  /// - Throws: as `init(document:configuration:)`.
  package init(document: ModelDocument, configuration: String?, after source: StoreSchema, mapping: some EarlierNames)
    throws
  {
    let selection = try SchemaSelection(document: document, configuration: configuration)
    var builder = SchemaBuilder(
      selection: selection, numbers: selection.freshNumbers(),
      joinNames: try JoinNames(selection, from: source, mapping: mapping))
    self = try builder.build()
  }

  /// The layout of the entity of that name.
  package subscript(name: String) -> EntityLayout? {
    positions[name].map { entities[$0] }
  }

  /// The layout of the entity with that `Z_ENT`.
  package func entity(number: Int) -> EntityLayout? {
    positionsByNumber[number].map { entities[$0] }
  }

  /// The table of that name.
  package func table(named name: String) -> TableLayout? {
    tables.first { $0.name == name }
  }

  /// The join tables that hold rows for objects of an entity, inherited relationships included.
  package func joinEnds(of entity: EntityLayout) -> [JoinEnd] {
    entity.relationships.values.compactMap {
      if case .joinTable(let end) = $0.place { return end }
      return nil
    }
  }
}
