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
