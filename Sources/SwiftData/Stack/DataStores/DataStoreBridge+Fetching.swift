// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension DataStoreBridge {
  /// Fetches models, and keeps the snapshots.
  func rows(_ fetch: any StoreFetch, _ core: ContextCore?) throws -> [NSManagedObjectID] {
    let found = try fetch.snapshots(in: store, state(of: core))
    for snapshot in found.related { try keep(snapshot) }
    let names = fetch.entityNames(in: schema)
    var seen: Set<NSManagedObjectID> = []
    return try found.fetched.compactMap { snapshot in
      guard names.contains(snapshot.persistentIdentifier.entityName) else { return nil }
      let id = try keep(snapshot)
      return seen.insert(id).inserted ? id : nil
    }
  }

  /// Executes a request of Core Data itself: reads all models of the entity, and selects among them.
  func objects(_ request: NSFetchRequest<NSManagedObject>, _ context: NSManagedObjectContext) throws -> [Any] {
    guard let entity = request.entity, let type = schema.entitiesByName[entity.name ?? ""]?.type else { return [] }
    let ids = try rows(StoreFetches.all(type), ContextCore.of(context))
    var objects = ids.map { context.object(with: $0) }
    if !request.includesSubentities { objects = objects.filter { $0.entity === entity } }
    if let predicate = request.predicate { objects = objects.filter { predicate.evaluate(with: $0) } }
    if let descriptors = request.sortDescriptors, !descriptors.isEmpty {
      objects.sort { left, right in
        let order = descriptors.lazy.map { $0.compare(left, to: right) }.first { $0 != .orderedSame }
        return order == .orderedAscending
      }
    }
    objects = Array(objects.dropFirst(request.fetchOffset))
    if request.fetchLimit > 0 { objects = Array(objects.prefix(request.fetchLimit)) }
    switch request.resultType {
    case .countResultType: return [NSNumber(value: objects.count)]
    case .managedObjectIDResultType: return objects.map(\.objectID)
    case .managedObjectResultType: return objects
    default: throw problem("Dictionaries cannot be fetched from the store.")
    }
  }
}
