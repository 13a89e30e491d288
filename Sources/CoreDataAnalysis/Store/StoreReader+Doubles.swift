// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

extension StoreReader {
  /// Counts the rows that would violate the uniqueness constraints that a step adds.
  ///
  /// - Throws: `StoreProblem`.
  func countDoubles(
    in difference: ModelDifference, from old: ModelDocument, to new: ModelDocument, into counts: inout StoreCounts
  ) throws {
    let judge = FindingJudge(old: old, new: new, counts: counts, changes: difference.changes)
    for constraint in AddedConstraint.all(in: difference, judge) where counts.doubles[constraint] == nil {
      counts.doubles[constraint] = try doubles(under: constraint)
    }
  }

  /// Nil where the values are not in columns of one table.
  private func doubles(under constraint: AddedConstraint) throws -> Int? {
    guard !constraint.attributes.isEmpty else { return 0 }
    var tables: Set<String> = []
    var columns: Set<[String]> = []
    var conditions: [String] = []
    for origins in constraint.attributes {
      guard let name = origins.first?.entity, let entity = entities.first(where: { $0.name == name }),
        let layout = entity.layout
      else { return nil }
      let found = origins.compactMap { layout.attributes[$0.property]?.column }
      guard found.count == origins.count, origins.allSatisfy({ $0.entity == name }) else { return nil }
      tables.insert(layout.table)
      columns.insert(found.map { SQLName.quoted($0) })
      conditions.append(entity.condition)
    }
    guard tables.count == 1, let table = tables.first, columns.count == 1, let columns = columns.first else {
      return nil
    }
    let list = columns.joined(separator: ", ")
    // NULL is never a duplicate.
    let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let sql =
      "SELECT SUM(N) FROM (SELECT COUNT(*) AS N FROM \(SQLName.quoted(table)) WHERE \(present) "
      + "AND (\(conditions.joined(separator: " OR "))) GROUP BY \(list) HAVING COUNT(*) > 1)"
    return try reading { Int(try connection.scalar(sql)?.integer ?? 0) }
  }
}
