// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The slots of key paths by the addresses of the key path objects.
///
/// Comparing key paths takes ten times as long as reading a value. Each place in a program that writes `\Trip.name` has
/// one object for it, so that an address suffices after the first use. Readers take no lock.
final class KeyPathCache: @unchecked Sendable {
  /// A hash table with linear probing, to which entries are added while it is read.
  private struct Table {
    let mask: Int
    /// The addresses; nil where there is no entry. An address is stored after its slot.
    let keyPaths: UnsafeMutablePointer<Atomic<UnsafeRawPointer?>>
    let slots: UnsafeMutablePointer<Unmanaged<PropertySlot>?>

    init(size: Int) {
      mask = size - 1
      keyPaths = .allocate(capacity: size)
      slots = .allocate(capacity: size)
      slots.initialize(repeating: nil, count: size)
      for index in 0..<size { (keyPaths + index).initialize(to: Atomic(nil)) }
    }

    @inline(__always)
    func slot(_ keyPath: UnsafeRawPointer) -> Unmanaged<PropertySlot>? {
      var index = Int(bitPattern: keyPath) >> 4 & mask
      while let found = keyPaths[index].load(ordering: .acquiring) {
        if found == keyPath { return slots[index] }
        index = (index + 1) & mask
      }
      return nil
    }

    func add(_ keyPath: UnsafeRawPointer, _ slot: PropertySlot) {
      var index = Int(bitPattern: keyPath) >> 4 & mask
      while keyPaths[index].load(ordering: .relaxed) != nil { index = (index + 1) & mask }
      slots[index] = Unmanaged.passUnretained(slot)
      keyPaths[index].store(keyPath, ordering: .releasing)
    }
  }

  /// A program that makes key paths at run time must not fill the memory with them.
  private static let limit = 1024

  /// Tables are never released, since they may be read; each is twice as large as the one before.
  private let table = Atomic<UnsafeMutablePointer<Table>?>(nil)
  private let lock = NSLock()
  /// The key paths and slots of the table, which are retained for it.
  private var members: [(AnyKeyPath, PropertySlot)] = []

  @inline(__always)
  func slot(_ keyPath: AnyKeyPath) -> PropertySlot? {
    guard let table = table.load(ordering: .acquiring) else { return nil }
    return table.pointee.slot(Self.address(keyPath))?._withUnsafeGuaranteedRef { $0 }
  }

  func add(_ keyPath: AnyKeyPath, _ slot: PropertySlot) {
    lock.lock()
    defer { lock.unlock() }
    guard members.count < Self.limit, !members.contains(where: { $0.0 === keyPath }) else { return }
    members.append((keyPath, slot))
    if let table = table.load(ordering: .relaxed), members.count * 2 <= table.pointee.mask {
      return table.pointee.add(Self.address(keyPath), slot)
    }
    let size = (table.load(ordering: .relaxed)?.pointee.mask ?? 15) * 2
    let larger = Table(size: size.nextPowerOfTwo)
    for (keyPath, slot) in members { larger.add(Self.address(keyPath), slot) }
    let place = UnsafeMutablePointer<Table>.allocate(capacity: 1)
    place.initialize(to: larger)
    table.store(place, ordering: .releasing)
  }

  @inline(__always)
  private static func address(_ keyPath: AnyKeyPath) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(keyPath).toOpaque())
  }
}

extension Int {
  fileprivate var nextPowerOfTwo: Int { 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
