// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

@testable import CoreData
@testable import CoreDataMigration

/// Model documents in few words, and what inference says about pairs of them.
enum Inference {
  static func attribute(
    _ name: String, _ kind: AttributeKind = .string, optional: Bool = true, was identifier: String? = nil,
    edit: (inout AttributeDocument) -> Void = { _ in }
  ) -> AttributeDocument {
    var attribute = AttributeDocument(name: name, kind: kind, isOptional: optional)
    attribute.renamingIdentifier = identifier
    edit(&attribute)
    return attribute
  }

  static func relationship(
    _ name: String, _ destination: String, toMany: Bool = false, optional: Bool = true, was identifier: String? = nil,
    ordered: Bool = false
  ) -> RelationshipDocument {
    var relationship = RelationshipDocument(
      name: name, destinationEntityName: destination, isToMany: toMany, isOptional: optional)
    relationship.isOrdered = ordered
    relationship.renamingIdentifier = identifier
    return relationship
  }

  static func entity(
    _ name: String, parent: String? = nil, was identifier: String? = nil, _ attributes: [AttributeDocument] = [],
    _ relationships: [RelationshipDocument] = []
  ) -> EntityDocument {
    var entity = EntityDocument(name: name, parentName: parent)
    entity.renamingIdentifier = identifier
    entity.attributes = attributes
    entity.relationships = relationships
    return entity
  }

  static func mapping(
    from source: [EntityDocument], to destination: [EntityDocument]
  ) throws -> InferredMapping {
    try InferredMapping(source: ModelDocument(entities: source), destination: ModelDocument(entities: destination))
  }

  static func obstacles(
    from source: [EntityDocument], to destination: [EntityDocument]
  ) -> [InferenceObstacle] {
    do {
      _ = try mapping(from: source, to: destination)
      return []
    } catch let failure as InferenceFailure {
      return failure.obstacles
    } catch {
      return [InferenceObstacle("\(error)", advice: "")]
    }
  }
}
