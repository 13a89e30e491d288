// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Findings about a single version.
struct ModelRules {
  private(set) var findings: [Finding] = []

  init(_ model: ModelDocument) {
    let properties = PropertyIndex(model)
    for entity in model.entities {
      for name in entity.propertyNames where ReservedNames.properties.contains(name) {
        add(.reservedName, entity, name, "NSManagedObject has a property of this name")
      }
      for attribute in entity.attributes where attribute.kind == .transformable {
        if let message = Self.insecurity(of: attribute) { add(.insecureTransformer, entity, attribute.name, message) }
      }
      for relationship in entity.relationships {
        guard let inverse = relationship.inverseName else {
          add(.missingInverse, entity, relationship.name, "has no inverse")
          continue
        }
        let destination = relationship.destinationEntityName ?? ""
        let other = properties.relationship(inverse, of: destination)?.relationship
        // Each pair is reported once.
        guard let other, !relationship.isOptional, !other.isOptional,
          (entity.name, relationship.name) <= (destination, inverse)
        else { continue }
        add(
          .requiredPair, entity, relationship.name,
          "it and its inverse \(destination).\(inverse) require each other")
      }
    }
  }

  /// The names of transformers that create objects of any class.
  private static let insecureTransformers: Set<String> = [
    "NSKeyedUnarchiveFromData", "NSUnarchiveFromData", "NSKeyedUnarchiveFromDataTransformerName",
    "NSUnarchiveFromDataTransformerName",
  ]

  private static func insecurity(of attribute: AttributeDocument) -> String? {
    guard let name = attribute.valueTransformerName, !name.isEmpty else { return "no value transformer" }
    return insecureTransformers.contains(name) ? "the value transformer \(name) creates objects of any class" : nil
  }

  private mutating func add(_ code: FindingCode, _ entity: EntityDocument, _ property: String, _ message: String) {
    findings.append(
      Finding(
        code, .warning, entity: entity.name, property: property, sourceEntity: nil, sourceProperty: nil, message
      ).allowed(by: .inModel(code, entities: [entity], properties: [property])))
  }
}
