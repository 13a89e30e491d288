// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The condition and the order of a fetch, as far as a store can evaluate them.
struct FetchCondition<T: PersistentModel> {
  /// The condition for the store; nil for none.
  let predicate: NSPredicate?
  /// The condition for the models that the store returns; nil if the store's suffices.
  let filter: Predicate<T>?
  let order: [NSSortDescriptor]

  init(_ descriptor: FetchDescriptor<T>, _ core: ContextCore) throws {
    let translated = try descriptor.predicate.map { try PredicateTranslator(core).translate($0) }
    predicate = translated?.predicate
    filter = translated?.isExact == false ? descriptor.predicate : nil
    order = try descriptor.sortBy.map { try SortTranslation().descriptor($0) }
  }
}

extension PredicateTranslator {
  /// Creates a translator for the models of a context.
  convenience init(_ core: ContextCore) {
    self.init(
      objectID: { core.objectID(for: $0) },
      entities: { type in
        func all(_ entity: NSEntityDescription) -> [NSEntityDescription] {
          [entity] + entity.subentities.flatMap(all)
        }
        return core.container.entity(of: type).map(all) ?? []
      })
  }
}
