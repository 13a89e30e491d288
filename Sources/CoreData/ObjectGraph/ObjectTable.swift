// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The addresses of objects, found by their keys.
///
/// Every object that is made, named or let go of is looked up here, and a dictionary spends most of that on a hash function
/// that withstands enemies. Keys are numbers counted up by stores: multiplying spreads them well enough.
struct ObjectTable: @unchecked Sendable {
  private struct Entry {
    var key: ObjectKey
    /// Nil in a place that is free.
    var address: UnsafeMutableRawPointer?
  }

  private static var free: Entry { Entry(key: ObjectKey(store: 0, root: 0, number: 0), address: nil) }
  private static let smallest = 16

  /// As many places as a power of two. An entry stands at the place of its key, or else at the next free one after it.
  private var entries = ContiguousArray(repeating: free, count: smallest)
  private(set) var count = 0

  private var mask: Int { entries.count - 1 }

  private func place(of key: ObjectKey) -> Int {
    let bits =
      UInt64(bitPattern: key.number) ^ UInt64(key.root) << 44 ^ UInt64(key.store) << 54
    return Int(truncatingIfNeeded: (bits &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }

  subscript(key: ObjectKey) -> UnsafeMutableRawPointer? {
    var place = place(of: key)
    while let address = entries[place].address {
      if entries[place].key == key { return address }
      place = (place + 1) & mask
    }
    return nil
  }

  /// Takes an address in, in the place of one that had the key before.
  mutating func insert(_ address: UnsafeMutableRawPointer, for key: ObjectKey) {
    if (count + 1) * 4 > entries.count * 3 { resize(to: entries.count * 2) }
    var place = place(of: key)
    while entries[place].address != nil {
      if entries[place].key == key {
        entries[place].address = address
        return
      }
      place = (place + 1) & mask
    }
    entries[place] = Entry(key: key, address: address)
    count += 1
  }

  /// Takes a key's address out.
  mutating func remove(_ key: ObjectKey) {
    var place = place(of: key)
    while entries[place].address != nil, entries[place].key != key { place = (place + 1) & mask }
    guard entries[place].address != nil else { return }
    count -= 1
    closeGap(at: place)
    if entries.count > Self.smallest, count * 8 < entries.count { resize(to: entries.count / 2) }
  }

  /// Moves what would not be found any more across a free place.
  private mutating func closeGap(at place: Int) {
    var gap = place
    var next = (gap + 1) & mask
    while entries[next].address != nil {
      let home = self.place(of: entries[next].key)
      // An entry between its home and itself may not move to before its home.
      if (next - home) & mask >= (next - gap) & mask {
        entries[gap] = entries[next]
        gap = next
      }
      next = (next + 1) & mask
    }
    entries[gap] = Self.free
  }

  private mutating func resize(to size: Int) {
    let old = entries
    entries = ContiguousArray(repeating: Self.free, count: size)
    count = 0
    for entry in old {
      if let address = entry.address { insert(address, for: entry.key) }
    }
  }

  mutating func removeAll() { self = ObjectTable() }

  /// All addresses, in no order.
  var addresses: [UnsafeMutableRawPointer] { entries.compactMap(\.address) }
}
