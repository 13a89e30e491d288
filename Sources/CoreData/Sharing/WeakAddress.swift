// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime

/// A weak reference that does not slow down its object's reference counting.
///
/// `weak` allocates a side table for the object, through which all its reference counting goes from then on. That is
/// too slow for contexts, stores and coordinators, which every object and every row uses. An unowned reference keeps
/// the memory from being reused, so that `swift_tryRetain` can tell whether the object is alive. May be read on any
/// thread.
package struct WeakAddress<Object: AnyObject>: @unchecked Sendable {
  package let address: UnsafeMutableRawPointer
  private unowned let memory: Object

  package init(_ object: Object) {
    memory = object
    address = Unmanaged.passUnretained(object).toOpaque()
  }

  /// The object; nil once it is being deallocated.
  package var object: Object? { Self.object(at: address) }

  /// Returns the object at an address; nil if it is being deallocated. Its memory must not have been reused.
  @inline(__always)
  package static func object(at address: UnsafeMutableRawPointer) -> Object? {
    guard let object = swift_tryRetain(address) else { return nil }
    return Unmanaged<Object>.fromOpaque(object).takeRetainedValue()
  }
}

extension WeakAddress: CustomReflectable {
  /// An empty mirror, because reading the unowned reference to a deallocated object would trap.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
