// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension ModelContext {
  /// Returns the models that a descriptor describes.
  ///
  /// - Throws: `SwiftDataError.unsupportedPredicate` and `.unsupportedSortDescriptor` for what a store cannot do, and
  ///   Core Data's errors.
  public func fetch<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [T] {
    let request = try request(for: descriptor)
    return try managed.fetch(request).compactMap { core.model(of: $0) as? T }
  }

  /// Returns the number of models that a descriptor describes.
  public func fetchCount<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> Int {
    try managed.count(for: try request(for: descriptor))
  }

  /// Returns the identifiers of the models that a descriptor describes.
  public func fetchIdentifiers<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [PersistentIdentifier] {
    try fetch(descriptor).map(\.persistentModelID)
  }

  private func request<T: PersistentModel>(for descriptor: FetchDescriptor<T>) throws -> NSFetchRequest<ModelRow> {
    let request = NSFetchRequest<ModelRow>(entityName: core.entity(of: T.self).name ?? "")
    request.fetchLimit = descriptor.fetchLimit ?? 0
    request.fetchOffset = descriptor.fetchOffset ?? 0
    request.includesPendingChanges = descriptor.includePendingChanges
    request.relationshipKeyPathsForPrefetching = try descriptor.relationshipKeyPathsForPrefetching.map {
      try ModelLayout.name(of: $0, in: T.self)
    }
    request.sortDescriptors = try descriptor.sortBy.map { sort in
      guard let keyPath = sort.keyPath else { throw SwiftDataError.unsupportedSortDescriptor }
      return NSSortDescriptor(
        key: try ModelLayout.name(of: keyPath, in: T.self), ascending: sort.order == .forward)
    }
    if descriptor.predicate != nil { throw SwiftDataError.unsupportedPredicate }
    return request
  }
}
