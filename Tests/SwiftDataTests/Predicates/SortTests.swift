// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@testable import SwiftData

private struct Leg: Codable {
  var distance: Double
  var note: String?

  var shortNote: String? { nil }
}

@Model
private final class Voyage {
  var leg: Leg
  var other: Leg?

  init(_ leg: Leg) { (self.leg, other) = (leg, leg) }
}

@Suite("Sort descriptors")
struct SortTests {
  private let context: ModelContext
  private let samples: [Sample]

  init() throws {
    let container = try ModelContainer(for: Sample.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    context = ModelContext(container)
    for sample in SampleValues.samples(count: 60, seed: 3) {
      // A store orders Unicode scalars, Swift those of composed strings.
      sample.name = sample.name.precomposedStringWithCanonicalMapping
      sample.note = sample.note?.precomposedStringWithCanonicalMapping
      context.insert(sample)
    }
    try context.save()
    samples = try context.fetch(FetchDescriptor<Sample>())
  }

  /// Compares the orders of a fetch and of Foundation, where equal values have no order.
  private func check<Value: Equatable>(_ descriptor: SortDescriptor<Sample>, _ value: (Sample) -> Value) throws {
    let found = try context.fetch(FetchDescriptor(sortBy: [descriptor])).map(value)
    #expect(found == samples.sorted(using: descriptor).map(value), "\(descriptor.order)")
  }

  @Test("Numbers and dates are in the order of Foundation, nil first", arguments: [SortOrder.forward, .reverse])
  func numbers(_ order: SortOrder) throws {
    try check(SortDescriptor(\.number, order: order)) { $0.number }
    try check(SortDescriptor(\.big, order: order)) { $0.big }
    try check(SortDescriptor(\.count, order: order)) { $0.count }
    try check(SortDescriptor(\.real, order: order)) { $0.real }
    try check(SortDescriptor(\.ratio, order: order)) { $0.ratio }
    try check(SortDescriptor(\.price, order: order)) { $0.price }
    try check(SortDescriptor(\.small, order: order)) { $0.small }
    try check(SortDescriptor(\.end, order: order)) { $0.end }
    try check(SortDescriptor(\.key, order: order)) { $0.key }
  }

  @Test("Strings are in the order of Foundation", arguments: [SortOrder.forward, .reverse])
  func texts(_ order: SortOrder) throws {
    try check(SortDescriptor(\.name, order: order)) { $0.name }
    try check(SortDescriptor(\.note, order: order)) { $0.note }
    try check(SortDescriptor(\.name, comparator: .lexical, order: order)) { $0.name }
  }

  @Test("Key paths lead through relationships and composites", arguments: [SortOrder.forward, .reverse])
  func paths(_ order: SortOrder) throws {
    try check(SortDescriptor(\.parent?.number, order: order)) { $0.parent?.number }
    try check(SortDescriptor(\.parent?.parent?.big, order: order)) { $0.parent?.parent?.big }
    try check(SortDescriptor(\.spot.height, order: order)) { $0.spot.height }
  }

  @Test("Key paths lead to the optional parts of composites")
  func optionalParts() throws {
    let container = try ModelContainer(for: Voyage.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    for note in ["c", nil, "a", "b"] { context.insert(Voyage(Leg(distance: 1, note: note))) }
    try context.save()
    func notes(_ descriptor: SortDescriptor<Voyage>) throws -> [String?] {
      try context.fetch(FetchDescriptor(sortBy: [descriptor])).map(\.leg.note)
    }
    #expect(try notes(SortDescriptor(\.leg.note)) == [nil, "a", "b", "c"])
    #expect(try notes(SortDescriptor(\.other?.note, order: .reverse)) == ["c", "b", "a", nil])
    #expect(throws: SwiftDataError.unsupportedSortDescriptor) { try notes(SortDescriptor(\.leg.shortNote)) }
  }

  @Test("What a store orders otherwise is refused by name")
  func refusals() throws {
    let error = try #require(throws: SwiftDataError.self) {
      try context.fetch(FetchDescriptor(sortBy: [SortDescriptor(\Sample.code)]))
    }
    #expect(error == .unsupportedSortDescriptor)
    #expect(error.explanation?.contains("code") == true)
    let computed = try #require(throws: SwiftDataError.self) {
      try context.fetch(FetchDescriptor(sortBy: [SortDescriptor(\Sample.name.count)]))
    }
    #expect(computed == .unsupportedSortDescriptor)
    let words = computed.explanation ?? ""
    #expect(words.hasPrefix("\\Sample.") && words.contains(" of Sample, which reads 'name',"), "\(words)")
    #expect(!words.contains("0x"), "\(words)")
  }

  @Test("The words of a key path have no addresses")
  func words() {
    #expect(!(\Sample.name.count as AnyKeyPath).words.contains("0x"))
    #expect((\Sample.name as AnyKeyPath).words.hasPrefix("\\Sample."))
  }
}
