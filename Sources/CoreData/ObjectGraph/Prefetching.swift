// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads the destinations of relationships along with a fetch, one query an entity instead of one an object.
struct Prefetching {
  /// How many identifiers one query names.
  private static let batch = 500

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
          "'\(key)' is no relationship of '\(object.entity.name ?? "")', so it cannot be read ahead.",
          entity: object.entity, suggestion: "Correct relationshipKeyPathsForPrefetching.")
      }
      for destination in object.linkedObjects(at: position) where seen.insert(ObjectIdentifier(destination)).inserted {
        destinations.append(destination)
      }
    }
    try readRows(of: destinations.filter { $0.isFault && $0.snapshot == nil }) { context.readAhead[$0.id.key] = $0 }
    return destinations
  }

  /// Reads the rows of faults, which keep them ready.
  func readRows(of faults: [NSManagedObject], _ didRead: (RowSnapshot) -> Void = { _ in }) throws {
    let groups = Dictionary(grouping: faults) { $0.entity.name ?? "" }
    for (_, group) in groups.sorted(by: { $0.key < $1.key }) {
      for start in stride(from: 0, to: group.count, by: Prefetching.batch) {
        let part = Array(group[start..<min(start + Prefetching.batch, group.count)])
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
