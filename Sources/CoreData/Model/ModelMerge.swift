// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Several models taken together.
struct ModelMerge {
  /// Something of which two models have different versions.
  struct Conflict: Hashable {
    /// What kind of thing it is.
    enum Subject: String {
      case entity
      case template = "fetch request template"
    }

    let subject: Subject
    let name: String
    /// In what the versions differ, such as `attributes.text.isOptional`, with both values.
    let differences: [ContentDifference]
  }

  /// The models in their order.
  let models: [NSManagedObjectModel]
  /// The first entity of each name.
  private(set) var originals: [NSEntityDescription] = []
  /// The other entities of a name, each equal to the first.
  private(set) var duplicates: [NSEntityDescription] = []
  private(set) var templates: [String: StoredRequest] = [:]
  private(set) var conflicts: [Conflict] = []

  /// Compares the models.
  ///
  /// - Parameters:
  ///   - models: the models.
  ///   - settled: the version hashes of entities of which any version with the same hash may stand for all.
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
    // Where only ancestors differ, those are what there is to tell.
    if conflicts.contains(where: { !$0.differences.isEmpty }) { conflicts.removeAll(where: \.differences.isEmpty) }
  }

  /// Of several models, those that a store was made with: as few as possible, with as few other entities as possible.
  ///
  /// - Parameters:
  ///   - models: the models to choose from; earlier ones are preferred.
  ///   - hashes: the entities of the store.
  /// - Returns: the models chosen, and the entities that none of them has in the store's version.
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
