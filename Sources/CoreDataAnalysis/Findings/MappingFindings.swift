// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates

/// What a step by a mapping model would do to the data.
///
/// The mapping model decides, not the difference of the versions: what one of its expressions reads is carried over, and what
/// a policy does is the policy's business. Rows of an entity that no entity mapping takes are lost.
struct MappingFindings {
  let findings: [Finding]

  init(
    _ mappingModel: NSMappingModel, from old: NSManagedObjectModel, to new: NSManagedObjectModel, counts: StoreCounts
  ) {
    let (before, after) = (old.document, new.document)
    let mappings = (mappingModel.entityMappings ?? []).map(Mapping.init)
    let taken = mappingModel.takenEntities(of: old)
    let index = EntityIndex(before)
    func family(_ name: String) -> Set<String> {
      Set([name] + index.subentities(of: name).flatMap { family($0.name) })
    }
    let difference = ModelDifference(from: before, to: after)
    let judge = FindingJudge(old: before, new: after, counts: counts, changes: difference.changes)
    var found: [Finding] = []
    for change in difference.changes where !(change.subject == .entity && change.kind == .removed) {
      let source = family(change.sourceEntity ?? "")
      let destination = change.entity ?? ""
      let involved = mappings.filter { mapping in
        mapping.source.map(source.contains) == true || mapping.destination == destination
      }
      found += judge.findings(for: change).compactMap { Self.weighed($0, change, involved) }
    }
    for entity in before.entities where !entity.isAbstract && !taken.contains(entity.name) {
      let rows = counts.rows[entity.name] ?? 0
      let isRemoved = !after.entities.contains { $0.name == entity.name }
      guard rows > 0 || isRemoved else { continue }
      let message =
        rows == 0
        ? "no entity mapping takes it; it holds nothing"
        : "no entity mapping takes it: "
          + judge.dropped(rows, "row")
      found.append(judge.untaken(entity.name, rows == 0 ? .information : .error, message))
    }
    findings = found.sorted { left, right in
      if left.level != right.level { return left.level > right.level }
      return (left.code.rawValue, left.place) < (right.code.rawValue, right.place)
    }
  }

  /// The finding as it is under a mapping model; nil where the mapping model takes care of it.
  private static func weighed(_ finding: Finding, _ change: ModelChange, _ mappings: [Mapping]) -> Finding? {
    let takesAll = mappings.contains(where: \.takesAll)
    switch finding.code {
    case .notInferable, .hierarchiesMerged: return nil
    case .newRequiredAttribute, .optionalBecomesRequired:
      let isGiven = mappings.contains { $0.given.contains(change.property ?? "") }
      return takesAll || (isGiven && finding.code == .newRequiredAttribute) ? nil : finding.lowered(to: .warning)
    case .uniquenessAdded, .validationTightened, .minimumCountRaised: return finding
    case .entityRemoved, .attributeRemoved, .relationshipRemoved, .toManyBecomesToOne, .numberNarrowed,
      .storedBecomesTransient, .orderLost, .externalDataDropped, .destinationChanged:
      let isRead = mappings.contains { $0.read.contains(change.sourceProperty ?? "") }
      return takesAll || isRead ? nil : finding.lowered(to: .warning)
    }
  }

  /// What an entity mapping reads and gives.
  private struct Mapping {
    let source: String?
    let destination: String?
    /// Whether a policy or a copy as it is takes care of the properties.
    let takesAll: Bool
    /// The source properties that its expressions name.
    let read: Set<String>
    /// The destination properties that get a value.
    let given: Set<String>

    init(_ mapping: NSEntityMapping) {
      source = mapping.sourceEntityName
      destination = mapping.destinationEntityName
      takesAll = mapping.copiesAll || !(mapping.entityMigrationPolicyClassName ?? "").isEmpty
      let properties = (mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? [])
      let withValue = properties.filter { $0.valueSyntax != nil }
      given = Set(withValue.compactMap(\.name))
      read = withValue.reduce(into: []) { names, property in
        guard let expression = property.valueSyntax else { return }
        let keys = ExpressionKeys(expression)
        names.formUnion(keys.sourceKeys)
        names.formUnion(keys.sourceRelationships)
      }
    }
  }
}
