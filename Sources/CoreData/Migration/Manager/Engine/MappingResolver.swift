// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Checks a mapping model against both models, and resolves its entity mappings.
struct MappingResolver {
  let manager: NSMigrationManager
  let mappings: NSMappingModel
  let source: MigrationStack
  let destination: MigrationStack
  /// The names of mappings in earlier passes, which expressions may also refer to.
  let earlierNames: Set<String>

  /// Runs the checks that need no stores.
  ///
  /// - Throws: 134110 for mismatched hashes, unknown entities and policies, and duplicate names.
  static func check(_ mappings: NSMappingModel, from source: NSManagedObjectModel, to destination: NSManagedObjectModel)
    throws
  {
    let (old, new) = (source.entityVersionHashesByName, destination.entityVersionHashesByName)
    for mapping in mappings.entityMappings {
      let name = mapping.name ?? ""
      try check(name, mapping.sourceEntityName, mapping.sourceEntityVersionHash, old, side: "source")
      try check(name, mapping.destinationEntityName, mapping.destinationEntityVersionHash, new, side: "destination")
      _ = try policyClass(of: mapping)
    }
    let names = mappings.entityMappings.compactMap(\.name)
    if let twice = names.first(where: { name in names.filter { $0 == name }.count > 1 }) {
      throw MappingErrors.failed(
        .init(mapping: twice), reason: "Several entity mappings are named '\(twice)'.",
        suggestion: "Give each entity mapping a unique name; expressions refer to mappings by name.")
    }
  }

  private static func check(
    _ mapping: String, _ entity: String?, _ expected: Data?, _ hashes: [String: Data], side: String
  ) throws {
    guard let entity else { return }
    let found = hashes[entity]
    // A mapping created in code may leave out the hash, so that there is nothing to compare.
    if let found, expected == nil || expected == found { return }
    throw MappingErrors.hashMismatch(
      mapping: mapping, entity: entity, side: side, expected: expected, found: found)
  }

  static func policyClass(of mapping: NSEntityMapping) throws -> NSEntityMigrationPolicy.Type {
    let subject = MappingErrors.Subject(
      mapping: mapping.name ?? "", entity: mapping.destinationEntityName ?? mapping.sourceEntityName)
    guard let name = mapping.entityMigrationPolicyClassName, !name.isEmpty else {
      if mapping.mappingType == .customEntityMappingType {
        throw MappingErrors.noPolicy(subject, class: nil, isKnown: false)
      }
      return NSEntityMigrationPolicy.self
    }
    guard let type = MigrationPolicyClasses.type(named: name) else {
      throw MappingErrors.noPolicy(subject, class: name, isKnown: MigrationPolicyClasses.isKnown(name))
    }
    return type
  }

  /// Resolves all mappings, in order.
  func plans() throws -> [ResolvedMapping] {
    try mappings.entityMappings.enumerated().map { try plan($1, at: $0) }
  }

  private func plan(_ mapping: NSEntityMapping, at position: Int) throws -> ResolvedMapping {
    let sourceEntity = mapping.sourceEntityName.flatMap { source.model.entitiesByName[$0] }
    let destinationEntity = mapping.destinationEntityName.flatMap { destination.model.entitiesByName[$0] }
    let numbers = (sourceEntity.flatMap(source.store.number), destinationEntity.flatMap(destination.store.number))
    return ResolvedMapping(
      mapping: mapping, position: position, sourceEntity: sourceEntity, destinationEntity: destinationEntity,
      numbers: numbers,
      policy: try Self.policyClass(of: mapping).init(), isInferred: mappings.inferred != nil,
      sources: sources(of: mapping, areStored: sourceEntity == nil || numbers.0 != nil),
      attributes: try mapping.attributeMappings(from: sourceEntity, to: destinationEntity).compactMap {
        try attribute($0, mapping, sourceEntity, destinationEntity)
      },
      relationships: try mapping.relationshipMappings(from: sourceEntity, to: destinationEntity).compactMap {
        try relationship($0, mapping, sourceEntity, destinationEntity)
      })
  }

  /// - Parameter areStored: false if the source entity is in another configuration than the store, which has none of it.
  private func sources(of mapping: NSEntityMapping, areStored: Bool) -> ResolvedMapping.Sources {
    switch mapping.sourceSyntax {
    case .fetch where !areStored, nil where !areStored: return .none
    case .fetch(let request, let context, countOnly: false)?: return .request(request, context: context)
    case let syntax?: return .collection(syntax)
    case nil:
      let hasNone = mapping.mappingType == .addEntityMappingType || mapping.mappingType == .removeEntityMappingType
      return hasNone || mapping.sourceEntityName == nil ? .none : .all
    }
  }

  private func subject(_ property: NSPropertyMapping, _ mapping: NSEntityMapping) -> MappingErrors.Subject {
    MappingErrors.Subject(
      mapping: mapping.name ?? "", entity: mapping.destinationEntityName, property: property.name,
      expression: property.valueSyntax.map { PredicatePrinter().format($0) })
  }

  private func unknown(_ property: NSPropertyMapping, _ mapping: NSEntityMapping, _ what: String) -> NSError {
    MappingErrors.failed(
      subject(property, mapping),
      reason: "The entity mapping '\(mapping.name ?? "")' has \(what) '\(property.name ?? "")', which the entity "
        + "'\(mapping.destinationEntityName ?? "")' does not have.")
  }

  private func attribute(
    _ property: NSPropertyMapping, _ mapping: NSEntityMapping, _ source: NSEntityDescription?,
    _ destination: NSEntityDescription?
  ) throws -> ResolvedAttribute? {
    let name = property.name ?? ""
    guard let destination, let attribute = destination.attributesByName[name],
      let position = destination.slotTable.position(of: name)
    else { throw unknown(property, mapping, "a value for the attribute") }
    // Derived attributes are computed from the other values on every save.
    guard let syntax = property.valueSyntax, !(attribute is NSDerivedAttributeDescription) else { return nil }
    try checkNames(in: syntax, subject(property, mapping))
    return ResolvedAttribute(
      name: name, position: position, attribute: attribute,
      value: try value(of: syntax, for: attribute, source, subject(property, mapping)), syntax: syntax,
      mapping: property,
      keepsDefault: mappings.inferred != nil && !attribute.isOptional && attribute.defaultValue != nil)
  }

  private func value(
    of syntax: ExpressionSyntax, for attribute: NSAttributeDescription, _ source: NSEntityDescription?,
    _ subject: MappingErrors.Subject
  ) throws -> ResolvedAttribute.Value {
    if case .constant(let constant) = syntax {
      guard let slot = Slot(constant == .null ? nil : constant.foundationValue(), for: attribute) else {
        throw MappingErrors.unfitValue(subject, found: "\(constant)", wanted: attribute.wantedValue)
      }
      return .constant(slot)
    }
    guard let key = MappingExpressions.sourceKey(syntax), let source, let old = source.attributesByName[key],
      let position = source.slotTable.position(of: key)
    else { return .expression }
    if old is NSCompositeAttributeDescription, attribute is NSCompositeAttributeDescription {
      return .elements(position: position, CompositePairs(from: old, to: attribute))
    }
    return Self.isAlike(old, attribute) ? .copy(position: position) : .convert(position: position)
  }

  /// Returns whether the slots of two attributes contain values of the same kind.
  private static func isAlike(_ old: NSAttributeDescription, _ new: NSAttributeDescription) -> Bool {
    guard old.attributeType == new.attributeType else { return false }
    switch old.attributeType {
    case .undefinedAttributeType, .compositeAttributeType, .objectIDAttributeType: return false
    case .transformableAttributeType: return old.valueTransformerName == new.valueTransformerName
    default: return true
    }
  }

  private func relationship(
    _ property: NSPropertyMapping, _ mapping: NSEntityMapping, _ source: NSEntityDescription?,
    _ destination: NSEntityDescription?
  ) throws -> ResolvedRelationship? {
    let name = property.name ?? ""
    guard let destination, let relationship = destination.relationshipsByName[name],
      let position = destination.slotTable.position(of: name)
    else { throw unknown(property, mapping, "objects for the relationship") }
    guard let syntax = property.valueSyntax else { return nil }
    try checkNames(in: syntax, subject(property, mapping))
    return ResolvedRelationship(
      name: name, position: position, relationship: relationship, value: value(of: syntax, source), syntax: syntax,
      mapping: property)
  }

  private func value(of syntax: ExpressionSyntax, _ source: NSEntityDescription?) -> ResolvedRelationship.Value {
    guard case .function(.variable(NSMigrationManagerKey)?, let function, let arguments) = syntax, arguments.count == 2,
      case .constant(.string(let name)) = arguments[0]
    else { return .expression }
    let sources: ResolvedRelationship.Sources
    if arguments[1] == .variable(NSMigrationSourceObjectKey) {
      sources = .itself
    } else if let key = MappingExpressions.sourceKey(arguments[1]), source?.relationshipsByName[key] != nil {
      sources = .relationship(key)
    } else {
      return .expression
    }
    switch function {
    case ManagerFunction.destinationsOfMapping.rawValue: return .mapping(name: name, of: sources)
    case ManagerFunction.destinationsOfRelationship.rawValue: return .anyMapping(of: sources)
    default: return .expression
    }
  }

  /// Throws for names of unknown mappings, before anything is written.
  private func checkNames(in syntax: ExpressionSyntax, _ subject: MappingErrors.Subject) throws {
    for name in syntax.mappingNames
    where !earlierNames.contains(name) && !mappings.entityMappings.contains(where: { $0.name == name }) {
      throw MappingErrors.unknownMapping(name, known: mappings.entityMappings.compactMap(\.name), subject)
    }
  }
}

extension NSAttributeDescription {
  /// The kind of value the attribute accepts, for error messages.
  var wantedValue: String {
    "a value for the attribute type \(attributeValueClassName ?? "\(attributeType)")"
  }
}

extension ExpressionSyntax {
  /// The names of entity mappings that appear as constants in the expression.
  fileprivate var mappingNames: [String] {
    switch self {
    case .function(let operand, let name, let arguments):
      var names = (operand?.mappingNames ?? []) + arguments.flatMap(\.mappingNames)
      if name == ManagerFunction.destinationsOfMapping.rawValue || name == ManagerFunction.sourcesOfMapping.rawValue,
        operand == .variable(NSMigrationManagerKey), case .constant(.string(let mapping))? = arguments.first
      {
        names.append(mapping)
      }
      return names
    case .keyPathOf(let operand, _): return operand.mappingNames
    case .aggregate(let elements): return elements.flatMap(\.mappingNames)
    case .union(let a, let b), .intersect(let a, let b), .minus(let a, let b): return a.mappingNames + b.mappingNames
    case .subquery(let collection, _, _): return collection.mappingNames
    case .conditional(_, let a, let b): return a.mappingNames + b.mappingNames
    case .fetch(let request, _, _): return request.mappingNames
    case .constant, .evaluatedObject, .variable, .keyPath, .anyKey: return []
    }
  }
}
