// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A description of a model version, sorted by name.
package struct ModelDescription: Sendable {
  /// A fact about a property, under a stable key.
  package struct Fact: Hashable, Sendable {
    package let name: String
    package let value: String
  }

  /// A property, or an index.
  package struct Property: Hashable, Sendable {
    package let name: String
    package let kind: String
    /// The whole description in one line.
    package let text: String
    package let facts: [Fact]
  }

  package struct Entity: Hashable, Sendable {
    package let name: String
    package let parent: String?
    package let className: String?
    package let isAbstract: Bool
    package let hash: Data
    package let uniqueness: [[String]]
    package let properties: [Property]
    /// Lines about the entity itself.
    package let remarks: [String]
  }

  package let entities: [Entity]
  package let checksum: String

  package init(_ document: ModelDocument) {
    let hashes = VersionHashes(document)
    checksum = hashes.checksum
    entities = document.entities.sorted { $0.name < $1.name }.map { entity in
      Entity(
        name: entity.name, parent: entity.parentName, className: entity.className, isAbstract: entity.isAbstract,
        hash: hashes.entities[entity.name] ?? Data(), uniqueness: entity.uniquenessConstraints,
        properties: Self.properties(of: entity), remarks: Self.remarks(on: entity))
    }
  }

  private static func remarks(on entity: EntityDocument) -> [String] {
    var lines: [String] = []
    if entity.isAbstract { lines.append("abstract") }
    if let parent = entity.parentName { lines.append("inherits from \(parent)") }
    if let name = entity.className, name != entity.name { lines.append("class \(name)") }
    if let old = entity.renamingIdentifier { lines.append("renaming identifier \(old)") }
    if let modifier = entity.versionHashModifier, !modifier.isEmpty { lines.append("hash modifier \(modifier)") }
    for constraint in entity.uniquenessConstraints { lines.append("unique (\(constraint.joined(separator: ", ")))") }
    return lines
  }

  private static func properties(of entity: EntityDocument) -> [Property] {
    var result = entity.attributes.map { property($0) } + entity.relationships.map { property($0) }
    result += entity.fetchedProperties.map { fetched in
      Property(
        name: fetched.name, kind: "fetched property", text: "of \(AspectText.name(fetched.request?.entityName))",
        facts: fetched.request.map { [Fact(name: "entity", value: $0.entityName)] } ?? [])
    }
    result.sort { $0.name < $1.name }
    result += entity.indexes.sorted { $0.name < $1.name }.map {
      Property(
        name: $0.name, kind: "index", text: AspectText.index($0),
        facts: [
          Fact(name: "elements", value: $0.elements.map(\.propertyName).joined(separator: ", "))
        ])
    }
    return result
  }

  private static func property(_ attribute: AttributeDocument) -> Property {
    var text = AspectText.attribute(attribute)
    var facts = [
      Fact(name: "type", value: attribute.kind.title),
      Fact(name: "optional", value: AspectText.flag(attribute.isOptional)),
      Fact(name: "transient", value: AspectText.flag(attribute.isTransient)),
    ]
    func add(_ name: String, _ value: String?) {
      guard let value, !value.isEmpty else { return }
      facts.append(Fact(name: name, value: value))
    }
    add("default", attribute.defaultValue.map { AspectText.value($0) })
    let limits = ValidationLimits(attribute.validations).limits
    for aspect in ValidationLimits.aspects {
      guard let limit = limits[aspect] else { continue }
      add(aspect.rawValue, AspectText.value(limit))
      text += ", \(aspect.rawValue) \(AspectText.value(limit))"
    }
    if let derivation = attribute.derivation {
      add("derivation", PredicatePrinter.derivationFormat(derivation))
      text += " from \(PredicatePrinter.derivationFormat(derivation))"
    }
    for element in attribute.elements.sorted(by: { $0.name < $1.name }) {
      text += "\n  .\(element.name)  \(AspectText.attribute(element))"
      add("element \(element.name)", AspectText.attribute(element))
    }
    if attribute.allowsExternalBinaryDataStorage { add("external storage", "yes") }
    if attribute.isIndexed { text += ", indexed" }
    add("value class", attribute.valueClassName)
    add("value transformer", attribute.valueTransformerName)
    if let old = attribute.renamingIdentifier { text += ", renaming identifier \(old)" }
    add("renaming identifier", attribute.renamingIdentifier)
    if let modifier = attribute.versionHashModifier, !modifier.isEmpty { text += ", hash modifier \(modifier)" }
    add("hash modifier", attribute.versionHashModifier)
    return Property(name: attribute.name, kind: "attribute", text: text, facts: facts)
  }

  private static func property(_ relationship: RelationshipDocument) -> Property {
    var text = AspectText.relationship(relationship)
    text += ", inverse \(AspectText.name(relationship.inverseName)), \(relationship.deleteRule.text)"
    if relationship.minCount > 0 { text += ", at least \(relationship.minCount)" }
    if relationship.maxCount > 1 { text += ", at most \(relationship.maxCount)" }
    if let old = relationship.renamingIdentifier { text += ", renaming identifier \(old)" }
    var facts = [
      Fact(name: "destination", value: AspectText.name(relationship.destinationEntityName)),
      Fact(name: "inverse", value: AspectText.name(relationship.inverseName)),
      Fact(name: "to-many", value: AspectText.flag(relationship.isToMany)),
      Fact(name: "optional", value: AspectText.flag(relationship.isOptional)),
      Fact(name: "ordered", value: AspectText.flag(relationship.isOrdered)),
      Fact(name: "minimum count", value: String(relationship.minCount)),
      Fact(name: "maximum count", value: String(relationship.maxCount)),
      Fact(name: "delete rule", value: relationship.deleteRule.text),
    ]
    if let old = relationship.renamingIdentifier { facts.append(Fact(name: "renaming identifier", value: old)) }
    if let modifier = relationship.versionHashModifier, !modifier.isEmpty {
      text += ", hash modifier \(modifier)"
      facts.append(Fact(name: "hash modifier", value: modifier))
    }
    return Property(name: relationship.name, kind: "relationship", text: text, facts: facts)
  }
}
