// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Checks whether a mapping model matches its two versions.
///
/// Migration policies are code, so the only check is whether the program has classes with their names.
public struct MappingCheck: Hashable, Sendable {
  /// A mismatch between the mapping model and a version.
  public struct Problem: Hashable, Sendable {
    /// The kinds of mismatch. The raw values are stable.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// A version hash does not match the entity.
      case staleHash = "stale hash"
      case missingEntity = "missing entity"
      /// A property mapping refers to a property that the destination entity does not have.
      case missingProperty = "missing property"
      /// An expression reads a key that the source entity does not have.
      case unknownKey = "unknown key"
      /// An expression refers to an entity mapping that does not exist.
      case unknownMapping = "unknown mapping"
      case unreadableFilter = "unreadable filter"
      /// The type of a copied value or a constant cannot be converted to the attribute's.
      case wrongType = "wrong type"
      /// No mapping sets a required property.
      case missingValue = "missing value"
      /// No expression reads the values of a source property, and the mapping does not declare that they are dropped.
      case droppedValue = "dropped value"
      /// The objects of a source entity are dropped, but no mapping declares that.
      case unmappedEntity = "unmapped entity"
      /// The migration needs a class of the migrating program.
      case policy = "policy"
    }

    /// The kind of mismatch.
    public let kind: Kind
    /// `error` if the migration would not start, or would fail.
    public let level: Finding.Level
    /// The entity mapping; nil if the problem is that there is none.
    public let mapping: String?
    /// The property of the destination entity.
    public let property: String?
    /// The mismatch as a sentence.
    public let message: String
  }

  /// The mismatches in the order of the mappings.
  public private(set) var problems: [Problem] = []

  /// Checks a mapping model.
  ///
  /// - Parameters:
  ///   - mapping: the mapping model, with the hashes in its file.
  ///   - source: the source version.
  ///   - destination: the destination version.
  ///   - isCompiled: whether the file is compiled, so that its hashes decide at run time. Those in a source are
  ///     replaced when it is compiled, so stale ones are only a warning.
  ///   - hasPolicies: whether this program is known to contain the app's policies, so that a missing one is an error.
  public init(
    _ mapping: MappingDocument, source: ModelDocument, destination: ModelDocument, isCompiled: Bool,
    hasPolicies: Bool = false
  ) {
    let sides = (MappedVersion(source), MappedVersion(destination))
    let names = Set(mapping.entityMappings.map(\.name))
    for entity in mapping.entityMappings {
      var check = EntityMappingCheck(
        mapping: entity, source: sides.0, destination: sides.1, names: names,
        staleLevel: isCompiled ? .error : .warning, policyLevel: hasPolicies ? .error : .warning)
      check.run()
      problems += check.problems
    }
    // Dropped values are reported only once there are no errors.
    if count(of: .error) == 0 {
      addDropped(mapping.unreadProperties(from: source, to: destination).filter { !$0.isIntended }, mapping)
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

  private mutating func addDropped(_ unread: [UnreadProperty], _ mapping: MappingDocument) {
    for item in unread {
      let name = mapping.entityMappings.first { $0.sourceEntityName == item.entity }?.name
      let open = item.openWords.map { "; \($0)" } ?? ""
      problems.append(
        Problem(
          kind: .droppedValue, level: .warning, mapping: name, property: nil,
          message: "No expression reads \(item.entity).\(item.property), whose values would be dropped\(open)."))
    }
  }

  /// Returns the number of problems of a level.
  public func count(of level: Finding.Level) -> Int {
    problems.count { $0.level == level }
  }
}

/// A version, with lookups for the check.
struct MappedVersion {
  let index: EntityIndex
  let hashes: [String: Data]

  init(_ document: ModelDocument) {
    index = EntityIndex(document)
    hashes = VersionHashes(document).entities
  }

  /// Whether the version has an entity, with the version hash in a mapping model.
  ///
  /// - Parameter name: the entity of a mapping; nil fits each version.
  func has(_ name: String?, _ hash: Data?) -> Bool {
    guard let name else { return true }
    return hash != nil && hashes[name] == hash
  }

  /// Returns all attributes of an entity, including inherited ones.
  func attributes(of entity: String) -> [AttributeDocument] {
    index.lineage(of: entity).flatMap(\.attributes)
  }

  /// Returns all relationships of an entity, including inherited ones.
  func relationships(of entity: String) -> [RelationshipDocument] {
    index.lineage(of: entity).flatMap(\.relationships)
  }

  /// Returns the keys of an entity's objects.
  func keys(of entity: String) -> Set<String> {
    let fetched = index.lineage(of: entity).flatMap(\.fetchedProperties).map(\.name)
    let own = attributes(of: entity).map(\.name) + relationships(of: entity).map(\.name) + fetched
    return Set(own).union(["self", "objectID", "entity", "description", "managedObjectContext"])
  }
}

/// The check of one entity mapping.
struct EntityMappingCheck {
  typealias Kind = MappingCheck.Problem.Kind

  let mapping: EntityMappingDocument
  let source: MappedVersion
  let destination: MappedVersion
  /// The names of all entity mappings.
  let names: Set<String>
  let staleLevel: Finding.Level
  let policyLevel: Finding.Level
  private(set) var problems: [MappingCheck.Problem] = []

  mutating func run() {
    checkEntity(mapping.sourceEntityName, hash: mapping.sourceEntityVersionHash, in: source, side: "source")
    checkEntity(
      mapping.destinationEntityName, hash: mapping.destinationEntityVersionHash, in: destination, side: "destination")
    checkFilter()
    if let expression = mapping.sourceExpression { check(ExpressionKeys(expression), property: nil) }
    checkProperties()
    if let policy = mapping.policyClassName, MigrationPolicyClasses.type(named: policy) == nil {
      let reason = policyLevel == .error ? "is in no module of the app" : "is not in this tool, only in the app"
      report(.policy, policyLevel, "The policy \(policy) \(reason).")
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
    if mapping.policyClassName == nil { checkTypes(of: attributes) }
    check(mapping.relationshipMappings, are: "relationship", of: entity, among: Set(relationships.map(\.name)))
    // A policy may set any property, and without source objects no objects are created.
    guard mapping.policyClassName == nil, mapping.sourceEntityName != nil else { return }
    // A copy without property mappings copies all properties.
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

  private mutating func checkTypes(of attributes: [AttributeDocument]) {
    for property in mapping.attributeMappings.sorted(by: { $0.name < $1.name }) {
      guard let expression = property.valueExpression,
        let attribute = attributes.first(where: { $0.name == property.name }), attribute.kind != .composite
      else { continue }
      if case .constant(let value) = expression, !attribute.kind.accepts(value) {
        report(
          .wrongType, .error, "The constant \(AspectText.value(value)) is not of the type \(attribute.kind.title).",
          property: property.name)
      }
      if let key = MappingExpressions.sourceKey(expression), let entity = mapping.sourceEntityName,
        let before = source.attributes(of: entity).first(where: { $0.name == key }),
        !attribute.kind.accepts(valuesOf: before.kind)
      {
        report(
          .wrongType, .error,
          "\(key) has the type \(before.kind.title), which cannot be converted into \(attribute.kind.title).",
          property: property.name)
      }
    }
  }

  private mutating func check(_ keys: ExpressionKeys, property: String?) {
    if let entity = mapping.sourceEntityName, source.index[entity] != nil {
      for key in keys.sourceKeys.subtracting(source.keys(of: entity)).sorted() {
        report(
          .unknownKey, .error, "Asks for \(key), which the source entity \(entity) does not have.", property: property)
      }
      let known = Set(source.relationships(of: entity).map(\.name))
      // A missing key is reported only once.
      for name in keys.sourceRelationships.subtracting(known).intersection(source.keys(of: entity)).sorted() {
        report(.unknownKey, .error, "\(name) is not a relationship of the source entity \(entity).", property: property)
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

  private mutating func report(_ kind: Kind, _ level: Finding.Level, _ message: String, property: String? = nil) {
    problems.append(
      MappingCheck.Problem(kind: kind, level: level, mapping: mapping.name, property: property, message: message))
  }
}
