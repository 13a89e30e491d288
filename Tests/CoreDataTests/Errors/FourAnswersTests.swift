// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// What somebody has who sees an error and nothing else: its description, reason and advice.
@Suite("Errors of opening and migrating say what was found, what was expected, where, and what to do")
struct FourAnswersTests {
  /// One way to get an error.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let code: Int
    /// What was found, in the description or the reason.
    let found: [String]
    /// What was expected, in any of the three texts.
    let expected: [String]
    /// Where, besides the path of the store.
    var place: [String] = []
    /// The file that is named where it is not the store.
    var file: String?
    let provoke: @Sendable (NoteVersions) throws -> Void

    var testDescription: String { "\(code) \(name)" }
  }

  @Test("Four answers", arguments: Self.cases)
  func answers(_ item: Case) throws {
    let notes = try NoteVersions()
    try notes.fill("v1")
    var thrown: (any Error)?
    do {
      try item.provoke(notes)
    } catch { thrown = error }
    let error = try #require(thrown, "There was no error.") as NSError
    let reason = try #require(error.localizedFailureReason)
    let advice = try #require(error.localizedRecoverySuggestion)
    let facts = "\(error.localizedDescription) \(reason)"
    let text = "\(facts) \(advice)"
    #expect(error.domain == NSCocoaErrorDomain && error.code == item.code, "\(error.code): \(text)")
    for word in item.found { #expect(facts.contains(word), "Found \(word): \(text)") }
    for word in item.expected { #expect(text.contains(word), "Expected \(word): \(text)") }
    for word in item.place { #expect(text.contains(word), "Where \(word): \(text)") }
    let path = notes.store.folder.appendingPathComponent(item.file ?? "Store.sqlite").path
    #expect(facts.contains(path), "Where: \(text)")
    #expect(advice.hasSuffix(".") && !facts.contains(advice), "What to do: \(text)")
    let rest = (item.place + [path]).reduce(text) { $0.replacingOccurrences(of: $1, with: "") }
    for hidden in ["/.", "-copy", "Optional(", "nil"] { #expect(!rest.contains(hidden), "\(hidden): \(text)") }
    // Sentences end, and none stands twice.
    #expect(reason.hasSuffix(".") && !reason.contains(".."), "\(reason)")
  }

  private static func execute(_ sql: String, _ notes: NoteVersions) throws {
    try SQLiteConnection.execute(sql, at: notes.store.url)
  }

  private static func overwrite(_ notes: NoteVersions, _ change: (inout Data) -> Void) throws {
    var data = try Data(contentsOf: notes.store.url)
    change(&data)
    try data.write(to: notes.store.url)
  }

  private static func add(
    _ notes: NoteVersions, type: String = NSSQLiteStoreType, configuration: String? = nil, at url: URL? = nil,
    _ options: [String: Any] = [:], model: NSManagedObjectModel? = nil
  ) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try model ?? notes.model("v1"))
    try coordinator.addPersistentStore(
      ofType: type, configurationName: configuration, at: url ?? notes.store.url, options: options)
  }

  private static func open(_ notes: NoteVersions, _ version: String, stages: [NSMigrationStage]) throws {
    try notes.open(
      version, [NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager(stages)])
  }

  private static func migrate(
    _ notes: NoteVersions, from source: URL? = nil, to destination: URL? = nil, by mapping: NSMappingModel? = nil
  ) throws {
    let manager = NSMigrationManager(sourceModel: try notes.model("v1"), destinationModel: try notes.model("v2"))
    try manager.migrateStore(
      from: source ?? notes.store.url, type: .sqlite,
      mapping: try mapping
        ?? .inferredMappingModel(forSourceModel: manager.sourceModel, destinationModel: manager.destinationModel),
      to: destination ?? notes.store.folder.appendingPathComponent("New.sqlite"), type: .sqlite)
  }

  /// A mapping model from v1 to v4 whose text `b` has an expression.
  private static func mapping(_ notes: NoteVersions, _ expression: ExpressionSyntax) throws -> NSMappingModel {
    let url = try notes.writeMapping("v1", "v4")
    let model = try NSMappingModel.load(contentsOf: url)
    var document = model.document
    document.entityMappings[0].attributeMappings.append(
      PropertyMappingDocument(name: "b", valueExpression: expression))
    try document.writeCompiled(to: url)
    return try .load(contentsOf: url)
  }

  // MARK: Opening

  private static let opening: [Case] = [
    Case(name: "an unknown type", code: 134_000, found: ["'Oracle'"], expected: ["'SQLite'"]) {
      try add($0, type: "Oracle")
    },
    Case(name: "a SQLite store as XML", code: 259, found: ["SQLite database"], expected: ["NSSQLiteStoreType"]) {
      try add($0, type: NSXMLStoreType)
    },
    Case(name: "an XML store as SQLite", code: 259, found: ["XML"], expected: ["NSXMLStoreType"], file: "Store.xml") {
      notes in
      let url = notes.store.folder.appendingPathComponent("Store.xml")
      try add(notes, type: NSXMLStoreType, at: url)
      try add(notes, at: url)
    },
    Case(name: "an unknown configuration", code: 134_080, found: ["'Paper'"], expected: ["'Shelf'"]) { notes in
      let model = NoteVersions.model([.make("name", .stringAttributeType)])
      model.setEntities(model.entities, forConfigurationName: "Shelf")
      try add(notes, configuration: "Paper", model: model)
    },
    Case(
      name: "an option of another type", code: 134_080, found: ["MigrationModels", "5"], expected: ["an array of URLs"]
    ) { try $0.open("v2", [MigrationOption.models: 5]) },
    Case(name: "no file", code: 260, found: ["no file"], expected: ["create the store"], file: "None.sqlite") {
      try add(
        $0, at: $0.store.folder.appendingPathComponent("None.sqlite"), [NSReadOnlyPersistentStoreOption: true])
    },
    Case(name: "no directory", code: 134_080, found: ["unable to open"], expected: ["directory"], file: "none/S.sqlite")
    {
      try add($0, at: $0.store.folder.appendingPathComponent("none/S.sqlite"))
    },
    Case(name: "a directory", code: 134_080, found: ["directory"], expected: ["file"], file: "Notes.momd") {
      try add($0, at: $0.url)
    },
    Case(name: "a text", code: 259, found: ["SQLite"], expected: ["right file"]) { notes in
      try Data(String(repeating: "This is no store. ", count: 20).utf8).write(to: notes.store.url)
      try add(notes)
    },
    Case(name: "another database", code: 259, found: ["Z_METADATA"], expected: ["right file"]) { notes in
      try execute("DROP TABLE Z_METADATA; CREATE TABLE T (X)", notes)
      try add(notes)
    },
    Case(name: "half a file", code: 259, found: ["bytes"], expected: ["bytes"]) { notes in
      try overwrite(notes) { $0 = $0.prefix($0.count / 2) }
      try add(notes)
    },
    Case(name: "metadata that are none", code: 259, found: ["Z_PLIST"], expected: ["property list"]) { notes in
      try execute("UPDATE Z_METADATA SET Z_PLIST = x'00010203'", notes)
      try add(notes)
    },
    Case(name: "a missing table", code: 134_020, found: ["ZNOTE"], expected: ["Note”"]) { notes in
      try execute("DROP TABLE ZNOTE", notes)
      try add(notes)
    },
    Case(
      name: "a missing column", code: 134_020, found: ["ZNOTE"], expected: ["ZNAME"], place: ["“name” of “Note”"]
    ) { notes in
      try execute("ALTER TABLE ZNOTE RENAME COLUMN ZNAME TO ZOTHER", notes)
      try add(notes)
    },
    Case(name: "a locked store", code: 134_090, found: ["locked"], expected: ["Close other programs"]) { notes in
      let other = try SQLiteConnection(url: notes.store.url, mode: .readWrite)
      try other.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE ZNOTE SET ZNAME = 'x'")
      try add(notes, [NSPersistentStoreTimeoutOption: 0.1])
    },
    Case(
      name: "another version, with the model in the store", code: 134_100,
      found: ["'a' of entity 'Note' is in the store"], expected: ["not in the model"]
    ) { try add($0, model: $0.model("v2")) },
    Case(
      name: "another type of an attribute", code: 134_100, found: ["type is Integer 16 in the store"],
      expected: ["String in the model"], place: ["'a' of entity 'Note'"]
    ) { try add($0, model: $0.model("v3")) },
    Case(
      name: "another version, and no model", code: 134_100, found: ["begins with", "in the store"],
      expected: ["in the model"], place: ["'Note'"]
    ) { notes in
      try execute("DELETE FROM Z_MODELCACHE", notes)
      try add(notes, model: NoteVersions.model([.make("z", .stringAttributeType)]))
    },
  ]

  // MARK: Migrating when opening

  private static let migrating: [Case] = [
    Case(name: "a store that may only be read", code: 134_110, found: ["read-only"], expected: ["ReadOnly"]) {
      try $0.open("v2", [NSReadOnlyPersistentStoreOption: true])
    },
    Case(
      name: "no model of the store", code: 134_130, found: ["begins with", "in the store"],
      expected: ["in the model", "v2 (1 entity differs)"]
    ) { notes in
      try execute("DELETE FROM Z_MODELCACHE", notes)
      let other = try NoteVersions(Array(NoteVersions.plain.dropFirst()))
      try notes.open("v3", [:], of: other)
    },
    Case(
      name: "a store that a version would empty", code: 134_130, found: ["2 values of 'Note.name'"],
      expected: ["allowsLoss"]
    ) { try $0.open("w1", [:], of: NoteVersions([("w1", [.make("a", .integer16AttributeType)])])) },
    Case(
      name: "no mapping model, and none may be inferred", code: 134_140, found: ["'v1'"], expected: ["'v2'"]
    ) { try $0.open("v2", [NSInferMappingModelAutomaticallyOption: false]) },
    Case(
      name: "no mapping model, and none can be inferred", code: 134_140, found: ["Integer 16 in the source"],
      expected: ["String in the destination"], place: ["'a' of entity 'Note'"]
    ) { try $0.open("v3", [MigrationOption.isProgressive: false]) },
    Case(
      name: "a mapping model of another state", code: 134_140, found: ["Stale.cdm", "version hash"],
      expected: ["model's is"], place: ["'Note'"]
    ) { notes in
      let edited = NoteVersions.model([.make("name", .stringAttributeType), .make("z", .stringAttributeType)])
      try notes.writeMapping("Stale.cdm", notes.model("v1"), edited)
      try notes.open("v3", [MigrationOption.isProgressive: false])
    },
    Case(
      name: "rows without a required value", code: 134_110, found: ["2 rows", "Note/p1"], expected: ["required"],
      place: ["'a' of entity 'Note'"]
    ) { notes in
      let model = NoteVersions.model([
        .make("name", .stringAttributeType), .make("a", .integer16AttributeType, optional: false),
      ])
      try add(notes, migration, model: model)
    },
    Case(
      name: "numbers out of range", code: 134_110, found: ["100000"], expected: ["Integer 16"],
      place: ["'total' of entity 'Note'"]
    ) { notes in
      let store = try NoteVersions([
        ("n1", [.make("total", .integer32AttributeType)]), ("n2", [.make("total", .integer16AttributeType)]),
      ])
      let context = try notes.store.context(
        store.model("n1"), at: notes.store.folder.appendingPathComponent("Store.sqlite2"))
      context.make("Note", ["total": 100_000])
      try context.save()
      try notes.store.close()
      try FileManager.default.removeItem(at: notes.store.url)
      try FileManager.default.moveItem(atPath: notes.store.url.path + "2", toPath: notes.store.url.path)
      try notes.open("n2", [:], of: store)
    },
    Case(
      name: "equal values that must be unique", code: 134_111, found: ["'one'"], expected: ["unique"],
      place: ["'Note'", "'name'"]
    ) { notes in
      try execute("UPDATE ZNOTE SET ZNAME = 'one'", notes)
      let model = NoteVersions.model([.make("name", .stringAttributeType), .make("a", .integer16AttributeType)])
      model.entities[0].uniquenessConstraints = [["name"]]
      try add(notes, migration, model: model)
    },
    Case(
      name: "a mapping model that leaves rows out", code: 134_110, found: ["2 rows of 'Note'"],
      expected: ["entity mappings for these entities"]
    ) { notes in
      func model(_ attributes: [NSAttributeDescription]) -> NSManagedObjectModel {
        var builder = ModelBuilder()
        builder.entity("Note", [.make("name", .stringAttributeType)])
        builder.entity("Tag", attributes)
        return builder.model()
      }
      let (old, new) = (model([]), model([.make("color", .stringAttributeType)]))
      try FileManager.default.removeItem(at: notes.store.url)
      let context = try notes.store.context(old)
      for _ in 1...2 { context.make("Note", ["name": "one"]) }
      try context.save()
      try notes.store.close()
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
      mapping.entityMappings.removeAll { $0.sourceEntityName == "Note" }
      try add(notes, migration.merging([MigrationOption.mappings: [mapping]]) { $1 }, model: new)
    },
    Case(
      name: "a policy class that the program lacks", code: 134_110, found: ["'App.NotePolicy'"],
      expected: ["MigrationPolicyClasses"], place: ["'NoteToNote'"]
    ) { notes in
      try notes.writeMapping("v1", "v2", policy: "App.NotePolicy")
      try notes.open("v2")
    },
    Case(
      name: "an expression without a value", code: 134_110, found: ["no value for the key"], expected: ["Correct"],
      place: ["'b'", "'NoteToNote'", "nothing"]
    ) { notes in
      _ = try mapping(notes, .keyPathOf(.variable("source"), "nothing"))
      try notes.open("v4", [MigrationOption.isProgressive: false])
    },
    Case(
      name: "an expression with another value", code: 134_110, found: ["returns"], expected: ["is needed"],
      place: ["'b'", "'NoteToNote'"]
    ) { notes in
      _ = try mapping(notes, .constant(.data(Data([1]))))
      try notes.open("v4", [MigrationOption.isProgressive: false])
    },
    Case(
      name: "damaged pages", code: 259, found: ["malformed"], expected: ["restore it from a backup"]
    ) { notes in
      try overwrite(notes) { data in
        let page = 4096
        for number in 2..<data.count / page {
          data.replaceSubrange(number * page..<number * page + 200, with: Data(count: 200))
        }
      }
      try notes.open("v2")
    },
  ]

  private static var migration: [String: Any] {
    [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
    ]
  }

  // MARK: Stores that are migrated by way of a copy

  /// Makes an XML store of the version v1 with a note, and opens it with another version.
  private static func openXML(_ notes: NoteVersions, _ model: NSManagedObjectModel, _ options: [String: Any]) throws {
    let url = notes.store.folder.appendingPathComponent("Store.xml")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model("v1"))
    let store = try coordinator.addPersistentStore(type: .xml, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    context.make("Note", ["name": "one"])
    try context.save()
    try coordinator.remove(store)
    try add(notes, type: NSXMLStoreType, at: url, options, model: model)
  }

  private static let copied: [Case] = [
    Case(
      name: "an XML store of another version", code: 134_100, found: ["type is Integer 16 in the store"],
      expected: ["String in the model"], place: ["'a' of entity 'Note'"], file: "Store.xml"
    ) { try openXML($0, $0.model("v3"), [:]) },
    Case(
      name: "an XML store and no mapping", code: 134_140, found: ["Integer 16 in the source"],
      expected: ["String in the destination"], place: ["'a' of entity 'Note'"], file: "Store.xml"
    ) { try openXML($0, $0.model("v3"), migration.merging([MigrationOption.isProgressive: false]) { $1 }) },
    Case(
      name: "an XML store without a required value", code: 134_110, found: ["Note/p1"], expected: ["required"],
      place: ["'a' of entity 'Note'"], file: "Store.xml"
    ) { notes in
      let model = NoteVersions.model([
        .make("name", .stringAttributeType), .make("a", .integer16AttributeType, optional: false),
      ])
      try openXML(notes, model, migration.merging([MigrationOption.models: [notes.url]]) { $1 })
    },
    Case(
      name: "a second step with an expression without a value", code: 134_110, found: ["no value for the key"],
      expected: ["Correct"], place: ["'b'", "'NoteToNote'"]
    ) { notes in
      try notes.writeMapping("v1", "v3")
      let url = try notes.writeMapping("v3", "v4")
      var document = try NSMappingModel.load(contentsOf: url).document
      document.entityMappings[0].attributeMappings.append(
        PropertyMappingDocument(name: "b", valueExpression: .keyPathOf(.variable("source"), "nothing")))
      try document.writeCompiled(to: url)
      try notes.open("v4", [NSInferMappingModelAutomaticallyOption: false])
    },
    Case(
      name: "a work directory that is a link", code: 134_070, found: ["cannot have been made"],
      expected: ["move it away"],
      place: ["/.Store.sqlite-migration"]
    ) { notes in
      try FileManager.default.createSymbolicLink(
        atPath: notes.store.folder.path + "/.Store.sqlite-migration", withDestinationPath: notes.mappings.path)
      try add(notes)
    },
  ]

  // MARK: StoreMigration, NSMigrationManager

  private static let running: [Case] = [
    Case(
      name: "a version that there is not", code: 134_060, found: ["'v9'"], expected: ["v1, v2, v3, v4"],
      file: "Notes.momd"
    ) {
      _ = try StoreMigration(storeAt: $0.store.url, modelsAt: $0.url, version: "v9")
    },
    Case(
      name: "a model that is none", code: 259, found: ["v1.mom"], expected: ["a compiled model that is complete"],
      file: "Notes.momd"
    ) {
      notes in
      for name in ["v1", "v2", "v3", "v4"] {
        try Data("none".utf8).write(to: notes.url.appendingPathComponent("\(name).mom"))
      }
      _ = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url.appendingPathComponent("v1.mom"))
    },
    Case(
      name: "a step that cannot be inferred", code: 134_190, found: ["Integer 16 in the source"],
      expected: ["String in the destination"], place: ["'a' of entity 'Note'"]
    ) { _ = try StoreMigration(storeAt: $0.store.url, modelsAt: $0.url, version: "v3", isProgressive: false) },
    Case(name: "a cancelled migration", code: 134_120, found: ["cancelled"], expected: ["not changed"]) { notes in
      struct Stop: Error {}
      try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, version: "v2").run { _ in throw Stop() }
    },
    Case(
      name: "a plan that others have overtaken", code: 134_110, found: ["another version"], expected: ["'v1'"]
    ) { notes in
      let plan = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, version: "v4")
      try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, version: "v2").run()
      try plan.run()
    },
    Case(name: "no source", code: 134_150, found: ["no file"], expected: ["Check the path"], file: "None.sqlite") {
      try migrate($0, from: $0.store.folder.appendingPathComponent("None.sqlite"))
    },
    Case(
      name: "a source of another version", code: 134_150, found: ["type is Integer 16 in the store"],
      expected: ["String in the model", "the model version it was written with"], place: ["'a' of entity 'Note'"]
    ) { notes in
      let manager = NSMigrationManager(sourceModel: try notes.model("v3"), destinationModel: try notes.model("v4"))
      let mapping = try NSMappingModel.inferredMappingModel(
        forSourceModel: manager.sourceModel, destinationModel: manager.destinationModel)
      try manager.migrateStore(
        from: notes.store.url, type: .sqlite, mapping: mapping,
        to: notes.store.folder.appendingPathComponent("New.sqlite"), type: .sqlite)
    },
    Case(name: "the source as destination", code: 134_160, found: ["same file"], expected: ["another file"]) {
      try migrate($0, to: $0.store.url)
    },
    Case(
      name: "a destination with other entities", code: 134_160, found: ["'Recipe'"], expected: ["'Note'"],
      file: "Other.sqlite"
    ) { notes in
      let other = notes.store.folder.appendingPathComponent("Other.sqlite")
      try notes.store.context(NoteVersions.model([.make("title", .stringAttributeType)], name: "Recipe"), at: other)
        .save()
      try migrate(notes, to: other)
    },
    Case(
      name: "a mapping model for other versions", code: 134_110, found: ["version hash"], expected: ["model's has"],
      place: ["'NoteToNote'", "'Note'"]
    ) { try migrate($0, by: .load(contentsOf: $0.writeMapping("v3", "v4"))) },
  ]

  // MARK: Stages

  private static let staged: [Case] = [
    Case(
      name: "a store of no stage", code: 134_504, found: ["The store has the version"],
      expected: ["the stages are for"]
    ) { notes in
      try open(
        notes, "v4", stages: [NSLightweightMigrationStage([notes.checksum("v2"), notes.checksum("v4")])])
    },
    Case(name: "a stage without a model", code: 134_504, found: ["no-such-sum"], expected: ["version"]) { notes in
      let missing = NSManagedObjectModelReference(fileURL: notes.url, versionChecksum: "no-such-sum")
      try open(
        notes, "v2",
        stages: [
          NSCustomMigrationStage(migratingFrom: try notes.reference("v1"), to: missing),
          NSLightweightMigrationStage([notes.checksum("v2")]),
        ])
    },
    Case(
      name: "hashes of another version", code: 134_505, found: ["hash version 2"], expected: ["version 3"]
    ) { notes in
      var metadata = try notes.metadata()
      metadata["NSStoreModelVersionHashesVersion"] = 2
      try NSPersistentStoreCoordinator.setMetadata(metadata, type: .sqlite, at: notes.store.url)
      try open(
        notes, "v2", stages: [NSLightweightMigrationStage([notes.checksum("v1"), notes.checksum("v2")])])
    },
    Case(name: "stages backwards", code: 134_506, found: ["The store is of"], expected: ["VR406"]) { notes in
      try open(
        notes, "v2", stages: [NSLightweightMigrationStage([notes.checksum("v2"), notes.checksum("v1")])])
    },
    Case(
      name: "stages that end elsewhere", code: 134_110, found: ["no stage leads to"], expected: ["the stages are for"]
    ) {
      notes in
      try open(
        notes, "v4", stages: [NSLightweightMigrationStage([notes.checksum("v1"), notes.checksum("v2")])])
    },
    Case(
      name: "a stage that cannot be inferred", code: 134_140, found: ["Integer 16 in the source"],
      expected: ["String in the destination"], place: ["'a' of entity 'Note'"]
    ) { notes in
      try open(
        notes, "v3", stages: [NSLightweightMigrationStage([notes.checksum("v1"), notes.checksum("v3")])])
    },
    Case(
      name: "a handler that throws", code: 134_110, found: ["willMigrateHandler", "'Split'", "is empty"],
      expected: ["is of the version"]
    ) { notes in
      let stage = NSCustomMigrationStage(migratingFrom: try notes.reference("v1"), to: try notes.reference("v2"))
      stage.label = "Split"
      stage.willMigrateHandler = { _, _ in
        throw NSError(domain: "App", code: 1, userInfo: [NSLocalizedDescriptionKey: "The shelf is empty."])
      }
      try open(notes, "v2", stages: [stage])
    },
  ]

  static let cases: [Case] = opening + migrating + copied + running + staged

  // MARK: 134100

  @Test("134100 lists what differs by entity and property, and is bounded where much does")
  func largeModel() throws {
    func model(_ type: NSAttributeType) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      for entity in 1...30 {
        builder.entity("E\(entity)", (1...3).map { NSAttributeDescription.make("a\($0)", type) })
      }
      return builder.model()
    }
    let store = try TemporaryStore()
    try store.context(model(.integer16AttributeType)).save()
    try store.close()
    let error = try #require(throws: NSError.self) { _ = try store.context(model(.stringAttributeType)) }
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.contains("The property 'a1' of entity 'E1': type is Integer 16 in the store, String in the model."))
    #expect(reason.contains("There are 78 more differences, in the entities 'E13', 'E14',"), "\(reason)")
    #expect(reason.contains(" and 20 more. The store is '\(store.url.path)'."), "\(reason)")
    #expect(reason.count < 2_000)
    #expect((error.userInfo["differences"] as? [String])?.count == 90)
  }
}

extension NoteVersions {
  /// Opens the store with a version of another model.
  fileprivate func open(_ version: String, _ options: [String: Any], of other: NoteVersions) throws {
    let all: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
    ]
    _ = try store.context(other.model(version), options: all.merging(options) { $1 })
  }
}
