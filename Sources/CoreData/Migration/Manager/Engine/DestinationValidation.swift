// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Has the rules of the destination model checked for all objects that a migration has made, entity by entity.
struct DestinationValidation {
  private let run: MigrationRun
  private var validated: Set<String> = []
  /// More failures than anybody reads are not looked for.
  private static let mostFailures = 100

  init(run: MigrationRun) {
    self.run = run
  }

  /// Checks the objects of an entity, once.
  ///
  /// - Throws: 1550 to 1680, or 1560 for several failures.
  mutating func validate(_ entity: NSEntityDescription) throws {
    guard validated.insert(entity.name ?? "").inserted, !entity.isAbstract else { return }
    guard !entity.slotTable.restricted.isEmpty, let number = run.destination.store.number(of: entity),
      let root = run.destination.store.rootNumber(ofEntity: number)
    else { return }
    if try run.sql?.hasValidRows(of: entity) ?? false { return }
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.limit = run.batchSize
    var next = (run.greatestKeysBefore[root] ?? 0) + 1
    var failures: [NSError] = []
    while failures.count < Self.mostFailures {
      query.keys = next...Int64.max
      guard let rows = try run.destination.store.rows(for: query), let last = rows.last else { break }
      for row in rows where failures.count < Self.mostFailures {
        let object = run.destination.context.object(for: row)
        object.realize()
        // Members that nobody has read cannot have been changed, and are not counted by a save; here nobody has counted them.
        for position in entity.slotTable.restricted { object.readRelationship(at: position) }
        do {
          try object.validateForInsert()
        } catch let error as NSError {
          failures.append(error)
        }
      }
      if let failure = run.destination.context.readingFailure { throw failure }
      try run.manager.checkCancellation()
      if failures.isEmpty { run.releaseDestinationValues() }
      if rows.count < query.limit || last.id.key.number == Int64.max { break }
      next = last.id.key.number + 1
    }
    if let error = ValidationErrors.combined(failures) { throw error }
  }

  /// Checks the objects of entities that no mapping is about.
  mutating func validateRest() throws {
    for entity in run.destination.model.entities { try validate(entity) }
  }
}
