// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The annotations with which SwiftData finds the inverses that a model has, and no others.
///
/// SwiftData connects two relationships without a stated inverse if they are the only ones between their classes, unless
/// one of them alone has an annotation.
struct SchemaRelationships {
  /// Sentences about relationships that SwiftData cannot express.
  private(set) var remarks: [String] = []
  private let index: EntityIndex
  /// The one-way relationships that get an annotation although they need none, so that no inverse is found.
  private var kept: Set<Place> = []

  private struct Place: Hashable, Comparable {
    let entity: String
    let name: String

    static func < (left: Place, right: Place) -> Bool { (left.entity, left.name) < (right.entity, right.name) }
  }

  init(_ document: ModelDocument) {
    index = EntityIndex(document)
    for entity in document.entities {
      for relationship in entity.relationships { note(relationship, entity.name) }
    }
    separate(document)
  }

  private mutating func note(_ relationship: RelationshipDocument, _ entity: String) {
    func remark(_ found: String) { remarks.append("\(entity).\(relationship.name): \(found)") }
    if relationship.isOrdered { remark("it is ordered, which SwiftData cannot express; its hash will differ.") }
    if relationship.isTransient { remark("it is transient, which SwiftData cannot express; its hash will differ.") }
    if !relationship.isToMany, relationship.minCount != 0 {
      remark("its minimum count is \(relationship.minCount), which SwiftData never writes; its hash will differ.")
    }
  }

  /// Finds pairs of one-way relationships that SwiftData would connect, and annotates one of each.
  private mutating func separate(_ document: ModelDocument) {
    let oneWay = document.entities.flatMap { entity in
      entity.relationships.filter { $0.inverseName == nil }.map { (entity: entity.name, relationship: $0) }
    }
    func between(_ source: String, _ destination: String?) -> [RelationshipDocument] {
      oneWay.filter { $0.entity == source && $0.relationship.destinationEntityName == destination }.map(\.relationship)
    }
    for (entity, relationship) in oneWay {
      guard let destination = relationship.destinationEntityName, destination != entity || relationship.isToMany else {
        continue
      }
      let (forth, back) = (between(entity, destination), between(destination, entity))
      guard forth.count == 1, back.count == 1, let other = back.first, destination != entity else { continue }
      let pair = [Place(entity: entity, name: relationship.name), Place(entity: destination, name: other.name)].sorted()
      let needed = [Self.needsAnnotation(relationship), Self.needsAnnotation(other)].count { $0 }
      if needed == 0 { kept.insert(pair[0]) }
      if needed == 2, pair[0].entity == entity {
        remarks.append(
          "\(pair[0].entity).\(pair[0].name) and \(pair[1].entity).\(pair[1].name) have no inverse, but SwiftData connects "
            + "them, since both have an annotation; their hashes will differ.")
      }
    }
  }

  /// Whether a relationship has an annotation, aside from its inverse.
  private static func needsAnnotation(_ relationship: RelationshipDocument) -> Bool {
    !arguments(of: relationship).isEmpty
  }

  private static func arguments(of relationship: RelationshipDocument) -> [String] {
    var arguments: [String] = []
    switch relationship.deleteRule {
    case .nullify: break
    case .cascade: arguments.append("deleteRule: .cascade")
    case .deny: arguments.append("deleteRule: .deny")
    case .noAction: arguments.append("deleteRule: .noAction")
    }
    if relationship.isToMany, relationship.minCount != 0 {
      arguments.append("minimumModelCount: \(relationship.minCount)")
    }
    if relationship.isToMany, relationship.maxCount != 0 {
      arguments.append("maximumModelCount: \(relationship.maxCount)")
    }
    if let old = relationship.renamingIdentifier, old != relationship.name {
      arguments.append("originalName: \(SwiftName.literal(old))")
    }
    return arguments
  }

  /// Returns the annotation of a relationship; nil if it needs none.
  func annotation(of relationship: RelationshipDocument, in entity: String, isUnique: Bool) -> String? {
    var arguments = (isUnique ? [".unique"] : []) + Self.arguments(of: relationship)
    let own = Place(entity: entity, name: relationship.name)
    if let inverse = relationship.inverseName, let destination = relationship.destinationEntityName {
      // One side names the other, the one that is to-many, or has other arguments: two would name each other in a circle.
      let other = index[destination]?.relationships.first { $0.name == inverse }
      func rank(_ relationship: RelationshipDocument, _ place: Place) -> (Int, Int, Place) {
        (Self.arguments(of: relationship).isEmpty ? 1 : 0, relationship.isToMany ? 0 : 1, place)
      }
      let isNaming =
        other.map { rank(relationship, own) <= rank($0, Place(entity: destination, name: inverse)) } ?? true
      if isNaming {
        let type = SwiftName.declared(destination) ?? destination
        arguments.append("inverse: \\\(type).\(inverse)")
      }
    }
    if let modifier = relationship.versionHashModifier, !modifier.isEmpty {
      arguments.append("hashModifier: \(SwiftName.literal(modifier))")
    }
    if arguments.isEmpty { return kept.contains(own) ? "@Relationship" : nil }
    return "@Relationship(\(arguments.joined(separator: ", ")))"
  }
}
