// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Adapts the tables of persistent history to another version: entity numbers, the bits of updated properties, and the
/// columns of values preserved from deleted rows. Deletes the changes of removed entities.
struct HistoryMigration {
  /// The name of a table with the bits of updated properties before and after the step.
  private static let bits = "Z_MIGRATION_BITS"

  let step: InPlaceStep
  let database: any SQLDatabase

  /// An entity in both versions.
  private struct Match {
    let source: EntityLayout
    let destination: EntityLayout
    /// The new names of stored properties, by their earlier names.
    let names: [String: String]
  }

  func run() throws {
    guard try database.hasTable(HistoryTables.change.table) else { return }
    let removed = step.removedEntities.map { String($0.number) }
    if !removed.isEmpty {
      try database.run("DELETE FROM ACHANGE WHERE ZENTITY IN (\(removed.joined(separator: ", ")))")
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

  /// Returns the earlier name of a property, which a parent entity may have declared.
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
    guard !converters.isEmpty, try hasColumn("ZCOLUMNS") else { return }
    let bytes = database.dialect == .sqlite ? "BLOB" : "bytea"
    try database.run(
      step.creatingTemporaryTable(Self.bits) + " (ENTITY \(step.keyType), OLD \(bytes), NEW \(bytes), "
        + "PRIMARY KEY (ENTITY, OLD))")
    let numbers = converters.keys.sorted().map(String.init).joined(separator: ", ")
    let updates = "ZCOLUMNS IS NOT NULL AND ZENTITY IN (\(numbers))"
    for row in try database.rows("SELECT DISTINCT ZENTITY, ZCOLUMNS FROM ACHANGE WHERE \(updates)") {
      guard let entity = row[0].integer, let old = row[1].blob, let converter = converters[entity] else { continue }
      try database.run(
        "INSERT INTO \(Self.bits) (ENTITY, OLD, NEW) VALUES (?, ?, ?)", [row[0], row[1], .blob(converter(old))])
    }
    try database.run(
      "UPDATE ACHANGE SET ZCOLUMNS = (SELECT NEW FROM \(Self.bits) WHERE ENTITY = ZENTITY AND OLD = ZCOLUMNS) "
        + "WHERE \(updates) AND EXISTS (SELECT 1 FROM \(Self.bits) WHERE ENTITY = ZENTITY AND OLD = ZCOLUMNS)")
    try database.run("DROP TABLE \(Self.bits)")
  }

  /// Returns the attributes of an entity whose values are preserved when a row is deleted, in the order of their
  /// columns.
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
        let type = database.dialect == .sqlite ? "BLOB" : "bytea"
        try database.run("ALTER TABLE ACHANGE ADD COLUMN \(column) \(type)")
      }
      var value = "NULL"
      if let source, try hasColumn(HistoryTables.tombstone(source)) { value = HistoryTables.tombstone(source) }
      assignments.append("\(column) = \(value)")
    }
    if assignments.isEmpty { return }
    try database.run(
      "UPDATE ACHANGE SET \(assignments.joined(separator: ", ")) WHERE ZENTITY = \(match.source.number)")
  }

  /// Returns whether the table of changes currently has a column.
  private func hasColumn(_ name: String) throws -> Bool {
    let table = HistoryTables.change.table
    return try database.catalog(of: [table]).table(named: table)?.spelling(of: name) != nil
  }

  private func renumber(_ matches: [Match]) throws {
    let renumbering = matches.map { InPlaceStep.Renumbering(old: $0.source.number, new: $0.destination.number) }
      .filter { $0.old != $0.new }
    guard !renumbering.isEmpty else { return }
    let list = renumbering.map { String($0.old) }.joined(separator: ", ")
    try database.run(
      "UPDATE ACHANGE SET ZENTITY = CASE ZENTITY \(InPlaceStep.cases(renumbering)) END WHERE ZENTITY IN (\(list))")
  }
}
