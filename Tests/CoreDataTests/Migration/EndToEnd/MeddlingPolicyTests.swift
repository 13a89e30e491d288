// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Policies that do more than they are asked for.
@Suite("Policies that meddle", .serialized)
struct MeddlingPolicyTests {
  private func sample(_ policy: NSEntityMigrationPolicy.Type, batchSize: Int = 3) throws -> ManagerSample {
    let sample = try ManagerSample(folders: 2, notes: 11)
    MigrationPolicyClasses.register(policy, as: "\(policy)")
    sample["NoteToNote"].entityMigrationPolicyClassName = "\(policy)"
    return sample
  }

  /// What notes hold that were migrated with nobody meddling.
  private func words(_ context: NSManagedObjectContext) throws -> [String] {
    try context.all("Note", by: "rank").map { note in
      "\(note.text("title") ?? "-") \(note.value(forKeyPath: "box.label") ?? "-") \(note.names("tags")) "
        + "\(note.names("favourites"))"
    }
  }

  private static let expected = (0..<11).map { number in
    let tags = ["T1", "T2", "T3"]
    return "N\(number + 1) F\(number % 2 + 1) \(Array(tags.prefix(number % 4))) "
      + "\(Array(tags.prefix(number % 3).reversed()))"
  }

  /// Saves the destination by itself, at every opportunity.
  final class Saving: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      try manager.destinationContext.save()
    }

    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
      try manager.destinationContext.save()
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      try manager.destinationContext.save()
    }
  }

  @Test("Save the destination themselves", arguments: [1, 3, 500])
  func saving(_ batchSize: Int) throws {
    let sample = try sample(Saving.self)
    try sample.migrate(batchSize: batchSize)
    try sample.result { (context) throws in #expect(try words(context) == Self.expected) }
  }

  /// Fails after it has saved the destination by itself.
  final class SavingAndFailing: NSEntityMigrationPolicy {
    struct Refusal: Error {}

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      try manager.destinationContext.save()
      throw Refusal()
    }
  }

  @Test("Fail after they have saved the destination themselves: it is as it was")
  func savingAndFailing() throws {
    let sample = try sample(SavingAndFailing.self)
    #expect(throws: SavingAndFailing.Refusal.self) { try sample.migrate() }
    sample["NoteToNote"].entityMigrationPolicyClassName = nil
    try sample.migrate()
    sample["NoteToNote"].entityMigrationPolicyClassName = "\(SavingAndFailing.self)"
    #expect(throws: SavingAndFailing.Refusal.self) { try sample.migrate() }
    try sample.result { (context) throws in #expect(try words(context) == Self.expected) }
  }

  /// Makes a page of each note that nothing is told of, and one that leads nowhere.
  final class Inserting: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let note = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])[0]
      for number in 0..<2 {
        let page = NSEntityDescription.insertNewObject(forEntityName: "Page", into: manager.destinationContext)
        page.setValue(sInstance.value(forKey: "body"), forKey: "text")
        page.setValue(number, forKey: "number")
        if number == 0 { page.setValue(note, forKey: "note") }
      }
    }
  }

  @Test("Insert objects that are associated with nothing", arguments: [1, 3, 500])
  func inserting(_ batchSize: Int) throws {
    let sample = try sample(Inserting.self)
    try sample.migrate(batchSize: batchSize)
    try sample.result { context in
      #expect(try words(context) == Self.expected)
      let pages = try context.all("Page", by: "number")
      #expect(pages.count == 22)
      let noted = pages.prefix(11).map { "\($0.value(forKeyPath: "note.rank") ?? "-"): \($0.text("text") ?? "-")" }
      #expect(noted.sorted() == (1...11).map { "\($0): Text \($0)" }.sorted())
      #expect(pages.suffix(11).allSatisfy { $0.value(forKey: "note") == nil })
    }
  }

  /// Deletes objects that another mapping has made, when everything leads to them.
  final class Deleting: NSEntityMigrationPolicy {
    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Tag")
      request.predicate = NSPredicate(format: "name == %@", "T1")
      for tag in try manager.destinationContext.fetch(request) { manager.destinationContext.delete(tag) }
    }
  }

  @Test("Delete what other mappings have made", arguments: [1, 3, 500])
  func deleting(_ batchSize: Int) throws {
    let sample = try sample(Deleting.self)
    try sample.migrate(batchSize: batchSize)
    let expected = Self.expected.map { words in
      ["\"T1\", ", ", \"T1\"", "\"T1\""].reduce(words) { $0.replacingOccurrences(of: $1, with: "") }
    }
    try sample.result { (context) throws in
      #expect(try words(context) == expected)
      #expect(try context.all("Tag", by: "name").map { $0.text("name") } == ["T2", "T3"])
    }
  }

  /// Changes what it is given, deletes it, and tries to save it.
  final class Spoiling: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      sInstance.setValue("spoilt", forKey: "title")
      sInstance.setValue(nil, forKey: "folder")
      if sInstance.value(forKey: "rank") as? Int == 5 { manager.sourceContext.delete(sInstance) }
      if manager.userInfo?["saves"] != nil { try manager.sourceContext.save() }
    }
  }

  @Test("Change the source: nothing of that is kept, and to save it is an error", arguments: [1, 3, 500])
  func spoiling(_ batchSize: Int) throws {
    let sample = try sample(Spoiling.self)
    try sample.migrate(batchSize: batchSize)
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == (1...11).map { "N\($0)" })
    }
    let other = try self.sample(Spoiling.self)
    other.manager.userInfo = ["saves": true]
    let error = try #require(throws: NSError.self) { try other.migrate(batchSize: batchSize) }
    #expect(error.domain == NSCocoaErrorDomain && error.localizedFailureReason?.isEmpty == false)
  }
}
