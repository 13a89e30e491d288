// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime

/// A weak reference that leaves its object's reference counting as fast as it was.
///
/// `weak` makes a side table for the object, through which all its reference counting goes from then on: too slow for
/// contexts, stores and coordinators, which every object and every row uses. An unowned reference keeps the memory from
/// being used again, so that `swift_tryRetain` can tell whether the object is alive. May be read on any thread.
package struct WeakAddress<Object: AnyObject>: @unchecked Sendable {
  package let address: UnsafeMutableRawPointer
  private unowned let memory: Object

  package init(_ object: Object) {
    memory = object
    address = Unmanaged.passUnretained(object).toOpaque()
  }

  /// The object; nil once it is being deallocated.
  package var object: Object? { Self.object(at: address) }

  /// The object at an address; nil if it is being deallocated. Its memory must not have been used again.
  @inline(__always)
  package static func object(at address: UnsafeMutableRawPointer) -> Object? {
    guard let object = swift_tryRetain(address) else { return nil }
    return Unmanaged<Object>.fromOpaque(object).takeRetainedValue()
  }
}

extension WeakAddress: CustomReflectable {
  /// An empty mirror: reading the unowned reference to a deallocated object would stop the program.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
