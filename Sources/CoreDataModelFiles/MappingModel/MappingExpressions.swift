// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The expressions that Xcode's compiler of mapping models writes where the developer gave none.
///
/// Learnt from compiled mapping models: which of them goes where is decided in `XCMappingReader`.
package enum MappingExpressions {
  static let requestSelector = "fetchRequestForSourceEntityNamed:predicateString:"
  static let noFilter = "TRUEPREDICATE"

  /// All objects of the source entity that meet a filter.
  package static func sourceObjects(entity: String, filter: String? = nil) -> ExpressionSyntax {
    let request = ExpressionSyntax.function(
      operand: .variable("manager"), name: requestSelector,
      arguments: [.constant(.string(entity)), .constant(.string(filter ?? noFilter))])
    return .fetch(request: request, context: .keyPathOf(.variable("manager"), "sourceContext"), countOnly: false)
  }

  /// `$source.name`
  package static func sourceValue(_ keyPath: String) -> ExpressionSyntax {
    .keyPathOf(.variable("source"), keyPath)
  }

  /// What an entity mapping made of source objects.
  package static func destinationObjects(mapping: String, of sources: ExpressionSyntax) -> ExpressionSyntax {
    .function(
      operand: .variable("manager"), name: "destinationInstancesForEntityMappingNamed:sourceInstances:",
      arguments: [.constant(.string(mapping)), sources])
  }

  /// What any mapping made of the objects of a source relationship.
  package static func destinationObjects(relationship: String) -> ExpressionSyntax {
    .function(
      operand: .variable("manager"), name: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
      arguments: [.constant(.string(relationship)), sourceValue(relationship)])
  }
}
