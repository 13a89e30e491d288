// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The two hash functions of version hashes; the toolchain has no library for them.
///
/// They differ in the width of their words, the rounds and the rotations, and stand side by side instead of in one
/// generic function, which unoptimized builds would run ten times slower.
package enum SHA2 {
  /// The message with the end that FIPS 180-4 prescribes: a bit, zeros, and the length in bits.
  static func padded(_ message: Data, blockSize: Int) -> [UInt8] {
    var bytes = [UInt8](message)
    bytes.append(0x80)
    let lengthSize = blockSize / 8
    let rest = (bytes.count + lengthSize) % blockSize
    let zeros = (rest == 0 ? 0 : blockSize - rest) + lengthSize - 8
    bytes += [UInt8](repeating: 0, count: zeros)
    withUnsafeBytes(of: (UInt64(message.count) * 8).bigEndian) { bytes += $0 }
    return bytes
  }
}

/// The words that FIPS 180-4 derives from the roots of the first primes.
///
/// SHA-256 uses the first 32 of the 64 bits that SHA-512 uses, for its constants and its start alike.
enum SHA2Constants {
  static let start256 = start512.map { UInt32($0 >> 32) }
  static let rounds256 = rounds512.prefix(64).map { UInt32($0 >> 32) }
  static let start512 = primes(8).map { rootFraction(of: $0, power: 2) }
  static let rounds512 = primes(80).map { rootFraction(of: $0, power: 3) }

  private static func primes(_ count: Int) -> [UInt64] {
    var found: [UInt64] = []
    var candidate: UInt64 = 2
    while found.count < count {
      if !found.contains(where: { candidate % $0 == 0 }) { found.append(candidate) }
      candidate += 1
    }
    return found
  }

  /// The first 64 bits of the fraction of a prime's square or cube root, found bit by bit.
  private static func rootFraction(of prime: UInt64, power: Int) -> UInt64 {
    var whole: UInt64 = 1
    while (0..<power).reduce(1, { product, _ in product * (whole + 1) }) <= prime { whole += 1 }
    // The greatest n below 2^68 with n^power <= prime * 2^(64 * power).
    let limit = LongNumber([prime]).shifted(byWords: power)
    var root: UInt64 = 0
    for bit in (0..<64).reversed() {
      let candidate = root | 1 << UInt64(bit)
      let number = LongNumber([candidate, whole])
      let product = (1..<power).reduce(number) { product, _ in product.times(number) }
      if product <= limit { root = candidate }
    }
    return root
  }
}

/// A natural number of several 64-bit words, the lowest first; enough arithmetic for `rootFraction`.
private struct LongNumber: Comparable {
  var words: [UInt64]

  init(_ words: [UInt64]) { self.words = words }

  func shifted(byWords count: Int) -> LongNumber {
    LongNumber([UInt64](repeating: 0, count: count) + words)
  }

  func times(_ other: LongNumber) -> LongNumber {
    var result = [UInt64](repeating: 0, count: words.count + other.words.count)
    for (i, left) in words.enumerated() {
      var carry: UInt64 = 0
      for (j, right) in other.words.enumerated() {
        let product = left.multipliedFullWidth(by: right)
        let (sum, overflow) = result[i + j].addingReportingOverflow(product.low)
        let (total, secondOverflow) = sum.addingReportingOverflow(carry)
        result[i + j] = total
        carry = product.high + (overflow ? 1 : 0) + (secondOverflow ? 1 : 0)
      }
      result[i + other.words.count] = carry
    }
    return LongNumber(result)
  }

  static func < (left: LongNumber, right: LongNumber) -> Bool {
    for index in (0..<max(left.words.count, right.words.count)).reversed() {
      let a = index < left.words.count ? left.words[index] : 0
      let b = index < right.words.count ? right.words[index] : 0
      if a != b { return a < b }
    }
    return false
  }
}
