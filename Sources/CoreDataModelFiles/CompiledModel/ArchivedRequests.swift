// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads fetch requests from keyed archives.
///
/// No known file contains one, so the keys are those that Core Data's naming suggests. Missing keys have Core Data's
/// defaults.
enum ArchivedRequests {
  static func request(_ object: ArchivedObject?, name: String) throws -> FetchRequestDocument {
    guard let object, object.className == "NSFetchRequest" else {
      throw ArchiveFailure.broken("A fetch request is missing.")
    }
    let entityName =
      try object.string("NSEntityName") ?? object.object("NSEntity")?.string("NSEntityName") ?? ""
    var request = FetchRequestDocument(
      name: name, entityName: entityName,
      predicate: try object.object("NSPredicate").map { try ArchivedPredicates.predicate($0) })
    request.sortKeys = try object.elements("NSSortDescriptors").map { value in
      let descriptor = try object.archive.object(value)
      return SortKeyDocument(
        keyPath: try required("NSKey", of: descriptor), ascending: try descriptor?.flag("NSAscending") ?? true)
    }
    request.fetchLimit = Int(clamping: try object.integer("NSFetchLimit") ?? 0)
    request.fetchBatchSize = Int(clamping: try object.integer("NSFetchBatchSize") ?? 0)
    request.resultType = UInt(clamping: try object.integer("NSResultType") ?? 0)
    request.includesSubentities = try object.flag("NSIncludesSubentities", default: true)
    request.includesPropertyValues = try object.flag("NSIncludesPropertyValues", default: true)
    request.returnsObjectsAsFaults = try object.flag("NSReturnsObjectsAsFaults", default: true)
    request.returnsDistinctResults = try object.flag("NSReturnsDistinctResults")
    request.includesPendingChanges = try object.flag("NSIncludesPendingChanges", default: true)
    return request
  }
}

/// Writes fetch requests to keyed archives.
extension KeyedArchiveBuilder {
  mutating func request(_ request: FetchRequestDocument) throws -> ArchiveValue {
    let descriptors = request.sortKeys.map { key in
      add(
        "NSSortDescriptor",
        ["NSKey": string(key.keyPath), "NSAscending": .boolean(key.ascending), "NSSelector": string("compare:")])
    }
    return add(
      "NSFetchRequest",
      [
        "NSEntityName": string(request.entityName),
        "NSPredicate": try request.predicate.map { try predicate($0) } ?? Self.null,
        "NSSortDescriptors": descriptors.isEmpty ? Self.null : collection(descriptors),
        "NSFetchLimit": .integer(Int64(request.fetchLimit)),
        "NSFetchBatchSize": .integer(Int64(request.fetchBatchSize)),
        "NSResultType": .integer(Int64(clamping: request.resultType)),
        "NSIncludesSubentities": .boolean(request.includesSubentities),
        "NSIncludesPropertyValues": .boolean(request.includesPropertyValues),
        "NSReturnsObjectsAsFaults": .boolean(request.returnsObjectsAsFaults),
        "NSReturnsDistinctResults": .boolean(request.returnsDistinctResults),
        "NSIncludesPendingChanges": .boolean(request.includesPendingChanges),
      ])
  }
}
