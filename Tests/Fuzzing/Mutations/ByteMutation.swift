// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Damage independent of a file's format.
enum ByteMutation {
  private static let numbers: [UInt64] = [
    0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFF_FFFF,
    0x8000_0000, 0xFFFF_FFFF, 1 << 53, 1 << 62, 0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, .max, .max - 1,
  ]

  /// Changes some bytes.
  ///
  /// - Parameter other: Another file of the format, from which pieces may be inserted.
  static func damage(_ data: Data, with other: Data? = nil, _ random: inout FuzzRandom) -> Data {
    var bytes = [UInt8](data)
    for _ in 0..<random.small(6) where !bytes.isEmpty {
      let place = random.below(bytes.count)
      let end = min(bytes.count, place + random.small(64) + random.below(8))
      switch random.below(11) {
      case 0: bytes[place] ^= 1 << UInt8(random.below(8))
      case 1: bytes[place] = UInt8(random.below(256))
      case 2: bytes.removeSubrange(place..<end)
      case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
      case 4: bytes[place] &+= random.oneIn(2) ? 1 : 255
      case 5: bytes.removeSubrange(place...)
      case 6, 7: writeNumber(&bytes, at: place, &random)
      case 8:
        let target = random.below(bytes.count)
        for (offset, byte) in Array(bytes[place..<end]).enumerated() where target + offset < bytes.count {
          bytes[target + offset] = byte
        }
      case 9:
        guard let other, !other.isEmpty else { continue }
        let from = other.startIndex + random.below(other.count)
        let to = min(other.endIndex, from + random.small(12) * 16)
        bytes.replaceSubrange(place..<end, with: other[from..<to])
      default:
        for index in place..<end { bytes[index] = 0 }
      }
    }
    return Data(bytes)
  }

  private static func writeNumber(_ bytes: inout [UInt8], at place: Int, _ random: inout FuzzRandom) {
    let width = random.pick([1, 2, 4, 8])
    let number = random.pick(numbers)
    let isBig = !random.oneIn(3)
    for index in 0..<width where place + index < bytes.count {
      let shift = UInt64(8 * (isBig ? width - 1 - index : index))
      bytes[place + index] = UInt8(truncatingIfNeeded: number >> shift)
    }
  }
}
