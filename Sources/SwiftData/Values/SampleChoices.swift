// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Which of several samples each value gets, so that a decoder that checks its values accepts them.
final class SampleChoices {
  /// The index that each choice of an attempt takes; choices beyond them take the first sample.
  private var picks: [Int]
  /// The number of samples at each choice that the attempt has made.
  private var counts: [Int] = []
  /// The index that all choices take instead of the first.
  private let common: Int

  private init(picks: [Int] = [], common: Int = 0) { (self.picks, self.common) = (picks, common) }

  /// Runs attempts until one succeeds.
  ///
  /// - Throws: the first attempt's error if none succeeds, and an `UnstorableType` at once, which no sample can change.
  static func search(_ attempt: (SampleChoices) throws -> Void) throws {
    var first: (any Error)?
    func succeeds(_ choices: SampleChoices) throws -> Bool {
      do {
        try attempt(choices)
        return true
      } catch let error as UnstorableType {
        throw error
      } catch {
        if first == nil { first = error }
        return false
      }
    }
    // Most types that check their values have one kind of them.
    for common in 0..<texts.count where try succeeds(SampleChoices(common: common)) { return }
    var choices = SampleChoices()
    for _ in 0..<1_000 {
      if try succeeds(choices) { return }
      guard let next = choices.next else { break }
      choices = next
    }
    if let first { throw first }
  }

  /// The choices of the next attempt: the last choice takes its next sample. Nil if all have been tried.
  private var next: SampleChoices? {
    var picks = counts.indices.map { $0 < self.picks.count ? self.picks[$0] : 0 }
    while let last = picks.popLast() {
      if last + 1 < counts[picks.count] { return SampleChoices(picks: picks + [last + 1]) }
    }
    return nil
  }

  /// Returns an index below a number.
  func choose(among count: Int) -> Int {
    let place = counts.count
    // A type that contains a list of itself would never end.
    if place >= 100 { return 0 }
    counts.append(count)
    return place < picks.count ? picks[place] : min(common, count - 1)
  }

  /// Returns a sample of a type.
  func value(of type: any PlainStorable.Type) -> any PlainStorable { sample(type) }

  private func sample<Value: PlainStorable>(_ type: Value.Type) -> Value {
    let samples = [Value.sample] + Self.further(type)
    return samples[choose(among: samples.count)]
  }

  private static let uuid = "00000000-0000-4000-8000-000000000000"
  private static let texts = [
    "", "0", "a", uuid, "https://example.com/a", "2001-01-01T00:00:00Z", "2001-01-01", "12:00", "a@example.com",
    "en_US", "#000000", "+15550100", "1.0.0", "A", "USD", "aaaaaaaaaaaa", "GMT",
  ]

  /// Returns the samples of a type after the first.
  private static func further<Value: PlainStorable>(_ type: Value.Type) -> [Value] {
    let samples: [any PlainStorable] =
      switch type {
      case is String.Type: Array(texts.dropFirst())
      case is Double.Type: [1.0, 0.5, 100.0]
      case is Float.Type: [Float(1), Float(0.5), Float(100)]
      case is Decimal.Type: [Decimal(1), Decimal(100)]
      case is Bool.Type: [true]
      case is Date.Type: [Date(timeIntervalSinceReferenceDate: 86_400 * 365 * 25), Date.distantFuture]
      case is Data.Type: [Data([0]), Data(repeating: 1, count: 16), Data(repeating: 1, count: 32)]
      case is UUID.Type: UUID(uuidString: uuid).map { [$0] } ?? []
      case is URL.Type: URL(string: "https://example.com/a").map { [$0] } ?? []
      // Integers of all widths.
      default: [1, 10, 100].compactMap { Value(stored: NSNumber(value: $0)) }
      }
    return samples.compactMap { $0 as? Value }
  }
}
