// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A description of a mapping model for review: entity mappings in processing order, everything else sorted.
package struct MappingDescription: Hashable, Sendable {
  /// A note of the developer.
  package struct Note: Hashable, Sendable {
    package let key: String
    package let value: String
  }

  /// The source of a property's value.
  package struct Property: Hashable, Sendable {
    package let name: String
    package let isRelationship: Bool
    /// The expression; nil if the property keeps its default value, or the policy sets it.
    package let expression: String?
    package let notes: [Note]
  }

  /// The treatment of an entity's objects.
  package struct Entity: Hashable, Sendable {
    package let name: String
    /// The type as one word: `add`, `remove`, `copy`, `transform`, `custom`.
    package let type: String
    package let source: String?
    package let destination: String?
    package let sourceHash: Data?
    package let destinationHash: Data?
    /// The filter for objects of the source entity; nil for all.
    package let filter: String?
    /// The expression for the source objects; nil if it selects all objects or uses a filter.
    package let sourceExpression: String?
    package let policy: String?
    /// The attributes, then the relationships, each sorted by name.
    package let properties: [Property]
    /// Properties of the source entity that an inferred mapping drops.
    package let dropped: [String]
    package let notes: [Note]
  }

  package let from: String?
  package let to: String?
  package let entities: [Entity]

  package init(_ document: MappingDocument) {
    from = document.sourceVersionName
    to = document.destinationVersionName
    entities = document.entityMappings.map(Self.entity)
  }

  private static let inferenceKeys: Set = ["mappedProperties", "addedProperties", "removedProperties"]

  private static func entity(_ mapping: EntityMappingDocument) -> Entity {
    // The user info of an inferred mapping repeats the property mappings, except those of removed properties.
    let isInferred = inferenceKeys.isSubset(of: mapping.userInfo.keys)
    let own = mapping.userInfo.filter { !isInferred || !inferenceKeys.contains($0.key) }
    let usual = mapping.sourceEntityName.map {
      MappingExpressions.sourceObjects(entity: $0, filter: mapping.filter)
    }
    return Entity(
      name: mapping.name, type: mapping.kind.word, source: mapping.sourceEntityName,
      destination: mapping.destinationEntityName, sourceHash: mapping.sourceEntityVersionHash,
      destinationHash: mapping.destinationEntityVersionHash, filter: mapping.filter,
      sourceExpression: mapping.sourceExpression == usual ? nil : mapping.sourceExpression.map(text),
      policy: mapping.policyClassName,
      properties: properties(mapping.attributeMappings, areRelationships: false)
        + properties(mapping.relationshipMappings, areRelationships: true),
      dropped: isInferred ? names(mapping.userInfo["removedProperties"]) : [], notes: notes(own))
  }

  private static func properties(_ mappings: [PropertyMappingDocument], areRelationships: Bool) -> [Property] {
    mappings.map {
      Property(
        name: $0.name, isRelationship: areRelationships, expression: $0.valueExpression.map(text),
        notes: notes($0.userInfo))
    }.sorted { $0.name < $1.name }
  }

  private static func text(_ expression: ExpressionSyntax) -> String {
    PredicatePrinter().format(expression)
  }

  private static func notes(_ userInfo: [String: PlainValue]) -> [Note] {
    userInfo.sorted { $0.key < $1.key }.map { key, value in
      if case .string(let text) = value { return Note(key: key, value: text) }
      return Note(key: key, value: AspectText.value(value))
    }
  }

  private static func names(_ value: PlainValue?) -> [String] {
    guard case .set(let elements)? = value else { return [] }
    return elements.compactMap { if case .string(let name) = $0 { name } else { nil } }.sorted()
  }
}
