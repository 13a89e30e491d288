// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Migration policies". `SplitNamePolicy` is in GuideTests.swift.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: tag-policy
/// Makes tags of the words in a note that begin with #.
final class TagPolicy: NSEntityMigrationPolicy {
  private var tags: [String: NSManagedObject] = [:]

  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
    let words = (source.value(forKey: "text") as? String ?? "").split(separator: " ").filter { $0.hasPrefix("#") }
    let found = words.map { tag(String($0.dropFirst()), in: manager.destinationContext) }
    made.first?.setValue(NSSet(array: found), forKey: "tags")
  }

  private func tag(_ name: String, in context: NSManagedObjectContext) -> NSManagedObject {
    if let tag = tags[name] { return tag }
    let tag = NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context)
    tag.setValue(name, forKey: "name")
    tags[name] = tag
    return tag
  }

  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    let empty = NSFetchRequest<NSManagedObject>(entityName: "Tag")
    empty.predicate = NSPredicate(format: "name == ''")
    guard try manager.destinationContext.count(for: empty) > 0 else { return }
    throw NSError(domain: "Notes", code: 7, userInfo: [NSLocalizedDescriptionKey: "A note has the tag #."])
  }
}
// end

/// Writes down what is called.
final class CallOrderPolicy: NSEntityMigrationPolicy {
  static let calls = Guarded<[String]>([])

  private func note(_ call: String, _ mapping: NSEntityMapping) {
    Self.calls.update { $0.append("\(mapping.name ?? "") \(call)") }
  }
  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws { note("begin", mapping) }
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("createDestinationInstances", mapping)
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
  }
  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("endInstanceCreation", mapping)
  }
  override func createRelationships(
    forDestination object: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("createRelationships", mapping)
    try super.createRelationships(forDestination: object, in: mapping, manager: manager)
  }
  override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("endRelationshipCreation", mapping)
  }
  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("performCustomValidation", mapping)
  }
  override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws { note("end", mapping) }
}

/// Counts the objects that are alive while notes are made, by keeping weak references to all.
final class CountingPolicy: NSEntityMigrationPolicy {
  static let most = Guarded(0)
  private final class Weak {
    weak var object: NSManagedObject?
    init(_ object: NSManagedObject) { self.object = object }
  }
  private var made: [Weak] = []

  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let objects = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
    made += objects.map { Weak($0) }
    guard made.count % 500 == 0 else { return }
    let alive = made.count { $0.object != nil }
    Self.most.update { $0 = max($0, alive) }
  }
}

/// Stops a migration.
final class StoppingPolicy: NSEntityMigrationPolicy {
  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    // guide: policy-cancel
    manager.cancelMigrationWithError(CancellationError())
    // end
  }
}

@Suite("The guide on migration policies")
struct PoliciesGuideTests {
  private static let notes = """
    <entity name="Note">
      <attribute name="text" optional="YES" attributeType="String"/>
      <relationship name="folder" optional="YES" maxCount="1" destinationEntity="Folder" inverseName="notes"/>
    </entity>
    <entity name="Folder">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="notes" optional="YES" toMany="YES" destinationEntity="Note" inverseName="folder"/>
    </entity>
    """
  private static let tags = """
    <entity name="Note">
      <attribute name="text" optional="YES" attributeType="String"/>
      <relationship name="folder" optional="YES" maxCount="1" destinationEntity="Folder" inverseName="notes"/>
      <relationship name="tags" optional="YES" toMany="YES" destinationEntity="Tag" inverseName="notes"/>
    </entity>
    <entity name="Folder">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="notes" optional="YES" toMany="YES" destinationEntity="Note" inverseName="folder"/>
    </entity>
    <entity name="Tag">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="notes" optional="YES" toMany="YES" destinationEntity="Note" inverseName="tags"/>
    </entity>
    """
  private static let tagging = """
    versions "Notes" -> "Notes 2"

    FolderToFolder   copy   Folder -> Folder
      name  attribute  $source.name

    NoteToNote   custom   Note -> Note
      policy  TagPolicy
      text    attribute     $source.text
      folder  relationship  FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "FolderToFolder", $source.folder)
    """

  private func notes(_ texts: [String]) throws -> GuideVersions {
    let notes = try GuideVersions("Notes", [Self.notes, Self.tags])
    try notes.fill { context in
      let folder = context.make("Folder", ["name": "Home"])
      for text in texts { context.make("Note", ["text": text]).setValue(folder, forKey: "folder") }
    }
    return notes
  }

  private static let ways = """
    FolderToFolder: rows sql, relationships sql
    NoteToNote: rows objects, relationships objects, since it has a policy class
    """

  @Test("A policy makes objects beside those of its mapping; the report says what ran where")
  func tagging() throws {
    MigrationPolicyClasses.register(TagPolicy.self)
    let notes = try notes(["Milk #shop #today", "Rent #today", "Call Ada"])
    let mappingURL = try notes.write(Self.tagging, to: "Notes.mapping")
    let (modelURL, storeURL) = (notes.modelURL, notes.storeURL)
    // guide: policy-report
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL])
    let report = try migration.run()
    let lines = report.mappings.map { execution in
      "\(execution.mapping): rows \(execution.rows), relationships \(execution.relationships)"
        + (execution.reason.map { ", since it \($0)" } ?? "")
    }
    print(lines.joined(separator: "\n"))
    // end
    #expect(lines.joined(separator: "\n") == Self.ways)
    #expect(
      try notes.rows("Note", "text", "tags.name", "folder.name", version: 2) == [
        "Call Ada, {}, Home", "Milk #shop #today, {shop today}, Home", "Rent #today, {today}, Home",
      ])
    #expect(try notes.rows("Tag", "name", "notes.@count", version: 2) == ["shop, 1", "today, 2"])
  }

  @Test("An error of a policy is the error of the migration, and the store is as it was")
  func validation() throws {
    MigrationPolicyClasses.register(TagPolicy.self)
    let notes = try notes(["Milk #"])
    let mappingURL = try notes.write(Self.tagging, to: "Notes.mapping")
    let error = try #require(throws: NSError.self) {
      _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL, mappings: [mappingURL]).run()
    }
    #expect(error.domain == "Notes" && error.code == 7)
    #expect(try notes.version() == 1)
  }

  private static let order = """
    FolderToFolder begin
    FolderToFolder createDestinationInstances
    FolderToFolder endInstanceCreation
    NoteToNote begin
    NoteToNote createDestinationInstances
    NoteToNote createDestinationInstances
    NoteToNote endInstanceCreation
    FolderToFolder createRelationships
    FolderToFolder endRelationshipCreation
    NoteToNote createRelationships
    NoteToNote createRelationships
    NoteToNote endRelationshipCreation
    FolderToFolder performCustomValidation
    FolderToFolder end
    NoteToNote performCustomValidation
    NoteToNote end
    """

  @Test("The methods are called in three passes")
  func order() throws {
    MigrationPolicyClasses.register(CallOrderPolicy.self)
    let notes = try notes(["Milk", "Rent"])
    let text = Self.tagging.replacingOccurrences(of: "TagPolicy", with: "CallOrderPolicy").replacingOccurrences(
      of: "copy   Folder -> Folder", with: "custom   Folder -> Folder\n  policy  CallOrderPolicy")
    let mappingURL = try notes.write(text, to: "Notes.mapping")
    _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL, mappings: [mappingURL]).run()
    #expect(CallOrderPolicy.calls.value.joined(separator: "\n") == Self.order)
  }

  @Test("Not more than some batches of objects are alive")
  func memory() throws {
    MigrationPolicyClasses.register(CountingPolicy.self)
    let notes = try notes((1...5_000).map { "Note \($0)" })
    let text = Self.tagging.replacingOccurrences(of: "TagPolicy", with: "CountingPolicy")
    let mappingURL = try notes.write(text, to: "Notes.mapping")
    _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL, mappings: [mappingURL]).run()
    #expect((1...1_500).contains(CountingPolicy.most.value), "\(CountingPolicy.most.value)")
  }

  @Test("A policy ends the migration with an error of its own")
  func cancelled() throws {
    MigrationPolicyClasses.register(StoppingPolicy.self)
    let notes = try notes(["Milk"])
    let mappingURL = try notes.write(
      Self.tagging.replacingOccurrences(of: "TagPolicy", with: "StoppingPolicy"), to: "Notes.mapping")
    #expect(throws: CancellationError.self) {
      _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL, mappings: [mappingURL]).run()
    }
    #expect(try notes.version() == 1)
  }

  /// Its mappings run with objects, as it is a subclass.
  private final class WatchedManager: NSMigrationManager, @unchecked Sendable {}

  @Test("A factory makes the managers of a container, and an object of the app reaches the policies")
  func factory() throws {
    MigrationPolicyClasses.register(TagPolicy.self)
    let notes = try notes(["Milk #shop"])
    let mappingURL = try notes.write(Self.tagging, to: "Notes.mapping")
    let description = NSPersistentStoreDescription(url: notes.storeURL)
    description.setOption([mappingURL] as NSArray, forKey: MigrationOption.mappings)
    description.setOption([notes.modelURL] as NSArray, forKey: MigrationOption.models)
    // guide: policy-factory
    let factory = MigrationManagerFactory { source, destination in
      let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
      manager.userInfo = ["language": "en"]
      manager.progressHandler = { print("\(Int($0.migrationProgress * 100)) %") }
      return manager
    }
    description.setOption(factory, forKey: MigrationOption.managerFactory)
    // end
    let container = NSPersistentContainer(name: "Notes", managedObjectModel: try notes.model(2))
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    #expect(try container.viewContext.all("Tag").count == 1)
  }

  @Test("What makes a mapping run with objects")
  func reasons() throws {
    let notes = try notes(["Milk"])
    let plain = Self.tagging.replacingOccurrences(of: "custom   Note", with: "transform   Note")
      .replacingOccurrences(of: "  policy  TagPolicy\n", with: "")
    func reason(_ change: (String, String)?, _ factory: MigrationManagerFactory? = nil) throws -> String? {
      let text = change.map { plain.replacingOccurrences(of: $0.0, with: $0.1) } ?? plain
      let copy = try self.notes(["Milk"])
      let mappingURL = try copy.write(text, to: "Notes.mapping")
      var migration = try StoreMigration(storeAt: copy.storeURL, modelsAt: copy.modelURL, mappings: [mappingURL])
      migration.managerFactory = factory
      return try migration.run().mappings.last?.reason
    }
    #expect(try reason(nil) == nil)
    #expect(
      try reason(("$source.text", "$source.folder.name")) == nil)
    #expect(
      try reason(("$source.text", "FUNCTION($source.text, \"stringByTrimmingWhitespace\")")) == nil)
    #expect(
      try reason(
        (
          "text    attribute     $source.text",
          "objects  FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", $entityMapping.sourceEntityName, \"TRUEPREDICATE\"), $manager.sourceContext, NO)\n  text    attribute     $source.text"
        ))
        == "computes its fetch request")
    #expect(
      try reason(("$source.text", "CAST($manager.migrationProgress, \"NSString\")"))
        == "uses $manager in the expression for 'text'")
    #expect(
      try reason(("$source.text", "FUNCTION($source.text, \"stringByAppendingString:\", $source.folder.name)")) == nil)
    #expect(
      try reason(nil, MigrationManagerFactory { WatchedManager(sourceModel: $0, destinationModel: $1) })
        == "is run by a subclass of the migration manager")
    #expect(
      try reason(
        nil,
        MigrationManagerFactory {
          let manager = NSMigrationManager(sourceModel: $0, destinationModel: $1)
          manager.usesStoreSpecificMigrationManager = false
          return manager
        }) == "is run by a manager that may not use SQL")
    #expect(try notes.version() == 1)
  }

  @Test("The plan tells which policies the program does not have")
  func missing() throws {
    let notes = try notes(["Milk"])
    let mappingURL = try notes.write(
      Self.tagging.replacingOccurrences(of: "TagPolicy", with: "App.LabelPolicy"), to: "Notes.mapping")
    let (modelURL, storeURL) = (notes.modelURL, notes.storeURL)
    // guide: policy-missing
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL])
    let missing = migration.missingPolicies
    // end
    #expect(missing == ["App.LabelPolicy"])
  }

  @Test("An object of a policy without a required value is an error: 1570")
  func required() throws {
    MigrationPolicyClasses.register(TagPolicy.self)
    let strict = Self.tags.replacingOccurrences(
      of: "<entity name=\"Note\">",
      with: "<entity name=\"Note\">\n  <attribute name=\"title\" attributeType=\"String\"/>")
    let notes = try GuideVersions("Notes", [Self.notes, strict])
    try notes.fill { $0.make("Note", ["text": "Milk"]) }
    let mappingURL = try notes.write(Self.tagging, to: "Notes.mapping")
    let error = try #require(throws: NSError.self) {
      _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL, mappings: [mappingURL]).run()
    }
    #expect(error.code == NSValidationMissingMandatoryPropertyError)
    #expect(try notes.version() == 1)
  }
}
