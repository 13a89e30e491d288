// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A 128-bit hash that is the same in every process. It detects mistakes, not forgery.
package struct ContentHash: Hashable, Sendable {
  private var first: UInt64
  private var second: UInt64

  /// Begins a hash.
  package init(seed: UInt64 = 0) { (first, second) = (0x9E37_79B9_7F4A_7C15 ^ seed, 0xC2B2_AE3D_27D4_EB4F &+ seed) }

  private init(_ first: UInt64, _ second: UInt64) { (self.first, self.second) = (first, second) }

  /// The hash of nothing, the neutral element of `+=`.
  package static var none: ContentHash { ContentHash(0, 0) }

  package mutating func add(_ word: UInt64) {
    let product = (first ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    first = product.high ^ product.low ^ second
    second = ((second << 23 | second >> 41) &+ word) &* 0xA076_1D64_78BD_642F
  }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    add(UInt64(bytes.count))
    var offset = 0
    while offset + 8 <= bytes.count {
      add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    if offset == bytes.count { return }
    var last: UInt64 = 0
    for (position, byte) in bytes[offset...].enumerated() { last |= UInt64(byte) << UInt64(position * 8) }
    add(last)
  }

  package mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  package mutating func add(_ hash: ContentHash) {
    add(hash.first)
    add(hash.second)
  }

  /// Adds another hash. The order of additions does not matter.
  package static func += (sum: inout ContentHash, hash: ContentHash) {
    sum.first &+= mixed(hash.first)
    sum.second &+= mixed(hash.second)
  }

  private static func mixed(_ word: UInt64) -> UInt64 {
    let once = (word ^ (word >> 32)) &* 0xE703_7ED1_A0B4_28DB
    return once ^ (once >> 29)
  }

  /// The half of the hash that represents it in other hashes.
  package var word: UInt64 { first }

  /// The hash as 32 hexadecimal digits.
  package var text: String {
    [first, second].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Parses the text of a hash; nil for any other text.
  package init?(text: String) {
    guard text.utf8.count == 32, let first = UInt64(text.prefix(16), radix: 16),
      let second = UInt64(text.dropFirst(16), radix: 16)
    else { return nil }
    self.init(first, second)
  }
}
