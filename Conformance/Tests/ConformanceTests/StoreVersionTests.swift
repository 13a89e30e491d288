// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Versions of stores")
struct StoreVersionTests {
  private let before = model(entity("Note", [attribute("text")]), entity("Tag", [attribute("name")]))
  private let after = model(
    entity("Note", [attribute("text"), attribute("more")]), entity("Tag", [attribute("name")]))

  private func metadata(of url: URL) throws -> [String: Any] {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
  }

  @Test("The metadata of a store hold its type, its identifier, and the hashes and identifiers of its model")
  func metadata() throws {
    before.versionIdentifiers = ["first"]
    let stack = try Stack(before)
    let metadata = try metadata(of: stack.url)
    #expect(metadata[NSStoreTypeKey] as? String == NSSQLiteStoreType)
    #expect(metadata[NSStoreUUIDKey] as? String == stack.store.identifier)
    #expect(metadata[NSStoreModelVersionHashesKey] as? [String: Data] == before.entityVersionHashesByName)
    #expect(metadata[NSStoreModelVersionIdentifiersKey] as? [String] == ["first"])
  }

  @Test("A store keeps its identifier when it is opened again")
  func identifier() throws {
    let stack = try Stack(before)
    let first = try #require(stack.store.identifier)
    try stack.close()
    #expect(try Stack(before, in: stack.directory).store.identifier == first)
  }

  @Test("A model is compatible with the metadata of its store, one with another hash is not")
  func compatibility() throws {
    let stack = try Stack(before)
    let metadata = try metadata(of: stack.url)
    #expect(before.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(!after.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  }

  @Test("No model is compatible with metadata without hashes")
  func emptyMetadata() {
    #expect(!before.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:]))
  }

  @Test("Opening a store of another version without migration is error 134100, and the store stays as it was")
  func incompatible() throws {
    let stack = try Stack(before)
    try stack.run { context in
      context.insert("Note", ["text": "kept"])
      try context.save()
    }
    try stack.close()
    let failure = try thrown { _ = try Stack(after, in: stack.directory) }
    #expect(failure.domain == NSCocoaErrorDomain)
    #expect(failure.code == NSPersistentStoreIncompatibleVersionHashError)
    #expect(failure.code == 134_100)
    let again = try Stack(before, in: stack.directory)
    #expect(try again.run { try $0.texts("text", of: "Note") } == ["kept"])
  }

  @Test("A changed default value, class or index needs no migration")
  func unhashed() throws {
    let stack = try Stack(before)
    try stack.close()
    let other = try #require(before.copy() as? NSManagedObjectModel)
    let text = try #require(other.entitiesByName["Note"]?.attributesByName["text"])
    text.defaultValue = "new"
    other.entitiesByName["Note"]?.indexes = [
      NSFetchIndexDescription(
        name: "byText", elements: [NSFetchIndexElementDescription(property: text, collationType: .binary)])
    ]
    let again = try Stack(other, in: stack.directory)
    #expect(again.run { $0.insert("Note").text("text") } == "new")
  }

  @Test("Metadata that a program sets are written with the next save and are there when the store is opened again")
  func ownMetadata() throws {
    let stack = try Stack(before)
    var metadata = stack.coordinator.metadata(for: stack.store)
    metadata["done"] = true
    stack.coordinator.setMetadata(metadata, for: stack.store)
    try stack.run { context in
      context.insert("Note")
      try context.save()
    }
    try stack.close()
    #expect(try self.metadata(of: stack.url)["done"] as? Bool == true)
  }

  @Test("A store that is not there is no store that can be read")
  func missing() throws {
    let directory = try StoreDirectory()
    let failure = error { _ = try metadata(of: directory.store()) }
    #expect(failure?.domain == NSCocoaErrorDomain)
    let opening = error { _ = try Stack(before, in: directory, options: [NSReadOnlyPersistentStoreOption: true]) }
    #expect(opening != nil)
  }

  @Test("Saving into a store that was opened read-only fails, and the store stays as it was")
  func readOnly() throws {
    let stack = try Stack(before)
    try stack.close()
    let reading = try Stack(before, in: stack.directory, options: [NSReadOnlyPersistentStoreOption: true])
    #expect(reading.store.isReadOnly)
    reading.run { context in
      context.insert("Note")
      let failure = error { try context.save() }
      #expect(failure != nil)
    }
    try reading.close()
    #expect(try Stack(before, in: stack.directory).run { try $0.all("Note").count } == 0)
  }

  @Test("A configuration's store holds the hashes of its entities only")
  func configuration() throws {
    let note = try #require(before.entitiesByName["Note"])
    before.setEntities([note], forConfigurationName: "Notes")
    let directory = try StoreDirectory()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: before)
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: "Notes", at: directory.store(), options: nil)
    let metadata = try metadata(of: directory.store())
    #expect((metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.keys.sorted() == ["Note"])
    #expect(before.isConfiguration(withName: "Notes", compatibleWithStoreMetadata: metadata))
  }

  @Test(
    "Every type of store that keeps a file gives back what was saved",
    arguments: [NSSQLiteStoreType, NSBinaryStoreType])
  func types(type: String) throws {
    let stack = try Stack(before, type: type)
    try stack.run { context in
      context.insert("Note", ["text": "Grüße 🌍"])
      try context.save()
    }
    try stack.close()
    let again = try Stack(before, in: stack.directory, type: type)
    #expect(try again.run { try $0.texts("text", of: "Note") } == ["Grüße 🌍"])
  }

  @Test("A destroyed store has no rows when it is opened again")
  func destroyed() throws {
    let stack = try Stack(before)
    try stack.run { context in
      context.insert("Note")
      try context.save()
    }
    try stack.close()
    try stack.coordinator.destroyPersistentStore(at: stack.url, ofType: NSSQLiteStoreType, options: nil)
    #expect(try Stack(before, in: stack.directory).run { try $0.all("Note").count } == 0)
  }
}
