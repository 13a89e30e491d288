// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads a compiled mapping model, the content of a `.cdm`, into a document.
struct CompiledMappingReader {
  private let archive: KeyedArchive

  /// Reads a keyed archive.
  /// - Throws: `ModelFileError`.
  static func document(of data: Data) throws -> MappingDocument {
    do {
      return try CompiledMappingReader(archive: KeyedArchive(data)).mapping()
    } catch let failure as ArchiveFailure {
      throw failure.error(file: nil)
    }
  }

  private func mapping() throws -> MappingDocument {
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
    default: throw ArchiveFailure.broken("\(key) is no data.")
    }
  }
}
