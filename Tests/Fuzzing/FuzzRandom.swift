// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The random choices of an input. Adjacent seeds give unrelated inputs.
struct FuzzRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64, kind: FuzzKind) {
    state = Self.mix(seed &+ 0x9E37_79B9_7F4A_7C15)
    for byte in kind.rawValue.utf8 { state = Self.mix(state ^ UInt64(byte)) }
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  private static func mix(_ word: UInt64) -> UInt64 {
    var word = word
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  /// Returns a number below `count`, or 0 if `count` is not positive.
  mutating func below(_ count: Int) -> Int { count > 0 ? Int(next() % UInt64(count)) : 0 }

  /// Returns true once in `count` times.
  mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

  mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

  /// Returns a number from 1 to `limit`, small ones more often.
  mutating func small(_ limit: Int) -> Int {
    var count = 1
    while count < limit, oneIn(2) { count += 1 }
    return count
  }
}
