// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The identity of a context for data stores, which learn when it ends.
final class EditingSession {
  let id = UUID()
  private var stores: [DataStoreBridge] = []

  func use(_ store: DataStoreBridge) { stores.append(store) }

  deinit {
    let state = EditingState(id: id, author: nil)
    for store in stores {
      // The last reference to a context may be released while the coordinator's lock is held.
      store.persistentStoreCoordinator?.perform { store.endSession(state) }
    }
  }
}

extension ContextCore {
  private final class Reference {
    weak var core: ContextCore?
    init(_ core: ContextCore) { self.core = core }
  }

  private static let key = "SwiftData.ContextCore"

  /// Lets stores find this context by its Core Data context.
  func register() { managed.userInfo[Self.key] = Reference(self) }

  /// Returns the context of a Core Data context; nil for one of Core Data itself.
  static func of(_ managed: NSManagedObjectContext) -> ContextCore? {
    (managed.userInfo[key] as? Reference)?.core
  }

  var editingState: EditingState { EditingState(id: session.id, author: managed.transactionAuthor) }

  /// Runs a closure in which the data store executes a fetch.
  func running<Result>(_ fetch: any StoreFetch, _ body: () throws -> Result) rethrows -> Result {
    let outer = runningFetch
    runningFetch = fetch
    defer { runningFetch = outer }
    return try body()
  }

  /// Reads the models again that stores have changed while saving them.
  func refreshReregistered() {
    for id in reregistered {
      if let row = managed.registeredObject(for: id), !row.isFault { managed.refresh(row, mergeChanges: true) }
    }
    reregistered = []
  }
}
