// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A fetch request in a model: an immutable copy that names its entity.
///
/// The document has what model files can hold; the specification also has what only code can set, such as an offset.
struct StoredRequest: @unchecked Sendable {
  let document: FetchRequestDocument
  private let specification: FetchSpecification

  /// Copies a request from a document.
  init(_ document: FetchRequestDocument) {
    self.document = document
    var specification = FetchSpecification()
    specification.entityName = document.entityName
    specification.predicate = document.predicate.map { NSPredicate.make($0) }
    if !document.sortKeys.isEmpty {
      specification.sortDescriptors = document.sortKeys.map {
        NSSortDescriptor(key: $0.keyPath, ascending: $0.ascending)
      }
    }
    specification.fetchLimit = document.fetchLimit
    specification.fetchBatchSize = document.fetchBatchSize
    specification.resultType = NSFetchRequestResultType(rawValue: document.resultType)
    specification.includesSubentities = document.includesSubentities
    specification.includesPropertyValues = document.includesPropertyValues
    specification.returnsObjectsAsFaults = document.returnsObjectsAsFaults
    specification.returnsDistinctResults = document.returnsDistinctResults
    specification.includesPendingChanges = document.includesPendingChanges
    self.specification = specification
  }

  /// Copies a request. Traps for a block predicate or a comparator.
  init(name: String, _ request: NSFetchRequest<any NSFetchRequestResult>) {
    var specification = request.specification
    specification.entity = nil
    self.specification = specification
    var document = FetchRequestDocument(name: name, entityName: specification.entityName ?? "")
    document.predicate = specification.predicate.map { PredicateSyntax($0, in: "The request '\(name)'") }
    document.sortKeys = (specification.sortDescriptors ?? []).map { descriptor in
      do {
        let key = try SortKey(descriptor)
        return SortKeyDocument(keyPath: key.keyPath, ascending: key.isAscending)
      } catch {
        preconditionFailure("The request '\(name)' cannot be part of a model. \(error)")
      }
    }
    document.fetchLimit = specification.fetchLimit
    document.fetchBatchSize = specification.fetchBatchSize
    document.resultType = specification.resultType.rawValue
    document.includesSubentities = specification.includesSubentities
    document.includesPropertyValues = specification.includesPropertyValues
    document.returnsObjectsAsFaults = specification.returnsObjectsAsFaults
    document.returnsDistinctResults = specification.returnsDistinctResults
    document.includesPendingChanges = specification.includesPendingChanges
    self.document = document
  }

  /// Returns a new request, with the entity of a model.
  func request(in model: NSManagedObjectModel?) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.specification = specification
    request.specification.entity = model?.entitiesByName[document.entityName]
    return request
  }
}
