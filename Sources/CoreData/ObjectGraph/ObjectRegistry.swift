// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime
import Foundation

/// The objects of a context by identity. They are not kept alive: an object without changes lives as long as somebody
/// uses it.
///
/// Objects may go away on any thread, hence the lock. The registry has the addresses of its objects, and each object has
/// the registry: before its memory is given back it takes its address out, under the lock. So an address that is found
/// under the lock is that of an object, maybe of one that is going away, which cannot be retained any more.
///
/// Weak references would do the same with less said, but each makes a table beside its object, through which all counting
/// of references goes from then on: a third of the time of a save.
final class ObjectRegistry: @unchecked Sendable {
  /// The context's address, and a reference that keeps its memory from being used for something else, so that the address
  /// can be asked whether the context is alive. Set once, before any other thread knows the context.
  private var address: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private unowned var memory: NSManagedObjectContext?
  private let lock = NSLock()
  // The lock sees to it that accesses do not overlap.
  @exclusivity(unchecked) private var entries = ObjectTable()
  @exclusivity(unchecked) private var retained: [ObjectKey: NSManagedObject] = [:]
  @exclusivity(unchecked) private var isRetaining = false
  /// Whether objects hold what their relationships are read as. Not while the framework reads for itself.
  @exclusivity(unchecked) var isHolding = true

  /// Nil when the context is gone or going, and its objects are not; on any thread.
  ///
  /// Asked for by every change of an object: a weak reference would make a table beside the context, through which all
  /// counting of its references goes from then on.
  var context: NSManagedObjectContext? {
    guard let address, let context = swift_tryRetain(address) else { return nil }
    return Unmanaged<NSManagedObjectContext>.fromOpaque(context).takeRetainedValue()
  }

  /// Makes the registry that of a context; once.
  func serve(_ context: NSManagedObjectContext) {
    memory = context
    address = Unmanaged.passUnretained(context).toOpaque()
  }

  /// Ends the registry's use of its context, which is going away.
  func abandon() {
    // Objects that are kept alive keep the registry alive in turn, and may hold each other.
    retainsObjects = false
    for object in objects { object.holds?.release() }
  }

  /// Whether objects are kept alive.
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
      // An object that goes away here calls back into the registry: not while the lock is held.
      withExtendedLifetime(released) {}
    }
  }

  /// All objects that are alive.
  var objects: [NSManagedObject] {
    lock.withLock { entries.addresses.compactMap { ObjectRegistry.object(at: $0) } }
  }

  subscript(key: ObjectKey) -> NSManagedObject? {
    lock.lock()
    defer { lock.unlock() }
    guard let address = entries[key] else { return nil }
    return ObjectRegistry.object(at: address)
  }

  /// The object at an address, unless it is going away. The lock must be held.
  private static func object(at address: UnsafeMutableRawPointer) -> NSManagedObject? {
    guard let object = swift_tryRetain(address) else { return nil }
    return Unmanaged<NSManagedObject>.fromOpaque(object).takeRetainedValue()
  }

  private static func address(of object: NSManagedObject) -> UnsafeMutableRawPointer {
    Unmanaged.passUnretained(object).toOpaque()
  }

  /// Takes in a new object, which can be found when it has an identifier.
  func take(_ object: NSManagedObject) {
    object.registry = self
    if object.knownIdentifier != nil { add(object) }
  }

  /// Gives a new object its temporary identifier. Any thread may be the first to ask for it.
  func identify(_ object: NSManagedObject) -> NSManagedObjectID {
    lock.lock()
    defer { lock.unlock() }
    if let known = object.knownIdentifier { return known }
    let id = object.takeIdentifier(NSManagedObjectID(temporaryFor: object.entity))
    // The context may have let the object go since its registry was looked up; nobody would take the address out then.
    if object.registry === self { file(object, id.key) }
    return id
  }

  /// Gives an object its permanent identifier.
  ///
  /// - Returns: the temporary one that it had, where somebody has asked for it.
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

  /// Takes an object in.
  func add(_ object: NSManagedObject) {
    let key = object.identifier.key
    lock.lock()
    defer { lock.unlock() }
    object.registry = self
    file(object, key)
  }

  /// The lock must be held.
  private func file(_ object: NSManagedObject, _ key: ObjectKey) {
    entries.insert(ObjectRegistry.address(of: object), for: key)
    if isRetaining { retained[key] = object }
  }

  /// Lets an object go, which is of no context then.
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

  /// Takes out the entry of an object, unless another object has taken its place.
  func forget(_ object: NSManagedObject, _ key: ObjectKey) {
    lock.lock()
    defer { lock.unlock() }
    if entries[key] == ObjectRegistry.address(of: object) { entries.remove(key) }
  }

  /// Lets all objects go.
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
  /// Nothing: a mirror of the properties would read the reference to a context that may be gone, which stops the program.
  var customMirror: Mirror { Mirror(self, children: []) }
}
