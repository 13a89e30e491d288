// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension SHA2 {
  /// SHA-512 of FIPS 180-4.
  package static func hash512(_ message: Data) -> Data {
    var state = SHA2Constants.start512
    var schedule = [UInt64](repeating: 0, count: 80)
    let bytes = padded(message, blockSize: 128)
    bytes.withUnsafeBytes { bytes in
      for block in stride(from: 0, to: bytes.count, by: 128) {
        for index in 0..<16 {
          schedule[index] = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: block + index * 8, as: UInt64.self))
        }
        compress(&state, &schedule)
      }
    }
    return state.reduce(into: Data()) { data, word in withUnsafeBytes(of: word.bigEndian) { data += $0 } }
  }

  private static func compress(_ state: inout [UInt64], _ schedule: inout [UInt64]) {
    func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word >> count | word << (64 - count) }
    for index in 16..<80 {
      let early = schedule[index - 15]
      let late = schedule[index - 2]
      let first = rotate(early, 1) ^ rotate(early, 8) ^ early >> 7
      let second = rotate(late, 19) ^ rotate(late, 61) ^ late >> 6
      schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<80 {
      let choice = (e & f) ^ (~e & g)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let mixed = rotate(e, 14) ^ rotate(e, 18) ^ rotate(e, 41)
      let first = h &+ mixed &+ choice &+ SHA2Constants.rounds512[index] &+ schedule[index]
      let second = (rotate(a, 28) ^ rotate(a, 34) ^ rotate(a, 39)) &+ majority
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }
}
