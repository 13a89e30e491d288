// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads the destinations of relationships with one query per entity, instead of one per object.
struct Prefetching {
  /// How many rows one query asks for.
  private static let batchSize = 500

  let context: NSManagedObjectContext

  func prefetch(_ keyPaths: [String], of objects: [NSManagedObject]) throws {
    for keyPath in keyPaths {
      var level = objects
      for key in keyPath.split(separator: ".").map(String.init) {
        level = try prefetch(key, of: level)
      }
    }
  }

  private func prefetch(_ key: String, of objects: [NSManagedObject]) throws -> [NSManagedObject] {
    var destinations: [NSManagedObject] = []
    var seen: Set<ObjectIdentifier> = []
    for object in objects {
      guard let position = object.table.position(of: key), object.table.relationship(at: position) != nil else {
        throw ObjectGraphErrors.badRequest(
          "'\(key)' is not a relationship of '\(object.entity.name ?? "")', so it cannot be prefetched.",
          entity: object.entity, suggestion: "Correct relationshipKeyPathsForPrefetching.")
      }
      for destination in object.linkedObjects(at: position) where seen.insert(ObjectIdentifier(destination)).inserted {
        destinations.append(destination)
      }
    }
    try readRows(of: destinations.filter { $0.isFault && $0.snapshot == nil }) { context.readAhead[$0.id.key] = $0 }
    return destinations
  }

  /// Reads the rows of faults, which keep them until they fire.
  func readRows(of faults: [NSManagedObject], _ didRead: (RowSnapshot) -> Void = { _ in }) throws {
    let groups = Dictionary(grouping: faults) { $0.entity.name ?? "" }
    for (_, group) in groups.sorted(by: { $0.key < $1.key }) {
      for start in stride(from: 0, to: group.count, by: Prefetching.batchSize) {
        let part = Array(group[start..<min(start + Prefetching.batchSize, group.count)])
        guard let entity = part.first?.entity else { continue }
        var query = RowQuery(entity: entity, includesSubentities: false)
        query.predicate = .comparison(
          .init(.evaluatedObject, .in, .constant(.array(part.map { .object(.init($0.objectID)) }))))
        for store in try context.coordinator.rowStores(for: entity) {
          let rows = try context.coordinator.withLock { try store.rows(for: query) }
          for row in rows ?? [] {
            didRead(row)
            _ = context.object(for: row)
          }
        }
      }
    }
  }
}

/// The results of a request with a `fetchBatchSize`. Its objects are faults; firing one reads the rows of its whole
/// batch.
final class FetchBatch {
  private let ids: [NSManagedObjectID]
  private let size: Int
  private lazy var positions = Dictionary(ids.enumerated().map { ($1.key, $0) }) { first, _ in first }

  init(_ ids: [NSManagedObjectID], size: Int) {
    self.ids = ids
    self.size = size
  }

  /// Reads the rows of an object and of the other registered faults in its batch.
  func readRows(around object: NSManagedObject, in context: NSManagedObjectContext) throws {
    guard let position = positions[object.identifier.key] else { return }
    let start = position / size * size
    let faults = ids[start..<min(start + size, ids.count)].compactMap { context.registry[$0.key] }
      .filter { $0.isFault && $0.snapshot == nil && $0.batch === self }
    for fault in faults { fault.batch = nil }
    try Prefetching(context: context).readRows(of: faults)
  }
}
