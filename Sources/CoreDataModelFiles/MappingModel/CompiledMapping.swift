// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The keyed archive of a compiled mapping model, the contents of a `.cdm`.
enum CompiledMapping {
  /// Reads an archive.
  ///
  /// - Throws: `ModelFileError`.
  static func document(of data: Data) throws -> MappingDocument {
    do {
      return try CompiledMappingReader(archive: KeyedArchive(data)).mapping()
    } catch let failure as ArchiveFailure {
      throw failure.error(file: nil)
    }
  }

  /// Writes an archive.
  ///
  /// - Throws: `ModelFileError` if the document contains a value that cannot be archived.
  static func archive(of document: MappingDocument) throws -> Data {
    var writer = CompiledMappingWriter()
    return try writer.write(document)
  }
}

private struct CompiledMappingReader {
  let archive: KeyedArchive

  func mapping() throws -> MappingDocument {
    let root = try archive.root()
    guard root.className == "NSMappingModel" else {
      throw ArchiveFailure.unknownClass(root.className, "a mapping model")
    }
    return MappingDocument(entityMappings: try root.elements("NSEntityMappings").map(entityMapping))
  }

  private func entityMapping(_ value: ArchiveValue) throws -> EntityMappingDocument {
    guard let object = try archive.object(value), object.className == "NSEntityMapping" else {
      throw ArchiveFailure.broken("An entity mapping is missing.")
    }
    let code = try object.integer("NSMappingType") ?? 0
    guard let kind = UInt(exactly: code).flatMap(EntityMappingKind.init(rawValue:)) else {
      throw ArchiveFailure.broken("The type \(code) of an entity mapping is unknown.")
    }
    let source = try object.string("NSSourceEntityName")
    let destination = try object.string("NSDestinationEntityName")
    var mapping = EntityMappingDocument(
      name: try object.string("NSMappingName") ?? "\(source ?? "")->\(destination ?? "")", kind: kind,
      sourceEntityName: source, destinationEntityName: destination)
    mapping.sourceEntityVersionHash = try hash("NSSourceEntityVersionHash", of: object)
    mapping.destinationEntityVersionHash = try hash("NSDestinationEntityVersionHash", of: object)
    mapping.policyClassName = try object.string("NSEntityMigrationPolicyClassName")
    mapping.sourceExpression = try object.object("NSSourceExpression").map { try ArchivedExpressions.expression($0) }
    mapping.attributeMappings = try object.elements("NSAttributeMappings").map(propertyMapping)
    mapping.relationshipMappings = try object.elements("NSRelationshipMappings").map(propertyMapping)
    mapping.userInfo = try userInfo(of: object)
    return mapping
  }

  private func propertyMapping(_ value: ArchiveValue) throws -> PropertyMappingDocument {
    guard let object = try archive.object(value), object.className == "NSPropertyMapping" else {
      throw ArchiveFailure.broken("A property mapping is missing.")
    }
    return PropertyMappingDocument(
      name: try required("NSDestinationPropertyName", of: object),
      valueExpression: try object.object("NSValueExpression").map { try ArchivedExpressions.expression($0) },
      userInfo: try userInfo(of: object))
  }

  private func hash(_ key: String, of object: ArchivedObject) throws -> Data? {
    switch try ArchivedValues.plain(object.fields[key], in: archive) {
    case .null: return nil
    case .data(let data): return data
    default: throw ArchiveFailure.broken("\(key) is not data.")
    }
  }
}

private struct CompiledMappingWriter {
  private var builder = KeyedArchiveBuilder()

  mutating func write(_ document: MappingDocument) throws -> Data {
    let root = builder.reserve()
    var uids: [ArchiveValue] = []
    var names: [(key: String, value: ArchiveValue)] = []
    for mapping in document.entityMappings {
      let uid = try entityMapping(mapping)
      uids.append(uid)
      // If several mappings have the same name, it refers to the first.
      if !names.contains(where: { $0.key == mapping.name }) { names.append((mapping.name, uid)) }
    }
    builder.fill(
      root, "NSMappingModel",
      ["NSEntityMappings": builder.collection(uids), "NSEntityMappingsByName": builder.dictionary(names)])
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
