// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime
import Foundation

/// A reference to an entity that does not keep it alive.
///
/// A weak reference would do the same with less said, but it makes a table beside the entity, through which all counting of
/// references goes from then on; and every object and every identifier counts its entity. This one has the entity's address
/// until the entity, before its memory is given back, takes it out under the lock. An entity that is going away cannot be
/// retained any more.
final class EntityReference: @unchecked Sendable {
  private let lock = NSLock()
  private var address: UnsafeMutableRawPointer?

  /// Nil when the entity is gone.
  var entity: NSEntityDescription? {
    lock.lock()
    defer { lock.unlock() }
    guard let address, let entity = swift_tryRetain(address) else { return nil }
    return Unmanaged<NSEntityDescription>.fromOpaque(entity).takeRetainedValue()
  }

  fileprivate func point(to entity: NSEntityDescription?) {
    lock.withLock { address = entity.map { Unmanaged.passUnretained($0).toOpaque() } }
  }

  /// For the entity itself, when it goes away.
  func clear() { point(to: nil) }
}

extension NSEntityDescription {
  /// What others have of the entity who do not keep it: one for all of them.
  var reference: EntityReference {
    ownReference.point(to: self)
    return ownReference
  }
}
