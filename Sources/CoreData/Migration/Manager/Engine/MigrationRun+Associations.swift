// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// Creating and looking up associations between source and destination objects.
extension MigrationRun {
  /// Associates a source object with a destination object, and assigns a primary key to a new destination object.
  func associate(_ sourceObject: NSManagedObject, _ destinationObject: NSManagedObject, _ mapping: NSEntityMapping) {
    let plan = plan(of: mapping)
    trap(
      unless: sourceObject.context === source.context && destinationObject.context === destination.context,
      "Associate an object of the source context with one of the destination context.")
    do {
      guard let from = source.rowKey(of: sourceObject), let table = try table(of: plan) else { return }
      if destinationObject.hasTemporaryID { try adoptKey(destinationObject, from, plan) }
      guard let to = destination.rowKey(of: destinationObject) else { return }
      let previous = reading.flatMap { $0.object === sourceObject ? $0.previous : nil }
      manager.associations.add(from, to, to: table, after: previous)
    } catch {
      failure = failure ?? error
    }
  }

  /// Returns the association table of a mapping. A mapping without entities of its own gets one when it first
  /// associates objects.
  private func table(of plan: ResolvedMapping) throws -> Int? {
    if let table = plan.table { return table }
    plan.table = manager.associations.add(
      AssociationTable(source: plan.sourceNumber ?? 0, destination: plan.destinationNumber ?? 0), named: plan.name)
    return plan.table
  }

  /// Assigns the key that corresponds to an object's source, or the next free key if that one is taken.
  private func adoptKey(_ object: NSManagedObject, _ source: RowKey, _ plan: ResolvedMapping) throws {
    guard let offset = plan.offset, source.entity == plan.sourceNumber, object.entity === plan.destinationEntity,
      let number = plan.destinationNumber, plan.sourceKeys?.contains(source.number) ?? false,
      let id = destination.store.identifier(entity: Int(number), primaryKey: source.number + offset),
      destination.context.registry[id.key] == nil,
      try !hasDestinationRow(RowKey(entity: number, number: id.key.number), source, plan)
    else {
      try destination.context.obtainPermanentIDs(for: [object])
      return
    }
    if destination.context.adopt(id, for: object) {
      object.replaceTemporaryIDInRelatedObjects(all: plan.isTargetWithoutInverse)
    }
  }

  /// Returns whether the destination row that corresponds to a source already exists.
  private func hasDestinationRow(_ key: RowKey, _ source: RowKey, _ plan: ResolvedMapping) throws -> Bool {
    guard let table = plan.table else { return false }
    let associations = manager.associations.tables[table]
    if associations.isBeyond(source) { return false }
    return try associations.destinations(of: source) { try exists($0) }.contains(key)
  }

  /// Returns the association tables of an entity mapping; an empty array if it has none yet.
  ///
  /// - Throws: `EvaluationError` for an unknown name.
  func tables(named name: String) throws -> [Int] {
    if let tables = manager.associations.tables(named: name) { return tables }
    if plans.contains(where: { $0.name == name }) { return [] }
    throw EvaluationError.unknownKey(name, object: "The mapping model")
  }

  /// Runs a lookup for a policy. If it fails, the policy gets an empty array and the migration fails at the next
  /// opportunity.
  func lookUp(_ name: String, _ body: ([Int]) throws -> [NSManagedObject]) -> [NSManagedObject] {
    do {
      return try body(tables(named: name))
    } catch is EvaluationError {
      // A mapping model is a file, whose names can change while the policy stays the same. So this is an error, not a
      // trap.
      failure = failure ?? MappingErrors.unknownMapping(name, known: plans.map(\.name))
    } catch {
      failure = failure ?? error
    }
    return []
  }

  /// Returns the destinations of the given sources in some tables; all destinations if `sources` is nil.
  func destinations(in tables: [Int], of sources: [NSManagedObject]?) throws -> [NSManagedObject] {
    guard let sources else {
      return try objects(in: tables.flatMap { manager.associations.tables[$0].destinationSpans }, of: destination)
    }
    return try destinationKeys(in: tables, of: sources.compactMap(source.rowKey)).compactMap(destination.object)
  }

  /// Returns the sources of the given destinations in some tables; all sources if `destinations` is nil.
  func sources(in tables: [Int], of destinations: [NSManagedObject]?) throws -> [NSManagedObject] {
    guard let destinations else {
      let all = try objects(in: tables.flatMap { manager.associations.tables[$0].sourceSpans }, of: source)
      return try all.filter { object in
        guard let key = source.rowKey(of: object) else { return false }
        return try !destinationKeys(in: tables, of: [key]).isEmpty
      }
    }
    var found: [RowKey] = []
    for key in destinations.compactMap(destination.rowKey) {
      for table in tables { found += manager.associations.tables[table].sources(of: key) }
    }
    return unique(found).compactMap(source.object)
  }

  /// Returns the destinations of sources by any mapping, if they fit the relationship being set.
  func destinations(of sources: [NSManagedObject]) throws -> [NSManagedObject] {
    try anyDestinationKeys(of: sources.compactMap(source.rowKey)).compactMap(destination.object)
  }

  /// Returns the destination rows of source rows in the tables of one mapping.
  func destinationKeys(in tables: [Int], of sources: [RowKey]) throws -> [RowKey] {
    var found: [RowKey] = []
    for source in sources {
      found += try manager.associations.destinations(of: source, in: tables) { try exists($0) }
    }
    return try distinct(found)
  }

  /// Returns the destination rows of source rows by any mapping, if they fit the relationship being set.
  func anyDestinationKeys(of sources: [RowKey]) throws -> [RowKey] {
    var found: [RowKey] = []
    for source in sources {
      for name in manager.associations.names(ofSource: source.entity) {
        let tables = manager.associations.tables(named: name) ?? []
        found += try manager.associations.destinations(of: source, in: tables) { try exists($0) }
      }
    }
    if let wantedDestination {
      found.removeAll { key in
        destination.store.entity(number: Int(key.entity)).map { !$0.isKindOf(entity: wantedDestination) } ?? true
      }
    }
    return try distinct(found)
  }

  /// Removes duplicates, and rows that policies have deleted. Keeps the order.
  private func distinct(_ keys: [RowKey]) throws -> [RowKey] {
    try withoutDeleted(unique(keys))
  }

  private func unique(_ keys: [RowKey]) -> [RowKey] {
    guard keys.count > 1 else { return keys }
    var seen: Set<RowKey> = []
    return keys.filter { seen.insert($0).inserted }
  }

  /// Removes the rows that policies have deleted.
  private func withoutDeleted(_ keys: [RowKey]) throws -> [RowKey] {
    guard destination.context.deletionCount > 0 else { return keys }
    return try keys.filter(exists)
  }

  /// Returns whether a destination row exists, saved or not.
  func exists(_ key: RowKey) throws -> Bool {
    if let id = destination.identifier(of: key), let object = destination.context.registry[id.key], object.hasChanges {
      return !object.isDeleted
    }
    return try destination.store.hasRow(entity: Int(key.entity), primaryKey: key.number)
  }

  /// Returns the objects of the rows in the given spans.
  private func objects(in spans: [RowSpan], of stack: MigrationStack) throws -> [NSManagedObject] {
    if stack.context === destination.context { try saveChanges() }
    var found: [NSManagedObject] = []
    for span in spans {
      var next = span.keys.lowerBound
      while next <= span.keys.upperBound {
        let keys = try stack.store.primaryKeys(
          ofEntity: Int(span.entity), in: next...span.keys.upperBound, limit: batchSize)
        found += keys.compactMap { stack.object(of: RowKey(entity: span.entity, number: $0)) }
        guard let last = keys.last, keys.count == batchSize, last < span.keys.upperBound else { break }
        next = last + 1
      }
    }
    return found
  }
}

extension NSManagedObject {
  /// Replaces the temporary identifier of this object in the objects related to it.
  ///
  /// - Parameter all: whether there may be a relationship to it without an inverse. Then all changed objects are
  ///   searched.
  fileprivate func replaceTemporaryIDInRelatedObjects(all: Bool) {
    if all {
      for object in context?.changed.objects ?? [] { object.replaceTemporaryIDs() }
      return
    }
    for position in table.firstRelationship..<table.count {
      switch slots[position] {
      case .null, .unread: continue
      case .toMany(let members) where members.isEmpty: continue
      default: for object in linkedObjects(at: position) { object.replaceTemporaryIDs() }
      }
    }
  }
}
