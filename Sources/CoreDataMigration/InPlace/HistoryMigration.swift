// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Adapts the tables of persistent history to another version: entity numbers, the bits of updated properties, and the
/// places of values of deleted rows. Changes of removed entities are deleted.
struct HistoryMigration {
  /// The name of the SQL function that converts bits.
  private static let function = "CDHistoryColumns"

  let step: InPlaceStep
  let connection: SQLiteConnection
  let catalog: DatabaseCatalog

  /// An entity in both versions.
  private struct Match {
    let source: EntityLayout
    let destination: EntityLayout
    /// The new names of stored properties, by their earlier names.
    let names: [String: String]
  }

  func run() throws {
    guard catalog.table(named: HistoryTables.change.table) != nil else { return }
    let removed = step.removedEntities.map { String($0.number) }
    if !removed.isEmpty {
      try connection.run("DELETE FROM ACHANGE WHERE ZENTITY IN (\(removed.joined(separator: ", ")))")
    }
    let matches = step.sourceSchema.entities.compactMap(match)
    try convertBits(matches)
    for match in matches { try moveTombstones(match) }
    try renumber(matches)
  }

  private func match(_ source: EntityLayout) -> Match? {
    guard let name = step.mapping.destinationEntity(of: source.name), let destination = step.destinationSchema[name]
    else { return nil }
    var names: [String: String] = [:]
    for property in Array(destination.attributes.keys) + destination.relationships.keys {
      if let earlier = earlierName(of: property, in: destination) { names[earlier] = property }
    }
    return Match(source: source, destination: destination, names: names)
  }

  /// The earlier name of a property, which a parent may have declared.
  private func earlierName(of property: String, in entity: EntityLayout) -> String? {
    var current: EntityLayout? = entity
    while let layout = current {
      let attribute = step.mapping.sourceAttribute(of: property, in: layout.name)
      if let found = attribute ?? step.mapping.sourceRelationship(of: property, in: layout.name) { return found }
      current = layout.isRoot ? nil : step.destinationSchema.entity(number: layout.parentNumber)
    }
    return nil
  }

  private func convertBits(_ matches: [Match]) throws {
    var converters: [Int64: (Data) -> Data] = [:]
    for match in matches {
      let old = HistoryBits(match.source, in: step.sourceSchema)
      let new = HistoryBits(match.destination, in: step.destinationSchema)
      let names = match.names
      let properties = Array(match.source.attributes.keys) + match.source.relationships.keys
      let isSame = properties.allSatisfy { name in
        old.bytes(of: [name]) == new.bytes(of: [names[name]].compactMap { $0 })
      }
      if isSame { continue }
      converters[Int64(match.source.number)] = { bytes in
        new.bytes(of: old.properties(in: bytes).compactMap { names[$0] })
      }
    }
    let hasColumn = catalog.table(named: HistoryTables.change.table)?.column(named: "ZCOLUMNS") != nil
    guard hasColumn, !converters.isEmpty else { return }
    let known = converters
    try connection.register(function: Self.function, argumentCount: 2) { arguments in
      guard let entity = arguments[0].integer, let bytes = arguments[1].blob, let converter = known[entity] else {
        return arguments[1]
      }
      return .blob(converter(bytes))
    }
    let numbers = converters.keys.sorted().map(String.init).joined(separator: ", ")
    try connection.run(
      "UPDATE ACHANGE SET ZCOLUMNS = \(Self.function)(ZENTITY, ZCOLUMNS) "
        + "WHERE ZCOLUMNS IS NOT NULL AND ZENTITY IN (\(numbers))")
    try connection.unregister(function: Self.function, argumentCount: 2)
  }

  /// The attributes of an entity whose values are kept when a row is deleted, in the order of their columns.
  private func kept(_ layout: EntityLayout, in model: InPlaceStep.IndexedModel) -> [String] {
    layout.attributes.values.filter { $0.column != nil }.map(\.name)
      .filter { model.attribute($0, of: layout.name)?.preservesValueInHistoryOnDeletion ?? false }.sorted()
  }

  private func moveTombstones(_ match: Match) throws {
    let old = kept(match.source, in: step.source)
    let new = kept(match.destination, in: step.destination)
    if old.isEmpty || old.map({ match.names[$0] }) == new { return }
    var assignments: [String] = []
    for position in 0..<max(old.count, new.count) {
      let column = HistoryTables.tombstone(position)
      let source = new.indices.contains(position) ? old.firstIndex { match.names[$0] == new[position] } : nil
      if try !hasColumn(column) {
        if source == nil { continue }
        try connection.run("ALTER TABLE ACHANGE ADD COLUMN \(column) BLOB")
      }
      var value = "NULL"
      if let source, try hasColumn(HistoryTables.tombstone(source)) { value = HistoryTables.tombstone(source) }
      assignments.append("\(column) = \(value)")
    }
    if assignments.isEmpty { return }
    try connection.run(
      "UPDATE ACHANGE SET \(assignments.joined(separator: ", ")) WHERE ZENTITY = \(match.source.number)")
  }

  /// Whether the table of changes has a column now.
  private func hasColumn(_ name: String) throws -> Bool {
    try connection.scalar("SELECT 1 FROM pragma_table_info('ACHANGE') WHERE name = ?", [.text(name)]) != nil
  }

  private func renumber(_ matches: [Match]) throws {
    let renumbering = matches.map { InPlaceStep.Renumbering(old: $0.source.number, new: $0.destination.number) }
      .filter { $0.old != $0.new }
    guard !renumbering.isEmpty else { return }
    let list = renumbering.map { String($0.old) }.joined(separator: ", ")
    try connection.run(
      "UPDATE ACHANGE SET ZENTITY = CASE ZENTITY \(InPlaceStep.cases(renumbering)) END WHERE ZENTITY IN (\(list))")
  }
}
