// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles

extension StoreCounts {
  /// The counts after a step, as far as the models determine them.
  func after(_ difference: ModelDifference, from old: ModelDocument, to new: ModelDocument) -> StoreCounts {
    let (oldIndex, newIndex) = (EntityIndex(old), EntityIndex(new))
    let pairs = Pairing(old.entities, new.entities, name: \.name, declared: \.renamingIdentifier).matched
    var result = StoreCounts(rows: [:])
    for entity in new.entities { result.rows[entity.name] = 0 }
    for (before, after) in pairs {
      result.rows[after.name] = rows[before.name] ?? 0
      result.origins[after.name] = origins[before.name]
      guard let known = values[before.name] else { continue }
      // The changes of the entity and of its ancestors, before and after the step.
      let lines = Set(oldIndex.lineage(of: before.name).map(\.name) + newIndex.lineage(of: after.name).map(\.name))
      var next = known
      for change in difference.changes where change.property != nil && lines.contains(change.sourceEntity ?? "") {
        apply(change, known, rows: rows[before.name] ?? 0, newIndex, to: &next)
        Self.move(change, origins[before.name] ?? [:], to: &result.origins[after.name, default: [:]])
      }
      result.values[after.name] = next
    }
    return result
  }

  private func apply(
    _ change: ModelChange, _ known: [String: Int], rows: Int, _ index: EntityIndex, to next: inout [String: Int]
  ) {
    guard let property = change.property else { return }
    let attribute = change.entity.flatMap { index[$0]?.attributes.first { $0.name == property } }
    switch change.kind {
    case .removed:
      next[property] = nil
    case .renamed(let old):
      next[old] = nil
      next[property] = known[old]
    case .added:
      // A new relationship may take over the links of an existing inverse, whose number is unknown.
      next[property] = change.subject == .relationship ? nil : attribute?.defaultValue == nil ? 0 : rows
    case .changed(.optional, _, "no"):
      if attribute?.defaultValue != nil { next[property] = rows }
    case .moved, .changed: break
    }
  }

  /// Follows the values of an attribute over a step.
  private static func move(
    _ change: ModelChange, _ known: [String: AttributeOrigin], to next: inout [String: AttributeOrigin]
  ) {
    guard let property = change.property else { return }
    switch change.kind {
    case .removed, .added: next[property] = nil
    case .renamed(let old):
      next[old] = nil
      next[property] = known[old]
    case .moved, .changed: break
    }
  }
}
