// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Objects for relationships are made only for policies that override the method.
@Suite("Methods that policies override")
struct PolicyMethodTests {
  class RowPolicy: NSEntityMigrationPolicy {
    private var count = 0

    func note() { count += 1 }

    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      note()
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    }
  }

  class OverridingPolicy: RowPolicy {
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      manager.log?.calls.append("asked")
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    }
  }

  final class HeirPolicy: OverridingPolicy {
    override func note() {}
  }

  /// Throws nothing, so that the method is called by way of another function.
  final class SilentPolicy: NSEntityMigrationPolicy {
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) {}
  }

  class GenericPolicy<Value>: NSEntityMigrationPolicy {
    var value: Value?

    override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}
  }

  final class ConcretePolicy: GenericPolicy<Int> {
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws { value = 1 }
  }

  @Test("A class that overrides the method is known, whether itself, by its superclass, or not throwing")
  func overriding() {
    for type in [OverridingPolicy.self, HeirPolicy.self, SilentPolicy.self, ConcretePolicy.self] {
      #expect(PolicyMethods.overridesRelationships(type), "\(type)")
    }
  }

  @Test("A class that does not is known too, whatever else it overrides or adds")
  func inheriting() {
    for type in [NSEntityMigrationPolicy.self, RowPolicy.self, GenericPolicy<String>.self, GenericPolicy<Int>.self] {
      #expect(!PolicyMethods.overridesRelationships(type), "\(type)")
    }
  }

  /// Logs the box of each note once all relationships have been set, and how many objects were registered before.
  final class LoggingPolicy: RowPolicy {
    override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      let notes = try manager.destinationContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
      for note in notes {
        manager.log?.calls.append("\(note.text("title") ?? "") \(note.object("box")?.text("label") ?? "")")
      }
    }
  }

  private func sample(_ policy: NSEntityMigrationPolicy.Type, gaps: Bool = false) throws -> ManagerSample {
    let sample = try ManagerSample(folders: 3, notes: 11)
    let name = "PolicyMethods\(policy)"
    MigrationPolicyClasses.register(policy, as: name)
    sample["FolderToBox"].relationshipMappings = []
    sample["TagToTag"].relationshipMappings = []
    sample["NoteToNote"].relationshipMappings = ManagerSample.properties([
      "box": ManagerSample.of("FolderToBox", "folder")
    ])
    sample["NoteToNote"].entityMigrationPolicyClassName = name
    sample.manager.userInfo = ["log": CallLog()]
    guard gaps else { return sample }
    try sample.store.open(sample.store.url, ManagerSample.first()) { context in
      for note in try context.all("Note", by: "title") where ["N4", "N5", "N9"].contains(note.text("title")) {
        context.delete(note)
      }
      try context.save()
    }
    return sample
  }

  @Test("Relationships are the same with and without objects", arguments: [1, 4, 500], [false, true])
  func relationships(batchSize: Int, gaps: Bool) throws {
    var results: [[String]] = []
    for policy in [LoggingPolicy.self, OverridingPolicy.self] {
      let sample = try sample(policy, gaps: gaps)
      try sample.migrate(batchSize: batchSize)
      try sample.result { context in
        let notes = try context.all("Note", by: "rank")
        results.append(notes.map { "\($0.text("title") ?? "") \($0.object("box")?.text("label") ?? "")" })
      }
      let calls = sample.manager.log?.calls ?? []
      #expect(calls.sorted() == (policy == LoggingPolicy.self ? results[0].sorted() : results[1].map { _ in "asked" }))
    }
    let numbers = (1...11).filter { !gaps || ![4, 5, 9].contains($0) }
    #expect(results[0] == numbers.map { "N\($0) F\(($0 - 1) % 3 + 1)" })
    #expect(results[1] == results[0])
  }
}

extension NSManagedObject {
  fileprivate func object(_ key: String) -> NSManagedObject? { value(forKey: key) as? NSManagedObject }
}
