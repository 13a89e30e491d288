// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@testable import SwiftData

@Suite("Predicates of fetches")
struct PredicateTests {
  private let context: ModelContext
  private let samples: [Sample]

  init() throws {
    let container = try ModelContainer(for: Sample.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    context = ModelContext(container)
    for sample in SampleValues.samples(count: 80, seed: 5) { context.insert(sample) }
    try context.save()
    samples = try context.fetch(FetchDescriptor<Sample>(sortBy: [SortDescriptor(\.position)]))
  }

  /// Compares a fetch with the evaluation in memory.
  ///
  /// - Parameters:
  ///   - isExact: whether the store is expected to evaluate the whole predicate.
  ///   - isSelective: whether some, but not all models are expected.
  private func check(
    _ predicate: Predicate<Sample>, isExact: Bool = true, isSelective: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let expected = try samples.filter { try predicate.evaluate($0) }.map(\.position)
    let found = try context.fetch(FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.position)]))
    #expect(found.map(\.position) == expected, sourceLocation: location)
    #expect(try context.fetchCount(FetchDescriptor(predicate: predicate)) == expected.count, sourceLocation: location)
    let translated = try PredicateTranslator(context.core).translate(predicate)
    #expect(translated.isExact == isExact, "\(translated.reasons)", sourceLocation: location)
    #expect(translated.reasons.isEmpty == isExact, sourceLocation: location)
    if isSelective { #expect(!expected.isEmpty && expected.count < samples.count, sourceLocation: location) }
  }

  @Test("nil equals nil alone, and differs from every value")
  func missingValues() throws {
    let text = samples.compactMap(\.note).first
    let none: String? = nil
    try check(#Predicate { $0.note == nil })
    try check(#Predicate { $0.note != nil })
    try check(#Predicate { $0.note == text })
    try check(#Predicate { $0.note != text })
    try check(#Predicate { $0.note == none })
    try check(#Predicate { ($0.count ?? 3) == 3 })
    try check(#Predicate { $0.count != nil && $0.count! > 1 })
    try check(#Predicate { if let count = $0.count { count > 1 } else { false } })
    try check(#Predicate { $0.isKnown != true })
  }

  @Test("Calculations and ranges are those of Swift")
  func numbers() throws {
    try check(#Predicate { $0.number / 2 == -1 || $0.number % 3 == 2 })
    try check(#Predicate { -$0.number * 2 + 1 > 4 })
    try check(#Predicate { $0.real / 2.0 > 0.2 })
    try check(#Predicate { $0.price * 2 > 1 })
    try check(#Predicate { (0...2).contains($0.number) })
    try check(#Predicate { (0..<2).contains($0.number) })
    try check(#Predicate { ($0.isOn ? $0.number : 0) > 1 })
    try check(#Predicate { $0.small * 2 > 1 }, isExact: false)
    try check(#Predicate { $0.real / $0.real == 1 }, isExact: false)
    let code: UInt = 7
    try check(#Predicate { $0.code == code })
    try check(#Predicate { $0.code > code }, isExact: false)
  }

  @Test("Strings are compared by characters")
  func texts() throws {
    let composed = "\u{E9}"
    let letter = "e"
    let list = ["a", "\u{E9}", "K"]
    try check(#Predicate { $0.name == composed })
    try check(#Predicate { $0.name < composed })
    try check(#Predicate { list.contains($0.name) })
    try check(#Predicate { $0.name.contains(letter) }, isSelective: false)
    try check(#Predicate { $0.name.starts(with: "a") })
    try check(#Predicate { $0.name.isEmpty })
    try check(#Predicate { $0.name.count > 1 })
    try check(#Predicate { $0.name.count == $0.number }, isExact: false)
    try check(#Predicate { $0.name.localizedStandardContains("E") })
    let same = ComparisonResult.orderedSame
    try check(#Predicate { $0.name.caseInsensitiveCompare("a") == same })
    #expect(samples.contains { $0.name == "e\u{301}" && !$0.name.contains("e" as Character) })
  }

  @Test("Enums and parts of structs have columns of their own")
  func parts() throws {
    let (tone, rank, size) = (Tone.dark, Rank.high, Size.large)
    let ranks = [Rank.low]
    try check(#Predicate { $0.tone == tone })
    try check(#Predicate { $0.tone.rawValue == "dark" })
    try check(#Predicate { $0.tone.label == "d" }, isExact: false)
    try check(#Predicate { $0.rank == rank })
    try check(#Predicate { $0.rank != rank })
    try check(#Predicate { ranks.contains($0.rank ?? rank) }, isSelective: false)
    try check(#Predicate { $0.size == size })
    try check(#Predicate { $0.spot.height > 0.1 })
    try check(#Predicate { $0.other?.city == "a" }, isSelective: false)
    try check(#Predicate { $0.other == nil })
  }

  @Test("Conditions lead through relationships")
  func relationships() throws {
    let id = try #require(samples.first { !$0.children.isEmpty }).persistentModelID
    let ids: Set = [id, samples[40].persistentModelID]
    try check(#Predicate { $0.persistentModelID == id })
    try check(#Predicate { $0.id == id })
    try check(#Predicate { ids.contains($0.persistentModelID) })
    try check(#Predicate { $0.parent?.persistentModelID == id })
    try check(#Predicate { $0.parent == nil })
    try check(#Predicate { $0.parent?.name != "a" }, isSelective: false)
    try check(#Predicate { $0.parent?.parent?.isOn == true })
    try check(#Predicate { $0.children.contains { $0.number > 2 } })
    try check(#Predicate { model in model.children.contains { $0.number > model.number } })
    try check(#Predicate { $0.children.allSatisfy { $0.isOn } })
    try check(#Predicate { $0.children.filter { $0.isOn }.count == 1 })
    try check(#Predicate { $0.children.isEmpty })
    try check(#Predicate { $0.parent?.children.contains { $0.number > 2 } ?? true })
    try check(#Predicate { $0.children.contains { $0.children.contains { $0.isOn } } })
  }

  @Test("The store narrows down what is evaluated in memory")
  func candidates() throws {
    let predicate = #Predicate<Sample> { $0.number > 2 && $0.tone.label == "d" }
    try check(predicate, isExact: false)
    let translated = try PredicateTranslator(context.core).translate(predicate)
    #expect(translated.predicate == NSPredicate(format: "number > 2"))
    #expect(translated.reasons.count == 1 && translated.reasons[0].contains("Tone"))
    let negated = #Predicate<Sample> { !($0.number > 2 && $0.tone.label == "d") }
    try check(negated, isExact: false)
    var descriptor = FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.position)])
    (descriptor.fetchOffset, descriptor.fetchLimit) = (1, 2)
    let all = try samples.filter { try predicate.evaluate($0) }.map(\.position)
    #expect(try context.fetch(descriptor).map(\.position) == Array(all.dropFirst().prefix(2)))
  }

  @Test("An expression of an unknown type is refused by name")
  func unknownExpressions() throws {
    let predicate = Predicate<Sample> { model in
      UnknownExpression(model: PredicateExpressions.build_KeyPath(root: model, keyPath: \.isOn))
    }
    let error = try #require(throws: SwiftDataError.self) {
      try context.fetch(FetchDescriptor(predicate: predicate))
    }
    #expect(error == .unsupportedPredicate)
    #expect(error.explanation?.contains("UnknownExpression") == true)
  }
}

private struct UnknownExpression<Model: StandardPredicateExpression<Bool>>: StandardPredicateExpression {
  let model: Model
  func evaluate(_ bindings: PredicateBindings) throws -> Bool { try model.evaluate(bindings) }
}
