// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The destination rows of an entity mapping, as SQL that converts a source key to a destination key.
struct DestinationRows {
  /// The number of the source entity.
  let source: Int32
  /// The destination entity.
  let entity: EntityLayout
  /// Whether the rows may not exist yet, because SQL will create one for each source row.
  let willBeCreated: Bool
  /// The rows of each pass, latest first.
  fileprivate let parts: [Part]

  fileprivate enum Part {
    /// A range of keys with a common offset.
    case range(ClosedRange<Int64>, offset: Int64)
    /// As `range`, but with gaps, so that the row must be looked up in the destination's table.
    case checkedRange(ClosedRange<Int64>, offset: Int64, table: String, entity: Int)
    /// A function that returns the key.
    case function(String)

    func key(_ key: String) -> BoundSQL {
      switch self {
      case .range(_, let offset): offset == 0 ? "\(raw: key)" : "(\(raw: key) + \(raw: String(offset)))"
      case .checkedRange(let keys, let offset, let table, let entity):
        """
        CASE WHEN \(raw: key) BETWEEN \(raw: String(keys.lowerBound)) AND \(raw: String(keys.upperBound)) THEN \
        (SELECT x.Z_PK FROM \(raw: table) x WHERE x.Z_PK = \(raw: key) + \(raw: String(offset)) \
        AND x.Z_ENT = \(raw: String(entity))) END
        """
      case .function(let name): "\(raw: name)(\(raw: key))"
      }
    }

    func hasKey(_ key: String) -> BoundSQL {
      guard case .range(let keys, _) = self else { return "\(self.key(key)) IS NOT NULL" }
      return "\(raw: key) BETWEEN \(raw: String(keys.lowerBound)) AND \(raw: String(keys.upperBound))"
    }
  }

  static func none(_ entity: EntityLayout) -> DestinationRows {
    DestinationRows(source: 0, entity: entity, willBeCreated: true, parts: [])
  }

  /// Returns the key of the destination row of a source row for which `hasKey` is true.
  func key(_ key: String) -> BoundSQL { parts.count == 1 ? parts[0].key(key) : keyOrNull(key) }

  /// Returns the key of the destination row of a source row; NULL if there is none.
  func keyOrNull(_ key: String) -> BoundSQL {
    let keys = parts.map { part -> BoundSQL in
      guard case .range = part else { return part.key(key) }
      return "CASE WHEN \(part.hasKey(key)) THEN \(part.key(key)) END"
    }
    return keys.isEmpty ? "NULL" : keys.count == 1 ? keys[0] : "COALESCE(\(keys.joined(", ")))"
  }

  /// Returns the condition that a source row has a destination row.
  func hasKey(_ key: String) -> BoundSQL {
    parts.isEmpty ? "0" : parts.count == 1 ? parts[0].hasKey(key) : "\(keyOrNull(key)) IS NOT NULL"
  }
}

/// Finds the destination rows of the mappings that a relationship's expression refers to.
final class DestinationRowsFinder {
  private unowned(unsafe) let run: MigrationRun
  let source: MappedStore
  let target: MappedStore
  private let willRunInSQL: ((ResolvedMapping) -> Bool)?
  /// The functions that the SQL calls.
  private(set) var functions: [SQLFunction] = []

  init(
    run: MigrationRun, source: MappedStore, target: MappedStore, willRunInSQL: ((ResolvedMapping) -> Bool)?
  ) {
    (self.run, self.source, self.target, self.willRunInSQL) = (run, source, target, willRunInSQL)
  }

  /// Returns the destination rows of the mappings that an expression refers to.
  ///
  /// - Parameter sources: the entities of the source rows.
  /// - Throws: `SQLObstacle` if only objects can find them.
  func members(
    _ relationship: ResolvedRelationship, _ layout: RelationshipLayout, sources: [Int]
  ) throws -> [(rows: DestinationRows, plan: ResolvedMapping?)] {
    let wanted = target.schema[layout.destinationEntity]?.numbers ?? []
    var names: [String] = []
    let isNamed: Bool
    if case .mapping(let name, _) = relationship.value {
      (names, isNamed) = ([name], true)
    } else {
      isNamed = false
      for name in sources.flatMap({ run.manager.associations.names(ofSource: Int32($0)) }) where !names.contains(name) {
        names.append(name)
      }
    }
    return try names.compactMap { name in
      let tables = run.manager.associations.tables(named: name) ?? []
      // Object migration reports an unknown name.
      if tables.isEmpty { throw SQLObstacle("uses the objects of '\(name)', which makes none", property: layout.name) }
      let rows = try rows(tables)
      guard wanted.contains(rows.entity.number) else {
        if !isNamed { return nil }
        throw SQLObstacle("relates '\(layout.name)' to objects of '\(rows.entity.name)'", property: layout.name)
      }
      guard sources.contains(Int(rows.source)) else { return nil }
      return (rows, tables.count == 1 ? run.plans.first { $0.table == tables[0] } : nil)
    }
  }

  /// Returns the rows in the association tables of one mapping.
  func rows(_ tables: [Int]) throws -> DestinationRows {
    let all = tables.map { run.manager.associations.tables[$0] }
    guard let last = all.last, let entity = target.schema.entity(number: Int(last.destination)),
      all.allSatisfy({ $0.source == last.source && $0.destination == last.destination })
    else { throw SQLObstacle("uses objects of several entities") }
    if let willRunInSQL {
      guard tables.count == 1, let plan = run.plans.first(where: { $0.table == tables[0] }), willRunInSQL(plan) else {
        return DestinationRows(source: last.source, entity: entity, willBeCreated: false, parts: [])
      }
      let part = plan.sourceKeys.flatMap { keys in plan.offset.map { DestinationRows.Part.range(keys, offset: $0) } }
      return DestinationRows(source: last.source, entity: entity, willBeCreated: true, parts: part.map { [$0] } ?? [])
    }
    return DestinationRows(
      source: last.source, entity: entity, willBeCreated: false,
      parts: try zip(tables, all).reversed().compactMap { try part($1, $0, entity) })
  }

  private func part(_ table: AssociationTable, _ number: Int, _ entity: EntityLayout) throws -> DestinationRows.Part? {
    let isShared = source.schema.entity(number: Int(table.source)).map(source.sharesTable) ?? true
    let isChecked = isShared || run.destination.context.deletionCount > 0
    guard table.isOrdinary, !isChecked || table.runs.count <= 1 else {
      throw SQLObstacle("uses objects that a policy has associated")
    }
    guard let first = table.runs.first else { return nil }
    if table.runs.count == 1 {
      return isChecked || first.isPartial
        ? .checkedRange(
          first.first...first.last, offset: first.offset, table: target.table(entity.table), entity: entity.number)
        : .range(first.first...first.last, offset: first.offset)
    }
    let name = "CDMADE\(number)"
    functions.append(
      SQLFunction(name: name, argumentCount: 1) { arguments in
        guard let key = arguments[0].integer,
          let found = table.ordinaryDestination(of: RowKey(entity: table.source, number: key))
        else { return .null }
        return .integer(found.number)
      })
    return .function(name)
  }

  /// Returns the mappings of the inverse relationship that refer back to a mapping, and whether they name the same
  /// pairs.
  func inverses(
    of layout: RelationshipLayout, _ origin: RelationshipLayout?, of plan: ResolvedMapping
  ) -> [(plan: ResolvedMapping, isExact: Bool)] {
    guard let inverse = layout.inverseName, let number = plan.sourceNumber else { return [] }
    let wanted = target.schema[layout.destinationEntity]?.numbers ?? []
    let asked = plan.relationships.first { $0.name == layout.name }
    return run.plans.compactMap { other in
      guard let relationship = other.relationships.first(where: { $0.name == inverse }),
        let destination = other.destinationNumber, wanted.contains(Int(destination)), let from = other.sourceNumber,
        let entity = source.schema.entity(number: Int(from))
      else { return nil }
      guard case .relationship(let name)? = relationship.sources else {
        let isExact =
          relationship.sources != nil && origin == nil && from == number && asks(relationship, plan, [from])
          && asked.map { asks($0, other, [number]) } ?? false
        return isExact || relationship.sources == nil || asks(relationship, plan, [from]) ? (other, isExact) : nil
      }
      guard let back = entity.relationships[name] else { return (other, false) }
      let numbers = (source.schema[back.destinationEntity]?.numbers ?? []).map { Int32($0) }
      guard asks(relationship, plan, numbers) else { return nil }
      let own = origin.flatMap { source.schema[$0.destinationEntity]?.numbers.map { Int32($0) } } ?? []
      return (
        other,
        back.inverseName == origin?.name && origin?.inverseName == back.name
          && asked.map { asks($0, other, own) } ?? false
      )
    }
  }

  /// Returns whether a relationship's expression refers to the destinations of a mapping.
  func asks(_ relationship: ResolvedRelationship, _ plan: ResolvedMapping, _ sources: [Int32]) -> Bool {
    guard let number = plan.sourceNumber, sources.contains(number) else { return false }
    if case .mapping(let name, _) = relationship.value { return name == plan.name }
    return true
  }
}
