// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Renaming".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The guide on renaming")
struct RenamingGuideTests {
  private static let first = """
    <entity name="Note">
      <attribute name="title" optional="YES" attributeType="String"/>
      <relationship name="box" optional="YES" maxCount="1" destinationEntity="Box" inverseName="notes"/>
    </entity>
    <entity name="Box">
      <attribute name="label" optional="YES" attributeType="String"/>
      <relationship name="notes" optional="YES" toMany="YES" destinationEntity="Note" inverseName="box"/>
    </entity>
    """
  private static let second = """
    <entity name="Note">
      <attribute name="heading" optional="YES" attributeType="String" elementID="title"/>
      <relationship name="folder" optional="YES" maxCount="1" destinationEntity="Folder" inverseName="notes" elementID="box"/>
    </entity>
    <entity name="Folder" elementID="Box">
      <attribute name="label" optional="YES" attributeType="String"/>
      <relationship name="notes" optional="YES" toMany="YES" destinationEntity="Note" inverseName="folder"/>
    </entity>
    """
  /// The attribute of notes is renamed once more.
  private static let third = second.replacingOccurrences(
    of: """
      <attribute name="heading" optional="YES" attributeType="String" elementID="title"/>
      """,
    with: """
      <attribute name="caption" optional="YES" attributeType="String" elementID="title"/>
      """)

  private static let missingValues = """
    Cannot migrate store in-place: Validation error missing attribute values on mandatory destination attribute:
    'heading' of entity 'Note' is required and has no default value in the destination, and 2 rows, the first of
    them Note/p1, are without a value.
    """

  private static let sharedIdentifier = """
    The renaming identifier 'title' is shared by the properties 'heading', 'summary' of entity 'Note'.
    """

  private func notes(_ versions: [String]) throws -> GuideVersions {
    let notes = try GuideVersions("Notes", versions)
    try notes.fill { context in
      let box = context.make("Box", ["label": "Inbox"])
      context.make("Note", ["title": "Milk"]).setValue(box, forKey: "box")
      context.make("Note", ["title": "Rent"])
    }
    return notes
  }

  @Test("An entity, an attribute and a relationship are renamed, and keep their rows, values and links")
  func renaming() throws {
    let notes = try notes([Self.first, Self.second])
    let (modelURL, storeURL) = (notes.modelURL, notes.storeURL)
    // guide: renamed
    let model = try NSManagedObjectModel.load(contentsOf: modelURL)
    let container = NSPersistentContainer(name: "Notes", managedObjectModel: model)
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: storeURL)]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.sortDescriptors = [NSSortDescriptor(key: "heading", ascending: true)]
    let found = try container.viewContext.fetch(request).map { note in
      [note.value(forKey: "heading"), note.value(forKeyPath: "folder.label")].map { $0 as? String ?? "-" }
    }
    // end
    #expect(found == [["Milk", "Inbox"], ["Rent", "-"]])
  }

  @Test("The mapping that is inferred says what was paired")
  func dryRun() throws {
    let notes = try GuideVersions("Notes", [Self.first, Self.second])
    let (old, new) = (try notes.model(1), try notes.model(2))
    // guide: renaming-dry-run
    let inferred = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    let pairs = inferred.entityMappings.map { "\($0.sourceEntityName ?? "-") -> \($0.destinationEntityName ?? "-")" }
    // end
    #expect(pairs.sorted() == ["Box -> Folder", "Note -> Note"])
  }

  @Test("The first name stays the identifier: every version leads to the third, with or without the second")
  func twice() throws {
    let notes = try notes([Self.first, Self.second, Self.third])
    _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL).run()
    #expect(try notes.rows("Note", "caption", version: 3) == ["Milk", "Rent"])
    // In one step, as Apple's framework would.
    let other = try self.notes([Self.first, Self.second, Self.third])
    _ = try StoreMigration(storeAt: other.storeURL, modelsAt: other.modelURL, isProgressive: false).run()
    #expect(try other.rows("Note", "caption", version: 3) == ["Milk", "Rent"])
  }

  @Test("The last name instead of the first loses nothing from version to version, and values in one step")
  func lastName() throws {
    let chained = Self.third.replacingOccurrences(of: "elementID=\"title\"", with: "elementID=\"heading\"")
    let notes = try notes([Self.first, Self.second, chained])
    _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL).run()
    #expect(try notes.rows("Note", "caption", version: 3) == ["Milk", "Rent"])
    let other = try self.notes([Self.first, Self.second, chained])
    _ = try StoreMigration(storeAt: other.storeURL, modelsAt: other.modelURL, isProgressive: false).run()
    #expect(try other.rows("Note", "caption", version: 3) == ["nil", "nil"])
  }

  @Test("An identifier that a later version no longer has loses nothing")
  func removedIdentifier() throws {
    let plain = Self.second.replacingOccurrences(of: " elementID=\"title\"", with: "")
    let notes = try notes([Self.first, Self.second, plain + "\n<entity name=\"Other\"/>"])
    _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL).run()
    #expect(try notes.rows("Note", "heading", version: 3) == ["Milk", "Rent"])
  }

  @Test("A version that was edited after it was shipped, so that values would be dropped, fits no store: 134130")
  func edited() throws {
    let notes = try notes([Self.first])
    let plain = Self.second.replacingOccurrences(of: " elementID=\"title\"", with: "")
    try notes.write("<model>\(plain)</model>", to: "Notes.xcdatamodeld/Notes.xcdatamodel/contents")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model(1))
    let options = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
    let error = try #require(throws: NSError.self) {
      try coordinator.addPersistentStore(type: .sqlite, at: notes.storeURL, options: options)
    }
    #expect(error.code == NSMigrationMissingSourceModelError)
    #expect(
      error.localizedFailureReason?.hasPrefix(
        "Can't find model for source store: no model has the entity version hashes of the store.")
        == true && error.localizedFailureReason?.contains("'Note.title'") == true,
      "\(error.localizedFailureReason ?? "")")
  }

  @Test("A forgotten identifier loses values without an error where the new attribute is optional")
  func forgotten() throws {
    let plain = Self.second.replacingOccurrences(of: " elementID=\"title\"", with: "")
    let notes = try notes([Self.first, plain])
    _ = try StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL).run()
    #expect(try notes.rows("Note", "heading", version: 2) == ["nil", "nil"])
  }

  @Test("A forgotten identifier is an error where the new attribute is required: 134110")
  func forgottenAndRequired() throws {
    let required = Self.second.replacingOccurrences(
      of: "name=\"heading\" optional=\"YES\" attributeType=\"String\" elementID=\"title\"",
      with: "name=\"heading\" attributeType=\"String\"")
    let notes = try notes([Self.first, required])
    try notes.expectFailure(NSMigrationError, Self.missingValues)
  }

  @Test("Two elements with one identifier are an error: 134190")
  func ambiguous() throws {
    let both = Self.second.replacingOccurrences(
      of: "</entity>\n<entity name=\"Folder\"",
      with: "  <attribute name=\"summary\" optional=\"YES\" attributeType=\"String\" elementID=\"title\"/>\n</entity>\n"
        + "<entity name=\"Folder\"")
    let notes = try notes([Self.first, both])
    try notes.expectFailure(NSInferredMappingModelError, Self.sharedIdentifier)
  }

  @Test("Two attributes of one type exchange their names only with a hash modifier, for nothing else differs")
  func exchange() throws {
    let old = """
      <entity name="Trip">
        <attribute name="from" optional="YES" attributeType="String"/>
        <attribute name="to" optional="YES" attributeType="String"/>
      </entity>
      """
    let new = """
      <entity name="Trip" versionHashModifier="exchanged">
        <attribute name="from" optional="YES" attributeType="String" elementID="to"/>
        <attribute name="to" optional="YES" attributeType="String" elementID="from"/>
      </entity>
      """
    for (second, expected) in [
      (new, "Oslo, Rome"), (new.replacingOccurrences(of: " versionHashModifier=\"exchanged\"", with: ""), "Rome, Oslo"),
    ] {
      let trips = try GuideVersions("Trips", [old, second])
      try trips.fill { $0.make("Trip", ["from": "Rome", "to": "Oslo"]) }
      _ = try StoreMigration(storeAt: trips.storeURL, modelsAt: trips.modelURL).run()
      #expect(try trips.rows("Trip", "from", "to", version: 2) == [expected])
    }
  }

  @Test("Another class for an entity, a new default value and a new identifier alone are no new version")
  func noNewVersion() throws {
    let changed = Self.first.replacingOccurrences(
      of: "<entity name=\"Note\">", with: "<entity name=\"Note\" representedClassName=\"Memo\" elementID=\"Memo\">"
    )
    .replacingOccurrences(of: "name=\"label\"", with: "name=\"label\" defaultValueString=\"new\"")
    let notes = try notes([Self.first, changed])
    #expect(try notes.version() == 1)
    #expect(try !StoreMigration(storeAt: notes.storeURL, modelsAt: notes.modelURL).isNeeded)
  }
}
