// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Writes a mapping model as the keyed archive of a `.cdm`.
struct CompiledMappingWriter {
  private var builder = KeyedArchiveBuilder()

  /// The archive of a document.
  /// - Throws: `ModelFileError` where the document holds values that no file can hold.
  static func archive(of document: MappingDocument) throws -> Data {
    var writer = CompiledMappingWriter()
    return try writer.write(document)
  }

  private mutating func write(_ document: MappingDocument) throws -> Data {
    let root = builder.reserve()
    var places: [ArchiveValue] = []
    var names: [(key: String, value: ArchiveValue)] = []
    for mapping in document.entityMappings {
      let place = try entityMapping(mapping)
      places.append(place)
      // Of mappings of the same name the first is found by it.
      if !names.contains(where: { $0.key == mapping.name }) { names.append((mapping.name, place)) }
    }
    builder.fill(
      root, "NSMappingModel",
      ["NSEntityMappings": builder.collection(places), "NSEntityMappingsByName": builder.dictionary(names)])
    return builder.data(root: root)
  }

  private mutating func entityMapping(_ mapping: EntityMappingDocument) throws -> ArchiveValue {
    let attributes = try mapping.attributeMappings.map { try propertyMapping($0) }
    let relationships = try mapping.relationshipMappings.map { try propertyMapping($0) }
    return builder.add(
      "NSEntityMapping",
      [
        "NSMappingName": builder.string(mapping.name),
        "NSMappingType": .integer(Int64(mapping.kind.rawValue)),
        "NSSourceEntityName": builder.string(mapping.sourceEntityName),
        "NSSourceEntityVersionHash": hash(mapping.sourceEntityVersionHash),
        "NSDestinationEntityName": builder.string(mapping.destinationEntityName),
        "NSDestinationEntityVersionHash": hash(mapping.destinationEntityVersionHash),
        "NSEntityMigrationPolicyClassName": builder.string(mapping.policyClassName),
        "NSSourceExpression": try expression(mapping.sourceExpression),
        "NSAttributeMappings": builder.collection(attributes),
        "NSRelationshipMappings": builder.collection(relationships),
        "NSUserInfo": try userInfo(mapping.userInfo),
      ])
  }

  private mutating func propertyMapping(_ mapping: PropertyMappingDocument) throws -> ArchiveValue {
    builder.add(
      "NSPropertyMapping",
      [
        "NSDestinationPropertyName": builder.string(mapping.name),
        "NSValueExpression": try expression(mapping.valueExpression),
        "NSPropertyTransforms": KeyedArchiveBuilder.null,
        "NSUserInfo": try userInfo(mapping.userInfo),
      ])
  }

  private mutating func expression(_ expression: ExpressionSyntax?) throws -> ArchiveValue {
    try expression.map { try builder.expression($0) } ?? KeyedArchiveBuilder.null
  }

  private mutating func userInfo(_ info: [String: PlainValue]) throws -> ArchiveValue {
    info.isEmpty ? KeyedArchiveBuilder.null : try builder.plain(.dictionary(info))
  }

  private mutating func hash(_ data: Data?) -> ArchiveValue {
    data.map { builder.scalar(.data($0)) } ?? KeyedArchiveBuilder.null
  }
}
