// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Whether a mapping model fits the two versions that it is meant for.
///
/// What policies do is code, and cannot be seen from here.
public struct MappingCheck: Hashable, Sendable {
  /// Something that does not fit.
  public struct Problem: Hashable, Sendable {
    /// What kind of thing does not fit; the raw values stay the same.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// A version hash is that of another state of the entity.
      case staleHash = "stale hash"
      case missingEntity = "missing entity"
      /// A property mapping names a property that the destination entity does not have.
      case missingProperty = "missing property"
      /// An expression asks the source object for a key that its entity does not have.
      case unknownKey = "unknown key"
      /// An expression names an entity mapping that is not there.
      case unknownMapping = "unknown mapping"
      case unreadableFilter = "unreadable filter"
      /// Nothing gives a required property its value.
      case missingValue = "missing value"
      /// The objects of a source entity are left behind, without a mapping that says so.
      case unmappedEntity = "unmapped entity"
      /// The migration needs a class that only the migrating program can have.
      case policy = "policy"
    }

    /// What kind of thing it is.
    public let kind: Kind
    /// `error` where the migration would not start, or fail.
    public let level: Finding.Level
    /// The entity mapping; nil where the problem is that there is none.
    public let mapping: String?
    /// The property of the destination entity.
    public let property: String?
    /// What does not fit, as a sentence.
    public let message: String
  }

  /// What does not fit, in the order of the mappings.
  public private(set) var problems: [Problem] = []

  /// Checks a mapping model.
  ///
  /// - Parameters:
  ///   - mapping: the mapping model, with the hashes that its file holds.
  ///   - source: the version that it leads from.
  ///   - destination: the version that it leads to.
  ///   - isCompiled: whether the hashes of the file are what decides at run time. Those inside a source are replaced
  ///     when it is compiled, so that stale ones are worth a warning only.
  public init(_ mapping: MappingDocument, source: ModelDocument, destination: ModelDocument, isCompiled: Bool) {
    let sides = (MappedVersion(source), MappedVersion(destination))
    let names = Set(mapping.entityMappings.map(\.name))
    for entity in mapping.entityMappings {
      var check = EntityMappingCheck(
        mapping: entity, source: sides.0, destination: sides.1, names: names,
        staleLevel: isCompiled ? .error : .warning)
      check.run()
      problems += check.problems
    }
    let mapped = Set(mapping.entityMappings.compactMap(\.sourceEntityName))
    for entity in source.entities.sorted(by: { $0.name < $1.name })
    where !entity.isAbstract && !mapped.contains(entity.name) {
      problems.append(
        Problem(
          kind: .unmappedEntity, level: .warning, mapping: nil, property: nil,
          message: "No mapping has the source entity \(entity.name): its objects are left behind."))
    }
  }

  /// How many problems are of a level.
  public func count(of level: Finding.Level) -> Int {
    problems.count { $0.level == level }
  }
}

/// A version, with what the check asks it for.
struct MappedVersion {
  let index: EntityIndex
  let hashes: [String: Data]

  init(_ document: ModelDocument) {
    index = EntityIndex(document)
    hashes = VersionHashes(document).entities
  }

  /// All attributes of an entity, inherited ones included.
  func attributes(of entity: String) -> [AttributeDocument] {
    index.lineage(of: entity).flatMap(\.attributes)
  }

  /// All relationships of an entity, inherited ones included.
  func relationships(of entity: String) -> [RelationshipDocument] {
    index.lineage(of: entity).flatMap(\.relationships)
  }

  /// What an object of an entity can be asked for.
  func keys(of entity: String) -> Set<String> {
    let fetched = index.lineage(of: entity).flatMap(\.fetchedProperties).map(\.name)
    let own = attributes(of: entity).map(\.name) + relationships(of: entity).map(\.name) + fetched
    return Set(own).union(["self", "objectID", "entity", "description", "managedObjectContext"])
  }
}
