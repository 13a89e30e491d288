// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataMistakes
import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// Merges models. Returns nil if there are none.
  ///
  /// Equal entities become one entity with the sub-entities of all of them, and relationships to any of them refer to
  /// it. Configurations of the same name, and version identifiers, are combined. Traps if two models have different
  /// entities, or different fetch request templates, of the same name; `merging(_:)` throws instead.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    guard let models, !models.isEmpty else { return nil }
    let merge = ModelMerge(models)
    if let conflict = merge.conflicts.first {
      trap(
        "Models with two different \(conflict.subject == .entity ? "entities" : "fetch request templates") named "
          + "'\(conflict.name)' cannot be merged."
          + (conflict.differences.first.map { " \($0.text)." } ?? ""))
    }
    self.init()
    take(merge)
  }

  /// Merges the models that a store was written with.
  ///
  /// A model qualifies if all its entities that the metadata name have the store's version hashes. As few models as
  /// possible are chosen. Returns nil if not all entities of the store are found, or if the chosen models conflict in
  /// other entities; `merging(_:forStoreMetadata:)` throws the reason.
  public convenience init?(byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]) {
    do {
      let merge = try Self.merge(models, metadata, unreadable: [])
      self.init()
      take(merge)
    } catch {
      return nil
    }
  }

  /// Merges models as `init(byMerging:)` does, but throws errors. An addition to Apple's API.
  ///
  /// - Throws: `NSCoreDataError` if models have different entities or fetch request templates of the same name, with
  ///   the first entity and property, and all differences in the reason.
  public static func merging(_ models: [NSManagedObjectModel]) throws -> NSManagedObjectModel {
    let merge = ModelMerge(models)
    if !merge.conflicts.isEmpty { throw ModelErrors.cannotMerge(merge.conflicts) }
    let model = NSManagedObjectModel()
    model.take(merge)
    return model
  }

  /// Merges the models that a store was written with as `init(byMerging:forStoreMetadata:)` does, but throws errors. An
  /// addition to Apple's API.
  ///
  /// - Throws: 134130 if not all entities are found in the store's version, with the names of the missing ones;
  ///   `NSCoreDataError` as for `merging(_:)`.
  public static func merging(
    _ models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]
  ) throws -> NSManagedObjectModel {
    try merging(models, forStoreMetadata: metadata, unreadable: [])
  }

  static func merging(
    _ models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any], unreadable: [any Error]
  ) throws -> NSManagedObjectModel {
    let merge = try merge(models, metadata, unreadable: unreadable)
    let model = NSManagedObjectModel()
    model.take(merge)
    return model
  }

  private static func merge(
    _ models: [NSManagedObjectModel], _ metadata: [String: Any], unreadable: [any Error]
  ) throws -> ModelMerge {
    let stored = metadata[hashesMetadataKey] as? [String: Data] ?? [:]
    let choice = ModelMerge.choice(among: models, for: stored)
    guard !stored.isEmpty, choice.missing.isEmpty else {
      throw ModelErrors.noModel(
        forMetadata: metadata, missing: choice.missing.sorted(), modelCount: models.count, unreadable: unreadable)
    }
    let merge = ModelMerge(choice.models, settled: stored)
    if !merge.conflicts.isEmpty { throw ModelErrors.cannotMerge(merge.conflicts) }
    return merge
  }

  private func take(_ merge: ModelMerge) {
    take(copiesOf: merge.originals, standingFor: merge.duplicates)
    templates = merge.templates
    for model in merge.models {
      for name in model.configurations {
        let added = (model.configurationMembers[name] ?? []).compactMap { entitiesByName[$0.name ?? ""] }
        let members = configurationMembers[name] ?? []
        configurationMembers[name] = members + added.filter { entity in !members.contains { $0 === entity } }
      }
      versionIdentifiers.formUnion(model.versionIdentifiers)
      if let words = model.localizationDictionary {
        localizationDictionary = (localizationDictionary ?? [:]).merging(words) { first, _ in first }
      }
      for url in model.origins where !origins.contains(url) { origins.append(url) }
    }
  }
}

/// The merge of several models: the entities and templates to use, and the conflicts between the models.
struct ModelMerge {
  /// An entity or fetch request template that differs between two models.
  struct Conflict: Hashable {
    enum Subject: String {
      case entity
      case template = "fetch request template"
    }

    let subject: Subject
    let name: String
    /// The members that differ, such as `attributes.text.isOptional`, with both values.
    let differences: [ContentDifference]
  }

  /// The models in their order.
  let models: [NSManagedObjectModel]
  /// The first entity with each name.
  private(set) var originals: [NSEntityDescription] = []
  /// The other entities with each name, which equal the first.
  private(set) var duplicates: [NSEntityDescription] = []
  private(set) var templates: [String: any StoredRequest] = [:]
  private(set) var conflicts: [Conflict] = []

  /// Compares the models.
  ///
  /// - Parameters:
  ///   - models: the models.
  ///   - settled: version hashes of entities. Entities with these hashes count as equal.
  init(_ models: [NSManagedObjectModel], settled: [String: Data] = [:]) {
    self.models = models
    var known: [String: NSEntityDescription] = [:]
    for entity in models.flatMap(\.entities) {
      let name = entity.name ?? ""
      guard let first = known[name] else {
        known[name] = entity
        originals.append(entity)
        continue
      }
      duplicates.append(entity)
      let isSettled = settled[name].map { first.versionHash == $0 && entity.versionHash == $0 } ?? false
      if isSettled || first == entity { continue }
      let differences = ContentDifference.between(
        ContentTree(everythingIn: first.document), ContentTree(everythingIn: entity.document))
      conflicts.append(Conflict(subject: .entity, name: name, differences: differences))
    }
    for (name, template) in models.flatMap({ $0.templates.sorted { $0.key < $1.key } }) {
      guard let first = templates[name] else {
        templates[name] = template
        continue
      }
      if first.document == template.document { continue }
      let differences = ContentDifference.between(
        ContentTree(everythingIn: first.document), ContentTree(everythingIn: template.document))
      conflicts.append(Conflict(subject: .template, name: name, differences: differences))
    }
    // If only ancestors differ, report those.
    if conflicts.contains(where: { !$0.differences.isEmpty }) { conflicts.removeAll(where: \.differences.isEmpty) }
  }

  /// Chooses the models that a store was written with: as few as possible, with as few other entities as possible.
  ///
  /// - Parameters:
  ///   - models: the models to choose from; earlier ones are preferred.
  ///   - hashes: the version hashes of the store.
  /// - Returns: the chosen models, and the entities that none of them has in the store's version.
  static func choice(
    among models: [NSManagedObjectModel], for hashes: [String: Data]
  ) -> (models: [NSManagedObjectModel], missing: Set<String>) {
    var candidates = models.compactMap { model -> (model: NSManagedObjectModel, names: Set<String>, others: Int)? in
      let all = model.entityVersionHashesByName
      let common = all.filter { hashes[$0.key] != nil }
      guard !common.isEmpty, common.allSatisfy({ hashes[$0.key] == $0.value }) else { return nil }
      return (model, Set(common.keys), all.count - common.count)
    }
    var missing = Set(hashes.keys)
    var chosen: [NSManagedObjectModel] = []
    while !missing.isEmpty {
      let ranks = candidates.map { (gain: $0.names.intersection(missing).count, others: $0.others) }
      let best = ranks.indices.reduce(nil as Int?) { best, next in
        guard let best else { return next }
        if ranks[next].gain != ranks[best].gain { return ranks[next].gain > ranks[best].gain ? next : best }
        return ranks[next].others < ranks[best].others ? next : best
      }
      guard let best, ranks[best].gain > 0 else { break }
      let candidate = candidates.remove(at: best)
      missing.subtract(candidate.names)
      chosen.append(candidate.model)
    }
    return (chosen, missing)
  }
}
