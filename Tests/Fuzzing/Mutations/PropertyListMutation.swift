// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Damage to a binary property list that keeps its structure: objects that contain each other, replace each other, or
/// have another type or count. Works on the bytes, so that it also creates lists that no writer would.
enum PropertyListMutation {
  /// The trailer of a binary property list.
  private struct Trailer {
    let offsetWidth: Int
    let referenceWidth: Int
    let count: Int
    let table: Int

    init?(_ bytes: [UInt8]) {
      guard bytes.count > 40, bytes.starts(with: Array("bplist".utf8)) else { return nil }
      let start = bytes.count - 32
      offsetWidth = Int(bytes[start + 6])
      referenceWidth = Int(bytes[start + 7])
      count = Self.number(bytes, at: start + 8, width: 8)
      table = Self.number(bytes, at: start + 24, width: 8)
      guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth), count > 0, count < 1 << 20, table > 8,
        table + count * offsetWidth <= start
      else { return nil }
    }

    static func number(_ bytes: [UInt8], at place: Int, width: Int) -> Int {
      var result: UInt64 = 0
      for index in 0..<width { result = result << 8 | UInt64(bytes[place + index]) }
      return Int(truncatingIfNeeded: result & 0x7FFF_FFFF_FFFF_FFFF)
    }
  }

  /// Changes some objects. Anything other than a binary property list gets damaged bytes.
  static func damage(_ data: Data, with other: Data? = nil, _ random: inout FuzzRandom) -> Data {
    var bytes = [UInt8](data)
    guard !random.oneIn(4), let trailer = Trailer(bytes) else {
      return ByteMutation.damage(data, with: other, &random)
    }
    for _ in 0..<random.small(5) {
      let object = random.below(trailer.count)
      let slot = trailer.table + object * trailer.offsetWidth
      let place = Trailer.number(bytes, at: slot, width: trailer.offsetWidth)
      guard place > 7, place < trailer.table else { continue }
      switch random.below(6) {
      case 0:
        // Replace the object by another.
        let donor = trailer.table + random.below(trailer.count) * trailer.offsetWidth
        for index in 0..<trailer.offsetWidth { bytes[slot + index] = bytes[donor + index] }
      case 1: bytes[place] = bytes[place] & 0xF0 | UInt8(random.below(16))
      case 2: bytes[place] = UInt8(random.below(16)) << 4 | bytes[place] & 0x0F
      case 3: bytes[place] = random.pick([0x00, 0x08, 0x09, 0x13, 0x23, 0x33, 0x80, 0xA1, 0xD1, 0xC1, 0x14, 0xAF])
      default: redirect(&bytes, trailer, at: place, &random)
      }
    }
    return Data(bytes)
  }

  /// Changes a reference of a collection to another object.
  private static func redirect(
    _ bytes: inout [UInt8], _ trailer: Trailer, at place: Int, _ random: inout FuzzRandom
  ) {
    let kind = bytes[place] >> 4
    guard kind == 0xA || kind == 0xC || kind == 0xD || kind == 0x8 else {
      if place + 1 < trailer.table { bytes[place + 1] = UInt8(random.below(256)) }
      return
    }
    let count = Int(bytes[place] & 0x0F)
    guard count > 0 else { return }
    // A count of 15 is stored in the bytes that follow, any of which may be hit.
    let start = place + 1 + random.below(count) * (kind == 0x8 ? 1 : trailer.referenceWidth)
    let target = random.below(trailer.count)
    for index in 0..<trailer.referenceWidth where start + index < trailer.table {
      bytes[start + index] = UInt8(truncatingIfNeeded: target >> (8 * (trailer.referenceWidth - 1 - index)))
    }
  }

  // MARK: Hostile lists

  /// Returns nested lists: each level contains the next one several times, so that a few bytes represent endlessly many
  /// values.
  static func hostile(_ random: inout FuzzRandom) -> Data {
    let depth = random.pick([3, 10, 30, 200, 3_000, 40_000])
    let fan = random.pick([1, 1, 2, 3, 12])
    let isDictionary = random.oneIn(3)
    var objects: [[UInt8]] = []
    for level in 0..<depth {
      // Sometimes close the cycle.
      let next = random.oneIn(depth + 20) ? random.below(level + 1) : level + 1
      let references = Array(repeating: reference(next), count: fan).flatMap { $0 }
      if isDictionary {
        let keys = (0..<fan).flatMap { _ in reference(depth) }
        objects.append([0xD0 | UInt8(fan)] + keys + references)
      } else {
        objects.append([(random.oneIn(8) ? 0xC0 : 0xA0) | UInt8(fan)] + references)
      }
    }
    objects.append([0x51, 0x78])
    return list(of: objects, width: 4)
  }

  private static func reference(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * (3 - $0))) }
  }

  private static func list(of objects: [[UInt8]], width: Int) -> Data {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += reference(bytes.count)
      bytes += object
    }
    let table = bytes.count
    bytes += offsets + [0, 0, 0, 0, 0, 0, 4, UInt8(width)]
    for number in [objects.count, 0, table] {
      bytes += [0, 0, 0, 0] + reference(number)
    }
    return Data(bytes)
  }
}
