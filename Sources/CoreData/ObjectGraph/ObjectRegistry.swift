// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The objects of a context by identity, held weakly: an object without changes lives as long as somebody uses it.
///
/// Objects may go away on any thread, hence the lock.
final class ObjectRegistry: @unchecked Sendable {
  private struct Entry {
    weak var object: NSManagedObject?
  }

  private let lock = NSLock()
  private var entries: [ObjectKey: Entry] = [:]
  private var retained: [ObjectKey: NSManagedObject] = [:]

  /// Whether objects are kept alive.
  var retainsObjects = false {
    didSet {
      let alive = objects
      lock.withLock {
        retained = retainsObjects ? Dictionary(uniqueKeysWithValues: alive.map { ($0.identifier.key, $0) }) : [:]
      }
    }
  }

  /// All objects that are alive.
  var objects: [NSManagedObject] {
    lock.withLock { entries.values.compactMap(\.object) }
  }

  subscript(key: ObjectKey) -> NSManagedObject? {
    lock.withLock { entries[key]?.object }
  }

  func add(_ object: NSManagedObject) {
    let key = object.identifier.key
    lock.withLock {
      entries[key] = Entry(object: object)
      if retainsObjects { retained[key] = object }
    }
  }

  /// Files an object that is here under the identifier that it has now.
  func rename(_ object: NSManagedObject, from old: ObjectKey) {
    let key = object.identifier.key
    lock.withLock {
      entries[old] = nil
      entries[key] = Entry(object: object)
      if retainsObjects {
        retained[old] = nil
        retained[key] = object
      }
    }
  }

  func remove(_ key: ObjectKey) {
    let released: NSManagedObject? = lock.withLock {
      entries[key] = nil
      return retained.removeValue(forKey: key)
    }
    // An object that goes away here calls back into the registry: not while the lock is held.
    withExtendedLifetime(released) {}
  }

  /// Removes the entry of an object that has gone away, unless another object has taken its place.
  func removeIfGone(_ key: ObjectKey) {
    lock.withLock {
      if let entry = entries[key], entry.object == nil { entries[key] = nil }
    }
  }

  func removeAll() {
    let released = lock.withLock {
      let all = (entries, retained)
      entries = [:]
      retained = [:]
      return all
    }
    withExtendedLifetime(released) {}
  }
}
