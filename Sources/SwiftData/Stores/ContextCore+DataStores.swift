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

  /// Finds the models that change because a relationship that leads to them does.
  ///
  /// In a SQLite store a to-many relationship has no value of its own if its inverse is a to-one relationship. A snapshot
  /// has one, so both ends must be saved.
  func prepareDataStores() {
    guard !container.dataStores.isEmpty else { return }
    managed.processPendingChanges()
    reregistered = []
    historyTokens = []
    ownersToSave = []
    let changed = managed.insertedObjects.union(managed.updatedObjects).union(managed.deletedObjects)
    for row in changed where container.dataStore(for: row.entity) != nil {
      for (name, relationship) in row.entity.relationshipsByName where relationship.inverseRelationship != nil {
        addOwners(of: row, name, relationship)
      }
    }
    for row in managed.updatedObjects where container.dataStore(for: row.entity) != nil { ownersToSave.insert(row) }
  }

  private func addOwners(of row: NSManagedObject, _ name: String, _ relationship: NSRelationshipDescription) {
    if !row.isInserted, !row.isDeleted, row.changedValues()[name] == nil { return }
    func rows(_ value: Any?) -> Set<NSManagedObject> {
      if let set = value as? Set<NSManagedObject> { return set }
      return (value as? NSManagedObject).map { [$0] } ?? []
    }
    let before = row.isInserted ? [] : rows(row.committedValues(forKeys: [name])[name])
    let after = row.isDeleted ? [] : rows(row.value(forKey: name))
    for owner in before.symmetricDifference(after) where !owner.isDeleted && !owner.isInserted {
      // Reading the relationship removes deleted members from it.
      if let inverse = relationship.inverseRelationship { _ = owner.value(forKey: inverse.name) }
      ownersToSave.insert(owner)
    }
  }

  /// Reads the models again that stores have changed while saving them.
  func refreshReregistered() {
    ownersToSave = []
    for id in reregistered {
      if let row = managed.registeredObject(for: id), !row.isFault { managed.refresh(row, mergeChanges: true) }
    }
    reregistered = []
  }
}
