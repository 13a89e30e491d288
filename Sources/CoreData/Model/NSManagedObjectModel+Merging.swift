// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectModel {
  /// A model with copies of the entities of several.
  ///
  /// Equal entities become one. Configurations and fetch request templates are taken together by name, version identifiers
  /// united. Traps when two models have different entities of the same name. Nil when there are no models.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    guard let models, !models.isEmpty else { return nil }
    self.init()
    merge(models)
  }

  /// A model of those among several which a store was made with.
  ///
  /// A model is taken when the hashes of all its entities that the metadata names agree, and it has at least one entity
  /// that no model before it had. Nil when the hashes of the metadata are not all found so.
  public convenience init?(byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]) {
    guard let stored = metadata[Self.hashesMetadataKey] as? [String: Data], !stored.isEmpty else { return nil }
    var missing = Set(stored.keys)
    var chosen: [NSManagedObjectModel] = []
    for model in models {
      let common = model.entityVersionHashesByName.filter { stored[$0.key] != nil }
      guard !missing.isDisjoint(with: common.keys), common.allSatisfy({ stored[$0.key] == $0.value }) else { continue }
      missing.subtract(common.keys)
      chosen.append(model)
    }
    guard missing.isEmpty else { return nil }
    self.init()
    merge(chosen)
  }

  private func merge(_ models: [NSManagedObjectModel]) {
    var known: [String: NSEntityDescription] = [:]
    var originals: [NSEntityDescription] = []
    for entity in models.flatMap(\.entities) {
      guard let first = known[entity.name ?? ""] else {
        known[entity.name ?? ""] = entity
        originals.append(entity)
        continue
      }
      precondition(
        first == entity, "Models with two different entities named '\(entity.name ?? "")' cannot be merged.")
    }
    take(copiesOf: originals)
    for model in models {
      for name in model.configurations {
        let added = (model.configurationMembers[name] ?? []).compactMap { entitiesByName[$0.name ?? ""] }
        let members = configurationMembers[name] ?? []
        configurationMembers[name] = members + added.filter { entity in !members.contains { $0 === entity } }
      }
      templates.merge(model.templates) { first, _ in first }
      versionIdentifiers.formUnion(model.versionIdentifiers)
      if let words = model.localizationDictionary {
        localizationDictionary = (localizationDictionary ?? [:]).merging(words) { first, _ in first }
      }
    }
  }
}
