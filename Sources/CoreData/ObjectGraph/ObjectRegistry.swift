// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime
import Foundation

/// The objects of a context by identifier, which uniques them. It does not retain them: an object without changes lives
/// as long as the program uses it.
///
/// Objects may be deallocated on any thread, hence the lock. The registry stores the addresses of its objects, and each
/// object, before it is deallocated, removes its own address under the lock. So an address found under the lock is that
/// of an object, possibly of one being deallocated, which `swift_tryRetain` refuses to retain.
///
/// Weak references would be simpler, but each makes a side table for its object, through which all its reference
/// counting goes from then on. That takes a third of the time of a save.
final class ObjectRegistry: @unchecked Sendable {
  /// The context's address, and an unowned reference that keeps its memory from being reused, so that `swift_tryRetain`
  /// can tell whether the context is alive. Set once, before any other thread can reach the context.
  private var address: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private unowned var memory: NSManagedObjectContext?
  private let lock = NSLock()
  // The lock prevents overlapping accesses.
  @exclusivity(unchecked) private var entries = ObjectTable()
  @exclusivity(unchecked) private var retained: [ObjectKey: NSManagedObject] = [:]
  @exclusivity(unchecked) private var isRetaining = false
  /// Whether objects hold the destinations of relationships that are read. False while the framework reads for itself.
  @exclusivity(unchecked) var isHolding = true

  /// The context; nil once it is being deallocated. May be called on any thread.
  var context: NSManagedObjectContext? {
    guard let address, let context = swift_tryRetain(address) else { return nil }
    return Unmanaged<NSManagedObjectContext>.fromOpaque(context).takeRetainedValue()
  }

  /// Sets the context. Called once.
  func serve(_ context: NSManagedObjectContext) {
    memory = context
    address = Unmanaged.passUnretained(context).toOpaque()
  }

  /// Releases what objects hold when the context is deallocated.
  func abandon() {
    // Retained objects retain the registry in turn, and objects may hold each other.
    retainsObjects = false
    for object in objects { object.holds?.release() }
  }

  /// Whether the registry retains its objects.
  var retainsObjects: Bool {
    get { lock.withLock { isRetaining } }
    set {
      let released = lock.withLock {
        let alive = entries.addresses.compactMap { ObjectRegistry.object(at: $0) }
        let released = (alive, retained)
        isRetaining = newValue
        retained = [:]
        if newValue {
          for object in alive { if let key = object.knownIdentifier?.key { retained[key] = object } }
        }
        return released
      }
      // An object that is deallocated calls back into the registry, so the lock must not be held.
      withExtendedLifetime(released) {}
    }
  }

  var objects: [NSManagedObject] {
    lock.withLock { entries.addresses.compactMap { ObjectRegistry.object(at: $0) } }
  }

  subscript(key: ObjectKey) -> NSManagedObject? {
    lock.lock()
    defer { lock.unlock() }
    guard let address = entries[key] else { return nil }
    return ObjectRegistry.object(at: address)
  }

  /// Retains the object at an address, unless it is being deallocated. The lock must be held.
  private static func object(at address: UnsafeMutableRawPointer) -> NSManagedObject? {
    guard let object = swift_tryRetain(address) else { return nil }
    return Unmanaged<NSManagedObject>.fromOpaque(object).takeRetainedValue()
  }

  private static func address(of object: NSManagedObject) -> UnsafeMutableRawPointer {
    Unmanaged.passUnretained(object).toOpaque()
  }

  /// Registers a new object. It can be found once it has an identifier.
  func take(_ object: NSManagedObject) {
    object.registry = self
    if object.knownIdentifier != nil { add(object) }
  }

  /// Gives a new object its temporary identifier. May be called on any thread.
  func identify(_ object: NSManagedObject) -> NSManagedObjectID {
    lock.lock()
    defer { lock.unlock() }
    if let known = object.knownIdentifier { return known }
    let id = object.takeIdentifier(NSManagedObjectID(temporaryFor: object.entity))
    // If the context has dropped the object meanwhile, nothing would ever remove its address.
    if object.registry === self { file(object, id.key) }
    return id
  }

  /// Gives an object its permanent identifier.
  ///
  /// - Returns: its temporary identifier, if it had been given one.
  func assign(_ id: NSManagedObjectID, to object: NSManagedObject) -> NSManagedObjectID? {
    lock.lock()
    defer { lock.unlock() }
    let temporary = object.knownIdentifier
    if let temporary {
      temporary.becomes(id)
      entries.remove(temporary.key)
      if isRetaining { retained[temporary.key] = nil }
    }
    object.replaceIdentifier(by: id)
    object.registry = self
    file(object, id.key)
    return temporary
  }

  /// Registers an object under its identifier.
  func add(_ object: NSManagedObject) {
    let key = object.identifier.key
    lock.lock()
    defer { lock.unlock() }
    object.registry = self
    file(object, key)
  }

  /// Stores an object under a key. The lock must be held.
  private func file(_ object: NSManagedObject, _ key: ObjectKey) {
    entries.insert(ObjectRegistry.address(of: object), for: key)
    if isRetaining { retained[key] = object }
  }

  /// Removes an object, which then belongs to no context.
  func remove(_ object: NSManagedObject) {
    let released: NSManagedObject? = lock.withLock {
      object.registry = nil
      guard let key = object.knownIdentifier?.key else { return nil }
      if entries[key] == ObjectRegistry.address(of: object) { entries.remove(key) }
      return retained.removeValue(forKey: key)
    }
    object.holds?.release()
    withExtendedLifetime(released) {}
  }

  /// Removes the address of an object that is being deallocated, unless another object has taken its key.
  func forget(_ object: NSManagedObject, _ key: ObjectKey) {
    lock.lock()
    defer { lock.unlock() }
    if entries[key] == ObjectRegistry.address(of: object) { entries.remove(key) }
  }

  func removeAll() {
    let (alive, released) = lock.withLock {
      let alive = entries.addresses.compactMap { ObjectRegistry.object(at: $0) }
      for object in alive { object.registry = nil }
      let released = retained
      entries.removeAll()
      retained = [:]
      return (alive, released)
    }
    for object in alive { object.holds?.release() }
    withExtendedLifetime((alive, released)) {}
  }
}

extension ObjectRegistry: CustomReflectable {
  /// An empty mirror: reading the unowned reference to a deallocated context would stop the program.
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// A hash table from keys to the addresses of objects, with linear probing.
///
/// Every object is looked up here when it is made, found and deallocated, and a dictionary spends most of that time in
/// a hash function that withstands attacks. Stores count their keys up, so multiplicative hashing spreads them well
/// enough.
struct ObjectTable: @unchecked Sendable {
  private struct Entry {
    var key: ObjectKey
    /// Nil in a free entry.
    var address: UnsafeMutableRawPointer?
  }

  private static var free: Entry { Entry(key: ObjectKey(store: 0, root: 0, number: 0), address: nil) }
  private static let smallest = 16

  /// Their number is a power of two. An entry is at its home, the index its key hashes to, or else at the next free
  /// index.
  private var entries = ContiguousArray(repeating: free, count: smallest)
  private(set) var count = 0

  private var mask: Int { entries.count - 1 }

  private func home(of key: ObjectKey) -> Int {
    let bits =
      UInt64(bitPattern: key.number) ^ UInt64(key.root) << 44 ^ UInt64(key.store) << 54
    return Int(truncatingIfNeeded: (bits &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }

  subscript(key: ObjectKey) -> UnsafeMutableRawPointer? {
    var index = home(of: key)
    while let address = entries[index].address {
      if entries[index].key == key { return address }
      index = (index + 1) & mask
    }
    return nil
  }

  /// Stores an address under a key, replacing the one that is there.
  mutating func insert(_ address: UnsafeMutableRawPointer, for key: ObjectKey) {
    if (count + 1) * 4 > entries.count * 3 { resize(to: entries.count * 2) }
    var index = home(of: key)
    while entries[index].address != nil {
      if entries[index].key == key {
        entries[index].address = address
        return
      }
      index = (index + 1) & mask
    }
    entries[index] = Entry(key: key, address: address)
    count += 1
  }

  mutating func remove(_ key: ObjectKey) {
    var index = home(of: key)
    while entries[index].address != nil, entries[index].key != key { index = (index + 1) & mask }
    guard entries[index].address != nil else { return }
    count -= 1
    closeGap(at: index)
    if entries.count > Self.smallest, count * 8 < entries.count { resize(to: entries.count / 2) }
  }

  /// Moves entries that probing would no longer reach across the gap.
  private mutating func closeGap(at index: Int) {
    var gap = index
    var next = (gap + 1) & mask
    while entries[next].address != nil {
      let home = home(of: entries[next].key)
      // An entry must not move to an index before its home.
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

  /// All addresses, in no particular order.
  var addresses: [UnsafeMutableRawPointer] { entries.compactMap(\.address) }
}
