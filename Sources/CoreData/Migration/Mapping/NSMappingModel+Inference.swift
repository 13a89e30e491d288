// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

extension NSMappingModel {
  /// Infers the mapping from one version of a model to another; renaming identifiers connect renamed entities and properties.
  ///
  /// This is also the dry run of an inferred migration; no store is touched. The mappings are named `IEM_Add_<destination>`,
  /// `IEM_Copy_<source>`, `IEM_Transform_<source>` and `IEM_Remove_<source>`, and sorted: by
  /// destination, then removals. An optional relationship with a different destination entity loses its objects; models of
  /// published apps show that inference accepts this.
  ///
  /// - Throws: 134190 with `reason`, `entity` and `property` when something cannot be inferred: attribute types that do not
  ///   convert, a new required attribute without default value, a new required relationship, to-many to to-one, a
  ///   required relationship that leads to another entity, merged hierarchies, ambiguous renaming identifiers.
  public class func inferredMappingModel(
    forSourceModel sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel
  ) throws -> NSMappingModel {
    let source = ModelSide(sourceModel.document, hashes: sourceModel.entityVersionHashesByName)
    let destination = ModelSide(destinationModel.document, hashes: destinationModel.entityVersionHashesByName)
    do {
      let inferred = try MappingInference(source: source, destination: destination).run()
      return NSMappingModel(inferred, from: source, to: destination)
    } catch let failure as InferenceFailure {
      throw MigrationErrors.cannotInfer(failure.obstacles)
    }
  }

  /// Makes a mapping model from an inferred mapping.
  convenience init(_ inferred: InferredMapping, from source: ModelSide, to destination: ModelSide) {
    self.init()
    entityMappings = InferredMappings(source: source, destination: destination).mappings(of: inferred)
    self.inferred = inferred
  }
}

/// Makes entity mappings from an inferred mapping.
private struct InferredMappings {
  let source: ModelSide
  let destination: ModelSide

  func mappings(of inferred: InferredMapping) -> [NSEntityMapping] {
    let present = inferred.matched.map(mapping) + inferred.added.map(addition)
    return present.sorted { ($0.destinationEntityName ?? "") < ($1.destinationEntityName ?? "") }
      + inferred.removed.map(removal)
  }

  private func mapping(_ match: InferredMapping.EntityMatch) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "\(match.isUnchanged ? "IEM_Copy_" : "IEM_Transform_")\(match.source)"
    mapping.mappingType = match.isUnchanged ? .copyEntityMappingType : .transformEntityMappingType
    setSource(match.source, of: mapping)
    setDestination(match.destination, of: mapping)
    mapping.sourceSyntax = Expressions.sourceObjects(entity: match.source)
    mapping.attributeMappings = propertyMappings(
      match.attributes, added: match.addedAttributes, value: Expressions.value)
    mapping.relationshipMappings = propertyMappings(
      match.relationships, added: match.addedRelationships, value: Expressions.destinationObjects)
    mapping.userInfo = [
      "mappedProperties": Set((match.attributes + match.relationships).map(\.destination)),
      "addedProperties": Set(match.addedAttributes + match.addedRelationships),
      "removedProperties": Set(match.removedAttributes + match.removedRelationships),
    ]
    return mapping
  }

  private func addition(_ name: String) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "IEM_Add_\(name)"
    mapping.mappingType = .addEntityMappingType
    setDestination(name, of: mapping)
    mapping.attributeMappings = propertyMappings(
      [], added: destination.attributes(of: name).map(\.name), value: Expressions.value)
    mapping.relationshipMappings = propertyMappings(
      [], added: destination.relationships(of: name).map(\.name), value: Expressions.value)
    return mapping
  }

  private func removal(_ name: String) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "IEM_Remove_\(name)"
    mapping.mappingType = .removeEntityMappingType
    setSource(name, of: mapping)
    return mapping
  }

  private func setSource(_ name: String, of mapping: NSEntityMapping) {
    mapping.sourceEntityName = name
    mapping.sourceEntityVersionHash = source.hashes[name]
  }

  private func setDestination(_ name: String, of mapping: NSEntityMapping) {
    mapping.destinationEntityName = name
    mapping.destinationEntityVersionHash = destination.hashes[name]
  }

  private func propertyMappings(
    _ matches: [InferredMapping.PropertyMatch], added: [String], value: (String) -> ExpressionSyntax
  ) -> [NSPropertyMapping] {
    let mapped = matches.map { (name: $0.destination, syntax: Optional(value($0.source))) }
    let all = mapped + added.map { (name: $0, syntax: nil) }
    return all.sorted { $0.name < $1.name }.map { item in
      let mapping = NSPropertyMapping()
      mapping.name = item.name
      mapping.valueSyntax = item.syntax
      return mapping
    }
  }
}

/// The expressions that Apple's inference writes, as observed.
private enum Expressions {
  /// `FUNCTION($source, "valueForKey:", "name")`
  static func value(_ property: String) -> ExpressionSyntax {
    .function(operand: .variable("source"), name: "valueForKey:", arguments: [.constant(.string(property))])
  }

  /// `FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "name", value)`
  static func destinationObjects(_ relationship: String) -> ExpressionSyntax {
    .function(
      operand: .variable("manager"), name: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
      arguments: [.constant(.string(relationship)), value(relationship)])
  }

  /// `FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Name", "TRUEPREDICATE"),
  /// $manager.sourceContext, NO)`
  static func sourceObjects(entity: String) -> ExpressionSyntax {
    let request = ExpressionSyntax.function(
      operand: .variable("manager"), name: "fetchRequestForSourceEntityNamed:predicateString:",
      arguments: [.constant(.string(entity)), .constant(.string("TRUEPREDICATE"))])
    return .fetch(request: request, context: .keyPathOf(.variable("manager"), "sourceContext"), countOnly: false)
  }
}
