// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal

/// Checks the names in key paths before a fetch, whose own error for an unknown name suggests no other.
enum PropertyNames {
  /// What a key path ends with.
  private enum End {
    case objects(NSEntityDescription)
    /// A value, or something that is known only when the predicate is evaluated.
    case value
  }

  /// The names that a predicate can use beside those of properties.
  private static let ownNames: Set<String> = ["self", "SELF", "objectID", "entity"]
  private static let operators = [
    "@avg", "@count", "@distinctUnionOfObjects", "@max", "@min", "@sum", "@unionOfObjects",
  ]

  /// Returns the failure for an unknown name.
  ///
  /// - Parameters:
  ///   - path: the key path that contains the name.
  ///   - owner: what would have the property.
  ///   - all: the names that it has.
  static func unknown(_ name: String, in path: String, of owner: String, _ all: [String]) -> CommandFailure {
    let likely = Likeness.nearest(to: name, among: all.sorted()).map { " Did you mean \($0)?" } ?? ""
    let part = name == path ? "" : ", in the key path \(path)"
    return CommandFailure(
      .usage, "\(owner) has no property \(name)\(part).\(likely) It has \(all.sorted().joined(separator: ", ")).")
  }

  /// Makes sure that a collection operator exists.
  ///
  /// - Throws: `CommandFailure`.
  static func checkOperator(_ name: String, in path: String) throws {
    guard !operators.contains(name) else { return }
    throw unknown(name, in: path, of: "A relationship", operators)
  }

  /// Returns the predicate that somebody has typed, after making sure that its properties exist.
  ///
  /// - Throws: `CommandFailure` that says where the text is wrong, or names the unknown property and a near name.
  static func predicate(_ text: String, of entity: NSEntityDescription) throws -> NSPredicate {
    let predicate: NSPredicate
    do {
      predicate = try NSPredicate.checked(format: text)
    } catch {
      let reason = (error as NSError).localizedFailureReason ?? error.localizedDescription
      let advice =
        ["%@", "%K"].contains(where: text.contains)
        ? "Write the value or the property itself in place of %@ and %K."
        : "A predicate that can be parsed: \(example(of: entity))"
      throw CommandFailure(.usage, "\(reason) \(advice)")
    }
    try check(predicate, of: entity)
    return predicate
  }

  /// Returns a predicate for objects of an entity.
  static func example(of entity: NSEntityDescription) -> String {
    entity.titleAttribute.map { "\($0.name) BEGINSWITH 'A'" } ?? "SELF != nil"
  }

  /// Makes sure that the properties in all key paths of a predicate exist.
  ///
  /// - Throws: `CommandFailure` that names the unknown property, and a near name.
  static func check(_ predicate: NSPredicate, of entity: NSEntityDescription) throws {
    try check(predicate, Scope(entity: entity))
  }

  /// Makes sure that a fetch can sort by a key path.
  ///
  /// - Throws: `CommandFailure` that names the unknown property, and a near name.
  static func check(sortedBy path: String, of entity: NSEntityDescription) throws {
    _ = try end(of: path, from: entity)
  }

  // MARK: Predicates

  /// The objects that a part of a predicate can begin a key path from.
  private struct Scope {
    let entity: NSEntityDescription
    /// The entities of the variables of subqueries.
    var variables: [String: NSEntityDescription] = [:]
  }

  private static func check(_ predicate: NSPredicate, _ scope: Scope) throws {
    switch predicate {
    case let compound as NSCompoundPredicate:
      for part in compound.subpredicates { try check(part, scope) }
    case let comparison as NSComparisonPredicate:
      for side in [comparison.leftExpression, comparison.rightExpression] { _ = try end(of: side, scope) }
    default: break
    }
  }

  /// Checks an expression, and returns what it results in.
  private static func end(of expression: NSExpression, _ scope: Scope) throws -> End {
    switch expression.expressionType {
    case .evaluatedObject: return .objects(scope.entity)
    case .variable: return scope.variables[expression.variable].map { .objects($0) } ?? .value
    case .keyPath:
      guard case .objects(let entity) = try end(of: expression.operand, scope) else { return .value }
      return try end(of: expression.keyPath, from: entity)
    case .function:
      for argument in expression.arguments ?? [] { _ = try end(of: argument, scope) }
      // A predefined function has no object to be called on, and its operand is the constant nil.
      _ = try end(of: expression.operand, scope)
      return .value
    case .aggregate:
      for element in expression.collection as? [NSExpression] ?? [] { _ = try end(of: element, scope) }
      return .value
    case .unionSet, .intersectSet, .minusSet:
      let left = try end(of: expression.left, scope)
      _ = try end(of: expression.right, scope)
      return left
    case .subquery:
      guard let collection = expression.collection as? NSExpression else { return .value }
      let members = try end(of: collection, scope)
      guard case .objects(let entity) = members else { return members }
      var inner = scope
      inner.variables[expression.variable] = entity
      try check(expression.predicate, inner)
      return members
    case .conditional:
      try check(expression.predicate, scope)
      for result in [expression.true, expression.false] { _ = try end(of: result, scope) }
      return .value
    default: return .value
    }
  }

  // MARK: Key paths

  private static func end(of path: String, from entity: NSEntityDescription) throws -> End {
    var entity = entity
    var elements: [NSAttributeDescription]?
    for name in path.split(separator: ".").map(String.init) {
      if name.hasPrefix("@") {
        try checkOperator(name, in: path)
        if name == "@count" { return .value }
        continue
      }
      if let known = elements {
        guard let element = known.first(where: { $0.name == name }) else {
          throw unknown(name, in: path, of: "The composite attribute", known.map(\.name))
        }
        elements = (element as? NSCompositeAttributeDescription)?.elements
        guard elements != nil else { return .value }
        continue
      }
      if let property = entity.propertiesByName[name] {
        if let composite = property as? NSCompositeAttributeDescription {
          elements = composite.elements
        } else if let destination = (property as? NSRelationshipDescription)?.destinationEntity {
          entity = destination
        } else {
          return .value
        }
        continue
      }
      if ownNames.contains(name) { return .value }
      throw unknown(name, in: path, of: entity)
    }
    return elements == nil ? .objects(entity) : .value
  }

  private static func unknown(_ name: String, in path: String, of entity: NSEntityDescription) -> CommandFailure {
    let owner = entity.name ?? ""
    guard let child = subentities(of: entity).first(where: { $0.propertiesByName[name] != nil })?.name else {
      return unknown(name, in: path, of: owner, Array(entity.propertiesByName.keys))
    }
    return CommandFailure(
      .usage, "\(owner) has no property \(name), which only its subentity \(child) has. Choose objects of \(child).")
  }

  private static func subentities(of entity: NSEntityDescription) -> [NSEntityDescription] {
    entity.subentities.flatMap { [$0] + subentities(of: $0) }
  }
}
