// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The mutable state of an object that several threads use: every access takes a lock.
///
///     private struct State { var limit = 0 }
///     private let state = Guarded(State())
///     open var limit: Int { get { state.limit } set { state.limit = newValue } }
///
/// The lock protects the state, not the objects in it: a class that hands out references makes sure that these may be
/// shared, or leaves that to the program.
@dynamicMemberLookup
package final class Guarded<State>: @unchecked Sendable {
  // Not a `Mutex`: the thread sanitizer does not see how the kernel hands on one that threads wait for, and reports races.
  private let lock = NSLock()
  private var state: State

  package init(_ state: State) { self.state = state }

  /// A consistent copy of the whole state. Setting replaces it.
  package var value: State {
    get { lock.withLock { state } }
    set {
      var other = newValue
      // What was there before is released without the lock, since a deinitializer may use the state again.
      lock.withLock { swap(&state, &other) }
    }
  }

  /// One property of the state. To change a part of it, such as one value of a dictionary, use `update(_:)`: reading the
  /// property and setting it takes the lock twice.
  package subscript<Part>(dynamicMember part: WritableKeyPath<State, Part>) -> Part {
    get { lock.withLock { state[keyPath: part] } }
    set {
      var other = newValue
      lock.withLock { swap(&state[keyPath: part], &other) }
    }
  }

  /// Changes the state while no other thread accesses it. The body must not use the same state in another way.
  package func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&state) }
  }
}
