// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension SHA2 {
  /// SHA-256 of FIPS 180-4.
  package static func hash256(_ message: Data) -> Data {
    var state = SHA2Constants.start256
    var schedule = [UInt32](repeating: 0, count: 64)
    let bytes = padded(message, blockSize: 64)
    bytes.withUnsafeBytes { bytes in
      for block in stride(from: 0, to: bytes.count, by: 64) {
        for index in 0..<16 {
          schedule[index] = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: block + index * 4, as: UInt32.self))
        }
        compress(&state, &schedule)
      }
    }
    return state.reduce(into: Data()) { data, word in withUnsafeBytes(of: word.bigEndian) { data += $0 } }
  }

  private static func compress(_ state: inout [UInt32], _ schedule: inout [UInt32]) {
    func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
    for index in 16..<64 {
      let early = schedule[index - 15]
      let late = schedule[index - 2]
      let first = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3
      let second = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10
      schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let choice = (e & f) ^ (~e & g)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let mixed = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let first = h &+ mixed &+ choice &+ SHA2Constants.rounds256[index] &+ schedule[index]
      let second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ majority
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }
}
