// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime
import Foundation

/// A reference to an entity that does not retain it.
///
/// A weak reference would be simpler, but makes a side table for the entity, through which all its reference counting
/// goes from then on; and every object and every identifier retains its entity. This one holds the entity's address
/// until the entity, before it is deallocated, clears it under the lock. `swift_tryRetain` refuses an entity that is
/// being deallocated.
final class EntityReference: @unchecked Sendable {
  private let lock = NSLock()
  private var address: UnsafeMutableRawPointer?

  /// The entity; nil once it is being deallocated.
  var entity: NSEntityDescription? {
    lock.lock()
    defer { lock.unlock() }
    guard let address, let entity = swift_tryRetain(address) else { return nil }
    return Unmanaged<NSEntityDescription>.fromOpaque(entity).takeRetainedValue()
  }

  fileprivate func point(to entity: NSEntityDescription?) {
    lock.withLock { address = entity.map { Unmanaged.passUnretained($0).toOpaque() } }
  }

  /// Called by the entity when it is deallocated.
  func clear() { point(to: nil) }
}

extension NSEntityDescription {
  /// The reference to the entity, shared by all that do not retain it.
  var reference: EntityReference {
    ownReference.point(to: self)
    return ownReference
  }
}
