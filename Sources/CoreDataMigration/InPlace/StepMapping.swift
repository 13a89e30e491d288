// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles

/// An inferred mapping, for look-ups by name in either direction.
package struct StepMapping: EarlierNames {
  private struct Names {
    let source: String
    var attributes: [String: String] = [:]
    var relationships: [String: String] = [:]
  }

  private var byDestination: [String: Names] = [:]
  private var destinations: [String: String] = [:]

  package init(_ mapping: InferredMapping) {
    for match in mapping.matched {
      var names = Names(source: match.source)
      for attribute in match.attributes { names.attributes[attribute.destination] = attribute.source }
      for relationship in match.relationships { names.relationships[relationship.destination] = relationship.source }
      byDestination[match.destination] = names
      destinations[match.source] = match.destination
    }
  }

  /// What a destination entity was called; nil for a new one.
  package func sourceEntity(of destination: String) -> String? { byDestination[destination]?.source }

  /// What became of a source entity; nil for one that is removed.
  package func destinationEntity(of source: String) -> String? { destinations[source] }

  /// What an attribute of a destination entity was called; nil for a new one.
  package func sourceAttribute(of name: String, in destination: String) -> String? {
    byDestination[destination]?.attributes[name]
  }

  /// What a relationship of a destination entity was called; nil for a new one.
  package func sourceRelationship(of name: String, in destination: String) -> String? {
    byDestination[destination]?.relationships[name]
  }
}
