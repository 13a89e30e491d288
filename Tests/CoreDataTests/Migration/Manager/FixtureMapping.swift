// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A mapping model of another project, with the two versions that it was made for.
struct FixtureMapping: CustomStringConvertible, @unchecked Sendable {
  let url: URL
  let mapping: MappingDocument
  let source: ModelDocument
  let destination: ModelDocument

  var description: String { Fixtures.name(of: url) }

  /// All mapping models whose versions are there, and why the others have none; each pair of versions and mapping once.
  static let all: (found: [FixtureMapping], missing: [String]) = {
    var models: [String: [(document: ModelDocument, hashes: [String: Data])]] = [:]
    func add(_ document: ModelDocument?, _ url: URL) {
      guard let document else { return }
      let hashes = VersionHashes(document).entities
      if models[project(url)]?.contains(where: { $0.hashes == hashes }) == true { return }
      models[project(url), default: []].append((document, hashes))
    }
    for url in Fixtures.modelSources + Fixtures.compiledModels {
      // Models that cannot be read are counted by the tests of model files.
      add(try? NSManagedObjectModel.load(contentsOf: url).document, url)
    }
    var found: [FixtureMapping] = []
    var missing: [String] = []
    for url in Fixtures.mappingSources + Fixtures.compiledMappings {
      // As above.
      guard let mapping = try? MappingDocument(contentsOf: url) else { continue }
      let known = models[project(url)] ?? []
      let sources = known.filter {
        fits(mapping.entityMappings.map { ($0.sourceEntityName, $0.sourceEntityVersionHash) }, $0.hashes)
      }
      let destinations = known.filter {
        fits(mapping.entityMappings.map { ($0.destinationEntityName, $0.destinationEntityVersionHash) }, $0.hashes)
      }
      // A model may have further entities; the one with the fewest is the one that is meant.
      guard let source = sources.min(by: { $0.hashes.count < $1.hashes.count }),
        let destination = destinations.min(by: { $0.hashes.count < $1.hashes.count })
      else {
        let side = sources.isEmpty ? "source" : "destination"
        missing.append("\(Fixtures.name(of: url)): no model among \(known.count) has the \(side) hashes")
        continue
      }
      let fixture = FixtureMapping(
        url: url, mapping: mapping, source: source.document, destination: destination.document)
      if !found.contains(where: { $0.mapping == mapping && $0.source == source.document }) { found.append(fixture) }
    }
    return (found, missing)
  }()

  private static func fits(_ entities: [(name: String?, hash: Data?)], _ hashes: [String: Data]) -> Bool {
    entities.allSatisfy { entity in entity.name.map { hashes[$0] == entity.hash } ?? true }
  }

  private static func project(_ url: URL) -> String {
    Fixtures.name(of: url).split(separator: "/").first.map(String.init) ?? ""
  }

  /// Migrates a store, and checks what is true of every such migration.
  static func migrate(
    _ url: URL, _ source: NSManagedObjectModel, _ mapping: NSMappingModel, _ destination: NSManagedObjectModel,
    to target: URL, userInfo: [AnyHashable: Any]? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = try FileContent(url)
    let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
    manager.batchSize = 3
    manager.userInfo = userInfo
    var progress: [Float] = []
    manager.progressHandler = { progress.append($0.migrationProgress) }
    try manager.migrateStore(from: url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    #expect(progress == progress.sorted() && progress.last == 1, sourceLocation: sourceLocation)
    #expect(try FileContent(url) == before, "the source has changed", sourceLocation: sourceLocation)
    let checked = try NSManagedObjectModel(document: destination.document)
    try StoreChecks.check(target, checked, sourceLocation: sourceLocation)
    try StoreChecks.checkJoins(target, checked, sourceLocation: sourceLocation)
  }
}

extension TemporaryStore {
  /// Runs a body with a context over any store of the folder, which is closed again.
  func open(_ url: URL, _ model: NSManagedObjectModel, _ body: (NSManagedObjectContext) throws -> Void) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try body(context)
    try coordinator.remove(store)
  }
}
