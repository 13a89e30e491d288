// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Mutable state that several threads use. Every access takes a lock.
///
///     private struct State { var limit = 0 }
///     private let state = Guarded(State())
///     open var limit: Int { get { state.limit } set { state.limit = newValue } }
///
/// The lock protects the state, but not the objects in it. A class that returns references must ensure that these can
/// be shared, or leave that to the program.
@dynamicMemberLookup
package final class Guarded<State>: @unchecked Sendable {
  // Not a `Mutex`: the thread sanitizer does not see the kernel's handover of a contended `Mutex`, and reports races.
  private let lock = NSLock()
  private var state: State

  package init(_ state: State) { self.state = state }

  /// A consistent copy of the whole state. Setting it replaces the state.
  package var value: State {
    get { lock.withLock { state } }
    set {
      var other = newValue
      // The previous state is released outside the lock, because a deinitializer may use the state again.
      lock.withLock { swap(&state, &other) }
    }
  }

  /// One property of the state. To change a part of it, such as one value of a dictionary, use `update(_:)`, because
  /// reading and setting the property takes the lock twice.
  package subscript<Part>(dynamicMember part: WritableKeyPath<State, Part>) -> Part {
    get { lock.withLock { state[keyPath: part] } }
    set {
      var other = newValue
      lock.withLock { swap(&state[keyPath: part], &other) }
    }
  }

  /// Changes the state while no other thread accesses it. The body must not access the same state in any other way.
  package func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&state) }
  }
}
