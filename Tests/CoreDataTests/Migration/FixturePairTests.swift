// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Every version of every model among the fixtures, migrated to every other version of it with data made up for the purpose.
///
/// `COREDATA_PAIRS=all` runs all pairs, `COREDATA_PAIRS=history` also those of earlier states of the projects; else a part.
@Suite("Pairs of versions of real models", .enabled(if: Fixtures.isPresent, "the fixtures are not here"))
struct FixturePairTests {
  struct Version: Sendable {
    let name: String
    let document: ModelDocument
    let hashes: [String: Data]
  }

  /// All versions of one model, each once, and the pairs to be migrated: source and destinations by position.
  struct Family: CustomStringConvertible, Sendable {
    let name: String
    var versions: [Version] = []
    var pairs: [Int: [Int]] = [:]

    var description: String { name }
    var pairCount: Int { pairs.values.reduce(0) { $0 + $1.count } }
  }

  private static let extent = ProcessInfo.processInfo.environment["COREDATA_PAIRS"]

  static let families: [Family] = {
    var found: [String: Family] = [:]
    for bundle in Fixtures.modelBundles + Fixtures.compiledBundles {
      // Models that cannot be read are counted by the tests of model files.
      guard let versions = try? NSManagedObjectModel.versions(contentsOf: bundle) else { continue }
      let isHistory = Fixtures.name(of: bundle).contains("_history/") || Fixtures.name(of: bundle).contains("_snap/")
      let name = extent == "history" && isHistory ? place(of: bundle) : Fixtures.name(of: bundle)
      var family = found[name] ?? Family(name: name)
      for (name, model) in versions {
        let hashes = model.entityVersionHashesByName
        guard !hashes.isEmpty, !family.versions.contains(where: { $0.hashes == hashes }) else { continue }
        family.versions.append(Version(name: name, document: model.document, hashes: hashes))
      }
      found[name] = family
    }
    var seen: Set<[[String: Data]]> = []
    var result: [Family] = []
    for var family in found.values.sorted(by: { $0.name < $1.name }) {
      for source in family.versions.indices {
        family.pairs[source] = family.versions.indices.filter { destination in
          source != destination
            && seen.insert([family.versions[source].hashes, family.versions[destination].hashes]).inserted
        }
      }
      if family.pairCount > 0 { result.append(family) }
    }
    return extent == nil ? reduced(result) : result
  }()

  /// The place of a model in its project, whatever state of the project it is from.
  private static func place(of bundle: URL) -> String {
    var parts = Fixtures.name(of: bundle).split(separator: "/").map(String.init)
    if let position = parts.firstIndex(where: { $0 == "_history" || $0 == "_snap" }), position + 1 < parts.count {
      parts.removeSubrange(position...(position + 1))
    }
    return parts.joined(separator: "/")
  }

  /// One pair of each family, in one direction or the other.
  private static func reduced(_ families: [Family]) -> [Family] {
    families.enumerated().map { number, family in
      var family = family
      let sources = family.pairs.filter { !$0.value.isEmpty }.keys.sorted()
      let source = sources[number % sources.count]
      let destinations = family.pairs[source] ?? []
      family.pairs = [source: [destinations[number % destinations.count]]]
      return family
    }
  }

  @Test("What a migration leaves is what the two models say, in a store like a new one", arguments: families)
  func migrate(_ family: Family) throws {
    var outcomes = PairOutcomes()
    for (source, destinations) in family.pairs.sorted(by: { $0.key < $1.key }) where !destinations.isEmpty {
      let source = family.versions[source]
      let stores = FilledStores(source.document)
      for destination in destinations.map({ family.versions[$0] }) {
        let place = "\(family.name): \(source.name) -> \(destination.name)"
        if Self.extent != nil { print("at \(place)") }
        do {
          outcomes.add(
            try FixturePair(stores: stores, old: source.document, new: destination.document, place: place).run())
        } catch {
          Issue.record("\(place): \(error)")
        }
      }
    }
    for line in outcomes.lines { print("pair \(line)") }
  }

  @Test("There are such pairs")
  func count() {
    print("pairs: \(Self.families.reduce(0) { $0 + $1.pairCount }) in \(Self.families.count) families")
    #expect(Self.families.count > 10)
  }
}

/// What became of pairs, counted.
private struct PairOutcomes {
  private var counts: [String: Int] = [:]

  mutating func add(_ outcomes: [String]) {
    for outcome in outcomes { counts[outcome, default: 0] += 1 }
  }

  var lines: [String] { counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" } }
}

/// Stores of one version, filled once for each kind of filling.
private final class FilledStores {
  private let document: ModelDocument
  private var known: [String: (store: TemporaryStore, image: StoreImage)] = [:]

  init(_ document: ModelDocument) { self.document = document }

  func filled(_ kind: ModelFilling.Kind, without leftOut: Set<String>) throws -> (
    store: TemporaryStore, image: StoreImage
  ) {
    let key = "\(kind) \(leftOut.sorted())"
    if let store = known[key] { return store }
    let store = try TemporaryStore()
    var filling = ModelFilling(document, kind, without: leftOut)
    try filling.fill(try store.context(try ModelFilling.lenient(document)))
    try store.close()
    let image = try StoreImage(try store.context(try NSManagedObjectModel(document: document)), document)
    try store.close()
    known[key] = (store, image)
    return (store, image)
  }
}

/// One version to another.
private struct FixturePair {
  let stores: FilledStores
  let old: ModelDocument
  let new: ModelDocument
  let place: String

  /// - Returns: what became of it, in words.
  func run() throws -> [String] {
    do {
      _ = try NSMappingModel.inferredMappingModel(
        forSourceModel: NSManagedObjectModel(document: old), destinationModel: NSManagedObjectModel(document: new))
    } catch let error as NSError {
      #expect(error.code == NSInferredMappingModelError)
      #expect(error.userInfo["entity"] is String, "\(place)")
      #expect(error.localizedRecoverySuggestion?.isEmpty == false)
      return ["refused"] + kinds(of: error)
    }
    var outcomes: [String] = []
    var leftOut: Set<String> = []
    for kind in ModelFilling.Kind.allCases {
      let (source, before) = try stores.filled(kind, without: leftOut)
      let reference = MigrationReference(from: old, to: new)
      let (expected, obstacles) = reference.expected(after: before)
      try migrate(source, before, expected, obstacles, reference, kind)
      if obstacles.isEmpty {
        return outcomes + ["migrated with \(kind) data", "objects: \(before.objects.isEmpty ? 0 : 1)"]
      }
      for case .abstractRows(let entity) in obstacles {
        leftOut.formUnion(reference.sources(of: entity))
      }
      outcomes += Set(obstacles.map { "\(kind) data refused: \(String(describing: $0).prefix { $0 != "(" })" })
    }
    return outcomes + ["never migrated"]
  }

  private func kinds(of error: NSError) -> Set<String> {
    let errors = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
    return Set(
      errors.map { error in
        let words = (error.localizedFailureReason ?? "").split(separator: "'", omittingEmptySubsequences: false)
        return "reason: " + words.enumerated().map { $0.offset.isMultiple(of: 2) ? String($0.element) : "…" }.joined()
      })
  }

  private func migrate(
    _ source: TemporaryStore, _ before: StoreImage, _ expected: StoreImage, _ obstacles: [MigrationReference.Obstacle],
    _ reference: MigrationReference, _ kind: ModelFilling.Kind
  ) throws {
    let copy = try TemporaryStore()
    try StoreFiles.copy(from: source.url, to: copy.url)
    let model = try NSManagedObjectModel(document: new)
    let context: NSManagedObjectContext
    do {
      context = try copy.context(
        model,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.allowsLoss: true,
        ])
    } catch let error as NSError {
      #expect(
        !obstacles.isEmpty, "\(place), \(kind): refused: \(error.code) \(error.localizedFailureReason ?? "\(error)")")
      #expect(error.userInfo["entity"] is String)
      let again = try StoreImage(try copy.context(try NSManagedObjectModel(document: old)), old)
      #expect(again == before, "\(place): a refused migration has changed the store")
      return
    }
    let after = try StoreImage(context, new)
    try copy.close()
    let distances = reference.distances(from: before, to: after)
    let wanted = distances.isEmpty ? expected : reference.expected(after: before.moved(distances, in: old)).image
    let differences = after.differences(from: wanted)
    #expect(
      differences.isEmpty && obstacles.isEmpty,
      "\(place), \(kind): obstacles \(obstacles), \(differences.prefix(8).joined(separator: "; "))")
    try StoreChecks.check(copy.url, model)
    try StoreChecks.checkJoins(copy.url, model)
    try StoreChecks.checkFiles(copy.url, model)
    try StoreChecks.checkLikeNew(copy.url, model)
  }
}
