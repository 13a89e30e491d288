// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The request of a controller at the time of its last fetch, applied to single objects.
struct TrackedFetch {
  let specification: FetchSpecification
  private let sectionNameKeyPath: String?
  private let context: NSManagedObjectContext
  private let entityName: String?
  /// The predicate; nil if there is none, or if it contains a block.
  private let predicate: PredicateSyntax?

  init(_ specification: FetchSpecification, sectionNameKeyPath: String?, in context: NSManagedObjectContext) throws {
    let entityName = specification.entity?.name ?? specification.entityName
    var tracked = specification
    if let entity = entityName.flatMap({ context.coordinator.managedObjectModel.entitiesByName[$0] }) {
      tracked.predicate = specification.predicate?.convertingConstants(for: entity)
    }
    self.specification = tracked
    self.sectionNameKeyPath = sectionNameKeyPath
    self.context = context
    self.entityName = entityName
    do {
      predicate = try tracked.predicate.map(PredicateSyntax.init)
    } catch is OpaqueCriterion {
      predicate = nil
    }
  }

  /// Whether the contents follow changes, which only objects can.
  var isTracked: Bool { specification.resultType == .managedObjectResultType }

  /// Whether an object alone determines whether it is among the results.
  var isFollowedByObject: Bool {
    specification.includesPendingChanges && specification.fetchLimit == 0 && specification.fetchOffset == 0
      && specification.affectedStores == nil
  }

  /// Returns whether an object is of the entity.
  func concerns(_ object: NSManagedObject) -> Bool {
    var entity: NSEntityDescription? = object.entity
    while let current = entity {
      if current.name == entityName { return true }
      entity = specification.includesSubentities ? current.superentity : nil
    }
    return false
  }

  /// Returns the objects that belong to the results, with the names of their sections.
  func wanted(among objects: Set<NSManagedObject>) throws -> [(object: NSManagedObject, section: String)] {
    let candidates = objects.filter { !$0.isDeleted && $0.context === context }
    let faults = candidates.filter { $0.isFault && $0.snapshot == nil && !$0.hasTemporaryID }
    if faults.count > 1 { try Prefetching(context: context).readRows(of: Array(faults)) }
    var result: [(object: NSManagedObject, section: String)] = []
    for object in candidates {
      object.fireFault()
      // The row may be missing.
      guard !object.isDeleted, try isWanted(object) else { continue }
      result.append((object, try sectionName(of: object)))
    }
    return result
  }

  private func isWanted(_ object: NSManagedObject) throws -> Bool {
    if let predicate { return try PredicateEvaluator().evaluate(predicate, with: object) }
    return try specification.predicate?.holds(for: object) ?? true
  }

  /// Returns the order of two objects. Objects that sort equally have the order of a fetch: by primary key, with new
  /// objects last.
  func order(_ left: NSObject, _ right: NSObject) throws -> ComparisonResult {
    for descriptor in specification.sortDescriptors ?? [] {
      let order = try (descriptor as? KeySortDescriptor)?.order(left, right) ?? descriptor.compare(left, to: right)
      if order != .orderedSame { return order }
    }
    guard let left = left as? NSManagedObject, let right = right as? NSManagedObject, left !== right else {
      return .orderedSame
    }
    if left.isInserted != right.isInserted { return left.isInserted ? .orderedDescending : .orderedAscending }
    let isBefore =
      left.isInserted
      ? left.changePosition < right.changePosition : left.identifier.key.number < right.identifier.key.number
    return isBefore ? .orderedAscending : .orderedDescending
  }

  /// Returns the name of an object's section; empty if there are no sections, or the object has no value.
  func sectionName(of object: NSObject) throws -> String {
    guard let sectionNameKeyPath else { return "" }
    let value: Any?
    do {
      value = Operand.unwrapped(try KeyPathReader.value(sectionNameKeyPath, of: object))
    } catch let failure as EvaluationError {
      throw ObjectGraphErrors.badRequest(
        "The section name key path '\(sectionNameKeyPath)' cannot be read: \(failure.description)",
        entity: specification.entity,
        suggestion: "Use a key path of the fetched entity's attributes; a transient one may compute the name.")
    }
    switch value {
    case nil: return ""
    case let text as String: return text
    case let number as NSNumber: return number.stringValue
    case let value?: return Operand.described(value)
    }
  }
}
