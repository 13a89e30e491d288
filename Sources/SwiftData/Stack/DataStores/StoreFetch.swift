// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A fetch of models of a class that is not known statically.
protocol StoreFetch {
  var entityName: String { get }
  func entityNames(in schema: Schema) -> Set<String>
  func snapshots(in store: any DataStore, _ state: EditingState) throws -> StoreSnapshots
  func count(in store: any DataStore, _ state: EditingState) throws -> Int
  func identifiers(in store: any DataStore, _ state: EditingState) throws -> [PersistentIdentifier]
}

/// The results of a fetch from a store of any type.
struct StoreSnapshots {
  var fetched: [any DataStoreSnapshot]
  var related: [any DataStoreSnapshot] = []
}

/// A fetch with a descriptor.
struct DescribedFetch<T: PersistentModel>: StoreFetch {
  var descriptor: FetchDescriptor<T>

  var entityName: String { Schema.entityName(for: T.self) }
  func entityNames(in schema: Schema) -> Set<String> { SwiftData.entityNames(of: T.self, in: schema) }

  func snapshots(in store: any DataStore, _ state: EditingState) throws -> StoreSnapshots {
    try store.snapshots(DataStoreFetchRequest(descriptor: descriptor, editingState: state))
  }
  func count(in store: any DataStore, _ state: EditingState) throws -> Int {
    try store.fetchCount(DataStoreFetchRequest(descriptor: descriptor, editingState: state))
  }
  func identifiers(in store: any DataStore, _ state: EditingState) throws -> [PersistentIdentifier] {
    try store.fetchIdentifiers(DataStoreFetchRequest(descriptor: descriptor, editingState: state))
  }
}

/// Makes fetches for classes that are not known statically.
enum StoreFetches {
  static func all(_ type: any PersistentModel.Type) -> any StoreFetch { make(type) }

  private static func make<T: PersistentModel>(_ type: T.Type) -> any StoreFetch {
    DescribedFetch(descriptor: FetchDescriptor<T>())
  }
}

extension DataStore {
  func snapshots<T: PersistentModel>(_ request: DataStoreFetchRequest<T>) throws -> StoreSnapshots {
    let result = try fetch(request)
    return StoreSnapshots(fetched: result.fetchedSnapshots, related: Array(result.relatedSnapshots.values))
  }

  /// Returns the snapshots with some identifiers, as far as the store has them.
  func snapshots<T: PersistentModel>(
    _ identifiers: [PersistentIdentifier], of type: T.Type, _ state: EditingState
  ) throws -> [any DataStoreSnapshot] {
    let cached = try cachedSnapshots(for: identifiers, editingState: state)
    let missing = identifiers.filter { cached[$0] == nil }
    guard !missing.isEmpty else { return Array(cached.values) }
    var descriptor = FetchDescriptor<T>(predicate: #Predicate<T> { missing.contains($0.persistentModelID) })
    descriptor.includePendingChanges = false
    var found: StoreSnapshots
    do {
      found = try snapshots(DataStoreFetchRequest(descriptor: descriptor, editingState: state))
    } catch DataStoreError.preferInMemoryFilter {
      descriptor.predicate = nil
      found = try snapshots(DataStoreFetchRequest(descriptor: descriptor, editingState: state))
    }
    let wanted = Set(missing)
    return Array(cached.values)
      + (found.fetched + found.related).filter { wanted.contains($0.persistentIdentifier) }
  }
}
