// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The two hash functions of version hashes, for which the toolchain has no library.
///
/// They differ in word size, rounds and rotations. They are not written as one generic function, which would be ten
/// times slower in unoptimized builds. Pointers and masking shifts are for these builds, too.
package enum SHA2 {
  /// Returns the message with the padding of FIPS 180-4: a bit, zeros, and the length in bits.
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

/// The constants of FIPS 180-4: the first 64 bits of the fractional parts of square and cube roots of the first primes.
///
/// SHA-256 uses the upper 32 bits of the constants of SHA-512.
enum SHA2Constants {
  static let start256 = start512.map { UInt32($0 >> 32) }
  static let rounds256 = rounds512.prefix(64).map { UInt32($0 >> 32) }
  static let start512: [UInt64] = [
    0x6a09e667_f3bcc908, 0xbb67ae85_84caa73b, 0x3c6ef372_fe94f82b, 0xa54ff53a_5f1d36f1,
    0x510e527f_ade682d1, 0x9b05688c_2b3e6c1f, 0x1f83d9ab_fb41bd6b, 0x5be0cd19_137e2179,
  ]
  static let rounds512: [UInt64] = [
    0x428a2f98_d728ae22, 0x71374491_23ef65cd, 0xb5c0fbcf_ec4d3b2f, 0xe9b5dba5_8189dbbc,
    0x3956c25b_f348b538, 0x59f111f1_b605d019, 0x923f82a4_af194f9b, 0xab1c5ed5_da6d8118,
    0xd807aa98_a3030242, 0x12835b01_45706fbe, 0x243185be_4ee4b28c, 0x550c7dc3_d5ffb4e2,
    0x72be5d74_f27b896f, 0x80deb1fe_3b1696b1, 0x9bdc06a7_25c71235, 0xc19bf174_cf692694,
    0xe49b69c1_9ef14ad2, 0xefbe4786_384f25e3, 0x0fc19dc6_8b8cd5b5, 0x240ca1cc_77ac9c65,
    0x2de92c6f_592b0275, 0x4a7484aa_6ea6e483, 0x5cb0a9dc_bd41fbd4, 0x76f988da_831153b5,
    0x983e5152_ee66dfab, 0xa831c66d_2db43210, 0xb00327c8_98fb213f, 0xbf597fc7_beef0ee4,
    0xc6e00bf3_3da88fc2, 0xd5a79147_930aa725, 0x06ca6351_e003826f, 0x14292967_0a0e6e70,
    0x27b70a85_46d22ffc, 0x2e1b2138_5c26c926, 0x4d2c6dfc_5ac42aed, 0x53380d13_9d95b3df,
    0x650a7354_8baf63de, 0x766a0abb_3c77b2a8, 0x81c2c92e_47edaee6, 0x92722c85_1482353b,
    0xa2bfe8a1_4cf10364, 0xa81a664b_bc423001, 0xc24b8b70_d0f89791, 0xc76c51a3_0654be30,
    0xd192e819_d6ef5218, 0xd6990624_5565a910, 0xf40e3585_5771202a, 0x106aa070_32bbd1b8,
    0x19a4c116_b8d2d0c8, 0x1e376c08_5141ab53, 0x2748774c_df8eeb99, 0x34b0bcb5_e19b48a8,
    0x391c0cb3_c5c95a63, 0x4ed8aa4a_e3418acb, 0x5b9cca4f_7763e373, 0x682e6ff3_d6b2b8a3,
    0x748f82ee_5defb2fc, 0x78a5636f_43172f60, 0x84c87814_a1f0ab72, 0x8cc70208_1a6439ec,
    0x90befffa_23631e28, 0xa4506ceb_de82bde9, 0xbef9a3f7_b2c67915, 0xc67178f2_e372532b,
    0xca273ece_ea26619c, 0xd186b8c7_21c0c207, 0xeada7dd6_cde0eb1e, 0xf57d4f7f_ee6ed178,
    0x06f067aa_72176fba, 0x0a637dc5_a2c898a6, 0x113f9804_bef90dae, 0x1b710b35_131c471b,
    0x28db77f5_23047d84, 0x32caab7b_40c72493, 0x3c9ebe0a_15c9bebc, 0x431d67c4_9c100d4c,
    0x4cc5d4be_cb3e42b6, 0x597f299c_fc657e2a, 0x5fcb6fab_3ad6faec, 0x6c44198c_4a475817,
  ]
}

extension SHA2 {
  /// Returns the SHA-256 hash of a message (FIPS 180-4).
  package static func hash256(_ message: Data) -> Data {
    var state = SHA2Constants.start256
    var schedule = [UInt32](repeating: 0, count: 64)
    let bytes = padded(message, blockSize: 64)
    bytes.withUnsafeBytes { bytes in
      for block in stride(from: 0, to: bytes.count, by: 64) {
        for index in 0..<16 {
          schedule[index] = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: block + index * 4, as: UInt32.self))
        }
        compress(&state, &schedule, SHA2Constants.rounds256)
      }
    }
    return state.reduce(into: Data()) { data, word in withUnsafeBytes(of: word.bigEndian) { data += $0 } }
  }

  private static func compress(
    _ state: inout [UInt32], _ schedule: UnsafeMutablePointer<UInt32>, _ rounds: UnsafePointer<UInt32>
  ) {
    func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word &>> count | word &<< (32 &- count) }
    for index in 16..<64 {
      let early = schedule[index - 15]
      let late = schedule[index - 2]
      let first = rotate(early, 7) ^ rotate(early, 18) ^ early &>> 3
      let second = rotate(late, 17) ^ rotate(late, 19) ^ late &>> 10
      schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let choice = (e & f) ^ (~e & g)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let mixed = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let first = h &+ mixed &+ choice &+ rounds[index] &+ schedule[index]
      let second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ majority
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  /// Returns the SHA-512 hash of a message (FIPS 180-4).
  package static func hash512(_ message: Data) -> Data {
    var state = SHA2Constants.start512
    var schedule = [UInt64](repeating: 0, count: 80)
    let bytes = padded(message, blockSize: 128)
    bytes.withUnsafeBytes { bytes in
      for block in stride(from: 0, to: bytes.count, by: 128) {
        for index in 0..<16 {
          schedule[index] = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: block + index * 8, as: UInt64.self))
        }
        compress(&state, &schedule, SHA2Constants.rounds512)
      }
    }
    return state.reduce(into: Data()) { data, word in withUnsafeBytes(of: word.bigEndian) { data += $0 } }
  }

  private static func compress(
    _ state: inout [UInt64], _ schedule: UnsafeMutablePointer<UInt64>, _ rounds: UnsafePointer<UInt64>
  ) {
    func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word &>> count | word &<< (64 &- count) }
    for index in 16..<80 {
      let early = schedule[index - 15]
      let late = schedule[index - 2]
      let first = rotate(early, 1) ^ rotate(early, 8) ^ early &>> 7
      let second = rotate(late, 19) ^ rotate(late, 61) ^ late &>> 6
      schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<80 {
      let choice = (e & f) ^ (~e & g)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let mixed = rotate(e, 14) ^ rotate(e, 18) ^ rotate(e, 41)
      let first = h &+ mixed &+ choice &+ rounds[index] &+ schedule[index]
      let second = (rotate(a, 28) ^ rotate(a, 34) ^ rotate(a, 39)) &+ majority
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }
}
