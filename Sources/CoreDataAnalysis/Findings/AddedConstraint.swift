// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// A uniqueness constraint that a step adds, over attributes of the store: for each entity with rows, those of its properties.
struct AddedConstraint: Hashable, Sendable {
  let attributes: [[AttributeOrigin]]

  /// The constraints of a step whose values must be counted.
  static func all(in difference: ModelDifference, _ judge: FindingJudge) -> [AddedConstraint] {
    difference.changes.flatMap { change -> [AddedConstraint] in
      guard change.subject == .entity, case .changed(.uniqueness, _, _) = change.kind else { return [] }
      return judge.addedConstraints(change).compactMap { judge.constraint($0, of: change) }
    }
  }
}

extension FindingJudge {
  /// The properties of each uniqueness constraint that the new version adds to an entity.
  func addedConstraints(_ change: ModelChange) -> [[String]] {
    let before = Set(oldIndex[change.sourceEntity ?? ""]?.uniquenessConstraints.map(Set.init) ?? [])
    let after = newIndex[change.entity ?? ""]?.uniquenessConstraints ?? []
    return after.filter { !before.contains(Set($0)) }
  }

  /// A constraint over values of the store; nil where they are not in the store that was counted, or a mapping model can change
  /// them.
  func constraint(_ names: [String], of change: ModelChange) -> AddedConstraint? {
    guard let counts, let source = change.sourceEntity, change.migration != .custom else { return nil }
    let properties = newIndex.lineage(of: change.entity ?? "").flatMap(\.attributes)
    var attributes: [[AttributeOrigin]] = []
    for entity in family(of: source) where counts.rows[entity] ?? 0 > 0 {
      let origins = names.compactMap { name -> AttributeOrigin? in
        guard let property = properties.first(where: { $0.name == name }) else { return nil }
        let known = counts.origins[entity] ?? [:]
        return property.renamingIdentifier.flatMap { known[$0] } ?? known[name]
      }
      guard origins.count == names.count else { return nil }
      attributes.append(origins)
    }
    return AddedConstraint(attributes: attributes)
  }

  /// A constraint that was added: rows with equal values stop the migration.
  func uniqueness(_ change: ModelChange) -> [Finding] {
    let rows = rowCount(of: change)
    return addedConstraints(change).map { names in
      let text = "\(names.joined(separator: ", ")) must be unique now"
      guard let rows else {
        return finding(.uniquenessAdded, .warning, change, "\(text); rows with equal values would stop the migration")
      }
      guard let doubles = constraint(names, of: change).flatMap({ counts?.doubles[$0] }) else {
        return finding(
          .uniquenessAdded, rows == 0 ? .information : .warning, change, "\(text), among \(counted(rows, "row"))")
      }
      guard doubles > 0 else {
        return finding(
          .uniquenessAdded, .information, change, "\(text), and is among \(counted(rows, "row"))")
      }
      return finding(
        .uniquenessAdded, .error, change,
        "\(text); \(counted(doubles, "row")) with equal values stop the migration", isFailure: true)
    }
  }
}

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
