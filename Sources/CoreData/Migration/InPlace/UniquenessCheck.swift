// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite

/// Finds the rows that stand in the way of a uniqueness constraint.
struct UniquenessCheck {
  let step: InPlaceStep
  let connection: SQLiteConnection

  /// The first constraint that is violated, with some of the values in question.
  func problem() throws -> InPlaceProblem? {
    for index in step.destinationSchema.indexes {
      guard case .uniqueness(let entity) = index.purpose else { continue }
      let columns = index.elements.map { SQLName.quoted($0.column) }
      let list = columns.joined(separator: ", ")
      let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
      let rows = try connection.rows(
        "SELECT \(list), COUNT(*) FROM \(SQLName.quoted(index.table)) WHERE \(present) GROUP BY \(list) "
          + "HAVING COUNT(*) > 1 ORDER BY \(list) LIMIT 5")
      guard !rows.isEmpty else { continue }
      let values = rows.map { row in
        row.values.dropLast().map(\.literal).joined(separator: ", ") + " (\(row.values.last?.literal ?? "") rows)"
      }
      let total = try connection.rows(
        "SELECT COUNT(*), SUM(N) FROM (SELECT COUNT(*) AS N FROM \(SQLName.quoted(index.table)) WHERE \(present) "
          + "GROUP BY \(list) HAVING COUNT(*) > 1)"
      ).first
      let count = total?[0].integer ?? 0
      let summary = count > rows.count ? "; \(count) values in \(total?[1].literal ?? "") rows in all" : ""
      let constraint = step.destination.entity(entity)?.uniquenessConstraints.first {
        index.name.hasSuffix($0.joined(separator: "_"))
      }
      return InPlaceProblem(
        kind: .notUnique(properties: constraint ?? index.elements.map(\.column)), entity: entity,
        reason: values.joined(separator: "; ") + summary, suggestion: "Remove the duplicates first.")
    }
    return nil
  }
}
