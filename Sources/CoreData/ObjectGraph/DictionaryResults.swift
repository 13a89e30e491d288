// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Makes dictionaries of objects, for requests that ask for them.
struct DictionaryResults {
  private let columns: [(name: String, value: (NSManagedObject) throws -> Any?)]
  private let isDistinct: Bool

  init(_ specification: FetchSpecification, entity: NSEntityDescription) throws {
    isDistinct = specification.returnsDistinctResults
    if let wanted = specification.propertiesToFetch {
      columns = try wanted.map { try DictionaryResults.column($0, entity) }
    } else {
      columns = try entity.attributesByName.filter { !$0.value.isTransient }.keys.sorted()
        .map { try DictionaryResults.column($0, entity) }
    }
  }

  private static func column(
    _ property: Any, _ entity: NSEntityDescription
  ) throws -> (String, (NSManagedObject) throws -> Any?) {
    switch property {
    case let expression as NSExpressionDescription:
      guard let tree = expression.expression?.syntax else {
        throw ObjectGraphErrors.badRequest(
          "The expression description '\(expression.name)' has no expression.", entity: entity,
          suggestion: "Set its expression.")
      }
      return (
        expression.name,
        { object in
          let value = try PredicateEvaluator().value(tree, with: object)
          return (value as? NSManagedObject)?.objectID ?? value
        }
      )
    case let description as NSPropertyDescription:
      return try column(description.name, entity)
    case let name as String:
      let first = name.split(separator: ".").first.map(String.init) ?? name
      if name == "objectID", entity.propertiesByName[name] == nil { return (name, { $0.objectID }) }
      guard entity.slotTable.position(of: first) != nil else {
        throw ObjectGraphErrors.badRequest(
          "'\(first)' is no attribute or relationship of '\(entity.name ?? "")'.", entity: entity,
          suggestion: "Correct propertiesToFetch.")
      }
      return (
        name,
        { object in
          let value = try KeyPathReader.value(name, of: object)
          return (value as? NSManagedObject)?.objectID ?? value
        }
      )
    default:
      throw ObjectGraphErrors.badRequest(
        "propertiesToFetch holds a \(type(of: property)).", entity: entity,
        suggestion: "Give names of properties, or property descriptions.")
    }
  }

  func dictionaries(of objects: [NSManagedObject]) throws -> [NSDictionary] {
    var seen: Set<NSDictionary> = []
    var result: [NSDictionary] = []
    for object in objects {
      let dictionary = NSMutableDictionary()
      for column in columns {
        if let value = try column.value(object) { dictionary[column.name] = value }
      }
      if !isDistinct || seen.insert(dictionary).inserted { result.append(dictionary) }
    }
    return result
  }
}
