// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

enum Tone: String, Codable, CaseIterable {
  case bright, dark

  var label: String { self == .bright ? "b" : "d" }
}

enum Rank: Int, Codable {
  case low = 1
  case high = 5
}

struct Spot: Codable, Equatable {
  var city: String
  var height: Double
}

/// A model with an attribute of each kind.
@Model
final class Sample {
  var position = 0
  var name = ""
  var note: String?
  var number = 0
  var count: Int?
  /// Numbers near the limits, with which nothing is calculated.
  var big = 0
  var real = 0.0
  var ratio: Double?
  var small: Float = 0
  var price = Decimal(0)
  var isOn = false
  var isKnown: Bool?
  var start = Date(timeIntervalSinceReferenceDate: 0)
  var end: Date?
  var tone = Tone.bright
  var rank: Rank?
  var size = Size.small
  var spot = Spot(city: "", height: 0)
  var other: Spot?
  var code: UInt = 0
  var key: UUID?
  @Relationship(inverse: \Sample.children) var parent: Sample?
  var children: [Sample] = []

  init() {}
}

/// Numbers that depend on a seed alone.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

/// Values in which SQL and Swift could differ.
enum SampleValues {
  static let texts = [
    "", "a", "A", "b", "ab", "aB", "é", "e\u{301}", "e", "É", "ß", "ss", "K", "\u{212A}", "k", ";", "\u{37E}", "\n",
    "\r\n", "a\r\n", "a\n", "👩‍👩‍👧", "👩", "%", "_", "*", "?", "a?", "\\", "'", "a'b", "ﬁ", "fi", "\u{1E9B}\u{323}", "Å",
    "A\u{30A}", "\u{212B}", "가", "\u{1100}\u{1161}", "\u{10FFFF}", "\u{FFFD}", "10", "9", "1.0", " a",
  ]
  static let numbers = [-7, -2, -1, 0, 1, 2, 3, 5, 11]
  static let bigNumbers = [Int.min, Int.min + 1, -1, 0, 1, 1 << 53, (1 << 53) + 1, Int.max - 1, Int.max]
  static let reals: [Double] = [
    -1e300, -2.5, -1, -0.0, 0, 0.1, 0.2, 0.3, 0.1 + 0.2, 0.5, 1, 2, 2.5, 3, 1e300, .infinity, -.infinity,
    .leastNonzeroMagnitude,
  ]
  static let prices: [Decimal] =
    [-1, 0, 1, 2].map { $0 / 4 } + [Decimal(string: "0.1"), Decimal(string: "12.34")].compactMap { $0 }
  static let dates = [-1e11, -1e9, -0.5, 0, 0.001, 1, 1e9, 1e11].map { Date(timeIntervalSinceReferenceDate: $0) }
  static let codes: [UInt] = [0, 1, 7, UInt(Int.max), UInt(Int.max) + 1, .max]
  static let keys = (0..<3).compactMap { UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)") }

  /// Returns models that are not inserted, with equal values, missing ones, and relationships between them.
  static func samples(count: Int, seed: UInt64) -> [Sample] {
    var generator = SeededGenerator(seed: seed)
    func pick<Value>(_ values: [Value]) -> Value { values[Int(generator.next() % UInt64(values.count))] }
    func maybe<Value>(_ values: [Value]) -> Value? { generator.next() % 3 == 0 ? nil : pick(values) }
    let samples = (0..<count).map { position in
      let sample = Sample()
      sample.position = position
      (sample.name, sample.note) = (pick(texts), maybe(texts))
      (sample.number, sample.count, sample.big) = (pick(numbers), maybe(numbers), pick(bigNumbers))
      (sample.real, sample.ratio, sample.price) = (pick(reals), maybe(reals), pick(prices))
      sample.small = Float(pick([-1.5, 0, 0.1, 2]))
      (sample.isOn, sample.isKnown) = (pick([true, false]), maybe([true, false]))
      (sample.start, sample.end) = (pick(dates), maybe(dates))
      (sample.tone, sample.rank, sample.size) = (pick(Tone.allCases), maybe([.low, .high]), pick([.small, .large]))
      sample.spot = Spot(city: pick(texts), height: pick(reals.filter(\.isFinite)))
      sample.other = maybe([Spot(city: pick(texts), height: 1)])
      (sample.code, sample.key) = (pick(codes), maybe(keys))
      return sample
    }
    for (position, sample) in samples.enumerated() where position > 0 && generator.next() % 4 > 0 {
      sample.parent = samples[Int(generator.next() % UInt64(position))]
    }
    return samples
  }
}
