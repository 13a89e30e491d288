// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Testing

@testable import CoreDataPredicates

@Suite("Exact sums of doubles")
struct ExactSumTests {
  /// Returns the sum by another algorithm: partial sums that do not overlap (Shewchuk), for sums in the normal range.
  private func reference(_ values: [Double]) -> Double {
    var partials: [Double] = []
    for value in values {
      var rest = value
      var kept: [Double] = []
      for partial in partials {
        let (large, small) = abs(rest) < abs(partial) ? (partial, rest) : (rest, partial)
        let total = large + small
        let error = small - (total - large)
        if error != 0 { kept.append(error) }
        rest = total
      }
      partials = kept + [rest]
    }
    // Add from the greatest on, until an addition rounds; then a tie depends on the sign of the next partial.
    guard var total = partials.popLast() else { return 0 }
    while let next = partials.popLast() {
      let before = total
      total = before + next
      let error = next - (total - before)
      if error == 0 { continue }
      if let last = partials.last, (error < 0) == (last < 0) {
        let rounded = total + error * 2
        if rounded - total == error * 2 { total = rounded }
      }
      break
    }
    return total
  }

  @Test("The sum is that of exact arithmetic, in every order")
  func random() {
    var random = SeededGenerator(seed: 20)
    for _ in 0..<2_000 {
      let span = Int.random(in: 0...600, using: &random)
      let values = (0..<Int.random(in: 0...40, using: &random)).flatMap { _ -> [Double] in
        let value = Double.random(in: -1...1, using: &random)
        let scaled = value * Double(sign: .plus, exponent: Int.random(in: -span...span, using: &random), significand: 1)
        // Numbers that cancel each other leave those far below.
        return Bool.random(using: &random) ? [scaled] : [scaled, -scaled, -scaled * 0.5]
      }
      let sum = ExactSum.of(values)
      #expect(sum == reference(values))
      #expect(sum == ExactSum.of(values.shuffled(using: &random)))
      #expect(-sum == ExactSum.of(values.map(-)))
    }
  }

  private static let least = Double.leastNonzeroMagnitude
  private static let greatest = Double.greatestFiniteMagnitude

  private static let edgeCases: [(values: [Double], sum: Double)] = [
    ([], 0), ([1e16, 1, -1e16, 1, 0.1, 0.2, 0.3], 2.6), ([1e308, 1e308, -1e308], 1e308), ([1e308, 1e308], .infinity),
    ([-1e308, -1e308], -.infinity), ([.infinity, 1], .infinity), ([-.infinity, 1], -.infinity),
    ([least, least], 0x1p-1073), ([.leastNormalMagnitude, -least], Double.leastNormalMagnitude.nextDown),
    ([greatest, -greatest, least], least),
    // Ties go to the even double, unless anything lies beyond.
    ([0x1p53, 1], 9_007_199_254_740_992), ([0x1p53, 1, 1e-300], 9_007_199_254_740_994),
    ([0x1p53, 1, -1e-300], 9_007_199_254_740_992), ([9_007_199_254_740_994, 1], 9_007_199_254_740_996),
    ([-0x1p53, -1, -1e-300], -9_007_199_254_740_994), ([-0.0, -0.0], 0),
  ]

  @Test("Sums at the edges of doubles", arguments: edgeCases)
  func edges(values: [Double], sum: Double) {
    #expect(ExactSum.of(values) == sum && ExactSum.of(values.reversed()) == sum)
  }

  @Test("Infinities of both signs, and NaN, have no sum")
  func notANumber() {
    #expect(ExactSum.of([.infinity, -.infinity]).isNaN && ExactSum.of([1, .nan]).isNaN)
  }

  @Test("Integers are added exactly, and a sum goes on after its value was read")
  func integers() {
    let total = ExactSum.of { sum in
      sum.add(Int64.max)
      #expect(sum.value == 0x1p63)
      sum.add(Int64.min)
      #expect(sum.value == -1)
      sum.add(Int64(-9_007_199_254_740_993))
      sum.add(0.5)
    }
    #expect(total == -9_007_199_254_740_994)
  }
}
