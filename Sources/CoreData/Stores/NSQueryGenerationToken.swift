// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A state of a coordinator's stores that contexts can keep reading while others save.
///
/// Get the token of a context with `queryGenerationToken`, and have another context read the same state with
/// `setQueryGenerationFrom(_:)`. The state is kept as long as a context or a token of it exists.
///
/// Differs from Apple: does not support `NSCoding`, since a state ends with the process.
open class NSQueryGenerationToken: NSObject, NSCopying, @unchecked Sendable {
  /// The generation; nil for the `current` token.
  package let generation: QueryGeneration?

  package init(_ generation: QueryGeneration?) {
    self.generation = generation
    super.init()
  }

  private static let shared = NSQueryGenerationToken(nil)

  /// The token that pins a context to the state of the stores at its next read.
  open class var current: NSQueryGenerationToken { shared }

  /// Returns the token itself, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSQueryGenerationToken else { return false }
    return generation === other.generation
  }

  open override var hash: Int { generation.map { ObjectIdentifier($0).hashValue } ?? 0 }
}

/// A store that can keep serving reads from one state.
package protocol GenerationalStore: RowStore {
  /// Pins the current state.
  ///
  /// - Throws: 134091 if the store cannot do that with the options it was opened with; the store's errors.
  func openGeneration() throws -> any StoreGeneration
}

/// A state of one store, kept until the object is deallocated. May be used on any thread.
package protocol StoreGeneration: AnyObject {
  /// Reads rows of this state.
  ///
  /// - Throws: 134070 if the file has been destroyed, replaced or closed; what the body throws.
  func reading<Result>(_ body: (any RowSource) throws -> Result) throws -> Result
}

/// The states of all stores of a coordinator at one point in time.
package final class QueryGeneration {
  /// The states by store. Immutable.
  private let generations: [ObjectIdentifier: any StoreGeneration]
  private let coordinator: WeakAddress<NSPersistentStoreCoordinator>

  /// Pins the current states.
  ///
  /// - Throws: 134091 if a store cannot pin its state; the stores' errors.
  package init(_ coordinator: NSPersistentStoreCoordinator) throws {
    self.coordinator = WeakAddress(coordinator)
    generations = try coordinator.withLock {
      var generations: [ObjectIdentifier: any StoreGeneration] = [:]
      for store in coordinator.stores {
        guard let generational = store as? any GenerationalStore else {
          throw StoreErrors.noGenerations(of: store, reason: "Stores of the type \(store.type) keep no earlier states.")
        }
        generations[ObjectIdentifier(store)] = try generational.openGeneration()
      }
      return generations
    }
  }

  package func belongs(to coordinator: NSPersistentStoreCoordinator) -> Bool { self.coordinator.object === coordinator }

  /// Returns the state of a store; nil for one that was added later.
  package subscript(store: NSPersistentStore) -> (any StoreGeneration)? { generations[ObjectIdentifier(store)] }
}
