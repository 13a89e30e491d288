// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite(
  "Mapping models of other projects, carried out",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"), .serialized)
struct FixtureMappingTests {
  /// Does what nobody has said otherwise, for policies that the fixtures name and do not come with.
  final class StandInPolicy: NSEntityMigrationPolicy {}

  @Test("Each maps generated objects, all of them, with values and relationships", arguments: FixtureMapping.all.found)
  func generated(_ fixture: FixtureMapping) throws {
    MigrationPolicyClasses.register(StandInPolicy.self)
    let store = try TemporaryStore()
    // What the destination requires and the mapping leaves out is the policy's part, which is not here.
    let destination = fixture.destination.withoutRules
    let (old, new) = (
      try NSManagedObjectModel(document: fixture.source.plain), try NSManagedObjectModel(document: destination)
    )
    var rows = GeneratedRows(fixture.source.plain, seed: 7)
    try rows.fill(try store.context(try NSManagedObjectModel(document: fixture.source.plain)), atMost: 9)
    try store.close()
    let mapping = NSMappingModel(document: fixture.mapping)
    for entity in mapping.entityMappings {
      if entity.entityMigrationPolicyClassName != nil { entity.entityMigrationPolicyClassName = "StandInPolicy" }
      entity.destinationEntityVersionHash = entity.destinationEntityName.flatMap { new.entityVersionHashesByName[$0] }
      entity.sourceEntityVersionHash = entity.sourceEntityName.flatMap { old.entityVersionHashesByName[$0] }
    }
    let target = store.folder.appendingPathComponent("Target.sqlite")
    try FixtureMapping.migrate(store.url, old, mapping, new, to: target)
    var expected: [String: Int] = [:]
    try store.open(store.url, try NSManagedObjectModel(document: fixture.source.plain)) { context in
      for entity in fixture.mapping.entityMappings {
        guard let source = entity.sourceEntityName, let made = entity.destinationEntityName else { continue }
        let request = NSFetchRequest<NSManagedObject>(entityName: source)
        request.includesSubentities = false
        request.predicate = entity.filter.map { NSPredicate(format: $0) }
        expected[made, default: 0] += try context.count(for: request)
      }
    }
    try store.open(target, try NSManagedObjectModel(document: destination)) { context in
      for (entity, count) in expected {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        request.includesSubentities = false
        let found = try context.count(for: request)
        #expect(found == count, "\(entity)")
      }
    }
    print("mapped: \(fixture): \(expected.values.reduce(0, +)) objects")
  }

  @Test("Most have their versions among the fixtures")
  func count() {
    let (found, missing) = FixtureMapping.all
    print("mapping models that run: \(found.count)")
    for reason in missing { print("not run: \(reason)") }
    #expect(found.count >= 8)
  }
}

extension ModelDocument {
  /// The model without what needs classes that are not here, transformers, and without rules for random values.
  fileprivate var plain: ModelDocument {
    var copy = self
    for entity in copy.entities.indices {
      for attribute in copy.entities[entity].attributes.indices {
        copy.entities[entity].attributes[attribute].valueTransformerName = nil
        copy.entities[entity].attributes[attribute].validations = []
      }
    }
    return copy
  }

  /// The model without rules for values that a policy would have seen to.
  fileprivate var withoutRules: ModelDocument {
    var copy = plain
    for entity in copy.entities.indices {
      copy.entities[entity].uniquenessConstraints = []
      for attribute in copy.entities[entity].attributes.indices {
        copy.entities[entity].attributes[attribute].isOptional = true
      }
    }
    return copy
  }
}
