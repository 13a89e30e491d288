// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The condition and the order of a fetch, as far as a store can evaluate them.
struct FetchCondition<T: PersistentModel> {
  /// The condition for the store.
  let predicate: NSPredicate?
  /// The condition for the models that the store returns; nil if the store's suffices.
  let filter: Predicate<T>?
  let order: [NSSortDescriptor]

  init(_ descriptor: FetchDescriptor<T>, _ schema: Schema) throws {
    predicate = nil
    filter = descriptor.predicate
    order = try descriptor.sortBy.map { sort in
      guard let keyPath = sort.keyPath else { throw SwiftDataError.unsupportedSortDescriptor }
      return NSSortDescriptor(key: try ModelLayout.name(of: keyPath, in: T.self), ascending: sort.order == .forward)
    }
  }
}
