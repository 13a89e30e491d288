// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates

extension NSEntityMapping {
  /// Whether the mapping copies objects as they are: one of copy type that says nothing of properties.
  package var copiesAll: Bool {
    mappingType == .copyEntityMappingType && (attributeMappings ?? []).isEmpty && (relationshipMappings ?? []).isEmpty
  }

  /// The attribute mappings to carry out: the mapping's own, or those that copy all attributes.
  func attributeMappings(from source: NSEntityDescription?, to destination: NSEntityDescription?) -> [NSPropertyMapping]
  {
    guard copiesAll, let source, let destination else { return attributeMappings ?? [] }
    let names = destination.attributesByName.filter { name, attribute in
      !attribute.isTransient && !(attribute is NSDerivedAttributeDescription)
        && source.attributesByName[name]?.isTransient == false
    }.keys
    return names.sorted().map { Self.copying($0, MappingExpressions.sourceValue($0)) }
  }

  /// The relationship mappings to carry out: the mapping's own, or those that copy all relationships.
  func relationshipMappings(
    from source: NSEntityDescription?, to destination: NSEntityDescription?
  ) -> [NSPropertyMapping] {
    guard copiesAll, let source, let destination else { return relationshipMappings ?? [] }
    let names = destination.relationshipsByName.filter { name, relationship in
      !relationship.isTransient && source.relationshipsByName[name]?.isTransient == false
    }.keys
    return names.sorted().map { Self.copying($0, MappingExpressions.destinationObjects(relationship: $0)) }
  }

  private static func copying(_ name: String, _ value: ExpressionSyntax) -> NSPropertyMapping {
    let mapping = NSPropertyMapping()
    mapping.name = name
    mapping.valueSyntax = value
    return mapping
  }
}
