// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The history of data stores.
extension ContextCore {
  private func providers<T: HistoryTransaction>(_ type: T.Type) -> [any HistoryProviding] {
    container.dataStores.compactMap { $0.store as? any HistoryProviding }.filter { Self.provides($0, type) }
  }

  private static func provides<Store: HistoryProviding, T>(_ store: Store, _ type: T.Type) -> Bool {
    Store.HistoryType.self == type
  }

  /// Returns the transactions of the data stores with transactions of a type; nil if there is no such store.
  func dataStoreHistory<T: HistoryTransaction>(_ descriptor: HistoryDescriptor<T>) throws -> [T]? {
    let providers = providers(T.self)
    if providers.isEmpty { return nil }
    return try container.coordinator.performAndWait {
      try providers.flatMap { try Self.fetch($0, descriptor) }
    }
  }

  private static func fetch<Store: HistoryProviding, T>(
    _ store: Store, _ descriptor: HistoryDescriptor<T>
  ) throws -> [T] {
    guard let descriptor = descriptor as? HistoryDescriptor<Store.HistoryType> else { return [] }
    return try store.fetchHistory(descriptor) as? [T] ?? []
  }

  /// Deletes transactions of the data stores with transactions of a type.
  ///
  /// - Returns: whether there is such a store.
  func deleteDataStoreHistory<T: HistoryTransaction>(_ descriptor: HistoryDescriptor<T>) throws -> Bool {
    let providers = providers(T.self)
    try container.coordinator.performAndWait {
      for provider in providers { try Self.delete(provider, descriptor) }
    }
    return !providers.isEmpty
  }

  private static func delete<Store: HistoryProviding, T>(
    _ store: Store, _ descriptor: HistoryDescriptor<T>
  ) throws {
    if let descriptor = descriptor as? HistoryDescriptor<Store.HistoryType> { try store.deleteHistory(descriptor) }
  }
}
