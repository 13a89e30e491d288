// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Fetch requests and fetch indexes.
extension XCDataModelReader {
  func fetchRequest(
    _ element: XMLElementNode, entity owner: String? = nil, property: String? = nil
  ) throws -> FetchRequestDocument {
    let entity = element["entity"] ?? ""
    var request = FetchRequestDocument(
      name: element["name"] ?? "", entityName: entity,
      predicate: try predicate("predicateString", of: element, entity: owner ?? entity, property: property))
    request.fetchLimit = try integer("fetchLimit", of: element, entity: entity, property: property) ?? 0
    request.fetchBatchSize = try integer("fetchBatchSize", of: element, entity: entity, property: property) ?? 0
    if let type = try integer("resultType", of: element, entity: entity, property: property) {
      request.resultType = UInt(clamping: type)
    }
    request.includesSubentities = flag(["includeSubentities", "includesSubentities"], of: element, default: true)
    request.includesPropertyValues = flag(
      ["includePropertyValues", "includesPropertyValues"], of: element, default: true)
    request.returnsObjectsAsFaults = flag(
      ["returnObjectsAsFaults", "returnsObjectsAsFaults"], of: element, default: true)
    request.returnsDistinctResults = flag(
      ["returnDistinctResults", "returnsDistinctResults"], of: element, default: false)
    request.includesPendingChanges = flag(
      ["includesPendingChanges", "includePendingChanges"], of: element, default: true)
    return request
  }

  /// Versions of Xcode spell some attributes differently.
  private func flag(_ names: [String], of element: XMLElementNode, default fallback: Bool) -> Bool {
    let name = names.first { element[$0] != nil } ?? names[0]
    return element.flag(name, default: fallback)
  }

  func fetchIndex(_ element: XMLElementNode, entity: String) throws -> FetchIndexDocument {
    let predicateName =
      ["partialIndexPredicate", "predicate", "predicateString"].first { element[$0] != nil } ?? "predicate"
    return FetchIndexDocument(
      name: try name(of: element, entity: entity),
      elements: try element.children("fetchIndexElement").map { part in
        let type = part["type"] ?? "Binary"
        guard ["binary", "rtree"].contains(type.lowercased()) else {
          throw ModelFileError(
            .unreadableValue, found: "The index type \"\(type)\" is unknown.",
            advice: "Known types are Binary and RTree.", file: file, line: part.line, entity: entity,
            property: part["property"])
        }
        return FetchIndexElementDocument(
          propertyName: part["property"] ?? "", expression: try expression("expression", of: part, entity: entity),
          isRTree: type.lowercased() == "rtree", isAscending: part["order"] != "descending")
      },
      partialIndexPredicate: try predicate(predicateName, of: element, entity: entity))
  }
}
