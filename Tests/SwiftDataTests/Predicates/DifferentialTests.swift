// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

@testable import CoreData
import Testing

@testable import SwiftData

@Suite("Generated predicates")
struct DifferentialTests {
  private let container: ModelContainer
  private let context: ModelContext
  private let samples: [Sample]
  private let identifiers: [PersistentIdentifier]

  init() throws {
    container = try ModelContainer(for: Sample.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let first = ModelContext(container)
    for sample in SampleValues.samples(count: 24, seed: 7) { first.insert(sample) }
    try first.save()
    // Another context, whose models have the values of the store.
    context = ModelContext(container)
    samples = try context.fetch(FetchDescriptor<Sample>())
    identifiers = samples.map(\.persistentModelID)
  }

  private static let count = ProcessInfo.processInfo.environment["PREDICATES"].flatMap(Int.init) ?? 10_000

  @Test("A fetch selects the models for which the predicate holds in memory")
  func fetches() throws {
    var exact = 0
    var failures = 0
    for seed in 0..<Self.count {
      var generator = PredicateGenerator(seed: UInt64(seed), identifiers: identifiers)
      let predicate = generator.predicate()
      let expected = try samples.filter { try predicate.evaluate($0) }.map(\.persistentModelID)
      let translated = try PredicateTranslator(context.core).translate(predicate)
      if translated.isExact { exact += 1 }
      let found = try context.fetchIdentifiers(FetchDescriptor(predicate: predicate))
      if Set(found) != Set(expected) || found.count != expected.count {
        failures += 1
        if failures < 10 { Issue.record("\(seed): \(describe(predicate, translated, found, expected))") }
      }
      let rows = try samples.filter { sample in
        let row = try #require(sample.storage.row)
        return try translated.predicate.checkedEvaluate(with: row)
      }.map(\.persistentModelID)
      if translated.isExact ? rows != expected : !Set(rows).isSuperset(of: expected) {
        failures += 1
        if failures < 10 { Issue.record("in memory, \(seed): \(describe(predicate, translated, rows, expected))") }
      }
    }
    #expect(failures == 0)
    #expect(exact > Self.count / 2)
    print("\(exact) of \(Self.count) predicates are exact")
  }

  private func describe(
    _ predicate: Predicate<Sample>, _ translated: TranslatedPredicate, _ found: [PersistentIdentifier],
    _ expected: [PersistentIdentifier]
  ) -> String {
    let (found, expected) = (Set(found), Set(expected))
    let keys = { (ids: Set<PersistentIdentifier>) in ids.map(\.id.primaryKey).sorted().joined(separator: ",") }
    return """
      too many: \(keys(found.subtracting(expected))), too few: \(keys(expected.subtracting(found)))
      \(translated.isExact ? "exact" : "\(translated.reasons)") \(translated.predicate.format)
      """
  }
}
