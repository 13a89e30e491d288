// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates

extension EntityComparison {
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
    // Whether objects are there that would have no value is not told by models.
    guard attribute.kind == .composite, !attribute.isOptional else { return .inferred }
    return attribute.elements.map { demand(addingElement: $0) }.max() ?? .inferred
  }

  private func demand(addingElement attribute: AttributeDocument) -> MigrationDemand {
    if attribute.isOptional || attribute.defaultValue != nil || attribute.derivation != nil { return .inferred }
    return attribute.kind == .composite ? demand(adding: attribute) : .custom
  }

  /// A property that is gone from the entity, or has moved to another one of its hierarchy.
  func removed(_ name: String, _ subject: ModelChange.Subject, isTransient: Bool) -> ModelChange {
    let demand: MigrationDemand = isTransient ? .none : .inferred
    func has(_ entity: EntityDocument) -> Bool { entity.propertyNames.contains(name) }
    if let heir = models.newIndex.lineage(of: new.name).dropFirst().first(where: has) {
      return change(
        name, name, subject, .moved(from: new.name, to: heir.name), hashed: !isTransient, migration: demand)
    }
    let heirs = models.newIndex.subentities(of: new.name)
    if old.isAbstract, !heirs.isEmpty, heirs.allSatisfy(has) {
      let names = heirs.map(\.name).joined(separator: ", ")
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
      migration: before.kind.isNumber && after.kind.isNumber ? .inferred : .custom)
    recorder.compare(.optional, before.isOptional, after.isOptional, hashed: true)
    recorder.compare(
      .transient, before.isTransient, after.isTransient, hashed: true,
      migration: after.isTransient ? .inferred : demand(adding: after))
    recorder.compare(.defaultValue, AspectText.value(before.defaultValue), AspectText.value(after.defaultValue))
    compareRules(before, after, &recorder)
    // Whether the hash knows of two flags one by one is not told by it: it holds one bit for both.
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
      demands.append(old.kind.isNumber && new.kind.isNumber ? .inferred : .custom)
    }
    return demands.max() ?? .inferred
  }

  private func compareRules(
    _ before: AttributeDocument, _ after: AttributeDocument, _ recorder: inout AspectRecorder
  ) {
    let old = ValidationLimits(before.validations)
    let new = ValidationLimits(after.validations)
    for aspect in ValidationLimits.aspects {
      recorder.compare(aspect, AspectText.value(old.limits[aspect]), AspectText.value(new.limits[aspect]))
    }
    if Set(old.others) != Set(new.others) {
      recorder.compare(
        .validation, rules(old.others.count), rules(new.others.count), evenIfEqual: true)
    }
  }

  private func rules(_ count: Int) -> String { count == 1 ? "1 rule" : "\(count) rules" }
}

/// Validation rules as the model editor shows them: limits, and whatever is none.
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
  /// Where several properties share a renaming identifier it cannot be told which of them the old one became.
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
