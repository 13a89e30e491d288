// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The mutable state of an object that several threads use: every access takes a lock.
///
///     private struct State { var limit = 0 }
///     private let state = Guarded(State())
///     open var limit: Int { get { state.limit } set { state.limit = newValue } }
///
/// The lock protects the state, not the objects in it: a class that hands out references makes sure that these may be
/// shared, or leaves that to the program.
@dynamicMemberLookup
struct Guarded<State>: ~Copyable, Sendable {
  private let content: Mutex<Carrier<State>>

  init(_ state: State) { content = Mutex(Carrier(value: state)) }

  /// A consistent copy of the whole state. Setting replaces it.
  var value: State {
    get { content.withLock { $0 }.value }
    nonmutating set {
      var state = newValue
      // What was there before is released without the lock, since a deinitializer may use the state again.
      content.withLock { swap(&$0.value, &state) }
    }
  }

  /// One property of the state. To change a part of it, such as one value of a dictionary, use `update(_:)`: reading the
  /// property and setting it takes the lock twice.
  subscript<Part>(dynamicMember part: WritableKeyPath<State, Part>) -> Part {
    @inline(__always) get { content.withLock { Carrier(value: $0.value[keyPath: part]) }.value }
    @inline(__always) nonmutating set {
      var value = newValue
      content.withLock { swap(&$0.value[keyPath: part], &value) }
    }
  }

  /// Changes the state while no other thread accesses it. The body must not use the same state in another way.
  func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try content.withLock { Carrier(value: try body(&$0.value)) }.value
  }
}

/// Takes a value into a lock and out of it. The compiler cannot know whether it may be shared; see `Guarded`.
struct Carrier<Value>: @unchecked Sendable {
  var value: Value
}
