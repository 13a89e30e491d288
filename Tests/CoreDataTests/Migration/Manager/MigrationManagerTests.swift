// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("A migration manager")
struct MigrationManagerTests {
  @Test("Carries attributes and relationships over, to-one, to-many, ordered and many-to-many", arguments: [1, 3, 500])
  func plain(_ batchSize: Int) throws {
    let sample = try ManagerSample()
    try sample.migrate(batchSize: batchSize)
    try sample.result { context in
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.names("notes", "title") } == [["N1", "N3", "N5", "N7"], ["N2", "N4", "N6"]])
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == (1...7).map { "N\($0)" })
      #expect(notes.map { $0.names("tags").count } == [0, 1, 2, 3, 0, 1, 2])
      #expect(notes[3].names("tags") == ["T1", "T2", "T3"])
      #expect(notes[2].names("favourites") == ["T2", "T1"])
      #expect(try context.all("Tag").map { $0.names("notes", "title").count } == [5, 3, 1])
      // Keys stay as they are.
      #expect(notes.map { StoreDump.key($0.objectID) } == (1...7).map { "Note/p\($0)" })
    }
  }

  @Test("Copies objects as they are by a mapping of copy type that names no property", arguments: [true, false])
  func copyAsIs(_ usesSQL: Bool) throws {
    let sample = try ManagerSample()
    sample.manager.usesStoreSpecificMigrationManager = usesSQL
    let tags = sample["TagToTag"]
    tags.mappingType = .copyEntityMappingType
    (tags.attributeMappings, tags.relationshipMappings) = (usesSQL ? nil : [], [])
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes[3].names("tags") == ["T1", "T2", "T3"])
      #expect(try context.all("Tag").map { $0.names("notes", "title").count } == [5, 3, 1])
    }
  }

  @Test("Keeps the source's UUID and the app's own metadata, and writes the new version's own")
  func metadata() throws {
    let sample = try ManagerSample()
    var metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: sample.store.url)
    metadata["app.token"] = "abc"
    try NSPersistentStoreCoordinator.setMetadata(metadata, type: .sqlite, at: sample.store.url)
    try sample.migrate()
    let found = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: sample.destination)
    #expect(found["app.token"] as? String == "abc")
    #expect(found[NSStoreUUIDKey] as? String == metadata[NSStoreUUIDKey] as? String)
  }

  @Test("Reads what the source's write-ahead log holds")
  func hotLog() throws {
    let sample = try ManagerSample()
    let context = try sample.store.context(ManagerSample.first())
    context.make("Note", ["title": "In the log", "rank": 99])
    try context.save()
    #expect(FileManager.default.fileExists(atPath: sample.store.url.path + "-wal"))
    try sample.manager.migrateStore(
      from: sample.store.url, type: .sqlite, mapping: sample.mapping, to: sample.destination, type: .sqlite)
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.last?.text("title") == "In the log")
    }
    try sample.store.close()
  }

  @Test("Leaves no file beside a source that nobody else has open")
  func noFiles() throws {
    let sample = try ManagerSample()
    let before = try sample.store.files()
    try sample.manager.migrateStore(
      from: sample.store.url, type: .sqlite, mapping: sample.mapping, to: sample.destination, type: .sqlite)
    #expect(before == ["Store.sqlite"])
    #expect(try sample.store.files() == ["New.sqlite", "Store.sqlite"])
  }

  @Test("Filters source objects, by SQL and where SQL cannot")
  func filters() throws {
    for filter in ["rank > 3 AND title != 'N5'", "body MATCHES '.*[4-7]' AND rank != 5"] {
      let sample = try ManagerSample()
      let note = ManagerSample.entity(
        "NoteToNote", "Note", "Note", ["title": "$source.title", "rank": "$source.rank"],
        ["box": ManagerSample.of("FolderToBox", "folder")], filter: filter)
      sample.mapping.entityMappings = [sample["FolderToBox"], note]
      try sample.migrate()
      try sample.result { context in
        #expect(try context.all("Note", by: "rank").map { $0.text("title") } == ["N4", "N6", "N7"], "\(filter)")
        let boxes = try context.all("Box", by: "label")
        #expect(boxes.map { $0.names("notes", "title") } == [["N7"], ["N4", "N6"]], "\(filter)")
      }
    }
  }

  @Test("Evaluates expressions with all six variables")
  func expressions() throws {
    let sample = try ManagerSample()
    sample.mapping.entityMappings[1].entityMigrationPolicyClassName = "CoreDataTests.FunctionPolicy"
    sample["NoteToNote"].userInfo = ["step": 10]
    sample["NoteToNote"].attributeMappings = ManagerSample.properties([
      "rank": "$source.rank * 2 + $entityMapping.userInfo.step",
      "title": "FUNCTION($entityPolicy, \"titleOf:with:in:for:\", $source, $destination, $manager, $propertyMapping)",
    ])
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { ($0.value(forKey: "rank") as? NSNumber)?.intValue } == (1...7).map { $0 * 2 + 10 })
      #expect(notes.first?.text("title") == "N1 Note title NSMigrationManager")
    }
  }

  @Test("Calls methods of the manager and of source objects by name")
  func namedFunctions() throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].sourceExpression = NSExpression(
      format: "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", \"Note\", "
        + "\"TRUEPREDICATE\"), FUNCTION($manager, \"sourceContext\"), false)")
    sample["NoteToNote"].attributeMappings = ManagerSample.properties([
      "title": "FUNCTION($source, \"valueForKey:\", \"title\")",
      "rank": "FUNCTION($source, \"valueForKeyPath:\", \"rank\")",
    ])
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == (1...7).map { "N\($0)" })
      #expect(notes.map { ($0.value(forKey: "rank") as? NSNumber)?.intValue } == Array(1...7))
    }
  }

  @Test("Takes source objects from any collection, also for an added entity")
  func collections() throws {
    let sample = try ManagerSample()
    sample.manager.userInfo = ["wanted": "F2"]
    let folders = ManagerSample.entity("FolderToBox", "Folder", "Box", ["label": "$source.name"])
    folders.sourceExpression = NSExpression(
      format: "SUBQUERY(FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", 'Folder', "
        + "'TRUEPREDICATE'), $manager.sourceContext, NO), $f, $f.name = $manager.userInfo.wanted)")
    let added = ManagerSample.entity("Pages", nil, "Page", ["text": "$source.body"], type: .addEntityMappingType)
    added.sourceExpression = NSExpression(
      format: "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", 'Note', 'rank < 3'), "
        + "$manager.sourceContext, NO)")
    let empty = ManagerSample.entity("Tags", nil, "Tag", ["name": "'unused'"], type: .addEntityMappingType)
    sample.mapping.entityMappings = [folders, added, empty]
    try sample.migrate()
    try sample.result { context in
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.text("label") } == ["F2"])
      #expect(try context.all("Page", by: "text").map { $0.text("text") } == ["Text 1", "Text 2"])
      #expect(try context.all("Tag").isEmpty)
    }
  }

  @Test("Maps one entity several times, and several entities into one")
  func several() throws {
    let sample = try ManagerSample()
    sample.mapping.entityMappings = [
      ManagerSample.entity("FolderToTag", "Folder", "Tag", ["name": "$source.name"]),
      ManagerSample.entity("TagToTag", "Tag", "Tag", ["name": "$source.name"]),
      ManagerSample.entity(
        "NoteToNote", "Note", "Note", ["title": "$source.title"],
        ["tags": ManagerSample.of("FolderToTag", "folder")]),
      ManagerSample.entity(
        "NoteToPage", "Note", "Page", ["text": "$source.body", "number": "$source.rank"],
        [
          "note":
            "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"NoteToNote\", $source)"
        ]),
    ]
    try sample.migrate()
    try sample.result { context in
      #expect(try context.all("Tag").map { $0.text("name") } == ["F1", "F2", "T1", "T2", "T3"])
      let pages = try context.all("Page", by: "number")
      #expect(pages.map { ($0.value(forKey: "note") as? NSManagedObject)?.text("title") } == (1...7).map { "N\($0)" })
      #expect(try context.all("Note", by: "title").map { $0.names("tags") } == (0..<7).map { ["F\($0 % 2 + 1)"] })
    }
  }

  @Test("Appends to a destination of the right version, in several passes with one manager")
  func passes() throws {
    let sample = try ManagerSample()
    let all = sample.mapping.entityMappings ?? []
    sample.mapping.entityMappings = [
      ManagerSample.entity("FolderToBox", "Folder", "Box", ["label": "$source.name"]),
      ManagerSample.entity("TagToTag", "Tag", "Tag", ["name": "$source.name"]),
    ]
    try sample.migrate()
    // The second pass finds what the first has associated.
    sample.mapping.entityMappings = [all[1]]
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.count == 7)
      #expect(
        notes.map { ($0.value(forKey: "box") as? NSManagedObject)?.text("label") } == (0..<7).map { "F\($0 % 2 + 1)" })
      #expect(notes[3].names("tags") == ["T1", "T2", "T3"])
    }
    // A third pass, by a new manager, appends again, with keys of its own.
    sample.manager = NSMigrationManager(sourceModel: sample.old, destinationModel: sample.new)
    sample.mapping.entityMappings = [ManagerSample.entity("NoteToNote", "Note", "Note", ["title": "$source.body"])]
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "title")
      #expect(notes.count == 14)
    }
  }

  @Test("Shows each mapping three times")
  func currentMapping() throws {
    let sample = try ManagerSample()
    var seen: [String] = []
    sample.manager.progressHandler = { manager in
      let name = manager.currentEntityMapping.name ?? ""
      if seen.last != name { seen.append(name) }
    }
    #expect(sample.manager.migrationProgress == 1)
    try sample.manager.migrateStore(
      from: sample.store.url, type: .sqlite, mapping: sample.mapping, to: sample.destination, type: .sqlite)
    let names = ["FolderToBox", "NoteToNote", "TagToTag"]
    #expect(seen == ["->"] + names + names + names)
  }
}

/// Answers the functions of a mapping model.
final class FunctionPolicy: NSEntityMigrationPolicy {
  override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    guard name == "titleOf:with:in:for:" else { return try super.callFunction(name, arguments: arguments) }
    let source = arguments[0] as? NSManagedObject
    let destination = arguments[1] as? NSManagedObject
    let property = arguments[3] as? NSPropertyMapping
    return "\(source?.text("title") ?? "") \(destination?.entity.name ?? "") \(property?.name ?? "") "
      + "\(arguments[2].map { "\(type(of: $0))" } ?? "")"
  }
}
