// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Runs mappings object by object, through their policies.
final class ObjectExecutor: MappingExecutor {
  /// Unowned, since the run owns its executors.
  unowned(unsafe) let run: MigrationRun
  /// The evaluator of expressions, with the values of their variables.
  private var evaluator = PredicateEvaluator()
  private var evaluatedPlan: ResolvedMapping?
  /// Whether there are derived attributes. They may count the objects of a relationship, so both sides of it must be
  /// marked as changed.
  private lazy var hasDerivations = !Derivations(run.destination.model).isEmpty
  /// Sets the relationships of the current mapping that need no objects; nil if all of them do.
  private var keys: PendingKeys?

  init(run: MigrationRun) {
    self.run = run
  }

  var manager: NSMigrationManager { run.manager }

  // MARK: First pass

  func createInstances(of plan: ResolvedMapping) throws {
    try SourceReader(run: run, plan: plan).read { object, previous in
      run.reading = (object, previous)
      defer { run.reading = nil }
      try run.call(plan) {
        try plan.policy.createDestinationInstances(forSource: object, in: plan.mapping, manager: manager)
      }
    } afterBatch: { count in
      try run.save()
      run.didObjects(count)
    }
  }

  /// Creates the destination object of a source object. The default implementation of the policy calls this.
  func createDestinationInstance(forSource source: NSManagedObject, in mapping: NSEntityMapping) throws {
    let plan = run.plan(of: mapping)
    guard let entity = plan.destinationEntity else { return }
    let destination = NSManagedObject(entity: entity, insertInto: run.destination.context)
    source.fireFault()
    for attribute in plan.attributes { try setAttribute(attribute, of: destination, from: source, plan) }
    manager.associate(sourceInstance: source, withDestinationInstance: destination, for: mapping)
  }

  private func setAttribute(
    _ attribute: ResolvedAttribute, of destination: NSManagedObject, from source: NSManagedObject,
    _ plan: ResolvedMapping
  ) throws {
    // Positions are those of the mapping's own entity. A source of another entity is read by name.
    let isOrdinary = source.entity === plan.sourceEntity
    switch attribute.value {
    case .copy(let position) where isOrdinary:
      let slot = source.slots[position]
      if attribute.keepsDefault, slot.isNull { return }
      destination.setSlot(slot, at: attribute.position)
    case .convert(let position) where isOrdinary:
      try set(source.resolvedValue(at: position), for: attribute, of: destination, plan)
    case .elements(let position, let pairs) where isOrdinary:
      let values = source.resolvedValue(at: position) as? NSDictionary ?? [:]
      try set(pairs.converted(values, keepsDefaults: plan.isInferred), for: attribute, of: destination, plan)
    case .constant(let slot):
      destination.setSlot(slot, at: attribute.position)
    case .copy, .convert, .elements, .expression:
      let value = try evaluate(
        attribute.syntax, plan, source: source, destination: destination, property: attribute.mapping,
        name: attribute.name)
      try set(value, for: attribute, of: destination, plan)
    }
  }

  private func set(
    _ value: Any?, for attribute: ResolvedAttribute, of destination: NSManagedObject, _ plan: ResolvedMapping
  ) throws {
    let value = Operand.unwrapped(value)
    if value == nil, attribute.keepsDefault { return }
    guard let slot = Slot(migrated: value, for: attribute.attribute) else {
      throw MappingErrors.unfitValue(
        plan.subject(attribute.name, attribute.syntax), found: Operand.description(value),
        wanted: attribute.attribute.wantedValue)
    }
    destination.setSlot(slot, at: attribute.position)
  }

  // MARK: Second pass

  func createRelationships(of plan: ResolvedMapping) throws {
    guard let table = plan.table else { return }
    let isInherited = !PolicyMethods.overridesRelationships(type(of: plan.policy))
    if isInherited, plan.relationships.isEmpty { return run.didObjects(plan.sourceCount) }
    keys = hasDerivations ? nil : try PendingKeys(plan, run)
    defer { keys = nil }
    if isInherited, try keys?.setAll() == true { return }
    if keys != nil { run.writeKeysBeforeAsking() }
    // Even if the mapping itself needs no values, the policy may read some.
    var reader = DestinationReader(
      run: run, table: table, readsRows: !plan.relationships.isEmpty && keys == nil)
    try reader.read { object in
      try run.call(plan) {
        try plan.policy.createRelationships(forDestination: object, in: plan.mapping, manager: manager)
      }
    } afterBatch: { count in
      try run.save()
      if let keys {
        keys.resume()
        run.writeKeysBeforeAsking()
      }
      run.didObjects(count)
    }
  }

  /// Sets the relationships of a destination object. The default implementation of the policy calls this.
  func createRelationships(forDestination destination: NSManagedObject, in mapping: NSEntityMapping) throws {
    let plan = run.plan(of: mapping)
    guard !plan.relationships.isEmpty, let table = plan.table, let key = run.destination.rowKey(of: destination) else {
      return
    }
    let associations = run.manager.associations.tables[table]
    if let keys, keys.plan === plan, let source = associations.onlySource(of: key),
      try keys.add(destination, key, from: source)
    {
      run.writeKeysBeforeAsking()
      return
    }
    let sources = associations.sources(of: key)
    guard !sources.isEmpty else { return }
    for relationship in plan.relationships {
      run.wantedDestination = relationship.relationship.destinationEntity
      defer { run.wantedDestination = nil }
      // If several sources became one object, its relationships combine theirs.
      var keys: [RowKey] = []
      for source in sources { keys += try objects(for: relationship, of: source, destination, plan) }
      try set(keys, for: relationship, of: destination, plan)
    }
  }

  /// Writes the relationships that were set without objects.
  func writeKeys() throws {
    try keys?.flush()
  }

  /// Sets relationships object by object until the next save, after a policy has queried the stores.
  func suspendKeys() { keys?.suspend() }

  private func objects(
    for relationship: ResolvedRelationship, of key: RowKey, _ destination: NSManagedObject, _ plan: ResolvedMapping
  ) throws -> [RowKey] {
    switch relationship.value {
    case .mapping(let name, let sources):
      do {
        let tables = try run.tables(named: name)
        return try run.destinationKeys(in: tables, of: rows(sources, of: key)).filter { key in
          // A policy may have created objects of several entities. Those that do not fit are left out; those of the
          // mapping's own entity must fit.
          fits(key, relationship.relationship)
            || tables.contains { run.manager.associations.tables[$0].destination == key.entity }
        }
      } catch let failure as EvaluationError {
        throw MappingErrors.failedExpression(plan.subject(relationship.name, relationship.syntax), failure)
      }
    case .anyMapping(let sources):
      return try run.anyDestinationKeys(of: rows(sources, of: key))
    case .expression:
      guard let source = run.source.object(of: key) else { return [] }
      let value = try evaluate(
        relationship.syntax, plan, source: source, destination: destination, property: relationship.mapping,
        name: relationship.name)
      return try rows(value, for: relationship, plan)
    }
  }

  private func fits(_ key: RowKey, _ relationship: NSRelationshipDescription) -> Bool {
    guard let wanted = relationship.destinationEntity else { return true }
    return run.destination.store.entity(number: Int(key.entity))?.isKindOf(entity: wanted) ?? false
  }

  /// Returns the rows of source objects without creating objects for them.
  private func rows(_ sources: ResolvedRelationship.Sources, of key: RowKey) throws -> [RowKey] {
    switch sources {
    case .itself: return [key]
    case .relationship(let name):
      guard let source = run.source.object(of: key), source.table.position(of: name) != nil else { return [] }
      let ids = source.objectIDs(forRelationshipNamed: name)
      if let failure = run.source.context.readingFailure { throw failure }
      return ids.compactMap { id in
        run.source.store.number(of: id.entity).map { RowKey(entity: Int32($0), number: id.key.number) }
      }
    }
  }

  /// Returns the destination rows in the value of an expression.
  private func rows(_ value: Any?, for relationship: ResolvedRelationship, _ plan: ResolvedMapping) throws -> [RowKey] {
    guard let value = Operand.unwrapped(value) else { return [] }
    let context = run.destination.context
    return try (Operand.elements(value) ?? [value]).map { element in
      guard let object = element as? NSManagedObject, object.context === context else {
        throw MappingErrors.unfitValue(
          plan.subject(relationship.name, relationship.syntax), found: Operand.description(element),
          wanted: "objects of the destination context")
      }
      // Relationships are set by row, so a new object needs its permanent identifier now.
      if object.hasTemporaryID { try context.obtainPermanentIDs(for: [object]) }
      guard let key = run.destination.rowKey(of: object) else {
        throw ObjectGraphErrors.missingObject(object.identifier)
      }
      return key
    }
  }

  private func set(
    _ keys: [RowKey], for relationship: ResolvedRelationship, of destination: NSManagedObject, _ plan: ResolvedMapping
  ) throws {
    // A policy may have created an object of another entity, which has its own relationship of the name, or none.
    guard let position = destination.table.position(of: relationship.name),
      let description = destination.table.relationship(at: position)
    else { return }
    let objects = try keys.map { key in
      guard let object = run.destination.object(of: key),
        fits(key, description)
      else {
        throw MappingErrors.unfitValue(
          plan.subject(relationship.name, relationship.syntax),
          found: "an object of '\(run.destination.store.entity(number: Int(key.entity))?.name ?? "")'",
          wanted: "one of '\(description.destinationEntity?.name ?? "")'")
      }
      return object
    }
    if !description.isToMany, objects.contains(where: { $0 !== objects[0] }) {
      throw MappingErrors.unfitValue(
        plan.subject(relationship.name, relationship.syntax), found: "\(objects.count) objects",
        wanted: "one object for the to-one relationship '\(relationship.name)'")
    }
    if destination.relate(objects, at: position, description, mayBeOneSided: !hasDerivations) {
      run.saveBeforeAsking()
    }
  }

  // MARK: Expressions

  private func evaluate(
    _ syntax: ExpressionSyntax, _ plan: ResolvedMapping, source: NSManagedObject, destination: NSManagedObject,
    property: NSPropertyMapping, name: String
  ) throws -> Any? {
    prepare(plan)
    evaluator.variables[NSMigrationSourceObjectKey] = source
    evaluator.variables[NSMigrationDestinationObjectKey] = destination
    evaluator.variables[NSMigrationPropertyMappingKey] = property
    // The expression may call policies that migrate other objects, so evaluate a copy.
    let evaluator = evaluator
    do {
      return try evaluator.value(syntax, with: source)
    } catch let failure as EvaluationError {
      throw MappingErrors.failedExpression(plan.subject(name, syntax), failure)
    }
  }

  /// Evaluates the source expression of a mapping.
  func evaluateSource(_ syntax: ExpressionSyntax, _ plan: ResolvedMapping) throws -> Any? {
    prepare(plan)
    do {
      return try evaluator.value(syntax, with: nil)
    } catch let failure as EvaluationError {
      throw Self.failed(plan, syntax, failure)
    }
  }

  static func failed(_ plan: ResolvedMapping, _ syntax: ExpressionSyntax, _ cause: any Error) -> NSError {
    var subject = plan.subject
    subject.expression = PredicatePrinter().format(syntax)
    return MappingErrors.failedExpression(subject, cause)
  }

  private func prepare(_ plan: ResolvedMapping) {
    guard evaluatedPlan !== plan else { return }
    evaluatedPlan = plan
    evaluator = PredicateEvaluator(variables: [
      NSMigrationManagerKey: manager, NSMigrationEntityMappingKey: plan.mapping,
      NSMigrationEntityPolicyKey: plan.policy,
    ])
  }
}

extension NSManagedObject {
  /// Sets a relationship of a migrated object.
  ///
  /// If the other side is to-many and has not been read, sets only this side. The store keeps both sides in one place,
  /// and reading a large relationship again for each new member would take most of the time of a migration.
  ///
  /// - Returns: whether only this side was set, so that the change must be saved before the next query.
  fileprivate func relate(
    _ objects: [NSManagedObject], at position: Int, _ relationship: NSRelationshipDescription, mayBeOneSided: Bool
  ) -> Bool {
    fireFault()
    let isOneSided =
      mayBeOneSided && relationship.inverseRelationship?.isToMany == true
      && relationship.inverseRelationship !== relationship
    guard isOneSided, objects.allSatisfy({ $0.hasUnreadInverse(of: relationship) }) else {
      store(relationship.value(of: objects), at: position)
      noteChange()
      return false
    }
    readRelationship(at: position)
    switch slots[position] {
    case .null where !relationship.isToMany:
      guard let object = objects.first else { return false }
      setSlot(.toOne(object.identifier), at: position)
    case .toOne(let id) where objects.first.map { $0.identifier.key == id.current.key } ?? false:
      return false
    case .toMany(let members) where members.isEmpty && relationship.isToMany:
      if objects.isEmpty { return false }
      setSlot(.toMany(ToMany(objects.map(\.identifier), isOrdered: relationship.isOrdered)), at: position)
    default:
      store(relationship.value(of: objects), at: position)
      noteChange()
      return false
    }
    noteChange()
    return true
  }

  /// Returns whether the members of a to-many inverse have not been read.
  func hasUnreadInverse(of relationship: NSRelationshipDescription) -> Bool {
    guard isRealized else { return true }
    guard !hasTemporaryID, !isInserted, let inverse = relationship.inverseRelationship,
      let position = table.position(of: inverse.name), case .unread = slots[position]
    else { return false }
    return true
  }
}

extension NSRelationshipDescription {
  /// Returns objects as a value for the relationship.
  fileprivate func value(of objects: [NSManagedObject]) -> Any? {
    guard isToMany else { return objects.first }
    return isOrdered ? NSOrderedSet(array: objects) : NSSet(array: objects)
  }
}

/// To-one relationships of a policy's objects that SQL sets for ranges of rows, without reading values on either side.
///
/// An object qualifies as long as it is a fault. The relationships are written before anything can read them.
final class PendingKeys {
  /// The number of ranges of rows that are set between checks for cancellation.
  private static let spansPerStep = 1_000

  let plan: ResolvedMapping
  /// Unowned, since the run owns its executors and they own this.
  private unowned(unsafe) let run: MigrationRun
  private var relationships: SQLRelationships?
  /// The version of the associations for which the SQL was made.
  private var associationCount: Int
  private var rows: [RowSpan] = []
  private var offsets: [Int64] = []
  /// Whether the policy has queried the stores since the last save, and so may hold members of the other sides.
  private var isSuspended = false

  /// - Returns: nil if the mapping has no relationships, or some that are not such keys.
  init?(_ plan: ResolvedMapping, _ run: MigrationRun) throws {
    guard let relationships = try run.sql?.keyRelationships(of: plan) else { return nil }
    (self.plan, self.run, self.relationships) = (plan, run, relationships)
    associationCount = run.manager.associations.changeCount
  }

  /// Adds an object whose relationships SQL should set.
  ///
  /// - Returns: whether SQL can set them; if not, nothing was done.
  func add(_ object: NSManagedObject, _ key: RowKey, from source: RowKey) throws -> Bool {
    guard !isSuspended, !object.isRealized, object.snapshot == nil, !object.hasChanges,
      source.entity == plan.sourceNumber, key.entity == plan.destinationNumber, !run.source.context.hasChanges,
      run.destination.context.deletionCount == 0, !run.isKeepingObjects
    else { return false }
    if associationCount != run.manager.associations.changeCount {
      try flush()
      relationships = try run.sql?.keyRelationships(of: plan)
      associationCount = run.manager.associations.changeCount
    }
    guard relationships != nil else { return false }
    let offset = key.number - source.number
    if let last = rows.last, offsets.last == offset, last.keys.upperBound + 1 == key.number {
      rows[rows.count - 1] = RowSpan(entity: key.entity, keys: last.keys.lowerBound...key.number)
    } else {
      rows.append(RowSpan(entity: key.entity, keys: key.number...key.number))
      offsets.append(offset)
    }
    return true
  }

  /// Sets the relationships of all objects of the mapping, before any of them is created.
  ///
  /// - Returns: whether SQL can set them; if not, nothing was done.
  func setAll() throws -> Bool {
    let destination = run.destination.context
    guard let table = plan.table, let number = plan.destinationNumber, !run.source.context.hasChanges,
      !destination.hasChanges, destination.deletionCount == 0, !run.isKeepingObjects,
      let all = run.manager.associations.tables[table].runsOfDifferentRows
    else { return false }
    var count = 0
    func finishStep() throws {
      try run.manager.checkCancellation()
      try flush()
      run.didObjects(count)
      count = 0
    }
    for keys in all {
      try KeyArithmetic.forEachPart(keys.destinations, by: SQLExecutor.keysPerStep) { part in
        rows.append(RowSpan(entity: number, keys: part))
        offsets.append(keys.offset)
        count += min(Int(clamping: KeyArithmetic.distance(part)), Int(SQLExecutor.keysPerStep)) + 1
        if count >= SQLExecutor.keysPerStep || rows.count >= Self.spansPerStep { try finishStep() }
      }
    }
    try finishStep()
    return true
  }

  /// Sets the relationships of the added objects.
  func flush() throws {
    if rows.isEmpty { return }
    defer { (rows, offsets) = ([], []) }
    try relationships?.setKeys(rows, offsets: offsets)
  }

  /// Rejects further objects, because the policy has queried the stores.
  func suspend() { isSuspended = true }

  /// Accepts objects again after a save, which turned all objects into faults.
  func resume() { isSuspended = false }
}
