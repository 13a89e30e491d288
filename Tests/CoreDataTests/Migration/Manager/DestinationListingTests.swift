// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Policies that look for what has been made among the objects of the destination context.
@Suite("Policies that list destination objects")
struct DestinationListingTests {
  /// The pattern of the book: the new object is found among those that are registered and no faults, or else made.
  class GroupingPolicy: NSEntityMigrationPolicy {
    func known(_ context: NSManagedObjectContext) -> Set<NSManagedObject> { context.registeredObjects }

    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let note = try #require(
        manager.destinationInstances(forEntityMappingName: mapping.name ?? "", sourceInstances: [sInstance]).first)
      let context = manager.destinationContext
      let rank = try #require(sInstance.value(forKey: "rank") as? Int)
      let label = "Rank \(rank % 5)"
      let box =
        known(context).first { !$0.isFault && $0.entity.name == "Box" && $0.text("label") == label }
        ?? context.make("Box", ["label": label])
      note.setValue(box, forKey: "box")
    }
  }

  final class InsertedPolicy: GroupingPolicy {
    override func known(_ context: NSManagedObjectContext) -> Set<NSManagedObject> { context.insertedObjects }
  }

  /// Leaves out a note whose rank modulo 7 another one has, which the framework has made.
  final class DistinctPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      let rank = try #require(sInstance.value(forKey: "rank") as? Int)
      let isKnown = manager.destinationContext.registeredObjects.contains {
        !$0.isFault && $0.entity.name == "Note" && ($0.value(forKey: "rank") as? Int ?? 0) % 7 == rank % 7
      }
      if !isKnown { try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager) }
    }
  }

  /// Keeps identifiers, and asks for the objects by them.
  final class IdentifierPolicy: NSEntityMigrationPolicy {
    private var boxes: [Int: NSManagedObjectID] = [:]

    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let rank = try #require(sInstance.value(forKey: "rank") as? Int) % 5
      let context = manager.destinationContext
      let box =
        boxes[rank].flatMap { context.registeredObject(for: $0) } ?? context.make("Box", ["label": "Rank \(rank)"])
      boxes[rank] = box.objectID
      manager.destinationInstances(forEntityMappingName: mapping.name ?? "", sourceInstances: [sInstance]).first?
        .setValue(box, forKey: "box")
    }
  }

  /// Lists everything while relationships are set, after keys have been written beneath the objects.
  final class LateListingPolicy: NSEntityMigrationPolicy {
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
      let all = manager.destinationContext.registeredObjects
      guard all.allSatisfy({ !$0.isFault }) else { throw CocoaError(.featureUnsupported) }
      let notes = all.filter { $0.entity.name == "Note" }.count
      let boxes = all.filter { $0.entity.name == "Box" }.count
      guard notes == 23, boxes == 2 else { throw CocoaError(.featureUnsupported) }
      guard (dInstance.value(forKey: "box") as? NSManagedObject)?.text("label") != nil else {
        throw CocoaError(.validationMissingMandatoryProperty)
      }
    }
  }

  /// Lists when it gets the first and the twentieth note, and logs of each batch whether the run keeps objects.
  final class SeldomPolicy: NSEntityMigrationPolicy {
    private var count = 0

    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      manager.log?.calls.append(manager.running.isKeepingObjects ? "keeps" : "releases")
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      count += 1
      guard count == 1 || count == 20 else { return }
      let notes = manager.destinationContext.registeredObjects.filter { !$0.isFault && $0.entity.name == "Note" }
      manager.log?.calls.append("\(Set(notes.compactMap { $0.text("title") }).count)")
    }
  }

  @Test("Objects are kept for a batch after they were listed, and all are found again later")
  func seldom() throws {
    let sample = try sample(SeldomPolicy.self, usesSQL: false)
    sample.manager.userInfo = ["log": CallLog()]
    try sample.migrate(batchSize: 4)
    let kept = ["releases", "1"] + Array(repeating: "keeps", count: 7)
    let released = Array(repeating: "releases", count: 12)
    #expect(sample.manager.log?.calls == kept + released + ["20", "keeps", "keeps", "keeps"])
  }

  private func sample(_ policy: NSEntityMigrationPolicy.Type, usesSQL: Bool) throws -> ManagerSample {
    let sample = try ManagerSample(notes: 23)
    let name = "DestinationListing\(policy)"
    MigrationPolicyClasses.register(policy, as: name)
    sample["NoteToNote"].entityMigrationPolicyClassName = name
    sample.manager.usesStoreSpecificMigrationManager = usesSQL
    return sample
  }

  @Test(
    "What a policy has made is found again, batch after batch, and not made twice",
    arguments: [GroupingPolicy.self, InsertedPolicy.self, IdentifierPolicy.self], [false, true])
  func grouping(policy: NSEntityMigrationPolicy.Type, usesSQL: Bool) throws {
    let sample = try sample(policy, usesSQL: usesSQL)
    sample["FolderToBox"].relationshipMappings = []
    sample["NoteToNote"].relationshipMappings = sample["NoteToNote"].relationshipMappings?.filter { $0.name != "box" }
    try sample.migrate()
    try sample.result { context in
      let boxes = try context.all("Box", by: "label").filter { $0.text("label")?.hasPrefix("Rank") ?? false }
      #expect(boxes.map { ($0["notes"] as? NSSet)?.count } == [4, 5, 5, 5, 4])
      #expect(try context.all("Note", by: "title").count == 23)
      #expect(try context.all("Box", by: "label").count == 7)
    }
  }

  @Test("What the framework has made for a policy is found too", arguments: [false, true])
  func distinct(usesSQL: Bool) throws {
    let sample = try sample(DistinctPolicy.self, usesSQL: usesSQL)
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0["rank"] as? Int } == [1, 2, 3, 4, 5, 6, 7])
      #expect(notes.filter { $0["box"] == nil }.isEmpty)
    }
  }

  @Test("A list that is made late has the values that were written without objects", arguments: [false, true])
  func late(usesSQL: Bool) throws {
    let sample = try sample(LateListingPolicy.self, usesSQL: usesSQL)
    try sample.migrate(batchSize: 4)
    try sample.result { context in
      let alone = try context.all("Note", by: "title").filter { $0["box"] == nil }
      #expect(alone.isEmpty)
      #expect(try context.all("Tag").map { ($0["notes"] as? NSSet)?.count } == [17, 11, 5])
    }
  }
}
