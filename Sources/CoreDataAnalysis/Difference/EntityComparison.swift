// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles

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

  private func compare(
    _ aspect: ModelAspect, _ before: String?, _ after: String?, into changes: inout [ModelChange]
  ) {
    let successor = before.flatMap { models.newName(of: $0) }
    guard before != after, successor == nil || successor != after else { return }
    changes.append(
      entityChange(
        .changed(aspect, from: AspectText.name(before), to: AspectText.name(after)), hashed: true,
        migration: mergesHierarchies ? .custom : .inferred))
  }

  /// An entity may get a new parent or leave its hierarchy, but not join one that existed without it.
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

  private func entityChange(
    _ kind: ModelChange.Kind, hashed: Bool, migration: MigrationDemand? = nil
  ) -> ModelChange {
    ModelChange(
      entity: new.name, property: nil, subject: .entity, kind: kind, changesVersionHash: hashed,
      migration: migration ?? (hashed ? .inferred : .none), sourceEntity: old.name, sourceProperty: nil)
  }

  private func fetchedChanges() -> [ModelChange] {
    let pairs = Pairing(
      old.fetchedProperties, new.fetchedProperties, name: \.name, declared: \.renamingIdentifier)
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
}
