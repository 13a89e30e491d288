// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Migration policies")
struct MigrationPolicyTests {
  @Test("Are called in Apple's order, through three passes over all mappings")
  func order() throws {
    let sample = try ManagerSample(folders: 1, notes: 2)
    sample.mapping.entityMappings.removeLast()
    sample["NoteToNote"].relationshipMappings = ManagerSample.properties([
      "box": ManagerSample.of("FolderToBox", "folder")
    ])
    for mapping in sample.mapping.entityMappings {
      mapping.entityMigrationPolicyClassName = "CoreDataTests.RecordingPolicy"
    }
    let log = CallLog()
    sample.manager.userInfo = ["log": log]
    try sample.migrate()
    func calls(_ mapping: String, _ method: String, _ count: Int = 1) -> [String] {
      Array(repeating: "\(mapping) \(method)", count: count)
    }
    let (folder, note) = ("FolderToBox", "NoteToNote")
    #expect(
      log.calls
        == calls(folder, "begin") + calls(folder, "create") + calls(folder, "endInstanceCreation")
        + calls(note, "begin") + calls(note, "create", 2) + calls(note, "endInstanceCreation")
        + calls(folder, "relate") + calls(folder, "endRelationshipCreation")
        + calls(note, "relate", 2) + calls(note, "endRelationshipCreation")
        + calls(folder, "validate") + calls(folder, "end") + calls(note, "validate") + calls(note, "end"))
  }

  @Test("Make none, one or several objects of one, and find them again", arguments: [1, 2, 500])
  func several(_ batchSize: Int) throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.PagePolicy"
    try sample.migrate(batchSize: batchSize)
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      // Every third note is left out; the others have as many pages as their rank.
      #expect(notes.map { $0.text("title") } == ["N1", "N2", "N4", "N5", "N7"])
      #expect(
        notes.map { $0.names("pages", "text") } == [1, 2, 4, 5, 7].map { rank in (1...rank).map { "N\(rank).\($0)" } })
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.names("notes", "title") } == [["N1", "N5", "N7"], ["N2", "N4"]])
    }
  }

  @Test("Find or make shared objects, in the context and in userInfo", arguments: [1, 3, 500])
  func shared(_ batchSize: Int) throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.RankPolicy"
    sample.mapping.entityMappings.removeLast()
    sample["NoteToNote"].relationshipMappings = []
    sample["FolderToBox"].relationshipMappings = []
    try sample.migrate(batchSize: batchSize)
    try sample.result { context in
      let tags = try context.all("Tag")
      #expect(tags.map { $0.text("name") } == ["even 3", "odd 4"])
      #expect(tags.map { $0.names("notes", "title") } == [["N2", "N4", "N6"], ["N1", "N3", "N5", "N7"]])
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.text("label") } == ["F1", "F2", "All of 7"].sorted())
    }
  }

  @Test("Associate objects of other entities, and later ones, and look both ways")
  func lookUps() throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.LookUpPolicy"
    let findings = CallLog()
    sample.manager.userInfo = ["log": findings]
    try sample.migrate()
    #expect(
      findings.calls == [
        "while creating N1: F1", "while creating N2: F2", "while creating N3: F1", "while creating N4: F2",
        "while creating N5: F1", "while creating N6: F2", "while creating N7: F1", "boxes: F1, F2", "folders: F1, F2",
        "notes: 7", "sources: 7", "boxes of folder F2 by NoteToNote: F2", "nothing: 0",
      ])
  }

  @Test("Delete what they have made, and nothing leads there")
  func deletion() throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.DeletingPolicy"
    try sample.migrate()
    try sample.result { context in
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.names("notes", "title") } == [["N3", "N5", "N7"], ["N4", "N6"]])
    }
  }

  @Test("Correct values before uniqueness and validation count")
  func corrections() throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].attributeMappings = ManagerSample.properties(["rank": "$source.rank"])
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.TitlingPolicy"
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == (1...7).map { "Number \($0)" })
    }
  }

  @Test("Are found by bare and by registered names")
  func names() throws {
    MigrationPolicyClasses.register(FunctionPolicy.self, as: "Elsewhere.FunctionPolicy")
    #expect(MigrationPolicyClasses.type(named: "Elsewhere.FunctionPolicy") == FunctionPolicy.self)
    #expect(MigrationPolicyClasses.type(named: "CoreDataTests.FunctionPolicy") == FunctionPolicy.self)
    #expect(MigrationPolicyClasses.type(named: "NoSuchPolicy") == nil)
    #expect(!MigrationPolicyClasses.isKnown("NoSuchPolicy"))
    #expect(MigrationPolicyClasses.isKnown("CoreDataTests.CallLog"))
  }
}

/// What was called.
final class CallLog {
  var calls: [String] = []
}

extension NSMigrationManager {
  var log: CallLog? { userInfo?["log"] as? CallLog }
}

final class RecordingPolicy: NSEntityMigrationPolicy {
  private func note(_ method: String, _ mapping: NSEntityMapping, _ manager: NSMigrationManager) {
    #expect(manager.currentEntityMapping === mapping)
    manager.log?.calls.append("\(mapping.name ?? "") \(method)")
  }

  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    note("begin", mapping, manager)
  }

  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("create", mapping, manager)
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
  }

  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("endInstanceCreation", mapping, manager)
  }

  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("relate", mapping, manager)
    try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
  }

  override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("endRelationshipCreation", mapping, manager)
  }

  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("validate", mapping, manager)
  }

  override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("end", mapping, manager)
  }
}

/// Leaves every third note out, and gives the others pages that are associated with the note too.
final class PagePolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let rank = (sInstance.value(forKey: "rank") as? NSNumber)?.intValue ?? 0
    if rank % 3 == 0 { return }
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    for number in 1...rank {
      let page = NSEntityDescription.insertNewObject(forEntityName: "Page", into: manager.destinationContext)
      page.setValue("\(sInstance.text("title") ?? "").\(number)", forKey: "text")
      page.setValue(number, forKey: "number")
      manager.associate(sourceInstance: sInstance, withDestinationInstance: page, for: mapping)
    }
  }

  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    guard dInstance.entity.name == "Page" else {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
      return
    }
    let sources = manager.sourceInstances(forEntityMappingName: "NoteToNote", destinationInstances: [dInstance])
    let made = manager.destinationInstances(forEntityMappingName: "NoteToNote", sourceInstances: sources)
    dInstance.setValue(made.first { $0.entity.name == "Note" }, forKey: "note")
  }
}

/// Keeps one tag in \`userInfo\`, looks for another by a fetch, and goes on changing both, and a box.
final class RankPolicy: NSEntityMigrationPolicy {
  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    let box = NSEntityDescription.insertNewObject(forEntityName: "Box", into: manager.destinationContext)
    manager.userInfo = ["box": box]
  }

  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let note = manager.destinationInstances(forEntityMappingName: "NoteToNote", sourceInstances: [sInstance])[0]
    let rank = (sInstance.value(forKey: "rank") as? NSNumber)?.intValue ?? 0
    let context = manager.destinationContext
    let tag: NSManagedObject
    if rank % 2 == 0 {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Tag")
      request.predicate = NSPredicate(format: "name BEGINSWITH %@", "even")
      tag = try context.fetch(request).first ?? NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context)
    } else {
      tag =
        manager.userInfo?["odd"] as? NSManagedObject
        ?? NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context)
      manager.userInfo?["odd"] = tag
    }
    let notes = (tag.value(forKey: "notes") as? NSSet)?.allObjects ?? []
    tag.setValue(NSSet(array: notes + [note]), forKey: "notes")
    tag.setValue("\(rank % 2 == 0 ? "even" : "odd") \(notes.count + 1)", forKey: "name")
    (manager.userInfo?["box"] as? NSManagedObject)?.setValue("All of \(rank)", forKey: "label")
  }
}

final class LookUpPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    guard let folder = sInstance.value(forKey: "folder") as? NSManagedObject else { return }
    let boxes = manager.destinationInstances(forEntityMappingName: "FolderToBox", sourceInstances: [folder])
    manager.log?.calls.append(
      "while creating \(sInstance.text("title") ?? ""): \(boxes.compactMap { $0.text("label") }[0])")
  }

  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    func names(_ objects: [NSManagedObject], _ key: String) -> String {
      objects.compactMap { $0.text(key) }.sorted().joined(separator: ", ")
    }
    let boxes = manager.destinationInstances(forEntityMappingName: "FolderToBox", sourceInstances: nil)
    let folders = manager.sourceInstances(forEntityMappingName: "FolderToBox", destinationInstances: nil)
    let notes = manager.destinationInstances(forEntityMappingName: "NoteToNote", sourceInstances: nil)
    let sources = manager.sourceInstances(forEntityMappingName: "NoteToNote", destinationInstances: notes)
    manager.log?.calls += [
      "boxes: \(names(boxes, "label"))", "folders: \(names(folders, "name"))", "notes: \(notes.count)",
      "sources: \(sources.count)",
    ]
    let second = folders.filter { $0.text("name") == "F2" }
    let box = manager.destinationInstances(forEntityMappingName: "FolderToBox", sourceInstances: second)
    manager.associate(sourceInstance: second[0], withDestinationInstance: box[0], for: mapping)
    let found = manager.destinationInstances(forEntityMappingName: "NoteToNote", sourceInstances: second)
    manager.log?.calls.append("boxes of folder F2 by NoteToNote: \(names(found, "label"))")
    let nothing = manager.destinationInstances(forEntityMappingName: "NoteToNote", sourceInstances: [])
    manager.log?.calls.append("nothing: \(nothing.count)")
  }

  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    if dInstance.entity.name == "Note" {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    }
  }
}

/// Deletes one note at once, and one after it was saved.
final class DeletingPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let made = manager.destinationInstances(forEntityMappingName: "NoteToNote", sourceInstances: [sInstance])[0]
    if made.text("title") == "N1" { manager.destinationContext.delete(made) }
  }

  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = NSPredicate(format: "title == %@", "N2")
    for note in try manager.destinationContext.fetch(request) { manager.destinationContext.delete(note) }
  }
}

/// Titles come late: only before the validation.
final class TitlingPolicy: NSEntityMigrationPolicy {
  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    for note in try manager.destinationContext.fetch(request) {
      note.setValue("Number \((note.value(forKey: "rank") as? NSNumber)?.intValue ?? 0)", forKey: "title")
    }
  }
}
