// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The check of one entity mapping.
struct EntityMappingCheck {
  typealias Kind = MappingCheck.Problem.Kind

  let mapping: EntityMappingDocument
  let source: MappedVersion
  let destination: MappedVersion
  /// The names of all entity mappings.
  let names: Set<String>
  let staleLevel: Finding.Level
  private(set) var problems: [MappingCheck.Problem] = []

  init(
    mapping: EntityMappingDocument, source: MappedVersion, destination: MappedVersion, names: Set<String>,
    staleLevel: Finding.Level
  ) {
    self.mapping = mapping
    self.source = source
    self.destination = destination
    self.names = names
    self.staleLevel = staleLevel
  }

  mutating func run() {
    checkEntity(mapping.sourceEntityName, hash: mapping.sourceEntityVersionHash, in: source, side: "source")
    checkEntity(
      mapping.destinationEntityName, hash: mapping.destinationEntityVersionHash, in: destination, side: "destination")
    checkFilter()
    if let expression = mapping.sourceExpression { check(ExpressionKeys(expression), property: nil) }
    checkProperties()
    if let policy = mapping.policyClassName {
      report(.policy, .warning, "The policy \(policy) was not looked for: only the migrating program can have it.")
    }
  }

  private mutating func checkEntity(_ name: String?, hash: Data?, in version: MappedVersion, side: String) {
    guard let name else { return }
    guard let expected = version.hashes[name] else {
      return report(.missingEntity, .error, "The \(side) version has no entity \(name).")
    }
    if hash != expected {
      let fault = hash == nil ? "has no version hash" : "has the version hash of another state"
      report(.staleHash, staleLevel, "The \(side) entity \(name) \(fault).")
    }
  }

  private mutating func checkFilter() {
    guard let filter = mapping.filter, let entity = mapping.sourceEntityName, source.index[entity] != nil else {
      return
    }
    do {
      let keys = ExpressionKeys(try PredicateParser.parse(filter)).ownKeys
      for key in keys.subtracting(source.keys(of: entity)).sorted() {
        report(.unknownKey, .error, "The filter asks for \(key), which the source entity \(entity) does not have.")
      }
    } catch {
      report(.unreadableFilter, .error, "The filter cannot be read: \(error)")
    }
  }

  private mutating func checkProperties() {
    guard let entity = mapping.destinationEntityName, destination.index[entity] != nil else { return }
    let attributes = destination.attributes(of: entity)
    let relationships = destination.relationships(of: entity)
    check(mapping.attributeMappings, are: "attribute", of: entity, among: Set(attributes.map(\.name)))
    check(mapping.relationshipMappings, are: "relationship", of: entity, among: Set(relationships.map(\.name)))
    // A policy may give any property its value, and without source objects there is none to be made.
    guard mapping.policyClassName == nil, mapping.sourceEntityName != nil else { return }
    // A copy that says nothing of properties takes all of them.
    if mapping.kind == .copy, mapping.attributeMappings.isEmpty, mapping.relationshipMappings.isEmpty { return }
    let given = Set(
      (mapping.attributeMappings + mapping.relationshipMappings).filter { $0.valueExpression != nil }.map(\.name))
    let needed =
      attributes.filter { !$0.isOptional && !$0.isTransient && $0.derivation == nil && $0.defaultValue == nil }
      .map(\.name) + relationships.filter { !$0.isOptional && !$0.isTransient }.map(\.name)
    for name in needed.sorted() where !given.contains(name) {
      report(.missingValue, .warning, "Required, but no expression gives it a value.", property: name)
    }
  }

  private mutating func check(
    _ properties: [PropertyMappingDocument], are kind: String, of entity: String, among known: Set<String>
  ) {
    for property in properties.sorted(by: { $0.name < $1.name }) {
      if !known.contains(property.name) {
        report(
          .missingProperty, .error, "The destination entity \(entity) has no \(kind) \(property.name).",
          property: property.name)
      }
      if let expression = property.valueExpression { check(ExpressionKeys(expression), property: property.name) }
    }
  }

  private mutating func check(_ keys: ExpressionKeys, property: String?) {
    if let entity = mapping.sourceEntityName, source.index[entity] != nil {
      for key in keys.sourceKeys.subtracting(source.keys(of: entity)).sorted() {
        report(
          .unknownKey, .error, "Asks for \(key), which the source entity \(entity) does not have.", property: property)
      }
      let known = Set(source.relationships(of: entity).map(\.name))
      // A key that is missing altogether is told of once.
      for name in keys.sourceRelationships.subtracting(known).intersection(source.keys(of: entity)).sorted() {
        report(.unknownKey, .error, "\(name) is no relationship of the source entity \(entity).", property: property)
      }
      for name in keys.sourceRelationships.subtracting(source.keys(of: entity)).subtracting(keys.sourceKeys).sorted() {
        report(
          .unknownKey, .error, "Asks for \(name), which the source entity \(entity) does not have.",
          property: property)
      }
    }
    for name in keys.mappings.subtracting(names).sorted() {
      report(.unknownMapping, .error, "There is no entity mapping \(name).", property: property)
    }
  }

  private mutating func report(
    _ kind: Kind, _ level: Finding.Level, _ message: String, property: String? = nil
  ) {
    problems.append(
      MappingCheck.Problem(kind: kind, level: level, mapping: mapping.name, property: property, message: message))
  }
}
