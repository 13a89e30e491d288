// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The sum of doubles and integers, rounded once: it does not depend on the order of the addends.
///
/// Adding doubles one after the other rounds each time, so the result depends on the order of the rows, which changes
/// with an index, a query plan or an update. This is a fixed-point number that is wide enough for all doubles.
package struct ExactSum {
  /// The number of words of memory that a sum needs. Zeroed memory is a sum of no numbers.
  package static let wordCount = digitCount + 2

  /// The number of digits with 32 bits. The lowest bit is worth 2^-1074, the least double, so that 2,098 bits hold any
  /// double; the others hold the carry.
  private static let digitCount = 68
  private static let pending = digitCount
  private static let specials = digitCount + 1
  /// The number of additions after which the digits, each of which has 31 bits for its carry, are normalized.
  private static let maxPending: Int64 = 1 << 30
  private static let lowest = -1074

  /// Values that have no place in the digits.
  private enum Special {
    static let infinity: Int64 = 1
    static let negativeInfinity: Int64 = 2
    static let notANumber: Int64 = 4
  }

  private let words: UnsafeMutablePointer<Int64>

  /// Continues the sum in some memory.
  ///
  /// - Parameter words: `wordCount` words, which must outlive the sum.
  package init(_ words: UnsafeMutablePointer<Int64>) { self.words = words }

  /// Returns the value of a sum that a body adds numbers to.
  package static func of(_ body: (ExactSum) throws -> Void) rethrows -> Double {
    try withUnsafeTemporaryAllocation(of: Int64.self, capacity: wordCount) { words in
      words.initialize(repeating: 0)
      let sum = ExactSum(words.baseAddress!)
      try body(sum)
      return sum.value
    }
  }

  /// Returns the sum of some doubles.
  package static func of(_ values: some Sequence<Double>) -> Double {
    of { sum in for value in values { sum.add(value) } }
  }

  package func add(_ value: Double) {
    let bits = value.bitPattern
    let exponent = Int(bits >> 52 & 0x7FF)
    var significand = bits & 0xF_FFFF_FFFF_FFFF
    if exponent == 0x7FF {
      words[Self.specials] |=
        significand != 0
        ? Special.notANumber : value < 0 ? Special.negativeInfinity : Special.infinity
      return
    }
    if exponent > 0 { significand |= 1 << 52 }
    let position = max(exponent, 1) - 1
    let (digit, shift) = (position >> 5, UInt64(position & 31))
    let parts = (
      Int64(significand << shift & 0xFFFF_FFFF), Int64(significand >> (32 - shift) & 0xFFFF_FFFF),
      Int64(significand >> (64 - shift))
    )
    if value.sign == .minus {
      words[digit] -= parts.0
      words[digit + 1] -= parts.1
      words[digit + 2] -= parts.2
    } else {
      words[digit] += parts.0
      words[digit + 1] += parts.1
      words[digit + 2] += parts.2
    }
    words[Self.pending] += 1
    if words[Self.pending] >= Self.maxPending { normalize() }
  }

  package func add(_ value: Int64) {
    // Each half is exact as a double.
    add(Double(value >> 32) * 0x1p32)
    add(Double(value & 0xFFFF_FFFF))
  }

  /// Carries, so that all digits but the highest are positive and have 32 bits.
  private func normalize() {
    var carry: Int64 = 0
    for digit in 0..<Self.digitCount - 1 {
      let total = words[digit] + carry
      words[digit] = total & 0xFFFF_FFFF
      carry = total >> 32
    }
    words[Self.digitCount - 1] += carry
    words[Self.pending] = 0
  }

  /// The double that is nearest to the sum; of two, the even one.
  package var value: Double {
    switch words[Self.specials] {
    case 0: break
    case Special.infinity: return .infinity
    case Special.negativeInfinity: return -.infinity
    default: return .nan
    }
    normalize()
    let isNegative = words[Self.digitCount - 1] < 0
    if isNegative { negate() }
    defer { if isNegative { negate() } }
    guard let highest = (0..<Self.digitCount).last(where: { words[$0] != 0 }) else { return 0 }
    func digit(_ position: Int) -> UInt64 { position < 0 ? 0 : UInt64(words[position]) }
    let top = digit(highest) << 32 | digit(highest - 1)
    let shift = top.leadingZeroBitCount
    let next = digit(highest - 2) << UInt64(shift)
    var significand = top << UInt64(shift) | next >> 32
    // A bit far below decides between two doubles that are equally near.
    let hasRest = next & 0xFFFF_FFFF != 0 || (0..<max(highest - 2, 0)).contains { words[$0] != 0 }
    if hasRest { significand |= 1 }
    return Double(
      sign: isNegative ? .minus : .plus, exponent: (highest - 1) * 32 - shift + Self.lowest,
      significand: Double(significand))
  }

  private func negate() {
    for digit in 0..<Self.digitCount { words[digit] = -words[digit] }
    normalize()
  }
}
