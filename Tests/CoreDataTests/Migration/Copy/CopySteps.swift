// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A source store, a mapping model built in code, and the store that they make.
final class CopySteps {
  let store: TemporaryStore
  let old: NSManagedObjectModel
  let new: NSManagedObjectModel
  private(set) var mappings: [NSEntityMapping] = []

  var target: URL { store.folder.appendingPathComponent("Target.sqlite") }

  init(_ old: NSManagedObjectModel, _ new: NSManagedObjectModel) throws {
    store = try TemporaryStore("Source.sqlite")
    self.old = old
    self.new = new
  }

  convenience init(_ old: ModelBuilder, _ new: ModelBuilder) throws {
    try self.init(old.model(), new.model())
  }

  /// Fills the source.
  func fill(_ body: (NSManagedObjectContext) throws -> Void) throws {
    let context = try store.context(old)
    try body(context)
    try context.save()
    try store.close()
  }

  /// Adds an entity mapping; expressions are given in the format language, by property.
  @discardableResult
  func map(
    _ source: String, _ destination: String, name: String? = nil, where filter: String = "TRUEPREDICATE",
    _ attributes: KeyValuePairs<String, String> = [:], links: KeyValuePairs<String, String> = [:]
  ) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.mappingType = .transformEntityMappingType
    mapping.name = name ?? "\(source)To\(destination)"
    mapping.sourceEntityName = source
    mapping.destinationEntityName = destination
    mapping.sourceExpression = NSExpression(
      format: "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', %@, %@), "
        + "$manager.sourceContext, NO)", argumentArray: [source, filter])
    mapping.attributeMappings = attributes.map { Self.property($0.key, $0.value) }
    mapping.relationshipMappings = links.map { Self.property($0.key, $0.value) }
    mappings.append(mapping)
    return mapping
  }

  private static func property(_ name: String, _ expression: String) -> NSPropertyMapping {
    let mapping = NSPropertyMapping()
    mapping.name = name
    if !expression.isEmpty { mapping.valueExpression = NSExpression(format: expression) }
    return mapping
  }

  /// What a mapping made of source objects.
  static func made(by mapping: String, _ sources: String) -> String {
    "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '\(mapping)', \(sources))"
  }

  /// What any mapping made of the objects of a relationship.
  static func made(of relationship: String) -> String {
    "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', '\(relationship)', "
      + "$source.\(relationship))"
  }

  var mappingModel: NSMappingModel {
    let mapping = NSMappingModel()
    mapping.entityMappings = mappings
    return mapping
  }

  /// Has SQL migrate the store and reads what it has made; checks progress, the source and what is left in the folder.
  @discardableResult
  func run(sourceLocation: SourceLocation = #_sourceLocation) throws -> StoreDump {
    let source = try Data(contentsOf: store.url)
    var fractions: [Float] = []
    let executions = try migrate(to: target, usesSQL: true) { fractions.append($0.migrationProgress) }
    #expect(fractions == fractions.sorted() && fractions.last == 1, sourceLocation: sourceLocation)
    for execution in executions {
      #expect(
        execution.rows == .sql && execution.relationships == .sql, "\(execution.mapping) \(execution.reason ?? "")",
        sourceLocation: sourceLocation)
    }
    #expect(try Data(contentsOf: store.url) == source, sourceLocation: sourceLocation)
    let left = try store.files().filter { $0.contains(".migration") || $0.contains(".new") }
    #expect(left == [], sourceLocation: sourceLocation)
    try StoreChecks.check(target, new, sourceLocation: sourceLocation)
    let result = try dump(target)
    let byObjects = store.folder.appendingPathComponent("Objects.sqlite")
    try migrate(to: byObjects, usesSQL: false)
    let expected = try dump(byObjects).objects
    for key in Set(expected.keys).union(result.objects.keys) {
      #expect(result.objects[key] == expected[key], "\(key) as by objects", sourceLocation: sourceLocation)
    }
    return result
  }

  /// Migrates the store.
  ///
  /// - Returns: how each mapping was carried out.
  @discardableResult
  func migrate(
    to url: URL, usesSQL: Bool, progress: ((NSMigrationManager) -> Void)? = nil
  ) throws -> [MappingExecution] {
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    manager.usesStoreSpecificMigrationManager = usesSQL
    manager.progressHandler = progress
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mappingModel, to: url, type: .sqlite)
    return manager.executions
  }

  /// What a store of the destination model holds.
  func dump(_ url: URL) throws -> StoreDump {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    let added = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    defer { try? coordinator.remove(added) }  // Only read from.
    return try StoreDump(context)
  }

  /// The error that the migration fails with, by SQL and by objects alike.
  func failure() throws -> NSError {
    let errors = try [true, false].map { usesSQL in
      try #require(throws: NSError.self) { try migrate(to: target, usesSQL: usesSQL) }
    }
    #expect(errors[0].domain == errors[1].domain && errors[0].code == errors[1].code)
    return errors[0]
  }
}

extension NSManagedObjectContext {
  /// Makes an object with values, some of which are none.
  @discardableResult
  func make(_ entity: String, optional values: [String: Any?]) -> NSManagedObject {
    let object = make(entity)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }
}
