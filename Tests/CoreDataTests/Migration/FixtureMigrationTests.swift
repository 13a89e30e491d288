// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("Stores made by Apple's Core Data, migrated", .enabled(if: Fixtures.isPresent, "the fixtures are not here"))
struct FixtureMigrationTests {
  /// A store, and a later version of its model that it can be taken to.
  struct Journey: CustomStringConvertible, Sendable {
    let store: URL
    let models: URL
    let version: String

    var description: String {
      "\(Fixtures.name(of: store)) -> \(Fixtures.name(of: models)) \(version)"
    }
  }

  /// Every store with every version after its own, and with every model of its project that has most of its entities; once
  /// for each pair of version hashes. A store with tens of later versions goes to some of them, and to all with `make torture`.
  static let journeys: [Journey] = {
    var found: [Journey] = []
    let bundles = (Fixtures.modelBundles + Fixtures.compiledBundles).compactMap { url in
      // Models that cannot be read are counted by the tests of model files.
      (try? NSManagedObjectModel.versions(contentsOf: url)).map { (url: url, versions: $0) }
    }
    for store in Fixtures.stores {
      // What is not a store, or a damaged one, is told by other tests.
      guard let (metadata, hasModel) = try? facts(of: store),
        let own = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
      else { continue }
      var seen: Set<[String: Data]> = [own]
      for bundle in bundles where project(bundle.url) == project(store) {
        let start = bundle.versions.firstIndex {
          $0.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
        }
        let later = bundle.versions[(start.map { $0 + 1 } ?? 0)...]
        for version in later {
          let hashes = version.model.entityVersionHashesByName
          let shared = Set(hashes.keys).intersection(own.keys).count
          guard start != nil || (hasModel && shared * 2 > own.count), seen.insert(hashes).inserted else { continue }
          found.append(Journey(store: store, models: bundle.url, version: version.name))
        }
      }
    }
    guard !TortureSize.isFull else { return found }
    let ways = Dictionary(grouping: found) { "\($0.store.path) \($0.models.path)" }.sorted { $0.key < $1.key }
    return ways.flatMap { _, journeys in
      let distance = max(1, journeys.count / 8)
      return journeys.enumerated().filter { ($0.offset - journeys.count + 1) % distance == 0 }.map(\.element)
    }
  }()

  /// The metadata, and whether the store carries its model; read from a copy, since SQLite writes even when it reads.
  private static func facts(of store: URL) throws -> ([String: Any], Bool) {
    let temporary = try Fixtures.copy(ofStore: store)
    let copy = temporary.url
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: copy)
    let hasModel = try SQLiteStore.carriedModel(at: copy) != nil
    return (metadata, hasModel)
  }

  private static func project(_ url: URL) -> String {
    Fixtures.name(of: url).split(separator: "/").first.map(String.init) ?? ""
  }

  @Test("Each reaches every later version, with every row and every value that both versions have", arguments: journeys)
  func migrate(_ journey: Journey) throws {
    let temporary = try Fixtures.copy(ofStore: journey.store)
    let copy = temporary.url
    try migrate(journey, copy)
  }

  private func migrate(_ journey: Journey, _ copy: URL) throws {
    let migration: StoreMigration
    do {
      // Some versions are of branches that lack what the store's own version has.
      migration = try StoreMigration(
        storeAt: copy, modelsAt: journey.models, version: journey.version, allowsLoss: true)
    } catch let error as NSError
      where error.code == NSInferredMappingModelError || error.code == NSMigrationMissingSourceModelError
    {
      // What cannot be done must be said with a cure; it is counted in the summary.
      #expect(error.localizedRecoverySuggestion?.isEmpty == false)
      print("refused: \(journey): \(error.localizedFailureReason ?? "")")
      return
    }
    let first = try #require(migration.steps.first)
    let before = try dump(copy, first.sourceModel)
    var events: [MigrationProgress] = []
    let report: MigrationReport
    do {
      report = try migration.run { events.append($0) }
    } catch let error as NSError where Self.isMissingValue(error) {
      // A new required attribute without a default, and rows: only these tell.
      #expect(error.localizedRecoverySuggestion?.isEmpty == false)
      #expect(try dump(copy, first.sourceModel).objects.count == before.objects.count)
      print("refused: \(journey): \(error.localizedFailureReason ?? "")")
      return
    }
    let model = try NSManagedObjectModel.load(contentsOf: journey.models, version: journey.version)
    let checked = try NSManagedObjectModel.load(contentsOf: journey.models, version: journey.version)
    try StoreChecks.check(copy, checked)
    let after = try dump(copy, model)

    try compare(before, after, migration)
    #expect(events.map(\.fractionCompleted) == events.map(\.fractionCompleted).sorted())
    #expect(events.last?.fractionCompleted == 1)
    #expect(report.rows.values.allSatisfy { $0.after <= $0.before })
    print("migrated: \(journey): \(before.objects.count) objects, \(migration.steps.count) steps")
  }

  /// Whether an error says that rows have no value for a new required attribute.
  static func isMissingValue(_ error: NSError) -> Bool {
    error.code == NSMigrationError
      && error.localizedFailureReason?.contains("missing attribute values on mandatory destination attribute") == true
  }

  private func dump(_ url: URL, _ model: NSManagedObjectModel) throws -> StoreDump {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let dump = try StoreDump(context)
    try coordinator.remove(store)
    return dump
  }

  /// Follows every object and value through the steps by name, and looks for it in the result.
  private func compare(_ before: StoreDump, _ after: StoreDump, _ migration: StoreMigration) throws {
    let mappings = try migration.steps.map { try #require($0.mappingModel.inferred) }
    func name(_ entity: String) -> String? {
      mappings.reduce(entity) { name, mapping in name.flatMap { mapping.match(ofSource: $0)?.destination } }
    }
    func key(_ old: String) -> String? {
      let parts = old.split(separator: "/").map(String.init)
      return name(parts[0]).map { "\($0)/\(parts[1])" }
    }
    var compared = 0
    for (oldKey, values) in before.objects {
      let entity = String(oldKey.split(separator: "/")[0])
      guard let newKey = key(oldKey) else { continue }
      let found = try #require(after.objects[newKey], "\(oldKey) is gone")
      for (property, value) in values {
        guard let now = destination(of: property, entity, mappings), let kept = found[now.name] else { continue }
        var expected = value
        if now.isRelationship {
          let keys = value.isEmpty ? [] : value.components(separatedBy: ", ").compactMap(key)
          expected = keys.joined(separator: ", ")
          if Set(keys) == Set(kept.components(separatedBy: ", ")), !now.isOrdered { continue }
        }
        if value == "nil", kept != "nil" { continue }  // A default value has been filled in.
        #expect(kept == expected, "\(oldKey).\(property)")
        compared += 1
      }
    }
    #expect(compared > 0 || before.objects.keys.allSatisfy { key($0) == nil })
  }

  private func destination(
    of property: String, _ entity: String, _ mappings: [InferredMapping]
  ) -> (name: String, isRelationship: Bool, isOrdered: Bool)? {
    var (entity, name, isRelationship) = (entity, property, false)
    for mapping in mappings {
      guard let match = mapping.match(ofSource: entity) else { return nil }
      if let attribute = match.attributes.first(where: { $0.source == name }) {
        name = attribute.destination
      } else if let relationship = match.relationships.first(where: { $0.source == name }) {
        name = relationship.destination
        isRelationship = true
      } else {
        return nil
      }
      entity = match.destination
    }
    return (name, isRelationship, false)
  }

  @Test("There are such stores")
  func count() {
    print("journeys: \(Self.journeys.count) over \(Set(Self.journeys.map(\.store)).count) stores")
    #expect(Self.journeys.count > 10)
  }
}
