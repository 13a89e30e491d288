// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Testing

@testable import CoreData
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
    for sample in SampleValues.samples(count: 20, seed: 7) { first.insert(sample) }
    try first.save()
    // Another context, whose models have the values of the store.
    context = ModelContext(container)
    samples = try context.fetch(FetchDescriptor<Sample>(sortBy: [SortDescriptor(\.position)]))
    identifiers = samples.map(\.persistentModelID)
  }

  private static let count = TortureSize.number("PREDICATES", 1_000, full: 10_000)

  @Test("A fetch selects the models for which the predicate holds in memory")
  func fetches() throws {
    var exact = 0
    var failures: [String] = []
    for seed in 0..<Self.count {
      var generator = PredicateGenerator(seed: UInt64(seed), identifiers: identifiers)
      let predicate = generator.predicate()
      let expected = try samples.filter { try predicate.evaluate($0) }.map(\.position)
      let translated = try PredicateTranslator(context.core).translate(predicate)
      if translated.isExact { exact += 1 }
      let found = try context.fetch(FetchDescriptor(predicate: predicate)).map(\.position).sorted()
      if found != expected { failures.append("\(seed): \(describe(translated, found, expected))") }
      guard seed % 5 == 0 else { continue }
      let rows = try samples.filter { sample in
        let row = try #require(sample.storage.row as ModelRow?)
        return try translated.predicate.checkedEvaluate(with: row)
      }.map(\.position)
      if translated.isExact ? rows != expected : !Set(rows).isSuperset(of: expected) {
        failures.append("\(seed), in memory: \(describe(translated, rows, expected))")
      }
    }
    #expect(failures.isEmpty, "\(failures.count) differences:\n\(failures.prefix(10).joined(separator: "\n"))")
    #expect(exact > Self.count * 3 / 4)
  }

  @Test("Unsaved changes are selected like saved ones")
  func unsavedChanges() throws {
    let changed = ModelContext(container)
    let models = try changed.fetch(FetchDescriptor<Sample>(sortBy: [SortDescriptor(\.position)]))
    let values = SampleValues.samples(count: models.count, seed: 11)
    for (model, other) in zip(models, values) where model.position % 2 == 0 {
      (model.name, model.note, model.number, model.count) = (other.name, other.note, other.number, other.count)
      (model.real, model.spot, model.rank, model.isOn) = (other.real, other.spot, other.rank, other.isOn)
    }
    var failures: [String] = []
    for seed in 0..<(Self.count / 10) {
      // As in Core Data, the values of other models are those of the store.
      var generator = PredicateGenerator(
        seed: UInt64(seed), identifiers: identifiers, usesRelationships: false)
      let predicate = generator.predicate()
      let expected = try models.filter { try predicate.evaluate($0) }.map(\.position)
      let found = try changed.fetch(FetchDescriptor(predicate: predicate)).map(\.position).sorted()
      let translated = try PredicateTranslator(changed.core).translate(predicate)
      if found != expected { failures.append("\(seed): \(describe(translated, found, expected))") }
    }
    #expect(failures.isEmpty, "\(failures.count) differences:\n\(failures.prefix(10).joined(separator: "\n"))")
  }

  private func describe(_ translated: TranslatedPredicate, _ found: [Int], _ expected: [Int]) -> String {
    """
    found \(found), expected \(expected), \(translated.isExact ? "exact" : "\(translated.reasons)"): \
    \(translated.predicate.format)
    """
  }
}
