// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The two hash functions of version hashes; the toolchain has no library for them.
package enum SHA2 {
  /// SHA-256 of FIPS 180-4.
  package static func hash256(_ message: Data) -> Data {
    digest(message, state: Constants.start256, constants: Constants.rounds256, rotations: .sha256)
  }

  /// SHA-512 of FIPS 180-4.
  package static func hash512(_ message: Data) -> Data {
    digest(message, state: Constants.start512, constants: Constants.rounds512, rotations: .sha512)
  }

  /// The amounts by which a variant rotates and shifts.
  fileprivate struct Rotations<Word> {
    /// Rotations of the message schedule; the last of each is a shift.
    let schedule: [(Word, Word, Word)]
    /// Rotations of the rounds, for the words `a` and `e`.
    let round: [(Word, Word, Word)]
  }

  private static func digest<Word: FixedWidthInteger & UnsignedInteger>(
    _ message: Data, state start: [Word], constants: [Word], rotations: Rotations<Word>
  ) -> Data {
    let wordSize = Word.bitWidth / 8
    let blockSize = 16 * wordSize
    var bytes = [UInt8](message)
    bytes.append(0x80)
    while bytes.count % blockSize != blockSize - 2 * wordSize { bytes.append(0) }
    bytes += [UInt8](repeating: 0, count: 2 * wordSize - 8)
    withUnsafeBytes(of: (UInt64(message.count) * 8).bigEndian) { bytes += $0 }

    var state = start
    var schedule = [Word](repeating: 0, count: constants.count)
    for block in stride(from: 0, to: bytes.count, by: blockSize) {
      for index in 0..<16 {
        let at = block + index * wordSize
        schedule[index] = bytes[at..<at + wordSize].reduce(0) { $0 << 8 | Word($1) }
      }
      compress(&state, &schedule, constants: constants, rotations: rotations)
    }
    var result = Data()
    for word in state { withUnsafeBytes(of: word.bigEndian) { result.append(contentsOf: $0) } }
    return result
  }

  private static func compress<Word: FixedWidthInteger & UnsignedInteger>(
    _ state: inout [Word], _ schedule: inout [Word], constants: [Word], rotations: Rotations<Word>
  ) {
    func rotate(_ word: Word, _ count: Word) -> Word {
      word >> count | word << (Word(Word.bitWidth) - count)
    }
    func mix(_ word: Word, _ amounts: (Word, Word, Word)) -> Word {
      rotate(word, amounts.0) ^ rotate(word, amounts.1) ^ rotate(word, amounts.2)
    }
    func spread(_ word: Word, _ amounts: (Word, Word, Word)) -> Word {
      rotate(word, amounts.0) ^ rotate(word, amounts.1) ^ word >> amounts.2
    }

    for index in 16..<constants.count {
      schedule[index] =
        schedule[index - 16] &+ spread(schedule[index - 15], rotations.schedule[0])
        &+ schedule[index - 7] &+ spread(schedule[index - 2], rotations.schedule[1])
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in constants.indices {
      let choice = (e & f) ^ (~e & g)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let first = h &+ mix(e, rotations.round[1]) &+ choice &+ constants[index] &+ schedule[index]
      let second = mix(a, rotations.round[0]) &+ majority
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }
}

extension SHA2.Rotations<UInt32> {
  fileprivate static var sha256: Self {
    Self(schedule: [(7, 18, 3), (17, 19, 10)], round: [(2, 13, 22), (6, 11, 25)])
  }
}

extension SHA2.Rotations<UInt64> {
  fileprivate static var sha512: Self {
    Self(schedule: [(1, 8, 7), (19, 61, 6)], round: [(28, 34, 39), (14, 18, 41)])
  }
}

/// The words that FIPS 180-4 derives from the roots of the first primes.
///
/// SHA-256 uses the first 32 of the 64 bits that SHA-512 uses, for its constants and its start alike.
private enum Constants {
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
