// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Inferred migration")
struct InferredMigrationTests {
  private func notes(_ attributes: NSPropertyDescription...) -> NSManagedObjectModel {
    model(entity("Note", [attribute("text")] + attributes))
  }

  @Test("An attribute that comes new is without a value", arguments: MigrationWay.allCases)
  func added(way: MigrationWay) throws {
    let stack = try way.migrate(notes(), to: notes(attribute("more"))) { $0.insert("Note", ["text": "a"]) }
    try stack.run { context in
      let note = try #require(try context.all("Note").first)
      #expect(note.text("text") == "a")
      #expect(note.value(forKey: "more") == nil)
    }
  }

  @Test("A required attribute that comes new has its default value in each row", arguments: MigrationWay.allCases)
  func defaultValue(way: MigrationWay) throws {
    let after = notes(attribute("stars", .integer16AttributeType, optional: false, default: 3))
    let stack = try way.migrate(notes(), to: after) { context in
      for _ in 0..<3 { context.insert("Note") }
    }
    #expect(try stack.run { try $0.all("Note").map { $0.number("stars") } } == [3, 3, 3])
  }

  @Test("An attribute that becomes required gets its default value where it had none")
  func becomesRequired() throws {
    let after = model(entity("Note", [attribute("text", optional: false, default: "none")]))
    let stack = try MigrationWay.opening.migrate(notes(), to: after) { context in
      context.insert("Note", ["text": "a"])
      context.insert("Note")
    }
    #expect(try stack.run { try $0.texts("text", of: "Note") } == ["a", "none"])
  }

  @Test("A removed attribute leaves the others as they were", arguments: MigrationWay.allCases)
  func removed(way: MigrationWay) throws {
    try way.dropping {
      let stack = try way.migrate(notes(attribute("more")), to: notes()) {
        $0.insert("Note", ["text": "a", "more": "b"])
      }
      #expect(try stack.run { try $0.texts("text", of: "Note") } == ["a"])
    }
  }

  @Test("An attribute with the old name as its renaming identifier keeps the values", arguments: MigrationWay.allCases)
  func renamedAttribute(way: MigrationWay) throws {
    let body = attribute("body")
    body.renamingIdentifier = "text"
    let stack = try way.migrate(notes(), to: model(entity("Note", [body]))) { $0.insert("Note", ["text": "a"]) }
    #expect(try stack.run { try $0.texts("body", of: "Note") } == ["a"])
  }

  @Test("An entity with the old name as its renaming identifier keeps the rows", arguments: MigrationWay.allCases)
  func renamedEntity(way: MigrationWay) throws {
    let memo = entity("Memo", [attribute("text")])
    memo.renamingIdentifier = "Note"
    let stack = try way.migrate(notes(), to: model(memo)) { $0.insert("Note", ["text": "a"]) }
    #expect(try stack.run { try $0.texts("text", of: "Memo") } == ["a"])
  }

  @Test("Without a renaming identifier, another name means another entity", arguments: MigrationWay.allCases)
  func otherEntity(way: MigrationWay) throws {
    let after = model(entity("Memo", [attribute("text")]))
    try way.dropping {
      let stack = try way.migrate(notes(), to: after) { $0.insert("Note", ["text": "a"]) }
      #expect(try stack.run { try $0.all("Memo").count } == 0)
    }
  }

  @Test("An attribute that is renamed again keeps its values by the identifier of the first renaming")
  func renamedTwice() throws {
    let first = attribute("body")
    first.renamingIdentifier = "text"
    let second = attribute("content")
    second.renamingIdentifier = "text"
    let stack = try MigrationWay.opening.migrate(model(entity("Note", [first])), to: model(entity("Note", [second]))) {
      $0.insert("Note", ["body": "a"])
    }
    #expect(try stack.run { try $0.texts("content", of: "Note") } == ["a"])
  }

  @Test("A number's other type keeps its value", arguments: MigrationWay.allCases)
  func numbers(way: MigrationWay) throws {
    func counted(_ type: NSAttributeType) -> NSManagedObjectModel {
      model(entity("Note", [attribute("count", type)]))
    }
    let stack = try way.migrate(counted(.integer16AttributeType), to: counted(.doubleAttributeType)) {
      $0.insert("Note", ["count": 7])
    }
    #expect(try stack.run { try $0.all("Note").first?.value(forKey: "count") as? Double } == 7)
  }

  @Test("A to-one relationship that becomes to-many keeps its object", arguments: MigrationWay.allCases)
  func toMany(way: MigrationWay) throws {
    func shelves(toMany: Bool) -> NSManagedObjectModel {
      let book = entity("Book", [attribute("title")])
      let shelf = entity("Shelf", [attribute("name")])
      connect(book, relationship("shelf", toMany: toMany), shelf, relationship("books", toMany: true))
      return model(book, shelf)
    }
    let stack = try way.migrate(shelves(toMany: false), to: shelves(toMany: true)) { context in
      context.insert("Book", ["title": "a", "shelf": context.insert("Shelf", ["name": "s"])])
    }
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      #expect(book.objects("shelf").map { $0.text("name") } == ["s"])
    }
  }

  @Test("Relationships of every kind lead to the same objects afterwards", arguments: MigrationWay.allCases)
  func relationships(way: MigrationWay) throws {
    let after = library()
    after.entitiesByName["Book"]?.properties.append(attribute("subtitle"))
    let stack = try way.migrate(library(), to: after) { context in
      let author = context.insert("Author", ["name": "Ann"])
      let tags = ["x", "y"].map { context.insert("Tag", ["name": $0]) }
      context.insert("Book", ["title": "a", "author": author, "tags": Set(tags)])
      context.insert("Book", ["title": "b", "author": author, "tags": Set([tags[1]])])
    }
    try stack.run { context in
      let author = try #require(try context.all("Author").first)
      #expect(author.objects("books").compactMap { $0.text("title") }.sorted() == ["a", "b"])
      let tag = try #require(try context.all("Tag", where: predicate("name == %@", "y")).first)
      #expect(tag.objects("books").count == 2)
    }
  }

  @Test("An attribute that moves from a child to its parent keeps the values", arguments: MigrationWay.allCases)
  func movedUp(way: MigrationWay) throws {
    func media(parentHas first: [String], childHas second: [String]) -> NSManagedObjectModel {
      let parent = entity("Medium", first.map { attribute($0) })
      let child = entity("Film", second.map { attribute($0) })
      parent.subentities = [child]
      return model(parent, child)
    }
    let stack = try way.migrate(
      media(parentHas: [], childHas: ["title"]), to: media(parentHas: ["title"], childHas: [])
    ) { $0.insert("Film", ["title": "a"]) }
    #expect(try stack.run { try $0.texts("title", of: "Medium") } == ["a"])
    #expect(try stack.run { try $0.all("Film").count } == 1)
  }

  @Test("A migrated store has the hashes of the new model, and opens without migration")
  func hashes() throws {
    let after = notes(attribute("more"))
    let stack = try MigrationWay.opening.migrate(notes(), to: after) { $0.insert("Note") }
    try stack.close()
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: stack.url, options: nil)
    #expect(after.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(throws: Never.self) { try Stack(after, in: stack.directory) }
  }

  @Test("A type that values cannot be converted to is error 134190 and says which attribute")
  func incompatibleTypes() throws {
    let after = model(entity("Note", [attribute("text", .binaryDataAttributeType)]))
    let failure = try thrown {
      _ = try NSMappingModel.inferredMappingModel(forSourceModel: notes(), destinationModel: after)
    }
    #expect(failure.code == NSInferredMappingModelError)
    #expect(failure.userInfo["entity"] as? String == "Note")
    #expect(failure.userInfo["property"] as? String == "text")
    #expect(failure.userInfo["reason"] is String)
  }

  @Test("A required attribute without a default value fails in the migration, and the store stays as it was")
  func noDefaultValue() throws {
    let stack = try Stack(notes())
    try stack.run { context in
      context.insert("Note", ["text": "kept"])
      try context.save()
    }
    try stack.close()
    let after = notes(attribute("more", optional: false))
    let failure = try thrown { _ = try Stack(after, in: stack.directory, options: MigrationWay.automatic) }
    #expect(failure.domain == NSCocoaErrorDomain)
    #expect(
      [NSMigrationError, NSInferredMappingModelError, NSMigrationMissingMappingModelError].contains(failure.code))
    let again = try Stack(notes(), in: stack.directory)
    #expect(try again.run { try $0.texts("text", of: "Note") } == ["kept"])
  }

  @Test("Inference names its entity mappings IEM_Add_, IEM_Remove_, IEM_Copy_ and IEM_Transform_")
  func mappingNames() throws {
    let memo = entity("Memo", [attribute("text"), attribute("more")])
    memo.renamingIdentifier = "Note"
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: model(entity("Note", [attribute("text")]), entity("Same"), entity("Old")),
      destinationModel: model(memo, entity("Same"), entity("New")))
    let types = Dictionary(
      mapping.entityMappings.map { ($0.name ?? "", $0.mappingType) }, uniquingKeysWith: { first, _ in first })
    #expect(
      types == [
        "IEM_Transform_Note": .transformEntityMappingType, "IEM_Copy_Same": .copyEntityMappingType,
        "IEM_Remove_Old": .removeEntityMappingType, "IEM_Add_New": .addEntityMappingType,
      ])
  }

  @Test("Metadata of the program outlive a migration")
  func ownMetadata() throws {
    let stack = try Stack(notes())
    var metadata = stack.coordinator.metadata(for: stack.store)
    metadata["done"] = "yes"
    stack.coordinator.setMetadata(metadata, for: stack.store)
    try stack.run { context in
      context.insert("Note")
      try context.save()
    }
    try stack.close()
    let again = try Stack(notes(attribute("more")), in: stack.directory, options: MigrationWay.automatic)
    #expect(again.coordinator.metadata(for: again.store)["done"] as? String == "yes")
  }
}
