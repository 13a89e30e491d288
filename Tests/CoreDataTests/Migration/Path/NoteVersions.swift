// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation

@testable import CoreData
@testable import CoreDataStoreFiles

/// Versions of a model in a file of their own, a store of one of them, and mapping models between them.
///
/// The attribute `a` is a number in `v1`, gone in `v2`, and a text from `v3` on: neighbours can be inferred, and nothing else
/// that leads from `v1` past `v2`.
final class NoteVersions {
  /// Made anew each time: an attribute belongs to one model.
  static var plain: [(String, [NSAttributeDescription])] {
    [
      ("v1", [.make("name", .stringAttributeType), .make("a", .integer16AttributeType)]),
      ("v2", [.make("name", .stringAttributeType)]),
      ("v3", [.make("name", .stringAttributeType), .make("a", .stringAttributeType)]),
      (
        "v4",
        [
          .make("name", .stringAttributeType), .make("a", .stringAttributeType), .make("b", .stringAttributeType),
        ]
      ),
    ]
  }

  let store: TemporaryStore
  let url: URL
  /// Where mapping models are put.
  let mappings: URL

  init(_ versions: [(String, [NSAttributeDescription])] = NoteVersions.plain) throws {
    store = try TemporaryStore()
    url = store.folder.appendingPathComponent("Notes.momd")
    mappings = store.folder.appendingPathComponent("Mappings", isDirectory: true)
    try FileManager.default.createDirectory(at: mappings, withIntermediateDirectories: true)
    try ModelBundle.writeCompiled(
      versions.map { ($0.0, Self.model($0.1).document) }, current: versions.last?.0 ?? "", to: url)
  }

  static func model(_ attributes: [NSAttributeDescription], name: String = "Note") -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(name, attributes)
    return builder.model()
  }

  func model(_ version: String) throws -> NSManagedObjectModel {
    try .load(contentsOf: url, version: version)
  }

  func checksum(_ version: String) throws -> String { try model(version).versionChecksum }

  func reference(_ version: String) throws -> NSManagedObjectModelReference {
    .init(fileURL: url, versionChecksum: try checksum(version))
  }

  /// Makes the store, with two notes.
  func fill(_ version: String, withoutModel: Bool = false) throws {
    let context = try store.context(model(version))
    context.make("Note", ["name": "one"])
    context.make("Note", ["name": "two"])
    try context.save()
    try store.close()
    guard withoutModel else { return }
    let file = try StoreFile.open(store.url, isReadOnly: false)
    try file.connection.execute("DELETE FROM Z_MODELCACHE")
    try file.close()
  }

  /// The version that the store has.
  func version() throws -> String? {
    let metadata = try metadata()
    return try NSManagedObjectModel.versions(contentsOf: url)
      .first { $0.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) }?.name
  }

  func metadata() throws -> [String: Any] {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
  }

  /// Opens the store with a version, and gives the names of its notes.
  @discardableResult
  func open(_ version: String, _ options: [String: Any] = [:]) throws -> [String] {
    let all: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      // The program's own resources hold models and mapping models of other tests.
      MigrationOption.models: [URL](), MigrationOption.mappings: [mappings],
    ]
    let context = try store.context(model(version), options: all.merging(options) { $1 })
    let names = try context.all("Note").compactMap { $0["name"] as? String }
    try store.close()
    return names
  }

  /// Writes a compiled mapping model between two versions: what inference would make, but a text `a` is the note's name.
  @discardableResult
  func writeMapping(
    _ name: String, _ source: NSManagedObjectModel, _ destination: NSManagedObjectModel, policy: String? = nil
  ) throws -> URL {
    var entity = EntityMappingDocument(
      name: "NoteToNote", kind: policy == nil ? .transform : .custom, sourceEntityName: "Note",
      destinationEntityName: "Note")
    entity.sourceExpression = MappingExpressions.sourceObjects(entity: "Note")
    entity.policyClassName = policy
    entity.attributeMappings = [
      PropertyMappingDocument(name: "name", valueExpression: .keyPathOf(.variable("source"), "name"))
    ]
    if destination.entitiesByName["Note"]?.attributesByName["a"]?.attributeType == .stringAttributeType {
      entity.attributeMappings.append(
        PropertyMappingDocument(name: "a", valueExpression: .keyPathOf(.variable("source"), "name")))
    }
    var document = MappingDocument(entityMappings: [entity])
    document.updateHashes(
      source: source.entityVersionHashesByName, destination: destination.entityVersionHashesByName)
    let url = mappings.appendingPathComponent(name)
    try document.writeCompiled(to: url)
    return url
  }

  /// Writes what inference would make as a mapping model between two versions.
  func writeInferred(_ source: String, _ destination: String) throws {
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: model(source), destinationModel: model(destination))
    try mapping.document.writeCompiled(to: mappings.appendingPathComponent("\(source)to\(destination).cdm"))
  }

  @discardableResult
  func writeMapping(_ source: String, _ destination: String, policy: String? = nil) throws -> URL {
    try writeMapping("\(source)to\(destination).cdm", model(source), model(destination), policy: policy)
  }
}
