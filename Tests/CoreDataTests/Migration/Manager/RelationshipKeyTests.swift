// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// The framework sets to-one relationships as keys in rows. Policies are not to notice.
@Suite("Relationships that are set without objects")
struct RelationshipKeyTests {
  private func sample() throws -> ManagerSample {
    let sample = try ManagerSample(folders: 3, notes: 10)
    sample["FolderToBox"].relationshipMappings = []
    sample["TagToTag"].relationshipMappings = []
    sample["NoteToNote"].relationshipMappings = ManagerSample.properties([
      "box": ManagerSample.of("FolderToBox", "folder")
    ])
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.LookingPolicy"
    return sample
  }

  private static func label(_ number: Int) -> String { "F\((number - 1) % 3 + 1)" }

  @Test("Are seen by policies in each way to look", arguments: LookingPolicy.Way.allCases, [1, 4, 500])
  func seen(_ way: LookingPolicy.Way, _ batchSize: Int) throws {
    let sample = try sample()
    let log = CallLog()
    sample.manager.userInfo = ["log": log, "way": way]
    try sample.migrate(batchSize: batchSize)
    let numbers = way == .deleting ? (1...10).filter { $0 % 3 != 0 } : Array(1...10)
    if way != .none, way != .deleting { #expect(log.calls == numbers.map { "N\($0) in \(Self.label($0))" }) }
    try sample.result { context in
      let notes = try context.all("Note", by: "title").sorted { $0.int("rank") < $1.int("rank") }
      #expect(
        notes.map { "\($0.text("title") ?? "") \(($0["box"] as? NSManagedObject)?.text("label") ?? "")" }
          == numbers.map { "N\($0) \(Self.label($0))" })
      let added = way == .changing ? 100 : 0
      #expect(notes.map { $0.int("rank") } == numbers.map { $0 + added })
      let boxes = try context.all("Box", by: "label").reduce(into: [:]) {
        $0[$1.text("label") ?? ""] = $1.names("notes", "title")
      }
      for (label, titles) in boxes {
        #expect(titles == numbers.filter { Self.label($0) == label }.map { "N\($0)" }.sorted())
      }
    }
  }

  @Test("Replace what a policy has set before, and remove it where the source has none")
  func replaced() throws {
    let sample = try sample()
    try sample.store.open(sample.store.url, ManagerSample.first()) { context in
      for note in try context.all("Note", by: "title") where note.int("rank") % 2 == 0 {
        note.setValue(nil, forKey: "folder")
      }
      try context.save()
    }
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.WronglyBoxingPolicy"
    try sample.migrate()
    try sample.result { context in
      for note in try context.all("Note", by: "title") {
        let number = note.int("rank")
        #expect((note["box"] as? NSManagedObject)?.text("label") == (number % 2 == 0 ? nil : Self.label(number)))
      }
    }
  }
}

extension NSManagedObject {
  fileprivate func int(_ key: String) -> Int { (value(forKey: key) as? NSNumber)?.intValue ?? 0 }
}

/// Looks at what the framework has set, in one way or another.
final class LookingPolicy: NSEntityMigrationPolicy {
  enum Way: String, CaseIterable, Sendable {
    case none, value, fetch, inverse, existing, changing, deleting
  }

  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    let context = manager.destinationContext
    var box: NSManagedObject?
    switch manager.userInfo?["way"] as? Way ?? .none {
    case .none: return
    case .deleting:
      if let rank = dInstance.value(forKey: "rank") as? NSNumber, rank.intValue % 3 == 0 { context.delete(dInstance) }
      return
    case .value: box = dInstance.value(forKey: "box") as? NSManagedObject
    case .fetch:
      let request = NSFetchRequest<NSManagedObject>(entityName: "Box")
      request.predicate = NSPredicate(format: "ANY notes == %@", dInstance)
      box = try context.fetch(request).first
    case .inverse:
      let boxes = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box"))
      box = boxes.first { ($0.value(forKey: "notes") as? NSSet)?.contains(dInstance) ?? false }
    case .existing: box = try context.existingObject(with: dInstance.objectID).value(forKey: "box") as? NSManagedObject
    case .changing:
      dInstance.setValue(((dInstance.value(forKey: "rank") as? NSNumber)?.intValue ?? 0) + 100, forKey: "rank")
      box = dInstance.value(forKey: "box") as? NSManagedObject
    }
    let log = manager.userInfo?["log"] as? CallLog
    log?.calls.append("\(dInstance.text("title") ?? "") in \(box?.text("label") ?? "nothing")")
  }
}

/// Puts all notes into the first box when they are made.
final class WronglyBoxingPolicy: NSEntityMigrationPolicy {
  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    let context = manager.destinationContext
    let box = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box")).first
    for note in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")) {
      note.setValue(box, forKey: "box")
    }
  }
}
