// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The objects of a context by identifier, which uniques them. It does not retain them: an object without changes lives
/// as long as the program uses it.
///
/// Objects may be deallocated on any thread, hence the lock. The registry stores the addresses of its objects, and each
/// object, before it is deallocated, removes its own address under the lock. So an address found under the lock is that
/// of an object, possibly of one being deallocated, which `swift_tryRetain` refuses to retain.
///
/// Weak references would be simpler, but each one allocates a side table for its object, through which all reference
/// counting of the object goes from then on. That takes a third of the time of a save.
final class ObjectRegistry: @unchecked Sendable {
  /// The context. Set once, before any other thread can reach the context.
  private var served: WeakAddress<NSManagedObjectContext>?
  /// The address of `served`. Reading it from there would retain the memory, and every access to an object takes this
  /// path.
  private var address: UnsafeMutableRawPointer?
  private let lock = NSLock()
  // The lock prevents overlapping accesses.
  @exclusivity(unchecked) private var entries = ObjectTable()
  @exclusivity(unchecked) private var retained: [ObjectKey: NSManagedObject] = [:]
  @exclusivity(unchecked) private var isRetaining = false
  /// Reports registrations to incremental stores; nil while the program has none.
  @exclusivity(unchecked) private var interest: StoreInterest?
  /// Whether objects hold the destinations of relationships that are read. False while the framework itself reads them.
  @exclusivity(unchecked) var isHolding = true
  /// The number of times that objects have left the context before they were deallocated.
  @exclusivity(unchecked) private(set) var withdrawals = 0

  /// Whether a fault may use the row that it keeps: true if the context is alive, and rows do not become stale.
  let keepsRows = Atomic<Bool>(true)

  /// The context; nil once it is being deallocated. May be called on any thread.
  var context: NSManagedObjectContext? { address.flatMap { WeakAddress.object(at: $0) } }

  /// Sets the context. Called once.
  func attach(to context: NSManagedObjectContext) {
    let served = WeakAddress(context)
    (self.served, address) = (served, served.address)
  }

  /// Releases what objects hold when the context is deallocated.
  func contextWillDeallocate() {
    keepsRows.store(false, ordering: .relaxed)
    // Retained objects retain the registry, and objects may hold each other.
    retainsObjects = false
    for object in objects { object.holds?.release() }
    interest?.removeAll()
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
          for object in alive { if let key = object.knownKey { retained[key] = object } }
        }
        return released
      }
      // An object that is deallocated calls back into the registry, so the lock must not be held here.
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

  /// Returns the objects for several keys; nil for keys without an object.
  func objects(_ keys: [ObjectKey]) -> [NSManagedObject?] {
    lock.lock()
    defer { lock.unlock() }
    return keys.map { key in entries[key].flatMap { ObjectRegistry.object(at: $0) } }
  }

  /// Returns the objects for several rows; nil for rows without an object.
  func objects(_ layout: RowLayout, _ numbers: [Int64]) -> [NSManagedObject?] {
    lock.lock()
    defer { lock.unlock() }
    return numbers.map { number in entries[layout.key(number)].flatMap { ObjectRegistry.object(at: $0) } }
  }

  /// Returns the registered objects of several rows, with the positions of their rows.
  func known(_ layout: RowLayout, _ numbers: [Int64]) -> [(position: Int, object: NSManagedObject)] {
    lock.lock()
    defer { lock.unlock() }
    var known: [(position: Int, object: NSManagedObject)] = []
    for (position, number) in numbers.enumerated() {
      guard let address = entries[layout.key(number)], let object = ObjectRegistry.object(at: address) else { continue }
      known.append((position, object))
    }
    return known
  }

  /// Retains the object at an address, unless it is being deallocated. The lock must be held.
  private static func object(at address: UnsafeMutableRawPointer) -> NSManagedObject? {
    WeakAddress<NSManagedObject>.object(at: address)
  }

  private static func address(of object: NSManagedObject) -> UnsafeMutableRawPointer {
    Unmanaged.passUnretained(object).toOpaque()
  }

  /// Registers a new object. It can be found after it has got an identifier.
  func register(_ object: NSManagedObject) {
    object.registry = self
    if object.knownKey != nil { add(object) }
  }

  /// Assigns a temporary identifier to a new object. May be called on any thread.
  func identify(_ object: NSManagedObject) -> NSManagedObjectID {
    lock.lock()
    defer { lock.unlock() }
    if let known = object.knownIdentifier { return known }
    let id = object.assignIdentifier(TemporaryObjectID(for: object.entity))
    // If the context has dropped the object meanwhile, nothing would ever remove its address.
    if object.registry === self { file(object, id.key) }
    return id
  }

  /// Assigns a permanent identifier to an object.
  ///
  /// - Returns: its temporary identifier, if it had one.
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
    let key = object.key
    lock.lock()
    defer { lock.unlock() }
    object.registry = self
    file(object, key)
  }

  /// Registers new faults under the keys of their identifiers. If an object has been registered under such a key
  /// meanwhile, it replaces the new one.
  ///
  /// - Parameters:
  ///   - objects: the objects; nil elements are skipped.
  ///   - isKnown: for each object, whether it is already registered.
  ///   - key: returns the key of an object by its position.
  func add(_ objects: inout [NSManagedObject?], unless isKnown: [Bool], _ key: (Int) -> ObjectKey) {
    // The lock must not be held while the last reference to an object is released.
    var replaced: [NSManagedObject] = []
    lock.lock()
    for position in objects.indices where !isKnown[position] {
      guard let object = objects[position] else { continue }
      let key = key(position)
      if let address = entries[key], let other = ObjectRegistry.object(at: address) {
        replaced.append(object)
        objects[position] = other
      } else {
        object.registry = self
        file(object, key)
      }
    }
    lock.unlock()
    withExtendedLifetime(replaced) {}
  }

  /// Stores an object under a key. The lock must be held.
  private func file(_ object: NSManagedObject, _ key: ObjectKey) {
    entries.insert(ObjectRegistry.address(of: object), for: key)
    if isRetaining { retained[key] = object }
    if StoreInterest.isNeeded.load(ordering: .relaxed), let id = object.knownIdentifier {
      let interest = interest ?? StoreInterest()
      self.interest = interest
      interest.add(id)
    }
  }

  /// Removes an object, which then belongs to no context.
  func remove(_ object: NSManagedObject) {
    let released: NSManagedObject? = lock.withLock {
      withdrawals += 1
      object.registry = nil
      guard let key = object.knownKey else { return nil }
      if entries[key] == ObjectRegistry.address(of: object) {
        entries.remove(key)
        interest?.remove(key)
      }
      return retained.removeValue(forKey: key)
    }
    object.holds?.release()
    withExtendedLifetime(released) {}
  }

  /// Removes the address of an object that is being deallocated, unless another object has taken its key.
  func forget(_ object: NSManagedObject, _ key: ObjectKey) {
    lock.lock()
    defer { lock.unlock() }
    if entries.remove(key, of: ObjectRegistry.address(of: object)) { interest?.remove(key) }
  }

  func removeAll() {
    let (alive, released) = lock.withLock {
      withdrawals += 1
      let alive = entries.addresses.compactMap { ObjectRegistry.object(at: $0) }
      for object in alive { object.registry = nil }
      let released = retained
      interest?.removeAll()
      entries.removeAll()
      retained = [:]
      return (alive, released)
    }
    for object in alive { object.holds?.release() }
    withExtendedLifetime((alive, released)) {}
  }
}

/// The addresses of objects by key.
///
/// Every object is looked up here when it is created, found and deallocated. Stores assign ascending keys, and a fetch
/// usually finds rows in that order, so consecutive keys share a page. A hash table contains the pages, and the page
/// used last is tried first.
struct ObjectTable {
  /// The number of addresses in a page, a power of two. Objects with distant keys need a page each.
  private static let pageSize = 8
  private static let smallest = 16
  private static let large = 1 << 14

  private struct Entry {
    /// The key of an object, with the page's number in place of the object's.
    var key: ObjectKey
    /// The number of the page in `slots`; negative in a free entry.
    var page: Int

    static var free: Entry { Entry(key: ObjectKey(store: 0, root: 0, number: 0), page: -1) }
  }

  /// The entries; their number is a power of two. An entry is at its home, the index that its key hashes to, or else at
  /// the next free index.
  private var entries = ContiguousArray(repeating: Entry.free, count: smallest)
  /// The pages, one after the other.
  private var slots: ContiguousArray<UnsafeMutableRawPointer?> = []
  /// The number of addresses in each page.
  private var counts: ContiguousArray<UInt8> = []
  private var freePages: [Int] = []
  /// The page used last.
  private var last = Entry.free
  private(set) var count = 0

  private var mask: Int { entries.count - 1 }

  private func home(of key: ObjectKey) -> Int {
    let number = UInt64(bitPattern: key.number) ^ UInt64(key.root) << 44 ^ UInt64(key.store) << 54
    return Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }

  private static func pageKey(_ key: ObjectKey) -> ObjectKey {
    ObjectKey(store: key.store, root: key.root, number: key.number >> pageSize.trailingZeroBitCount)
  }

  private static func offset(_ key: ObjectKey) -> Int { Int(truncatingIfNeeded: key.number) & (pageSize - 1) }

  /// Returns the index of a page's entry, or of the free entry for it.
  private func index(of pageKey: ObjectKey) -> Int {
    var index = home(of: pageKey)
    while entries[index].page >= 0, entries[index].key != pageKey { index = (index + 1) & mask }
    return index
  }

  /// Returns the page of a key; a negative number if there is none.
  private mutating func page(of key: ObjectKey) -> Int {
    let pageKey = Self.pageKey(key)
    if last.key == pageKey, last.page >= 0 { return last.page }
    let entry = entries[index(of: pageKey)]
    if entry.page >= 0 { last = entry }
    return entry.page
  }

  subscript(key: ObjectKey) -> UnsafeMutableRawPointer? {
    mutating get {
      let page = page(of: key)
      return page < 0 ? nil : slots[page * Self.pageSize + Self.offset(key)]
    }
  }

  /// Stores an address under a key, replacing the existing one.
  mutating func insert(_ address: UnsafeMutableRawPointer, for key: ObjectKey) {
    var page = page(of: key)
    if page < 0 { page = addPage(for: Self.pageKey(key)) }
    let slot = page * Self.pageSize + Self.offset(key)
    if slots[slot] == nil {
      count += 1
      counts[page] += 1
    }
    slots[slot] = address
  }

  mutating func remove(_ key: ObjectKey) { remove(key, of: nil) }

  /// Removes the address under a key.
  ///
  /// - Parameter address: removes only this address; nil for any.
  /// - Returns: whether an address has been removed.
  @discardableResult
  mutating func remove(_ key: ObjectKey, of address: UnsafeMutableRawPointer?) -> Bool {
    let page = page(of: key)
    guard page >= 0 else { return false }
    let slot = page * Self.pageSize + Self.offset(key)
    guard let known = slots[slot], address == nil || known == address else { return false }
    slots[slot] = nil
    count -= 1
    counts[page] -= 1
    if counts[page] == 0 { removePage(page, of: Self.pageKey(key)) }
    return true
  }

  private mutating func addPage(for key: ObjectKey) -> Int {
    let page: Int
    if let free = freePages.popLast() {
      page = free
    } else {
      page = counts.count
      counts.append(0)
      slots.append(contentsOf: repeatElement(nil, count: Self.pageSize))
    }
    // Half of the entries are kept free, so that searches are short. A small table quickly grows to a large one.
    if (counts.count - freePages.count) * 2 > entries.count {
      resize(to: entries.count * (entries.count < Self.large ? 4 : 2))
    }
    last = Entry(key: key, page: page)
    entries[index(of: key)] = last
    return page
  }

  private mutating func removePage(_ page: Int, of key: ObjectKey) {
    last = .free
    closeGap(at: index(of: key))
    freePages.append(page)
    // The memory needed by a large fetch is not kept forever.
    if count == 0, counts.count > Self.smallest { self = ObjectTable() }
  }

  /// Moves entries that probing could no longer reach across the gap.
  private mutating func closeGap(at index: Int) {
    var gap = index
    var next = (gap + 1) & mask
    while entries[next].page >= 0 {
      let home = home(of: entries[next].key)
      // An entry must not move to an index before its home.
      if (next - home) & mask >= (next - gap) & mask {
        entries[gap] = entries[next]
        gap = next
      }
      next = (next + 1) & mask
    }
    entries[gap] = .free
  }

  private mutating func resize(to size: Int) {
    let old = entries
    entries = ContiguousArray(repeating: .free, count: size)
    for entry in old where entry.page >= 0 { entries[index(of: entry.key)] = entry }
  }

  mutating func removeAll() { self = ObjectTable() }

  /// All addresses, in arbitrary order.
  var addresses: [UnsafeMutableRawPointer] { slots.compactMap { $0 } }
}
