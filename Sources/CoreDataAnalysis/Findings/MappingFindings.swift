// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates

/// Findings about a step with a mapping model.
///
/// They depend on the mapping model rather than on the difference of the versions. Values read by an expression are
/// kept. Values that no expression reads are lost, even if both versions have the property. The results of policies are
/// unknown, and rows of an entity without a mapping are lost.
struct MappingFindings {
  let findings: [Finding]

  init(
    _ mappingModel: NSMappingModel, from old: NSManagedObjectModel, to new: NSManagedObjectModel, counts: StoreCounts?
  ) {
    let difference = ModelDifference(from: old.document, to: new.document)
    let scale = MappingScale(
      mappings: (mappingModel.entityMappings ?? []).map { MappedEntity($0, of: old) },
      judge: FindingJudge(old: old.document, new: new.document, counts: counts, changes: difference.changes),
      changes: difference.changes, counts: counts,
      unread: mappingModel.document.unreadProperties(from: old.document, to: new.document))
    let changed = difference.changes.filter { !($0.subject == .entity && $0.kind == .removed) }
      .flatMap { change in scale.judge.findings(for: change).compactMap { scale.adjusted($0, change) } }
    let dropped = old.document.entities.filter { !$0.isAbstract }.compactMap { scale.rows(of: $0.name) }
    let failures = MappingFailures(mappingModel.document, from: old.document, to: new.document, counts: counts)
    findings =
      (Self.merged(changed, failures) + dropped + scale.unreadFindings).sorted(by: Finding.areInOrder)
  }

  /// Replaces findings from the difference by certain failures for the same properties, and adds failures of other
  /// properties.
  private static func merged(_ changed: [Finding], _ failures: MappingFailures) -> [Finding] {
    func place(_ finding: Finding) -> [String] { [finding.entity ?? "", finding.property ?? ""] }
    func isAboutValues(_ finding: Finding) -> Bool {
      [.newRequiredAttribute, .optionalBecomesRequired].contains(finding.code)
    }
    let found = failures.findings
    let certain = Set(found.filter(\.isFailure).map(place))
    let rest = changed.filter { !(isAboutValues($0) && certain.contains(place($0))) }.map { finding in
      guard isAboutValues(finding), failures.complete.contains(place(finding)) else { return finding }
      var finding = finding
      (finding.level, finding.message) = (.information, "is required now; every row has it")
      return finding
    }
    let judged = Set(rest.filter(isAboutValues).map(place))
    return rest + found.filter { $0.isFailure || !judged.contains(place($0)) }
  }
}

/// Determines the level of findings from the values that entity mappings copy.
private struct MappingScale {
  let mappings: [MappedEntity]
  let judge: FindingJudge
  let changes: [ModelChange]
  /// The store's rows; nil if only the models are examined, which is like a store with rows in every entity.
  let counts: StoreCounts?
  /// The properties whose values the mapping model does not read.
  let unread: [UnreadProperty]

  /// Returns the finding adjusted to the mapping model; nil if the mapping model resolves it.
  func adjusted(_ finding: Finding, _ change: ModelChange) -> Finding? {
    switch finding.code {
    case .notInferable, .hierarchiesMerged, .probableRename, .unclearRename, .shippedVersionEdited, .noPath,
      .staleMapping, .equalVersions, .currentMovedBack, .stagesOutOfOrder, .missingInverse, .reservedName,
      .insecureTransformer, .requiredPair, .stepNeedsCopy, .littleDiskSpace, .unmergedLog, .noModelInStore,
      .otherTableDropped:
      nil
    case .newRequiredAttribute, .optionalBecomesRequired: missing(finding, change)
    case .uniquenessAdded, .validationTightened, .minimumCountRaised: rule(finding, change)
    case .entityRemoved, .attributeRemoved, .relationshipRemoved, .toManyBecomesToOne, .numberNarrowed,
      .storedBecomesTransient, .orderLost, .externalDataDropped, .destinationChanged:
      loss(finding, change)
    }
  }

  /// Returns the finding for rows of an entity that no entity mapping keeps.
  func rows(of entity: String) -> Finding? {
    let count = counts.map { $0.rows[entity] ?? 0 }
    let coveringMappings = mappings.filter { $0.sources.contains(entity) }
    guard coveringMappings.isEmpty else {
      guard count != 0, coveringMappings.allSatisfy({ $0.destination == nil }) else { return nil }
      let words = "the entity mapping \(coveringMappings.map(\.name).joined(separator: ", ")) removes it: "
      let finding = judge.uncoveredEntity(entity, .warning, words + dropped(count))
      return decided(finding, by: coveringMappings) ?? finding
    }
    guard count != 0 || judge.newIndex[entity] == nil else { return nil }
    let message = "no entity mapping covers it" + (count == 0 ? "; it holds nothing" : ": " + dropped(count))
    return judge.uncoveredEntity(entity, count == 0 ? .information : .error, message)
  }

  private func dropped(_ count: Int?) -> String {
    count.map { judge.dropped($0, "row") } ?? "its rows would be dropped"
  }

  private func mayHaveRows(_ entity: String) -> Bool { counts.map { $0.rows[entity] ?? 0 > 0 } ?? true }

  /// Returns the finding for a loss, based on the rows of the entities whose mappings do not keep the values.
  private func loss(_ finding: Finding, _ change: ModelChange) -> Finding? {
    let property = change.sourceProperty ?? ""
    let family = judge.family(of: change.sourceEntity ?? "")
    guard family.contains(where: mayHaveRows) else {
      let isCarried = mappings.contains {
        !$0.sources.isDisjoint(with: family) && $0.carries(property, finding, change)
      }
      return isCarried ? nil : finding
    }
    let isDropped = Self.drops.contains(finding.code)
    var (lost, intended, undecided): (Set<String>, Set<String>, Set<String>) = ([], [], [])
    var policies: [MappedEntity] = []
    var open: String?
    for entity in family where mayHaveRows(entity) {
      // Rows that are not mapped, or that are removed, have a finding about their entity.
      let coveringMappings = mappings.filter { $0.sources.contains(entity) && $0.destination != nil }
      guard !coveringMappings.isEmpty, !coveringMappings.contains(where: { $0.carries(property, finding, change) })
      else { continue }
      let own = coveringMappings.filter { $0.policy != nil }
      policies += own
      guard own.isEmpty else {
        undecided.insert(entity)
        continue
      }
      guard isDropped else {
        intended.insert(entity)
        continue
      }
      // If a property is not listed as unread, it may be read in a way that the keys of the source object do not show.
      guard let item = unread.first(where: { $0.entity == entity && $0.property == property }) else { continue }
      if item.isIntended { intended.insert(entity) } else { lost.insert(entity) }
      open = open ?? item.openWords
    }
    if var known = again(finding, change, among: lost), known.level > .information {
      if let open { known.message += "; \(open)" }
      return known
    }
    let known =
      again(finding, change, among: intended)?.lowered(to: .warning) ?? again(finding, change, among: lost)
    if let known, known.level > .information { return known }
    return again(finding, change, among: undecided).flatMap { decided($0, by: policies) ?? $0 } ?? known
  }

  /// The codes of losses that occur only if no expression reads the values.
  fileprivate static let drops: Set<FindingCode> = [
    .attributeRemoved, .relationshipRemoved, .storedBecomesTransient, .externalDataDropped,
  ]

  /// Findings about properties that no change removes, but whose values the mapping model does not read.
  var unreadFindings: [Finding] {
    let removed = Set(
      changes.filter { change in
        change.kind == .removed || judge.findings(for: change).contains { $0.code == .storedBecomesTransient }
      }.map { [$0.sourceEntity ?? "", $0.sourceProperty ?? ""] })
    let items = unread.filter {
      !$0.isIntended && !removed.contains([$0.owner, $0.property]) && mayHaveRows($0.entity)
    }
    return Dictionary(grouping: items) { [$0.owner, $0.property] }.values.compactMap(finding)
  }

  /// - Parameter items: a single property, once for each entity that has it.
  private func finding(_ items: [UnreadProperty]) -> Finding? {
    guard let item = items.first else { return nil }
    var count: Int? = 0
    for item in items {
      let values = counts.flatMap { $0.values[item.entity]?[item.property] }
      count = count.flatMap { sum in values.map { sum + $0 } }
    }
    guard count != 0 else { return nil }
    let code: FindingCode =
      item.isRelationship ? .relationshipRemoved : item.isExternal ? .externalDataDropped : .attributeRemoved
    let words = count.map { judge.dropped($0, item.isRelationship ? "link" : "value") } ?? "its values would be dropped"
    let text = ["no expression of the mapping model reads it", words, item.openWords].compactMap { $0 }
    let finding = Finding(
      code, .error, entity: item.owner, property: item.property, sourceEntity: item.owner,
      sourceProperty: item.property, text.joined(separator: "; "))
    let entities = [judge.newIndex[item.owner], judge.oldIndex[item.owner]]
    return finding.allowed(by: .inModel(code, entities: entities, properties: [item.property, item.property]))
  }

  /// Returns the same finding as if only some entities had rows.
  private func again(_ finding: Finding, _ change: ModelChange, among entities: Set<String>) -> Finding? {
    guard !entities.isEmpty else { return nil }
    var counts = counts
    if let rows = counts?.rows { counts?.rows = rows.filter { entities.contains($0.key) } }
    return FindingJudge(old: judge.old, new: judge.new, counts: counts, changes: changes).findings(for: change)
      .first { $0.code == finding.code && $0.isFailure == finding.isFailure }
  }

  /// Returns the finding for a required value, depending on whether the mappings that create the objects set it.
  private func missing(_ finding: Finding, _ change: ModelChange) -> Finding? {
    let open = makers(change).filter { mapping in
      let isGiven = finding.code == .newRequiredAttribute && mapping.given.contains(change.property ?? "")
      return !isGiven && !mapping.copiesAll
    }
    if open.contains(where: { $0.policy == nil }) {
      var finding = finding.doubted
      if change.subject == .relationship { finding.message = "is required now; objects without it stop the migration" }
      return finding
    }
    return decided(finding, by: open)
  }

  /// Returns the finding for a validation rule. A migration with a mapping model validates new objects, unlike an
  /// in-place migration.
  private func rule(_ finding: Finding, _ change: ModelChange) -> Finding {
    let makers = makers(change)
    guard makers.contains(where: { $0.policy == nil }) else { return decided(finding, by: makers) ?? finding }
    var finding = finding
    switch (finding.code, change.kind) {
    case (.uniquenessAdded, _) where finding.isFailure:
      // The counted values are those of the source.
      let isCopied = judge.addedConstraints(change).allSatisfy { names in
        let origins = judge.constraint(names, of: change)?.attributes.first?.map(\.property) ?? names
        return makers.allSatisfy { $0.copies(origins, to: names) }
      }
      guard !isCopied else { break }
      finding = finding.doubted
      finding.message += ", unless the mapping model changes them"
    case (.validationTightened, _):
      let counted = judge.tightenedAspect(change).flatMap { judge.breaks(of: change, $0) }
      let breaking = counted.flatMap { breaks in breaks.example.map { FindingJudge.breaking(breaks, $0) } }
      finding.message =
        "validation is stricter (\(change.sentenceTail)); "
        + (breaking.map { "\($0), in the store; values that break it after the mapping stop the migration" }
          ?? "values that break it stop the migration")
    case (.minimumCountRaised, .changed(_, let before, let after)):
      let lacking = judge.lackingCount(change).flatMap { $0 > 0 ? FindingJudge.lacking($0) + " in the store; " : nil }
      finding.message = "at least \(after) instead of \(before); \(lacking ?? "")objects with fewer stop the migration"
    default: break
    }
    return finding
  }

  /// Returns the mappings that create objects of the changed entity or of its sub-entities.
  private func makers(_ change: ModelChange) -> [MappedEntity] {
    func family(_ name: String) -> [String] {
      [name] + judge.newIndex.subentities(of: name).flatMap { family($0.name) }
    }
    let destinations = family(change.entity ?? "")
    return mappings.filter { mapping in mapping.destination.map(destinations.contains) == true }
  }

  /// Returns the finding for objects handled by policies; nil if there are no policies.
  private func decided(_ finding: Finding, by mappings: [MappedEntity]) -> Finding? {
    let policies = Set(mappings.compactMap(\.policy)).sorted()
    guard !policies.isEmpty else { return nil }
    return finding.level == .information ? finding : finding.decided(by: policies)
  }
}

/// The rows that an entity mapping reads, and the properties that it reads and sets.
private struct MappedEntity {
  let name: String
  /// The source entities whose rows it reads.
  let sources: Set<String>
  let destination: String?
  /// The class of its migration policy; nil for the default policy.
  let policy: String?
  /// Whether it copies objects unchanged.
  let copiesAll: Bool
  /// Whether it may skip rows of its source entity.
  private let isFiltered: Bool
  /// The source properties that its expressions read.
  let read: Set<String>
  /// The destination properties that it sets.
  let given: Set<String>
  /// The source properties whose values are copied unchanged, by destination property.
  private let plain: [String: String]

  init(_ mapping: NSEntityMapping, of source: NSManagedObjectModel) {
    name = mapping.name ?? ""
    sources = mapping.coveredEntities(of: source)
    destination = mapping.mappingType == .removeEntityMappingType ? nil : mapping.destinationEntityName
    let policy = mapping.entityMigrationPolicyClassName ?? ""
    self.policy = policy.isEmpty ? nil : policy
    copiesAll = mapping.copiesAll
    isFiltered =
      mapping.sourceSyntax.map { $0 != MappingExpressions.sourceObjects(entity: mapping.sourceEntityName ?? "") }
      ?? false
    let properties = (mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? [])
    var (read, given): (Set<String>, Set<String>) = ([], [])
    var plain: [String: String] = [:]
    for property in properties {
      guard let expression = property.valueSyntax, let name = property.name else { continue }
      let keys = ExpressionKeys(expression)
      read.formUnion(keys.sourceKeys)
      read.formUnion(keys.sourceRelationships)
      given.insert(name)
      plain[name] = MappingExpressions.sourceKey(expression)
    }
    (self.read, self.given, self.plain) = (read, given, plain)
  }

  /// Whether all rows are copied with unchanged values of some properties.
  func copies(_ properties: [String], to names: [String]) -> Bool {
    !isFiltered && (copiesAll || zip(properties, names).allSatisfy { plain[$1] == $0 })
  }

  /// Whether the values of a property are kept. A copied number is converted to the type of the new attribute.
  func carries(_ property: String, _ finding: Finding, _ change: ModelChange) -> Bool {
    guard finding.code == .numberNarrowed else {
      return (copiesAll && !MappingScale.drops.contains(finding.code)) || read.contains(property)
    }
    return !copiesAll && plain[change.property ?? ""] != property && read.contains(property)
  }
}
