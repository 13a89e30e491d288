// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Tables of other frameworks in a store that refer to the model's objects by entity number and primary key.
///
/// `NSPersistentCloudKitContainer` creates such tables. Like those of persistent history, they belong to entities that
/// `Z_PRIMARYKEY` lists with numbers above those of the model. The column `ZENTITYID` contains the entity number, and
/// `ZENTITYPK` the primary key. No other columns are known to contain entity numbers.
struct ObjectReferenceTables {
  private static let (entityColumn, keyColumn) = ("ZENTITYID", "ZENTITYPK")

  let step: InPlaceStep
  let shifts: KeyShifts
  let connection: SQLiteConnection
  private let tables: [DatabaseCatalog.Table]

  init(
    step: InPlaceStep, shifts: KeyShifts, connection: SQLiteConnection, catalog: DatabaseCatalog,
    primaryKeys: [PrimaryKeyRow]
  ) {
    (self.step, self.shifts, self.connection) = (step, shifts, connection)
    tables = primaryKeys.filter { $0.number > PrimaryKeyRow.maxEntityNumber }
      .compactMap { catalog.table(named: "A" + $0.name.uppercased()) }
      .filter { !$0.isVirtual && $0.column(named: Self.entityColumn) != nil }
  }

  /// Updates the tables to the step's entity numbers and keys. Deletes the rows for objects of removed entities, whose
  /// numbers may now belong to other entities.
  func run() throws {
    let removed = step.removedEntities.map { String($0.number) }.joined(separator: ", ")
    let matches = step.sourceSchema.entities.compactMap { source in
      step.mapping.destinationEntity(of: source.name).flatMap { step.destinationSchema[$0] }
        .map { (source: source, destination: $0) }
    }
    let renumbering = matches.map { InPlaceStep.Renumbering(old: $0.source.number, new: $0.destination.number) }
      .filter { $0.old != $0.new }
    for table in tables {
      let name = SQLName.quoted(table.name)
      if !removed.isEmpty { try connection.run("DELETE FROM \(name) WHERE \(Self.entityColumn) IN (\(removed))") }
      if table.column(named: Self.keyColumn) != nil { try shiftKeys(name) }
      guard !renumbering.isEmpty else { continue }
      let list = renumbering.map { String($0.old) }.joined(separator: ", ")
      // Use negative numbers in between, because the pair of number and key may be unique.
      try connection.run(
        "UPDATE \(name) SET \(Self.entityColumn) = -(CASE \(Self.entityColumn) \(InPlaceStep.cases(renumbering)) END) "
          + "WHERE \(Self.entityColumn) IN (\(list))")
      let numbers = renumbering.map { String(-$0.new) }.joined(separator: ", ")
      try connection.run(
        "UPDATE \(name) SET \(Self.entityColumn) = -\(Self.entityColumn) WHERE \(Self.entityColumn) IN (\(numbers))")
    }
  }

  private func shiftKeys(_ name: String) throws {
    for (table, offset) in shifts.offsets.sorted(by: { $0.key < $1.key }) {
      let numbers = step.sourceSchema.entities(inTable: table).map { String($0.number) }
      try connection.run(
        "UPDATE \(name) SET \(Self.keyColumn) = \(Self.keyColumn) + \(offset) "
          + "WHERE \(Self.entityColumn) IN (\(numbers.joined(separator: ", ")))")
    }
  }
}
