// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The default expressions that Xcode's mapping model compiler adds.
///
/// Derived from compiled mapping models. `XCMappingReader` decides which expression goes where.
package enum MappingExpressions {
  package static let requestSelector = "fetchRequestForSourceEntityNamed:predicateString:"
  static let noFilter = "TRUEPREDICATE"

  /// Returns an expression for all objects of the source entity, or those that match a filter.
  package static func sourceObjects(entity: String, filter: String? = nil) -> ExpressionSyntax {
    let request = ExpressionSyntax.function(
      operand: .variable("manager"), name: requestSelector,
      arguments: [.constant(.string(entity)), .constant(.string(filter ?? noFilter))])
    return .fetch(request: request, context: .keyPathOf(.variable("manager"), "sourceContext"), countOnly: false)
  }

  /// Returns `$source.name` for a key path `name`.
  package static func sourceValue(_ keyPath: String) -> ExpressionSyntax {
    .keyPathOf(.variable("source"), keyPath)
  }

  /// Returns an expression for the objects that an entity mapping created from source objects.
  package static func destinationObjects(mapping: String, of sources: ExpressionSyntax) -> ExpressionSyntax {
    .function(
      operand: .variable("manager"), name: "destinationInstancesForEntityMappingNamed:sourceInstances:",
      arguments: [.constant(.string(mapping)), sources])
  }

  /// Returns an expression for the objects that any mapping created from the objects of a source relationship.
  package static func destinationObjects(relationship: String) -> ExpressionSyntax {
    .function(
      operand: .variable("manager"), name: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
      arguments: [.constant(.string(relationship)), sourceValue(relationship)])
  }
}

extension MappingExpressions {
  /// Returns the key of `$source.key` and `FUNCTION($source, "valueForKey:", "key")`; nil for any other expression.
  package static func sourceKey(_ syntax: ExpressionSyntax) -> String? {
    switch syntax {
    case .keyPathOf(.variable("source"), let path) where !path.contains("."): return path
    case .function(.variable("source")?, "valueForKey:", let arguments):
      if case .constant(.string(let key))? = arguments.first { return key }
      return nil
    default: return nil
    }
  }

  /// Returns the source relationship whose migrated objects an expression requests; nil for any other expression.
  package static func sourceRelationship(_ syntax: ExpressionSyntax) -> String? {
    guard case .function(.variable("manager")?, let name, let arguments) = syntax, arguments.count == 2,
      [
        "destinationInstancesForEntityMappingNamed:sourceInstances:",
        "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
      ].contains(name)
    else { return nil }
    return sourceKey(arguments[1])
  }
}

/// The keys, relationships and mappings that the expressions of a mapping model refer to by name.
package struct ExpressionKeys {
  /// The keys of the source object, such as `name` in `$source.name.length`.
  package private(set) var sourceKeys: Set<String> = []
  /// The relationships of the source entity whose migrated objects are requested.
  package private(set) var sourceRelationships: Set<String> = []
  /// The entity mappings whose results are requested.
  package private(set) var mappings: Set<String> = []
  /// The keys of the evaluated object itself, as in a filter.
  package private(set) var ownKeys: Set<String> = []
  /// The keys of other objects, such as `length` in `$source.name.length`, and those in subqueries.
  package private(set) var furtherKeys: Set<String> = []
  /// Whether the source object itself is passed on, so that any of its keys may be read.
  package private(set) var usesSource = false

  package init(_ expression: ExpressionSyntax) {
    visit(expression)
  }

  package init(_ predicate: PredicateSyntax) {
    visit(predicate)
  }

  private static let source = ExpressionSyntax.variable("source")

  private mutating func visit(_ expression: ExpressionSyntax) {
    switch expression {
    case .constant, .evaluatedObject, .anyKey: break
    case .variable: usesSource = usesSource || expression == Self.source
    case .keyPath(let path): insert(path, into: \.ownKeys)
    case .keyPathOf(Self.source, let path): insert(path, into: \.sourceKeys)
    case .keyPathOf(.evaluatedObject, let path): insert(path, into: \.ownKeys)
    case .keyPathOf(let operand, let path):
      furtherKeys.formUnion(path.split(separator: ".").map(String.init))
      visit(operand)
    case .function(let operand, let name, let arguments):
      let isNoted = note(function: name, of: operand, arguments)
      if let operand, !(isNoted && operand == Self.source) { visit(operand) }
      // Requesting the destination objects of the source object does not read its values.
      for argument in arguments where !(isNoted && argument == Self.source) { visit(argument) }
    case .aggregate(let elements): for element in elements { visit(element) }
    case .union(let left, let right), .intersect(let left, let right), .minus(let left, let right):
      visit(left)
      visit(right)
    // Inside the subquery, plain keys are those of the elements, whose entity is not known here.
    case .subquery(let collection, _, let predicate):
      visit(collection)
      let inner = ExpressionKeys(predicate)
      furtherKeys.formUnion(inner.ownKeys.union(inner.furtherKeys))
      sourceKeys.formUnion(inner.sourceKeys)
      usesSource = usesSource || inner.usesSource
    case .conditional(let condition, let whenTrue, let whenFalse):
      visit(condition)
      visit(whenTrue)
      visit(whenFalse)
    case .fetch(let request, let context, _):
      visit(request)
      visit(context)
    }
  }

  private mutating func visit(_ predicate: PredicateSyntax) {
    switch predicate {
    case .constant: break
    case .comparison(let comparison):
      visit(comparison.left)
      visit(comparison.right)
    case .and(let operands), .or(let operands): for operand in operands { visit(operand) }
    case .not(let operand): visit(operand)
    }
  }

  /// Records the names that a function call refers to; returns false if it refers to nothing that is known.
  private mutating func note(
    function: String, of operand: ExpressionSyntax?, _ arguments: [ExpressionSyntax]
  ) -> Bool {
    guard case .constant(.string(let name))? = arguments.first else { return false }
    switch (operand, function) {
    case (Self.source, "valueForKey:"), (Self.source, "valueForKeyPath:"): insert(name, into: \.sourceKeys)
    case (_, "valueForKey:"), (_, "valueForKeyPath:"):
      furtherKeys.formUnion(name.split(separator: ".").map(String.init))
    case (_, "destinationInstancesForEntityMappingNamed:sourceInstances:"): mappings.insert(name)
    case (_, "destinationInstancesForSourceRelationshipNamed:sourceInstances:"): sourceRelationships.insert(name)
    default: return false
    }
    return true
  }

  /// Records the first key of a path as one of the object, and the others as further keys. Collection operators are not
  /// keys of the object.
  private mutating func insert(_ path: String, into keys: WritableKeyPath<Self, Set<String>>) {
    let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if let key = parts.first, !key.isEmpty, !key.hasPrefix("@") { self[keyPath: keys].insert(key) }
    furtherKeys.formUnion(parts.dropFirst())
  }
}
