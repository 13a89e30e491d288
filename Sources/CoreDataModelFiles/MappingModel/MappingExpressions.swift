// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The default expressions that Xcode's mapping model compiler adds.
///
/// Derived from compiled mapping models. `XCMappingReader` decides which expression goes where.
package enum MappingExpressions {
  static let requestSelector = "fetchRequestForSourceEntityNamed:predicateString:"
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

  package init(_ expression: ExpressionSyntax) {
    visit(expression)
  }

  package init(_ predicate: PredicateSyntax) {
    visit(predicate)
  }

  private static let source = ExpressionSyntax.variable("source")

  private mutating func visit(_ expression: ExpressionSyntax) {
    switch expression {
    case .constant, .evaluatedObject, .variable, .anyKey: break
    case .keyPath(let path): Self.insert(path, into: &ownKeys)
    case .keyPathOf(Self.source, let path): Self.insert(path, into: &sourceKeys)
    case .keyPathOf(.evaluatedObject, let path): Self.insert(path, into: &ownKeys)
    case .keyPathOf(let operand, _): visit(operand)
    case .function(let operand, let name, let arguments):
      note(function: name, of: operand, arguments)
      if let operand { visit(operand) }
      for argument in arguments { visit(argument) }
    case .aggregate(let elements): for element in elements { visit(element) }
    case .union(let left, let right), .intersect(let left, let right), .minus(let left, let right):
      visit(left)
      visit(right)
    // Inside the subquery, plain keys are those of the elements, about which nothing is known here.
    case .subquery(let collection, _, _): visit(collection)
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

  private mutating func note(function: String, of operand: ExpressionSyntax?, _ arguments: [ExpressionSyntax]) {
    guard case .constant(.string(let name))? = arguments.first else { return }
    switch (operand, function) {
    case (Self.source, "valueForKey:"), (Self.source, "valueForKeyPath:"): Self.insert(name, into: &sourceKeys)
    case (_, "destinationInstancesForEntityMappingNamed:sourceInstances:"): mappings.insert(name)
    case (_, "destinationInstancesForSourceRelationshipNamed:sourceInstances:"): sourceRelationships.insert(name)
    default: break
    }
  }

  /// Only the first key of a path belongs to the object. Collection operators are not keys.
  private static func insert(_ path: String, into keys: inout Set<String>) {
    let key = String(path.prefix { $0 != "." })
    if !key.isEmpty, !key.hasPrefix("@") { keys.insert(key) }
  }
}
