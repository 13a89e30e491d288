// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles

/// A relationship mapping: which source objects it asks for, and which mappings' copies of them it takes.
struct CopyLink {
  let owner: EntityCopy
  /// The relationship of the destination.
  let relationship: RelationshipLayout
  /// The key path from the source object.
  let path: String
  /// The last relationship of the key path.
  let source: RelationshipLayout
  /// Whether the relationship is the source object's own.
  let isDirect: Bool
  let targets: [EntityCopy]
  /// The place in the order of processing: of the entity mapping, then of the relationship mapping.
  let place: (Int, Int)

  func comes(before other: CopyLink) -> Bool { place < other.place }

  func leads(to copy: EntityCopy) -> Bool { targets.contains { $0 === copy } }

  /// Why SQL cannot set this one beside another.
  func contradiction() -> CopyBarrier {
    CopyBarrier(
      mapping: owner.name, property: relationship.name,
      reason: "says of '\(relationship.name)' what does not go with what is said of its other end")
  }

  /// Whether two links say the same of all pairs of objects, in opposite directions.
  func isInverse(of other: CopyLink, in source: CopySide) -> Bool {
    guard isDirect, other.isDirect, leads(to: other.owner), other.leads(to: owner) else { return false }
    return self.source.inverseName == other.source.name && other.source.inverseName == self.source.name
      && other.owner.rows.isReachable(self.source.destinationEntity, in: source)
      && owner.rows.isReachable(other.source.destinationEntity, in: source)
  }
}

/// Reads relationship mappings.
struct CopyLinkReader {
  private let source: CopySide
  private let target: CopySide
  private let copies: [EntityCopy]
  private let earlier: Associations

  init(plan: CopyPlan) {
    (source, target, copies, earlier) = (plan.source, plan.target, plan.copies, plan.earlier)
  }

  /// The links of a mapping, in order.
  ///
  /// - Throws: `CopyBarrier` for expressions that only objects can answer; `CopyProblem` for those that make no sense.
  func links(of copy: EntityCopy) throws -> [CopyLink] {
    var found: [String: CopyLink] = [:]
    let mappings = copy.mapping.relationshipMappings(from: copy.sourceEntity, to: copy.destinationEntity)
    for (position, mapping) in mappings.enumerated() {
      let name = mapping.name ?? ""
      guard let description = copy.destinationEntity.relationshipsByName[name] else {
        throw problem(copy, name, "It maps '\(name)', and '\(copy.destination.name)' has no relationship of that name.")
      }
      guard let expression = mapping.valueSyntax, !description.isTransient,
        let relationship = copy.destination.relationships[name]
      else { continue }
      found[name] = try link(copy, relationship, expression, (copy.position, position))
    }
    return found.values.sorted { $0.comes(before: $1) }
  }

  private func link(
    _ copy: EntityCopy, _ relationship: RelationshipLayout, _ expression: ExpressionSyntax, _ place: (Int, Int)
  ) throws -> CopyLink {
    let barrier = CopyBarrier(
      mapping: copy.name, property: relationship.name,
      reason: "has an expression for the relationship '\(relationship.name)' that takes objects to answer")
    guard case .function(.variable("manager"), let function, let arguments) = expression, arguments.count == 2,
      case .constant(.string(let argument)) = arguments[0], let path = SourceKeys.path(arguments[1])
    else { throw barrier }
    let builder = source.predicates()
    let scope = SQLScope(entity: copy.rows.entity, names: builder.aliases)
    let (last, isDirect): (RelationshipLayout, Bool)
    switch try SourcePath(path, from: copy, scope: scope, in: source) {
    case .toOne(let alias, _, let found): (last, isDirect) = (found, alias == scope.alias)
    case .toMany(let found, true): (last, isDirect) = (found, true)
    case .column, .composite:
      throw problem(copy, relationship.name, "The expression for '\(relationship.name)' gives no objects.")
    default: throw barrier
    }
    let targets: [EntityCopy]
    switch function {
    case "destinationInstancesForEntityMappingNamed:sourceInstances:":
      targets = copies.filter { $0.name == argument }
      // What earlier migrations into the same store have made is found in tables that SQL does not have.
      if targets.isEmpty || earlier.tables(named: argument) != nil { throw barrier }
      if let wrong = targets.first(where: { !fits($0, relationship) }) {
        throw problem(
          copy, relationship.name,
          "The mapping '\(argument)' makes objects of '\(wrong.destination.name)', and '\(relationship.name)' leads to "
            + "'\(relationship.destinationEntity)'.")
      }
    case "destinationInstancesForSourceRelationshipNamed:sourceInstances:":
      let numbers = source.schema[last.destinationEntity]?.numbers ?? []
      if numbers.contains(where: { !earlier.names(ofSource: Int32($0)).isEmpty }) { throw barrier }
      targets = copies.filter { $0.rows.isReachable(last.destinationEntity, in: source) }
      if !targets.allSatisfy({ fits($0, relationship) }) { throw barrier }
    default: throw barrier
    }
    // Two copies of one object are one too many for a to-one relationship.
    if !relationship.isToMany, Set(targets.map(\.rows.entity.number)).count < targets.count { throw barrier }
    return CopyLink(
      owner: copy, relationship: relationship, path: path, source: last, isDirect: isDirect, targets: targets,
      place: place)
  }

  private func fits(_ copy: EntityCopy, _ relationship: RelationshipLayout) -> Bool {
    target.schema[relationship.destinationEntity]?.numbers.contains(copy.destination.number) ?? false
  }

  private func problem(_ copy: EntityCopy, _ property: String, _ reason: String) -> CopyProblem {
    CopyProblem(
      mapping: copy.name, entity: copy.destination.name, property: property, reason: reason,
      suggestion: "Correct the relationship mapping.")
  }
}
