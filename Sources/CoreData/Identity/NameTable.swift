// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The positions of a few names, found faster than a dictionary finds them.
///
/// Names of properties are looked up with every value that is read or written by key. A dictionary's hash function goes
/// through the whole name with care that is wasted here: the names are the model's, not an enemy's.
struct NameTable: Sendable {
  private let names: [String]
  /// Positions in `names` by hash, -1 where there is none; collisions go to the next free place.
  private let buckets: [Int32]
  private let mask: Int
  /// Finds names that are written in another Unicode form: equal to Swift, but made of other bytes.
  private let positions: [String: Int]

  init(_ names: [String]) {
    self.names = names
    var size = 4
    while size < names.count * 2 { size *= 2 }
    mask = size - 1
    var buckets = [Int32](repeating: -1, count: size)
    for (position, name) in names.enumerated() {
      var bucket = NameTable.hash(name) & mask
      while buckets[bucket] >= 0 { bucket = (bucket + 1) & mask }
      buckets[bucket] = Int32(position)
    }
    self.buckets = buckets
    positions = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  func position(of name: String) -> Int? {
    var bucket = NameTable.hash(name) & mask
    while buckets[bucket] >= 0 {
      let position = Int(buckets[bucket])
      if names[position] == name { return position }
      bucket = (bucket + 1) & mask
    }
    return positions[name]
  }

  /// Length, first, middle and last bytes tell most names of an entity apart.
  private static func hash(_ name: String) -> Int {
    let bytes = name.utf8
    let count = bytes.count
    guard count > 0 else { return 0 }
    let quick = bytes.withContiguousStorageIfAvailable { bytes in
      mixed(count, bytes[0], bytes[count / 2], bytes[count - 1])
    }
    if let quick { return quick }
    let all = Array(bytes)
    return mixed(count, all[0], all[count / 2], all[count - 1])
  }

  private static func mixed(_ count: Int, _ first: UInt8, _ middle: UInt8, _ last: UInt8) -> Int {
    var hash = UInt64(count) &* 0x9E37_79B9
    hash = (hash ^ UInt64(first)) &* 0x0100_0193
    hash = (hash ^ UInt64(middle)) &* 0x0100_0193
    hash = (hash ^ UInt64(last)) &* 0x0100_0193
    return Int(truncatingIfNeeded: (hash ^ (hash >> 15)) & 0x7FFF_FFFF)
  }
}
