// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// Makes the results of a fetch with the result type `dictionaryResultType`.
struct DictionaryResults {
  private struct Column {
    let name: String
    let expression: ExpressionSyntax
    /// Computes the value of one object; nil for an aggregate.
    var value: ((NSManagedObject) throws -> Any?)?
    /// Computes an aggregate of all objects, such as the maximum of a property.
    var summary: (([NSManagedObject]) throws -> Any?)?
  }

  private let entity: NSEntityDescription
  private let columns: [Column]
  private let isDistinct: Bool
  /// The properties by whose values the objects are grouped.
  private let groupColumns: [Column]
  /// The condition for groups.
  private let having: PredicateSyntax?

  /// Whether the request asks for aggregates, and thus for one dictionary over all objects.
  var isSummary: Bool { columns.contains { $0.summary != nil } }

  /// The criteria for a store that makes the dictionaries itself.
  var criteria: ResultCriteria {
    func columns(_ columns: [Column]) -> [ResultCriteria.Column] {
      columns.map { .init(name: $0.name, expression: $0.expression) }
    }
    return ResultCriteria(
      columns: columns(self.columns), groups: columns(groupColumns), having: having, isDistinct: isDistinct)
  }

  /// Whether values are read from objects other than those of the entity.
  var leadsElsewhere: Bool {
    ((columns + groupColumns).flatMap(\.expression.keyPaths) + (having?.keyPaths ?? [])).contains { path in
      path.contains(".") || entity.relationshipsByName[path]?.isToMany == true
    }
  }

  init(_ specification: FetchSpecification, entity: NSEntityDescription) throws {
    self.entity = entity
    isDistinct = specification.returnsDistinctResults
    groupColumns = try (specification.propertiesToGroupBy ?? []).map { try DictionaryResults.column($0, entity) }
    do {
      having = try specification.havingPredicate.map {
        try PredicateSyntax($0).evaluatingConstants().convertingConstants(for: entity)
      }
    } catch let opaque as OpaqueCriterion {
      throw ObjectGraphErrors.badRequest(
        opaque.description, entity: entity, suggestion: "Make the havingPredicate from a format.")
    }
    if let wanted = specification.propertiesToFetch {
      columns = try wanted.map { try DictionaryResults.column($0, entity) }
    } else {
      columns = try entity.attributesByName.filter { !$0.value.isTransient }.keys.sorted()
        .map { try DictionaryResults.column($0, entity) }
    }
    let grouped = Set(groupColumns.map(\.name))
    if let column = columns.first(where: { !grouped.isEmpty && $0.summary == nil && !grouped.contains($0.name) }) {
      throw ObjectGraphErrors.badRequest(
        "'\(column.name)' in propertiesToFetch is neither an aggregate nor in propertiesToGroupBy, so it has no single "
          + "value for a group.", entity: entity,
        suggestion: "Add it to propertiesToGroupBy, or fetch an aggregate such as max: of it.")
    }
  }

  /// Throws if the grouping of a request is invalid.
  static func check(_ specification: FetchSpecification) throws {
    if specification.isGrouped, specification.resultType != .dictionaryResultType {
      throw ObjectGraphErrors.badRequest(
        "A request with propertiesToGroupBy returns dictionaries, but its resultType is another.",
        entity: specification.entity, suggestion: "Set resultType to dictionaryResultType.")
    }
    if specification.havingPredicate != nil, !specification.isGrouped {
      throw ObjectGraphErrors.badRequest(
        "A request has a havingPredicate, but no propertiesToGroupBy.", entity: specification.entity,
        suggestion: "Set propertiesToGroupBy, or use the predicate.")
    }
  }

  private static func column(
    _ property: Any, _ entity: NSEntityDescription
  ) throws -> Column {
    switch property {
    case let expression as NSExpressionDescription:
      guard let tree = expression.expression?.syntax else {
        throw ObjectGraphErrors.badRequest(
          "The expression description '\(expression.name)' has no expression.", entity: entity,
          suggestion: "Set its expression.")
      }
      if let summary = summary(tree) { return Column(name: expression.name, expression: tree, summary: summary) }
      return Column(name: expression.name, expression: tree) { object in
        let value = try PredicateEvaluator().value(tree, with: object)
        return (value as? NSManagedObject)?.objectID ?? value
      }
    case let description as NSPropertyDescription:
      return try column(description.name, entity)
    case let name as String:
      let first = name.split(separator: ".").first.map(String.init) ?? name
      if name == "objectID", entity.propertiesByName[name] == nil {
        return Column(name: name, expression: .evaluatedObject) { $0.objectID }
      }
      guard entity.slotTable.position(of: first) != nil else {
        throw ObjectGraphErrors.badRequest(
          "'\(first)' is not an attribute or relationship of '\(entity.name ?? "")'.", entity: entity,
          suggestion: "Correct propertiesToFetch.")
      }
      return Column(name: name, expression: .keyPath(name)) { object in
        let value = try KeyPathReader.value(name, of: object)
        return (value as? NSManagedObject)?.objectID ?? value
      }
    default:
      throw ObjectGraphErrors.badRequest(
        "propertiesToFetch contains a \(type(of: property)).", entity: entity,
        suggestion: "Use names of properties, or property descriptions.")
    }
  }

  /// Returns the aggregate that an expression asks for, such as `max:(price)` or `@max.price`; nil for other
  /// expressions.
  private static func summary(_ tree: ExpressionSyntax) -> (([NSManagedObject]) throws -> Any?)? {
    switch tree {
    case .keyPath(let path) where path.hasPrefix("@"):
      return { try KeyPathReader.value(path, of: $0) }
    case .function(operand: nil, let name, let arguments)
    where arguments.count == 1 && FunctionLibrary.isAggregate(name):
      return { objects in
        let values = try objects.flatMap { object -> [Any] in
          guard let value = Operand.unwrapped(try PredicateEvaluator().value(arguments[0], with: object)) else {
            return []
          }
          return Operand.elements(value) ?? [value]
        }
        return try FunctionLibrary.call(name, [values])
      }
    default: return nil
    }
  }

  /// Returns one dictionary over all objects. Values other than aggregates are those of the first object.
  private func summary(of objects: [NSManagedObject]) throws -> NSDictionary {
    let dictionary = NSMutableDictionary()
    for column in columns {
      let value = try column.summary?(objects) ?? objects.first.flatMap { try column.value?($0) }
      if let value { dictionary[column.name] = value }
    }
    return dictionary
  }

  func dictionaries(of objects: [NSManagedObject]) throws -> [NSDictionary] {
    if !groupColumns.isEmpty { return try groups(of: objects) }
    if isSummary { return [try summary(of: objects)] }
    var seen: Set<[ValueKey]> = []
    var result: [NSDictionary] = []
    for object in objects {
      let dictionary = NSMutableDictionary()
      for column in columns {
        if let value = try column.value?(object) { dictionary[column.name] = value }
      }
      if !isDistinct || seen.insert(key(of: dictionary)).inserted { result.append(dictionary) }
    }
    return result
  }

  private func key(of dictionary: NSDictionary) -> [ValueKey] { columns.map { ValueKey(dictionary[$0.name]) } }

  /// Returns one dictionary for each group of objects with equal values, in the order of the groups' first objects.
  private func groups(of objects: [NSManagedObject]) throws -> [NSDictionary] {
    var indexes: [[ValueKey]: Int] = [:]
    var groups: [[NSManagedObject]] = []
    for object in objects {
      let key = try groupColumns.map { ValueKey(try $0.value?(object)) }
      if let index = indexes[key] {
        groups[index].append(object)
      } else {
        indexes[key] = groups.count
        groups.append([object])
      }
    }
    var seen: Set<[ValueKey]> = []
    var result: [NSDictionary] = []
    for group in groups {
      let dictionary = try summary(of: group)
      guard try isWanted(dictionary, group), !isDistinct || seen.insert(key(of: dictionary)).inserted else { continue }
      result.append(dictionary)
    }
    return result
  }

  /// Returns whether a group meets the condition. The condition may refer to the names of results as variables or keys,
  /// to properties that are equal within the group, and to aggregates.
  private func isWanted(_ dictionary: NSDictionary, _ group: [NSManagedObject]) throws -> Bool {
    guard let having else { return true }
    let names = Set(columns.map(\.name))
    let condition = try having.replacing { expression in
      switch expression {
      case .keyPath(let name) where names.contains(name),
        .keyPathOf(.evaluatedObject, let name) where names.contains(name):
        return .constant(PlainValue(dictionary[name] ?? NSNull()))
      default:
        guard let summary = DictionaryResults.summary(expression) else { return nil }
        return .constant(PlainValue(try summary(group) ?? NSNull()))
      }
    }
    var variables: [String: Any?] = [:]
    for name in names { variables[name] = .some(dictionary[name]) }
    return try PredicateEvaluator(variables: variables).evaluate(condition, with: group[0])
  }
}
