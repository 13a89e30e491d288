// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Fetch requests and fetch indexes.
extension XCDataModelWriter {
  func fetchRequest(_ request: FetchRequestDocument, entity: String, property: String? = nil) throws -> XMLOutput {
    guard request.sortKeys.isEmpty else {
      throw Self.unsayable(
        "The fetch request \(request.name) has sort descriptors.", "Set them where the request is used.",
        entity: entity, property: property)
    }
    var element = Self.named("fetchRequest", request.name)
    element.set("entity", request.entityName)
    element.set("predicateString", request.predicate.map { PredicatePrinter().format($0) })
    element.set("fetchLimit", request.fetchLimit == 0 ? nil : "\(request.fetchLimit)")
    element.set("fetchBatchSize", request.fetchBatchSize == 0 ? nil : "\(request.fetchBatchSize)")
    element.set("resultType", request.resultType == 0 ? nil : "\(request.resultType)")
    element.set("includeSubentities", request.includesSubentities ? nil : "NO")
    element.set("includePropertyValues", request.includesPropertyValues ? nil : "NO")
    element.set("returnObjectsAsFaults", request.returnsObjectsAsFaults ? nil : "NO")
    element.set("returnDistinctResults", flag: request.returnsDistinctResults)
    element.set("includesPendingChanges", request.includesPendingChanges ? nil : "NO")
    return element
  }

  func fetchIndex(_ index: FetchIndexDocument, entity: String) throws -> XMLOutput {
    var element = Self.named("fetchIndex", index.name)
    element.set("partialIndexPredicate", index.partialIndexPredicate.map { PredicatePrinter().format($0) })
    element.children = index.elements.map { part in
      var child = XMLOutput("fetchIndexElement")
      child.set("property", part.propertyName.isEmpty ? nil : part.propertyName)
      child.set("expression", part.expression.map { PredicatePrinter().format($0) })
      child.set("type", part.isRTree ? "RTree" : "Binary")
      child.set("order", part.isAscending ? "ascending" : "descending")
      return child
    }
    return element
  }
}
