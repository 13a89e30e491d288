// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates

/// Finds the changes between two versions of a model.
struct ModelComparison {
  let old: ModelDocument
  let new: ModelDocument
  let oldIndex: EntityIndex
  let newIndex: EntityIndex
  private let entities: Pairing<EntityDocument>
  /// New names by old ones.
  private let newNames: [String: String]
  /// Old names by new ones.
  private let oldNames: [String: String]

  init(from old: ModelDocument, to new: ModelDocument) {
    self.old = old
    self.new = new
    oldIndex = EntityIndex(old)
    newIndex = EntityIndex(new)
    entities = Pairing(old.entities, new.entities, name: \.name, declared: \.renamingIdentifier)
    newNames = Dictionary(entities.matched.map { ($0.source.name, $0.destination.name) }) { first, _ in first }
    oldNames = Dictionary(entities.matched.map { ($0.destination.name, $0.source.name) }) { first, _ in first }
  }

  /// Returns the new version's name for an entity of the old one.
  func newName(of entity: String) -> String? { newNames[entity] }

  /// Returns the old version's name for an entity of the new one.
  func oldName(of entity: String) -> String? { oldNames[entity] }

  func changes() -> [ModelChange] {
    var groups: [(name: String, changes: [ModelChange])] = []
    for entity in entities.added {
      groups.append(
        (
          entity.name,
          [
            ModelChange(
              entity: entity.name, property: nil, subject: .entity, kind: .added(AspectText.entity(entity)),
              changesVersionHash: true, migration: .inferred, sourceEntity: nil, sourceProperty: nil)
          ].demandingCustom(entities.ambiguous)
        ))
    }
    for entity in entities.removed {
      groups.append(
        (
          entity.name,
          [
            ModelChange(
              entity: entity.name, property: nil, subject: .entity, kind: .removed, changesVersionHash: true,
              migration: .inferred, sourceEntity: entity.name, sourceProperty: nil)
          ]
        ))
    }
    for (old, new) in entities.matched {
      let comparison = EntityComparison(models: self, old: old, new: new)
      groups.append((new.name, comparison.changes()))
    }
    // A removed entity and an added one may share a name; the removed one then comes first.
    let sorted = groups.enumerated().sorted { left, right in
      left.element.name == right.element.name ? left.offset > right.offset : left.element.name < right.element.name
    }
    return sorted.flatMap { $0.element.changes } + configurationChanges() + requestChanges()
  }

  private func configurationChanges() -> [ModelChange] {
    let pairs = Pairing(old.configurations, new.configurations, name: \.name, declared: { _ in nil })
    var changes = pairs.added.map { loose($0.name, .configuration, .added($0.entityNames.joined(separator: ", "))) }
    changes += pairs.removed.map { loose($0.name, .configuration, .removed) }
    for (old, new) in pairs.matched where Set(old.entityNames) != Set(new.entityNames) {
      changes.append(
        loose(
          new.name, .configuration,
          .changed(
            .members, from: AspectText.name(old.entityNames.sorted().joined(separator: ", ")),
            to: AspectText.name(new.entityNames.sorted().joined(separator: ", ")))))
    }
    return changes.sorted { ($0.property ?? "") < ($1.property ?? "") }
  }

  private func requestChanges() -> [ModelChange] {
    let pairs = Pairing(old.fetchRequestTemplates, new.fetchRequestTemplates, name: \.name, declared: { _ in nil })
    var changes = pairs.added.map { loose($0.name, .fetchRequest, .added("of \($0.entityName)")) }
    changes += pairs.removed.map { loose($0.name, .fetchRequest, .removed) }
    for (old, new) in pairs.matched {
      let (before, after) = (AspectText.request(old), AspectText.request(new))
      guard before != after else { continue }
      changes.append(loose(new.name, .fetchRequest, .changed(.request, from: before, to: after)))
    }
    return changes.sorted { ($0.property ?? "") < ($1.property ?? "") }
  }

  private func loose(_ name: String, _ subject: ModelChange.Subject, _ kind: ModelChange.Kind) -> ModelChange {
    ModelChange(
      entity: nil, property: name, subject: subject, kind: kind, changesVersionHash: false, migration: .none,
      sourceEntity: nil, sourceProperty: name)
  }
}

/// Finds the changes of one entity that is in both versions.
struct EntityComparison {
  let models: ModelComparison
  let old: EntityDocument
  let new: EntityDocument

  func changes() -> [ModelChange] {
    var own: [ModelChange] = []
    if old.name != new.name { own.append(entityChange(.renamed(from: old.name), hashed: true)) }
    compare(.parent, old.parentName, new.parentName, into: &own)
    compare(.abstract, old.isAbstract, new.isAbstract, hashed: true, into: &own)
    let oldClass = old.className ?? "NSManagedObject"
    let newClass = new.className ?? "NSManagedObject"
    if oldClass != newClass { own.append(aspect(.className, oldClass, newClass, hashed: false)) }
    if Set(old.uniquenessConstraints) != Set(new.uniquenessConstraints) {
      own.append(
        aspect(
          .uniqueness, AspectText.lists(old.uniquenessConstraints), AspectText.lists(new.uniquenessConstraints),
          hashed: true))
    }
    if Set(old.compoundIndexes) != Set(new.compoundIndexes) {
      own.append(
        aspect(
          .compoundIndexes, AspectText.lists(old.compoundIndexes), AspectText.lists(new.compoundIndexes),
          hashed: false))
    }
    if (old.versionHashModifier ?? "") != (new.versionHashModifier ?? "") {
      own.append(
        aspect(
          .versionHashModifier, AspectText.name(old.versionHashModifier), AspectText.name(new.versionHashModifier),
          hashed: true))
    }
    if (old.renamingIdentifier ?? old.name) != (new.renamingIdentifier ?? new.name), old.name == new.name {
      own.append(
        aspect(
          .renamingIdentifier, AspectText.name(old.renamingIdentifier), AspectText.name(new.renamingIdentifier),
          hashed: false))
    }
    if old.userInfo != new.userInfo {
      own.append(
        aspect(
          .userInfo, AspectText.value(.dictionary(old.userInfo)), AspectText.value(.dictionary(new.userInfo)),
          hashed: false))
    }
    let properties = attributeChanges() + relationshipChanges() + fetchedChanges() + indexChanges()
    // A stable sort: the aspects of one property keep their order.
    let sorted = properties.enumerated().sorted { left, right in
      let (a, b) = (left.element.property ?? "", right.element.property ?? "")
      return a == b ? left.offset < right.offset : a < b
    }
    return own + sorted.map(\.element)
  }

  private func compare(
    _ aspect: ModelAspect, _ before: Bool, _ after: Bool, hashed: Bool, into changes: inout [ModelChange]
  ) {
    guard before != after else { return }
    changes.append(self.aspect(aspect, AspectText.flag(before), AspectText.flag(after), hashed: hashed))
  }

  private func compare(_ aspect: ModelAspect, _ before: String?, _ after: String?, into changes: inout [ModelChange]) {
    let successor = before.flatMap { models.newName(of: $0) }
    guard before != after, successor == nil || successor != after else { return }
    changes.append(
      entityChange(
        .changed(aspect, from: AspectText.name(before), to: AspectText.name(after)), hashed: true,
        migration: mergesHierarchies ? .custom : .inferred))
  }

  /// Whether the entity joins a hierarchy that already existed without it. It may get a new parent or leave its
  /// hierarchy, but not join an existing one.
  private var mergesHierarchies: Bool {
    for ancestor in models.newIndex.lineage(of: new.name).dropFirst() {
      guard let source = models.oldName(of: ancestor.name) else { continue }
      return models.oldIndex.root(of: old.name)?.name != models.oldIndex.root(of: source)?.name
    }
    return false
  }

  private func aspect(_ aspect: ModelAspect, _ before: String, _ after: String, hashed: Bool) -> ModelChange {
    entityChange(.changed(aspect, from: before, to: after), hashed: hashed)
  }

  private func entityChange(_ kind: ModelChange.Kind, hashed: Bool, migration: MigrationDemand? = nil) -> ModelChange {
    ModelChange(
      entity: new.name, property: nil, subject: .entity, kind: kind, changesVersionHash: hashed,
      migration: migration ?? (hashed ? .inferred : .none), sourceEntity: old.name, sourceProperty: nil)
  }

  private func fetchedChanges() -> [ModelChange] {
    let pairs = Pairing(old.fetchedProperties, new.fetchedProperties, name: \.name, declared: \.renamingIdentifier)
    var changes = pairs.added.map {
      change($0.name, nil, .fetchedProperty, .added("of \(AspectText.name($0.request?.entityName))"))
    }
    changes += pairs.removed.map { change($0.name, $0.name, .fetchedProperty, .removed) }
    for (before, after) in pairs.matched {
      if before.name != after.name {
        changes.append(change(after.name, before.name, .fetchedProperty, .renamed(from: before.name)))
      }
      let requests = [before, after].map { $0.request.map(AspectText.request) ?? "none" }
      if requests[0] != requests[1] {
        changes.append(
          change(
            after.name, before.name, .fetchedProperty,
            .changed(.request, from: requests[0], to: requests[1])))
      }
    }
    return changes
  }

  private func indexChanges() -> [ModelChange] {
    let pairs = Pairing(old.indexes, new.indexes, name: \.name, declared: { _ in nil })
    var changes = pairs.added.map { change($0.name, nil, .fetchIndex, .added(AspectText.index($0))) }
    changes += pairs.removed.map { change($0.name, $0.name, .fetchIndex, .removed) }
    for (before, after) in pairs.matched where before != after {
      changes.append(
        change(
          after.name, before.name, .fetchIndex,
          .changed(.definition, from: AspectText.index(before), to: AspectText.index(after))))
    }
    return changes
  }

  func change(
    _ property: String, _ source: String?, _ subject: ModelChange.Subject, _ kind: ModelChange.Kind,
    hashed: Bool = false, migration: MigrationDemand = .none
  ) -> ModelChange {
    ModelChange(
      entity: new.name, property: property, subject: subject, kind: kind, changesVersionHash: hashed,
      migration: migration, sourceEntity: old.name, sourceProperty: source)
  }

  func attributeChanges() -> [ModelChange] {
    let pairs = Pairing(old.attributes, new.attributes, name: \.name, declared: \.renamingIdentifier)
    var changes = pairs.added.map { added($0) }.demandingCustom(pairs.ambiguous)
    changes += pairs.removed.map { removed($0.name, .attribute, isTransient: $0.isTransient) }
    for (before, after) in pairs.matched where before != after { changes += attributeChanges(before, after) }
    return changes
  }

  private func added(_ attribute: AttributeDocument) -> ModelChange {
    let inherited = models.oldIndex.lineage(of: old.name).dropFirst().first { entity in
      entity.attributes.contains { $0.name == (attribute.renamingIdentifier ?? attribute.name) }
    }
    if let inherited {
      return change(
        attribute.name, attribute.name, .attribute, .moved(from: inherited.name, to: new.name),
        hashed: !attribute.isTransient, migration: attribute.isTransient ? .none : .inferred)
    }
    return change(
      attribute.name, nil, .attribute, .added(AspectText.attribute(attribute)), hashed: !attribute.isTransient,
      migration: demand(adding: attribute))
  }

  private func demand(adding attribute: AttributeDocument) -> MigrationDemand {
    if attribute.isTransient { return .none }
    // The models do not show whether there are objects, which would have no value.
    guard attribute.kind == .composite, !attribute.isOptional else { return .inferred }
    return attribute.elements.map { demand(addingElement: $0) }.max() ?? .inferred
  }

  private func demand(addingElement attribute: AttributeDocument) -> MigrationDemand {
    if attribute.isOptional || attribute.defaultValue != nil || attribute.derivation != nil { return .inferred }
    return attribute.kind == .composite ? demand(adding: attribute) : .custom
  }

  /// Returns the change for a property that is removed from the entity, or moved to another one of its hierarchy.
  func removed(_ name: String, _ subject: ModelChange.Subject, isTransient: Bool) -> ModelChange {
    let demand: MigrationDemand = isTransient ? .none : .inferred
    func has(_ entity: EntityDocument) -> Bool { entity.propertyNames.contains(name) }
    if let newOwner = models.newIndex.lineage(of: new.name).dropFirst().first(where: has) {
      return change(
        name, name, subject, .moved(from: new.name, to: newOwner.name), hashed: !isTransient, migration: demand)
    }
    let newOwners = models.newIndex.subentities(of: new.name)
    if old.isAbstract, !newOwners.isEmpty, newOwners.allSatisfy(has) {
      let names = newOwners.map(\.name).joined(separator: ", ")
      return change(name, name, subject, .moved(from: new.name, to: names), hashed: !isTransient, migration: demand)
    }
    return change(name, name, subject, .removed, hashed: !isTransient, migration: demand)
  }

  private func attributeChanges(_ before: AttributeDocument, _ after: AttributeDocument) -> [ModelChange] {
    var recorder = AspectRecorder(
      comparison: self, property: after.name, source: before.name, subject: .attribute,
      isStored: !(before.isTransient && after.isTransient))
    if before.name != after.name { recorder.renamed() }
    recorder.compare(
      .type, before.kind.title, after.kind.title, hashed: true,
      migration: before.kind.isNumeric && after.kind.isNumeric ? .inferred : .custom)
    recorder.compare(.optional, before.isOptional, after.isOptional, hashed: true)
    recorder.compare(
      .transient, before.isTransient, after.isTransient, hashed: true,
      migration: after.isTransient ? .inferred : demand(adding: after))
    recorder.compare(.defaultValue, AspectText.value(before.defaultValue), AspectText.value(after.defaultValue))
    compareRules(before, after, &recorder)
    // The version hash has one bit for both flags.
    let flagBefore = before.allowsExternalBinaryDataStorage || before.preservesValueInHistoryOnDeletion
    let flagAfter = after.allowsExternalBinaryDataStorage || after.preservesValueInHistoryOnDeletion
    recorder.compare(
      .externalStorage, before.allowsExternalBinaryDataStorage, after.allowsExternalBinaryDataStorage,
      hashed: flagBefore != flagAfter)
    recorder.compare(
      .historyTombstone, before.preservesValueInHistoryOnDeletion, after.preservesValueInHistoryOnDeletion,
      hashed: flagBefore != flagAfter)
    recorder.compare(.cloudEncryption, before.allowsCloudEncryption, after.allowsCloudEncryption)
    let derivations = [before, after].map { $0.derivation.map { PredicatePrinter.derivationFormat($0) } }
    recorder.compare(.derivation, AspectText.name(derivations[0]), AspectText.name(derivations[1]), hashed: true)
    if before.elements != after.elements {
      let isHashed = hashInput(of: before.elements) != hashInput(of: after.elements)
      recorder.compare(
        .elements, elements(before), elements(after), hashed: isHashed, evenIfEqual: true,
        migration: elementsDemand(before, after))
    }
    recorder.compare(.valueClass, AspectText.name(before.valueClassName), AspectText.name(after.valueClassName))
    recorder.compare(
      .transformer, AspectText.name(before.valueTransformerName), AspectText.name(after.valueTransformerName))
    recorder.compare(.indexed, before.isIndexed, after.isIndexed)
    recorder.compare(.spotlight, before.isIndexedBySpotlight, after.isIndexedBySpotlight)
    recorder.compareModifiers(before.versionHashModifier, after.versionHashModifier)
    recorder.compareIdentifiers(before.renamingIdentifier, after.renamingIdentifier)
    recorder.compareUserInfo(before.userInfo, after.userInfo)
    return recorder.changes
  }

  private func hashInput(of elements: [AttributeDocument]) -> [String: String] {
    var entity = EntityDocument(name: "")
    entity.attributes = elements
    let hashes = VersionHashes(ModelDocument(entities: [entity]))
    return Dictionary(
      elements.map { ($0.name, hashes.property($0.name, of: "")?.base64EncodedString() ?? "") }
    ) { first, _ in first }
  }

  private func elements(_ attribute: AttributeDocument) -> String {
    let texts = attribute.elements.sorted { $0.name < $1.name }.map { "\($0.name) (\(AspectText.attribute($0)))" }
    return AspectText.name(texts.joined(separator: "; "))
  }

  private func elementsDemand(_ before: AttributeDocument, _ after: AttributeDocument) -> MigrationDemand {
    let pairs = Pairing(before.elements, after.elements, name: \.name, declared: \.renamingIdentifier)
    var demands = pairs.added.map { demand(adding: $0) }
    for (old, new) in pairs.matched where old.kind != new.kind {
      demands.append(old.kind.isNumeric && new.kind.isNumeric ? .inferred : .custom)
    }
    return demands.max() ?? .inferred
  }

  private func compareRules(_ before: AttributeDocument, _ after: AttributeDocument, _ recorder: inout AspectRecorder) {
    let old = ValidationLimits(before.validations)
    let new = ValidationLimits(after.validations)
    for aspect in ValidationLimits.aspects {
      recorder.compare(aspect, AspectText.value(old.limits[aspect]), AspectText.value(new.limits[aspect]))
    }
    if Set(old.others) != Set(new.others) {
      recorder.compare(.validation, rules(old.others.count), rules(new.others.count), evenIfEqual: true)
    }
  }

  private func rules(_ count: Int) -> String { count == 1 ? "1 rule" : "\(count) rules" }
}

/// The validation rules as shown by model editors: limits, and other rules.
struct ValidationLimits {
  static let aspects: [ModelAspect] = [.minimum, .maximum, .minimumLength, .maximumLength, .pattern]
  private(set) var limits: [ModelAspect: PlainValue] = [:]
  private(set) var others: [PredicateSyntax] = []

  init(_ validations: [ValidationDocument]) {
    for rule in validations {
      if let (aspect, value) = Self.limit(rule.predicate), limits[aspect] == nil {
        limits[aspect] = value
      } else {
        others.append(rule.predicate)
      }
    }
  }

  private static func limit(_ predicate: PredicateSyntax) -> (ModelAspect, PlainValue)? {
    guard case .comparison(let comparison) = predicate, case .constant(let value) = comparison.right else { return nil }
    switch (comparison.left, comparison.op) {
    case (.evaluatedObject, .greaterThanOrEqualTo): return (.minimum, value)
    case (.evaluatedObject, .lessThanOrEqualTo): return (.maximum, value)
    case (.keyPath("length"), .greaterThanOrEqualTo): return (.minimumLength, value)
    case (.keyPath("length"), .lessThanOrEqualTo): return (.maximumLength, value)
    case (.evaluatedObject, .matches): return (.pattern, value)
    default: return nil
    }
  }
}

extension [ModelChange] {
  /// Returns the changes with a custom migration for properties that share a renaming identifier, because the successor
  /// of the old one is ambiguous.
  func demandingCustom(_ ambiguous: [(identifier: String, names: [String])]) -> [ModelChange] {
    map { change in
      var change = change
      if ambiguous.contains(where: { $0.names.contains(change.property ?? change.entity ?? "") }) {
        change.migration = .custom
      }
      return change
    }
  }
}

extension EntityComparison {
  func relationshipChanges() -> [ModelChange] {
    let pairs = Pairing(old.relationships, new.relationships, name: \.name, declared: \.renamingIdentifier)
    var changes = pairs.added.map { added($0) }.demandingCustom(pairs.ambiguous)
    changes += pairs.removed.map { removed($0.name, .relationship, isTransient: $0.isTransient) }
    for (before, after) in pairs.matched { changes += relationshipChanges(before, after) }
    return changes
  }

  private func added(_ relationship: RelationshipDocument) -> ModelChange {
    let inherited = models.oldIndex.lineage(of: old.name).dropFirst().first { entity in
      entity.relationships.contains { $0.name == (relationship.renamingIdentifier ?? relationship.name) }
    }
    let isStored = !relationship.isTransient
    if let inherited {
      return change(
        relationship.name, relationship.name, .relationship, .moved(from: inherited.name, to: new.name),
        hashed: isStored, migration: isStored ? .inferred : .none)
    }
    return change(
      relationship.name, nil, .relationship, .added(AspectText.relationship(relationship)), hashed: isStored,
      migration: demand(adding: relationship))
  }

  private func demand(adding relationship: RelationshipDocument) -> MigrationDemand {
    relationship.isTransient ? .none : relationship.isOptional || relationship.isToMany ? .inferred : .custom
  }

  private func relationshipChanges(_ before: RelationshipDocument, _ after: RelationshipDocument) -> [ModelChange] {
    var recorder = AspectRecorder(
      comparison: self, property: after.name, source: before.name, subject: .relationship,
      isStored: !(before.isTransient && after.isTransient))
    if before.name != after.name { recorder.renamed() }
    recorder.compare(
      .destination, AspectText.name(before.destinationEntityName), AspectText.name(after.destinationEntityName),
      hashed: true, migration: destinationDemand(before, after))
    recorder.compare(.inverse, AspectText.name(before.inverseName), AspectText.name(after.inverseName), hashed: true)
    recorder.compare(
      .toMany, before.isToMany, after.isToMany, hashed: true, migration: after.isToMany ? .inferred : .custom)
    recorder.compare(.optional, before.isOptional, after.isOptional, hashed: true)
    recorder.compare(
      .transient, before.isTransient, after.isTransient, hashed: true,
      migration: after.isTransient ? .inferred : demand(adding: after))
    recorder.compare(.minimumCount, String(before.minCount), String(after.minCount), hashed: true)
    if before.isToMany == after.isToMany {
      recorder.compare(.maximumCount, count(before.maxCount), count(after.maxCount), hashed: true)
    }
    recorder.compare(.ordered, before.isOrdered, after.isOrdered, hashed: true)
    recorder.compare(.deleteRule, before.deleteRule.text, after.deleteRule.text)
    if before.validations != after.validations {
      recorder.compare(.validation, "\(before.validations.count)", "\(after.validations.count)", evenIfEqual: true)
    }
    recorder.compare(.spotlight, before.isIndexedBySpotlight, after.isIndexedBySpotlight)
    recorder.compareModifiers(before.versionHashModifier, after.versionHashModifier)
    recorder.compareIdentifiers(before.renamingIdentifier, after.renamingIdentifier)
    recorder.compareUserInfo(before.userInfo, after.userInfo)
    return recorder.changes
  }

  private func count(_ number: Int) -> String { number == 0 ? "unlimited" : String(number) }

  /// Returns the kind of migration for a changed destination. The destination may be renamed, or widened to an
  /// ancestor. Otherwise the relationship loses its links, which is not possible for a required to-one relationship.
  private func destinationDemand(_ before: RelationshipDocument, _ after: RelationshipDocument) -> MigrationDemand {
    isRedirected(before, after) && !after.isOptional && !after.isToMany ? .custom : .inferred
  }

  private func isRedirected(_ before: RelationshipDocument, _ after: RelationshipDocument) -> Bool {
    guard let old = before.destinationEntityName, let new = after.destinationEntityName else { return false }
    guard let successor = models.newName(of: old) else { return true }
    return !models.newIndex.isKind(successor, of: new)
  }
}
