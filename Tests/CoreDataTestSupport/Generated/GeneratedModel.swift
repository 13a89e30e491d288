// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A random model that grows and changes; what a property or an entity was in the version before is noted in it, so that
/// renaming identifiers can be given when the version is complete.
package struct GeneratedModel {
  /// The version as it stands.
  package internal(set) var document = ModelDocument(versionIdentifiers: [""])
  /// The changes made to it since the last version, in words.
  package internal(set) var changes: [String] = []
  var random: SeededGenerator
  private var previous = ModelDocument()
  static let origin = "origin"

  /// A model with some hierarchies, attributes and relationships.
  package init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    for _ in 0..<random.number(2...5) { addEntity(depthLimit: 3) }
    for _ in 0..<random.number(3...10) { addAttribute() }
    for _ in 0..<random.number(2...6) { addRelationship() }
    for _ in 0..<random.number(0...2) { changeConstraint() }
    for _ in 0..<random.number(0...2) { changeIndex() }
    changes = []
  }

  // MARK: Versions

  /// The next version: the same model after some changes that can be inferred.
  private func mutated() -> GeneratedModel {
    var next = self
    next.changes = []
    next.previous = document
    next.markOrigins()
    for _ in 0..<next.random.number(1...5) { next.mutate() }
    next.repairDerivations()
    // Hashes do not tell indexes and defaults apart, and without another hash there is no migration.
    if VersionHashes(next.document).entities == VersionHashes(document).entities {
      next.document.entities[0].versionHashModifier = "\(next.random.peek)"
    }
    next.giveRenamingIdentifiers()
    return next
  }

  /// A next version that can be inferred; nil where ten tries have found none.
  package mutating func next() -> GeneratedModel? {
    for _ in 0..<10 {
      let next = mutated()
      _ = random.next()
      do {
        try next.document.validate()
        _ = try NSMappingModel.inferredMappingModel(
          forSourceModel: NSManagedObjectModel(document: document),
          destinationModel: NSManagedObjectModel(document: next.document))
        return next
      } catch {
        continue
      }
    }
    return nil
  }

  /// Notes by what identifier the next version will know everything.
  private mutating func markOrigins() {
    for position in document.entities.indices {
      var entity = document.entities[position]
      entity.userInfo[Self.origin] = .string(entity.renamingIdentifier ?? entity.name)
      for index in entity.attributes.indices {
        let item = entity.attributes[index]
        entity.attributes[index].userInfo[Self.origin] = .string(item.renamingIdentifier ?? item.name)
      }
      for index in entity.relationships.indices {
        let item = entity.relationships[index]
        entity.relationships[index].userInfo[Self.origin] = .string(item.renamingIdentifier ?? item.name)
      }
      document.entities[position] = entity
    }
  }

  /// What was renamed gets the identifier that it had; what is new, but has the name of something old, one of its own.
  private mutating func giveRenamingIdentifiers() {
    let entities = Set(previous.entities.flatMap { [$0.name, $0.renamingIdentifier ?? $0.name] })
    let properties = Set(
      previous.entities.flatMap { entity in
        entity.attributes.flatMap { [$0.name, $0.renamingIdentifier ?? $0.name] }
          + entity.relationships.flatMap { [$0.name, $0.renamingIdentifier ?? $0.name] }
      })
    func identifier(_ name: String, _ info: [String: PlainValue], _ known: Set<String>) -> String? {
      if case .string(let key)? = info[Self.origin] { return key == name ? nil : key }
      return known.contains(name) ? "new.\(name).\(random.peek)" : nil
    }
    for position in document.entities.indices {
      var entity = document.entities[position]
      entity.renamingIdentifier = identifier(entity.name, entity.userInfo, entities)
      for index in entity.attributes.indices {
        let item = entity.attributes[index]
        entity.attributes[index].renamingIdentifier = identifier(item.name, item.userInfo, properties)
      }
      for index in entity.relationships.indices {
        let item = entity.relationships[index]
        entity.relationships[index].renamingIdentifier = identifier(item.name, item.userInfo, properties)
      }
      document.entities[position] = entity
    }
  }

  // MARK: Looking around

  var index: EntityIndex { EntityIndex(document) }

  func position(of entity: String) -> Int? { document.entities.firstIndex { $0.name == entity } }

  /// The entity and all below it.
  func family(of name: String) -> [EntityDocument] {
    let index = index
    return document.entities.filter { entity in index.lineage(of: entity.name).contains { $0.name == name } }
  }

  /// Names that a property of the entity must not take: those of ancestors and descendants.
  func takenNames(around entity: String) -> Set<String> {
    Set((index.lineage(of: entity) + family(of: entity)).flatMap(\.propertyNames))
  }

  mutating func freeName(_ pool: [String], around entity: String) -> String? {
    let taken = takenNames(around: entity)
    return random.pick(pool.filter { !taken.contains($0) })
  }

  mutating func note(_ change: String) { changes.append(change) }
}
