// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

extension NSManagedObjectModel {
  /// Merges models. Returns nil for none.
  ///
  /// Equal entities become one entity with the sub-entities of all of them, and relationships to any of them lead to
  /// it. Configurations of the same name, and version identifiers, are united. Traps if two models have different
  /// entities, or different fetch request templates, of the same name; `merging(_:)` throws instead.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    guard let models, !models.isEmpty else { return nil }
    let merge = ModelMerge(models)
    if let conflict = merge.conflicts.first {
      preconditionFailure(
        "Models with two different \(conflict.subject == .entity ? "entities" : "fetch request templates") named "
          + "'\(conflict.name)' cannot be merged."
          + (conflict.differences.first.map { " \($0.words)." } ?? ""))
    }
    self.init()
    take(merge)
  }

  /// Merges the models that a store was written with.
  ///
  /// A model qualifies if all its entities that the metadata name have the store's version hashes. As few models as
  /// possible are taken. Returns nil if not all entities of the store are found, or if the models taken conflict in
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

  /// Merges models as `init(byMerging:)` does, or throws. An addition to Apple's API.
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

  /// Merges the models that a store was written with as `init(byMerging:forStoreMetadata:)` does, or throws. An
  /// addition to Apple's API.
  ///
  /// - Throws: 134130 if not all entities are found in the store's version, with the names of the missing ones;
  ///   `NSCoreDataError` as `merging(_:)`.
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
