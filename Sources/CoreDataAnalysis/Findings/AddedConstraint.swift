// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// A uniqueness constraint added by a step, over attributes of the store: for each entity with rows, the attributes
/// that its values come from.
struct AddedConstraint: Hashable, Sendable {
  let attributes: [[AttributeOrigin]]

  /// Returns the constraints of a step whose values must be counted.
  static func all(in difference: ModelDifference, _ judge: FindingJudge) -> [AddedConstraint] {
    difference.changes.flatMap { change -> [AddedConstraint] in
      guard change.subject == .entity, case .changed(.uniqueness, _, _) = change.kind else { return [] }
      return judge.addedConstraints(change).compactMap { judge.constraint($0, of: change) }
    }
  }
}

/// The rows that violate a uniqueness constraint. Two counts are equal if their numbers of rows are; the example is not
/// compared, since it may depend on the engine's order.
struct DuplicateCount: Hashable, Sendable {
  let rows: Int
  /// The most common duplicate value, with its number of rows, such as `'ann@example.org' (2 rows)`; nil if there are
  /// no duplicates.
  let example: String?

  static func == (left: DuplicateCount, right: DuplicateCount) -> Bool { left.rows == right.rows }

  func hash(into hasher: inout Hasher) { hasher.combine(rows) }
}

extension FindingJudge {
  /// Returns the properties of each uniqueness constraint that the new version adds to an entity.
  func addedConstraints(_ change: ModelChange) -> [[String]] {
    let before = Set(oldIndex[change.sourceEntity ?? ""]?.uniquenessConstraints.map(Set.init) ?? [])
    let after = newIndex[change.entity ?? ""]?.uniquenessConstraints ?? []
    return after.filter { !before.contains(Set($0)) }
  }

  /// Returns a constraint over values of the store; nil if they are not in the counted store, or the step may change
  /// them.
  func constraint(_ names: [String], of change: ModelChange) -> AddedConstraint? {
    guard let counts, let source = change.sourceEntity, change.migration != .custom else { return nil }
    let properties = newIndex.lineage(of: change.entity ?? "").flatMap(\.attributes)
    var attributes: [[AttributeOrigin]] = []
    for entity in family(of: source) where counts.rows[entity] ?? 0 > 0 {
      let origins = names.compactMap { name -> AttributeOrigin? in
        guard let property = properties.first(where: { $0.name == name }) else { return nil }
        let candidates = [property.renamingIdentifier, name].compactMap { $0 }
        let before = candidates.compactMap { name in
          oldIndex.lineage(of: entity).flatMap(\.attributes).first { $0.name == name }
        }.first
        guard let before, before.kind == property.kind else { return nil }
        return counts.origins[entity]?[before.name]
      }
      guard origins.count == names.count else { return nil }
      attributes.append(origins)
    }
    return AddedConstraint(attributes: attributes)
  }

  /// Returns findings about an added constraint: rows with equal values stop the migration.
  func uniqueness(_ change: ModelChange) -> [Finding] {
    let rows = rowCount(of: change)
    return addedConstraints(change).map { names in
      let text = "\(names.joined(separator: ", ")) must be unique now"
      guard let rows else {
        return finding(.uniquenessAdded, .warning, change, "\(text); rows with equal values would stop the migration")
      }
      guard let duplicates = constraint(names, of: change).flatMap({ counts?.duplicates[$0] }) else {
        return finding(
          .uniquenessAdded, rows == 0 ? .information : .warning, change, "\(text), among \(counted(rows, "row"))")
      }
      guard let example = duplicates.example else {
        return finding(
          .uniquenessAdded, .information, change, "\(text), and is among \(counted(rows, "row"))")
      }
      return finding(
        .uniquenessAdded, .error, change,
        "\(text); \(counted(duplicates.rows, "row")) with equal values stop the migration, such as \(example)",
        isFailure: true)
    }
  }
}
