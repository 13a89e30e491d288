// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// Splits the name of a person in two, and records the calls.
class SplittingPolicy: NSEntityMigrationPolicy {
  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    log("begin", manager)
    try super.begin(mapping, with: manager)
  }

  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    log("create", manager)
    let target = NSEntityDescription.insertNewObject(
      forEntityName: mapping.destinationEntityName ?? "", into: manager.destinationContext)
    let words = (source.text("name") ?? "").split(separator: " ").map(String.init)
    target.setValue(words.first, forKey: "first")
    target.setValue(words.last, forKey: "last")
    manager.associate(sourceInstance: source, withDestinationInstance: target, for: mapping)
  }

  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    log("endInstanceCreation", manager)
  }

  override func createRelationships(
    forDestination destination: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    log("relate", manager)
  }

  override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    log("endRelationshipCreation", manager)
  }

  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    log("validate", manager)
  }

  override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    log("end", manager)
  }

  private func log(_ call: String, _ manager: NSMigrationManager) {
    var info = manager.userInfo ?? [:]
    info["calls"] = (info["calls"] as? [String] ?? []) + [call]
    manager.userInfo = info
  }
}

/// Refuses every object.
class RefusingPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    throw NSError(domain: "Conformance", code: 77)
  }
}

/// Cancels the migration at the first object.
class CancellingPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    manager.cancelMigrationWithError(NSError(domain: "Conformance", code: 78))
  }
}

@Suite("Mapping models")
struct MappingModelTests {
  private let before = model(entity("Person", [attribute("name"), attribute("age", .integer32AttributeType)]))
  private let after = model(
    entity("Person", [attribute("first"), attribute("last"), attribute("years", .integer32AttributeType)]))

  /// A mapping of persons, of which each attribute has an expression.
  private func mapping(
    _ expressions: [String: NSExpression] = [:], policy: AnyClass? = nil, filter: String = "TRUEPREDICATE"
  ) -> NSMappingModel {
    let persons = NSEntityMapping()
    persons.name = "PersonToPerson"
    persons.mappingType = policy == nil ? .transformEntityMappingType : .customEntityMappingType
    persons.sourceEntityName = "Person"
    persons.destinationEntityName = "Person"
    persons.sourceEntityVersionHash = before.entityVersionHashesByName["Person"]
    persons.destinationEntityVersionHash = after.entityVersionHashesByName["Person"]
    persons.entityMigrationPolicyClassName = policy.map(NSStringFromClass)
    persons.sourceExpression = NSExpression(
      format:
        "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", \"Person\", \"\(filter)\"), $manager.sourceContext, NO)",
      argumentArray: [])
    persons.attributeMappings = ["first", "last", "years"].map { name in
      let property = NSPropertyMapping()
      property.name = name
      property.valueExpression = expressions[name]
      return property
    }
    persons.relationshipMappings = []
    let result = NSMappingModel()
    result.entityMappings = [persons]
    return result
  }

  /// Migrates two persons.
  private func migrate(
    _ mapping: NSMappingModel, by manager: NSMigrationManager? = nil
  ) throws -> Stack {
    let stack = try Stack(before)
    try stack.run { context in
      context.insert("Person", ["name": "Ada Lovelace", "age": 36])
      context.insert("Person", ["name": "Alan Turing", "age": 41])
      try context.save()
    }
    try stack.close()
    let target = try StoreDirectory()
    let manager = manager ?? NSMigrationManager(sourceModel: before, destinationModel: after)
    try manager.migrateStore(
      from: stack.url, type: .sqlite, options: nil, mapping: mapping,
      to: target.store(), type: .sqlite, options: nil)
    return try Stack(after, in: target)
  }

  @Test("Expressions of a mapping give the values: of the source, computed, and constant")
  func expressions() throws {
    let stack = try migrate(
      mapping([
        "first": NSExpression(format: "$source.name", argumentArray: []),
        "last": NSExpression(forConstantValue: "unknown"),
        "years": NSExpression(format: "$source.age + 100", argumentArray: []),
      ]))
    #expect(try stack.run { try $0.texts("first", of: "Person") } == ["Ada Lovelace", "Alan Turing"])
    #expect(try stack.run { try $0.texts("last", of: "Person") } == ["unknown", "unknown"])
    #expect(try stack.run { try $0.all("Person", by: "years").map { $0.number("years") } } == [136, 141])
  }

  @Test("An attribute mapping without an expression leaves the attribute without a value")
  func noExpression() throws {
    let stack = try migrate(mapping(["first": NSExpression(format: "$source.name", argumentArray: [])]))
    #expect(try stack.run { try $0.texts("last", of: "Person") } == [])
  }

  @Test("A mapping maps the source objects that its predicate takes")
  func filter() throws {
    let name = NSExpression(format: "$source.name", argumentArray: [])
    let stack = try migrate(mapping(["first": name], filter: "age > 40"))
    #expect(try stack.run { try $0.texts("first", of: "Person") } == ["Alan Turing"])
  }

  @Test("A policy makes the objects of its mapping")
  func policy() throws {
    let stack = try migrate(mapping(policy: SplittingPolicy.self))
    #expect(try stack.run { try $0.texts("first", of: "Person") } == ["Ada", "Alan"])
    #expect(try stack.run { try $0.texts("last", of: "Person") } == ["Lovelace", "Turing"])
  }

  @Test("A policy is called in three passes: objects, relationships, validation")
  func passes() throws {
    let manager = NSMigrationManager(sourceModel: before, destinationModel: after)
    _ = try migrate(mapping(policy: SplittingPolicy.self), by: manager)
    #expect(
      manager.userInfo?["calls"] as? [String] == [
        "begin", "create", "create", "endInstanceCreation", "relate", "relate", "endRelationshipCreation",
        "validate", "end",
      ])
  }

  @Test("The error that a policy throws comes out of the migration")
  func refusing() throws {
    let failure = try thrown { _ = try migrate(mapping(policy: RefusingPolicy.self)) }
    #expect(carries(failure, code: 77))
  }

  @Test("A cancelled migration throws the error that it was cancelled with")
  func cancelled() throws {
    let failure = try thrown { _ = try migrate(mapping(policy: CancellingPolicy.self)) }
    #expect(failure.domain == "Conformance")
    #expect(failure.code == 78)
  }

  @Test("Migrating a store that is not there is an error")
  func missingSource() throws {
    let directory = try StoreDirectory()
    let manager = NSMigrationManager(sourceModel: before, destinationModel: after)
    let failure = error {
      try manager.migrateStore(
        from: directory.store("None.sqlite"), type: .sqlite, options: nil, mapping: mapping(),
        to: directory.store(), type: .sqlite, options: nil)
    }
    #expect(failure?.domain == NSCocoaErrorDomain)
  }

  @Test("A migration into an existing store appends to its rows")
  func appending() throws {
    let stack = try Stack(before)
    try stack.run { context in
      context.insert("Person", ["name": "Ada"])
      try context.save()
    }
    try stack.close()
    let target = try Stack(after)
    try target.run { context in
      context.insert("Person", ["first": "Grace"])
      try context.save()
    }
    try target.close()
    try NSMigrationManager(sourceModel: before, destinationModel: after).migrateStore(
      from: stack.url, type: .sqlite, options: nil,
      mapping: mapping(["first": NSExpression(format: "$source.name", argumentArray: [])]),
      to: target.url, type: .sqlite, options: nil)
    let again = try Stack(after, in: target.directory)
    #expect(try again.run { try $0.texts("first", of: "Person") } == ["Ada", "Grace"])
  }

  @Test("A mapping model finds its entity mappings by their names")
  func names() {
    #expect(mapping().entityMappingsByName["PersonToPerson"]?.sourceEntityName == "Person")
  }
}
