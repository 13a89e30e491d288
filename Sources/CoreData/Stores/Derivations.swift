// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The derived attributes of a model, with their computations and dependencies.
package struct Derivations {
  /// The maximum depth of dependencies between derived values. Deeper ones are considered a cycle.
  static let maximumDepth = 16

  /// A derived attribute of an entity, possibly inherited.
  struct Rule {
    let name: String
    let expression: ExpressionSyntax
    /// The entity's own properties whose changes require a new value, also through other derived attributes.
    fileprivate(set) var triggers: Set<String>
    /// Key paths of relationships whose destinations' values are read, not only counted.
    let prefetches: [String]
    /// Whether the value is the time of the save.
    let isTimed: Bool
  }

  /// A derived attribute that depends on a property of related objects.
  struct Dependent {
    let name: String
    /// The relationships from the entity of the derived attribute to the entity of the property.
    let path: [NSRelationshipDescription]
    let property: String
  }

  /// The rules of each entity. One that reads the value of another follows it.
  private var rules: [String: [Rule]] = [:]
  private(set) var dependents: [Dependent] = []

  var isEmpty: Bool { rules.isEmpty }

  init(_ model: NSManagedObjectModel) {
    for entity in model.entities {
      for case let attribute as NSDerivedAttributeDescription in entity.properties {
        guard let expression = attribute.derivation.map(PredicatePrinter.withOperators) else { continue }
        let paths = expression.keyPaths.map { $0.split(separator: ".").map(String.init) }
        rules[entity.name ?? "", default: []].append(
          Rule(
            name: attribute.name, expression: expression, triggers: Set(paths.compactMap(\.first)),
            prefetches: paths.compactMap { Derivations.prefetch($0, entity) }, isTimed: expression.isTimed))
        let isInherited = entity.superentity?.attributesByName[attribute.name] != nil
        if !isInherited { paths.forEach { addDependents(attribute.name, $0, entity) } }
      }
    }
    rules = rules.mapValues(Self.ordered)
  }

  private static func ordered(_ rules: [Rule]) -> [Rule] {
    var waiting = rules
    var ordered: [Rule] = []
    while !waiting.isEmpty {
      let names = Set(waiting.map(\.name))
      let ready = waiting.filter { $0.triggers.subtracting([$0.name]).isDisjoint(with: names) }
      // Rules that read each other's values keep their order.
      for var rule in ready.isEmpty ? waiting : ready {
        for earlier in ordered where rule.triggers.contains(earlier.name) { rule.triggers.formUnion(earlier.triggers) }
        ordered.append(rule)
      }
      let known = Set(ordered.map(\.name))
      waiting.removeAll { known.contains($0.name) }
    }
    return ordered
  }

  func rules(of entity: NSEntityDescription) -> [Rule] { rules[entity.name ?? ""] ?? [] }

  private mutating func addDependents(_ name: String, _ path: [String], _ entity: NSEntityDescription) {
    var source = entity
    var relationships: [NSRelationshipDescription] = []
    for key in path where !key.hasPrefix("@") {
      if !relationships.isEmpty { dependents.append(Dependent(name: name, path: relationships, property: key)) }
      guard let relationship = source.relationshipsByName[key], let destination = relationship.destinationEntity else {
        return
      }
      relationships.append(relationship)
      source = destination
    }
  }

  private static func prefetch(_ path: [String], _ entity: NSEntityDescription) -> String? {
    var source = entity
    var keys: [String] = []
    for key in path where !key.hasPrefix("@") {
      guard let relationship = source.relationshipsByName[key], let destination = relationship.destinationEntity else {
        break
      }
      keys.append(key)
      source = destination
    }
    return keys.isEmpty || path.last == "@count" ? nil : keys.joined(separator: ".")
  }
}

extension ExpressionSyntax {
  fileprivate var isTimed: Bool {
    switch self {
    case .function(_, "now", _): true
    case .function(let operand, _, let arguments): (operand?.isTimed ?? false) || arguments.contains(where: \.isTimed)
    default: false
    }
  }
}
