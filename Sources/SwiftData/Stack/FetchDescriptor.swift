// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Which models a fetch returns, and in which order.
public struct FetchDescriptor<T: PersistentModel> {
  /// The condition; nil for all models.
  public var predicate: Predicate<T>?
  /// The order.
  public var sortBy: [SortDescriptor<T>]
  /// The maximum number of models; nil for no limit.
  public var fetchLimit: Int?
  /// The number of models that are left out at the beginning.
  public var fetchOffset: Int?
  /// Whether unsaved changes of the context are considered; true by default.
  public var includePendingChanges = true
  /// The properties that are read with the models; all if empty.
  public var propertiesToFetch: [PartialKeyPath<T>] = []
  /// The relationships whose destinations are read with the models.
  public var relationshipKeyPathsForPrefetching: [PartialKeyPath<T>] = []

  /// Creates a descriptor.
  ///
  /// - Parameters:
  ///   - predicate: the condition; nil for all models.
  ///   - sortBy: the order.
  public init(predicate: Predicate<T>? = nil, sortBy: [SortDescriptor<T>] = []) {
    self.predicate = predicate
    self.sortBy = sortBy
  }
}
