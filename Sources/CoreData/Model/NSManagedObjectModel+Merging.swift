// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

extension NSManagedObjectModel {
  /// A model with copies of the entities of several.
  ///
  /// Equal entities become one, which has the sub-entities of all of them; relationships that lead to an entity of another
  /// model of the same name lead to the merged one. Configurations are united by name, version identifiers too. Traps when
  /// two models have different entities, or different fetch request templates, of the same name; `merging(_:)` throws
  /// instead. Nil when there are no models.
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

  /// A model of those among several which a store was made with.
  ///
  /// A model can be taken when the hashes of all its entities that the metadata names agree; as few are taken as possible.
  /// Nil when the hashes of the metadata are not all found so, and when the models taken contradict each other in entities
  /// that the store does not have; `merging(_:forStoreMetadata:)` says which.
  public convenience init?(byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]) {
    do {
      let merge = try Self.merge(models, metadata, unreadable: [])
      self.init()
      take(merge)
    } catch {
      return nil
    }
  }

  /// A model with copies of the entities of several, as `init(byMerging:)` makes it, or the reason why there can't be one.
  /// An addition to Apple's interface.
  ///
  /// - Throws: `NSCoreDataError` when models have different entities or fetch request templates of the same name; with the
  ///   first entity and property, and all differences in the reason.
  public static func merging(_ models: [NSManagedObjectModel]) throws -> NSManagedObjectModel {
    let merge = ModelMerge(models)
    if !merge.conflicts.isEmpty { throw ModelErrors.cannotMerge(merge.conflicts) }
    let model = NSManagedObjectModel()
    model.take(merge)
    return model
  }

  /// A model of those among several which a store was made with, as `init(byMerging:forStoreMetadata:)` makes it, or the
  /// reason why there can't be one. An addition to Apple's interface.
  ///
  /// - Throws: 134130 when not all entities of the metadata are found in their version, with the names of those that are
  ///   missing; `NSCoreDataError` as `merging(_:)`.
  public static func merging(
    _ models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]
  ) throws -> NSManagedObjectModel {
    try merging(models, forStoreMetadata: metadata, unreadable: [])
  }

  internal static func merging(
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
