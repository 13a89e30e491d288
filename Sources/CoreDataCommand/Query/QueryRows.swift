// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The objects that a query finds, read in parts: whatever their number, few of them are in memory together.
struct QueryRows {
  let objects: OpenedObjects
  let entity: NSEntityDescription
  let columns: [QueryColumn]
  /// Whether objects of subentities are among them.
  var includesSubentities = true
  var predicate: NSPredicate?
  var sortDescriptors: [NSSortDescriptor] = []
  var limit: Int?

  /// The number of objects that are read together.
  private static let part = 500

  private func request<Result>(_ type: Result.Type, _ kind: NSFetchRequestResultType) -> NSFetchRequest<Result> {
    let request = NSFetchRequest<Result>(entityName: entity.name ?? "")
    request.resultType = kind
    request.affectedStores = [objects.store]
    request.includesSubentities = includesSubentities
    return request
  }

  /// Returns the number of objects.
  ///
  /// - Throws: the errors of the fetch.
  func count() throws -> Int {
    let request = request(NSManagedObject.self, .managedObjectResultType)
    request.predicate = predicate
    let count = try objects.context.count(for: request)
    return limit.map { min($0, count) } ?? count
  }

  /// Calls a closure with the objects in order, in parts, each with a row of values for each object.
  ///
  /// - Parameter didMiss: called with the object and the column of a value that cannot be read, which is null then.
  /// - Throws: the errors of the fetch, and of the closure.
  func forEachPart(
    didMiss: (NSManagedObjectID, String, any Error) throws -> Void,
    _ body: ([(id: NSManagedObjectID, values: [QueryValue])]) throws -> Void
  ) throws {
    if limit == 0 { return }
    let found = request(NSManagedObjectID.self, .managedObjectIDResultType)
    found.predicate = predicate
    found.sortDescriptors = sortDescriptors
    if let limit { found.fetchLimit = limit }
    let ids = try objects.context.fetch(found)
    for start in stride(from: 0, to: ids.count, by: Self.part) {
      let part = ids[start..<min(start + Self.part, ids.count)]
      let request = request(NSManagedObject.self, .managedObjectResultType)
      request.predicate = try NSPredicate.checked(format: "SELF IN %@", argumentArray: [Array(part)])
      request.relationshipKeyPathsForPrefetching = Array(Set(columns.compactMap(\.relationships))).sorted()
      request.returnsObjectsAsFaults = false
      let read = try objects.context.fetch(request)
      let byID = Dictionary(read.map { ($0.objectID, $0) }) { first, _ in first }
      // One that another process has deleted since is left out.
      let rows = try part.compactMap { byID[$0] }.map { object in
        (
          id: object.objectID,
          values: try columns.map { column -> QueryValue in
            do {
              return try column.value(of: object)
            } catch {
              try didMiss(object.objectID, column.path, error)
              return .null
            }
          }
        )
      }
      try body(rows)
      objects.context.reset()
    }
  }
}
