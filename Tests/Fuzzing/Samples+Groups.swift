// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation

/// The samples of single kinds of inputs.
extension Sample {
  // MARK: Persistent history

  /// Creates stores with transactions of several authors, updates of every property, and tombstones.
  static func makeHistory(in folder: URL) throws {
    func attribute(_ name: String, _ kind: AttributeKind, preserved: Bool = false) -> AttributeDocument {
      var attribute = AttributeDocument(name: name, kind: kind)
      attribute.preservesValueInHistoryOnDeletion = preserved
      return attribute
    }
    var note = EntityDocument(name: "Note")
    note.attributes = [
      attribute("title", .string, preserved: true), attribute("body", .binaryData, preserved: true),
      attribute("count", .integer64, preserved: true), attribute("price", .decimal), attribute("date", .date),
    ]
    note.relationships = [
      RelationshipDocument(name: "tags", destinationEntityName: "Tag", inverseName: "notes", isToMany: true),
      RelationshipDocument(name: "parent", destinationEntityName: "Note", inverseName: "children"),
      RelationshipDocument(name: "children", destinationEntityName: "Note", inverseName: "parent", isToMany: true),
    ]
    var memo = EntityDocument(name: "Memo", parentName: "Note")
    memo.attributes = [attribute("key", .uuid, preserved: true)]
    var tag = EntityDocument(name: "Tag")
    tag.attributes = [attribute("name", .string, preserved: true)]
    tag.relationships = [
      RelationshipDocument(name: "notes", destinationEntityName: "Note", inverseName: "tags", isToMany: true)
    ]
    let old = ModelDocument(entities: [memo, note, tag], versionIdentifiers: ["1"])
    var new = old
    new.versionIdentifiers = ["2"]
    new.entities[1].attributes[0].name = "heading"
    new.entities[1].attributes[0].renamingIdentifier = "title"
    new.entities[2].attributes.append(attribute("weight", .double, preserved: true))
    for document in [old, new] { try document.validate() }
    try make("history", old, new, in: folder, options: [NSPersistentHistoryTrackingKey: true]) { context in
      context.name = "main"
      let tags = (1...2).map { context.make("Tag", ["name": "tag \($0)"]) }
      let notes = (1...6).map { number in
        context.make(
          number > 4 ? "Memo" : "Note",
          ["title": "note \(number)", "body": Data(repeating: 7, count: number), "count": number])
      }
      try context.save()
      context.transactionAuthor = "writer"
      for (number, note) in notes.enumerated() {
        note.setValue(NSSet(array: [tags[number % 2]]), forKey: "tags")
        note.setValue(notes.first, forKey: "parent")
        note.setValue(Date(timeIntervalSinceReferenceDate: 1_000), forKey: "date")
      }
      try context.save()
      context.transactionAuthor = "remover"
      for object in [notes[1], notes[5], tags[1]] { context.delete(object) }
      try context.save()
    }
  }

  // MARK: Composite attributes

  /// Creates a store with composite attributes: nested, with the same element in several, and with elements of every type.
  static func makeComposite(in folder: URL) throws {
    func attribute(_ name: String, _ kind: AttributeKind, _ elements: [AttributeDocument] = []) -> AttributeDocument {
      var attribute = AttributeDocument(name: name, kind: kind)
      attribute.elements = elements
      return attribute
    }
    let place = [attribute("lat", .double), attribute("lng", .double)]
    var person = EntityDocument(name: "Person")
    person.attributes = [
      attribute("id", .uuid), attribute("name", .string),
      attribute(
        "address", .composite,
        [attribute("id", .integer64), attribute("street", .string), attribute("geo", .composite, place)]),
      attribute("work", .composite, [attribute("street", .string), attribute("since", .date)]),
      attribute("mood", .composite, [attribute("mood", .string)]),
    ]
    person.relationships = [
      RelationshipDocument(name: "visits", destinationEntityName: "Visit", inverseName: "person", isToMany: true)
    ]
    var visit = EntityDocument(name: "Visit")
    visit.attributes = [
      attribute(
        "record", .composite,
        [
          attribute("small", .integer16), attribute("number", .integer32), attribute("isOpen", .boolean),
          attribute("score", .float), attribute("price", .decimal), attribute("data", .binaryData),
          attribute("key", .uuid), attribute("link", .uri),
        ])
    ]
    visit.relationships = [RelationshipDocument(name: "person", destinationEntityName: "Person", inverseName: "visits")]
    let old = ModelDocument(entities: [person, visit], versionIdentifiers: ["1"])
    var new = old
    new.versionIdentifiers = ["2"]
    new.entities[0].attributes[2].elements[1].name = "line"
    new.entities[0].attributes[2].elements[1].renamingIdentifier = "street"
    new.entities[0].attributes[3].elements.append(attribute("floor", .integer16))
    new.entities[1].attributes.append(attribute("note", .string))
    for document in [old, new] { try document.validate() }
    try make("composite", old, new, in: folder) { context in
      var filling = ModelFilling(old, .plain)
      try filling.fill(context)
    }
  }

  // MARK: Relationships

  /// Creates a store with few attributes, and with relationships and constraints of every kind, none of which is violated.
  static func makeRelated(in folder: URL) throws {
    var builder = ModelBuilder()
    builder.entity("Owner", [.make("name", .stringAttributeType)]).uniquenessConstraints = [["name"]]
    builder.entity("Special", parent: "Owner", [.make("rank", .integer16AttributeType)])
    builder.entity("Item", [.make("name", .stringAttributeType), .make("size", .integer32AttributeType)])
    builder.entity("Card", [.make("number", .integer64AttributeType)])
    builder.relate(.init("Owner", "items", toMany: true, ordered: true), .init("Item", "owner"))
    builder.relate(.init("Owner", "card"), .init("Card", "owner"))
    builder.relate(.init("Owner", "likes", toMany: true, ordered: true), .init("Item", "likedBy", toMany: true))
    builder.relate(.init("Owner", "friends", toMany: true), .init("Owner", "friends", toMany: true))
    builder.relate(.init("Item", "keeper", optional: false), .init("Special", "kept", toMany: true))
    builder.point(.init("Card", "extra", toMany: true), to: "Item")
    let old = builder.model().document
    var new = old
    new.versionIdentifiers = ["2"]
    new.entities[2].attributes.append(AttributeDocument(name: "added", kind: .string))
    try make("related", old, new, in: folder) { context in
      let owners = (1...6).map { number in
        context.make(number > 4 ? "Special" : "Owner", ["name": "owner \(number)"])
      }
      let items = (1...12).map { context.make("Item", ["name": "item \($0)", "size": $0]) }
      let cards = (1...4).map { context.make("Card", ["number": $0]) }
      for (number, item) in items.enumerated() { item.setValue(owners[4 + number % 2], forKey: "keeper") }
      for (number, owner) in owners.enumerated() {
        owner.setValue(NSOrderedSet(array: [items[number * 2], items[number * 2 + 1]]), forKey: "items")
        owner.setValue(NSOrderedSet(array: Array(items[number...number + 3])), forKey: "likes")
        owner.setValue(NSSet(array: Array(owners.prefix(number))), forKey: "friends")
        if number < cards.count { owner.setValue(cards[number], forKey: "card") }
      }
      cards[0].setValue(NSSet(array: Array(items.prefix(3))), forKey: "extra")
      try context.save()
    }
  }

  // MARK: XML and binary stores

  /// Creates an XML and a binary store of each of some models.
  static func makeFiles(in folder: URL) throws {
    let company = CompanyModel.make().document
    let corpus = folder.deletingLastPathComponent()
    let composite = try all(in: corpus, .composite)[0]
    let place = try TemporaryStore()
    try FuzzInput(files: composite.modelFiles).write(to: place.folder)
    let versions = try ModelBundle(contentsOf: place.folder.appendingPathComponent(model)).versions.map(\.document)
    for (name, old, new) in [
      ("company", company, try nextCompany(company)), ("composite", versions[0], versions[1]),
    ] {
      let target = folder.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
      for (file, type) in [(xmlStore, NSPersistentStore.StoreType.xml), (binaryStore, .binary)] {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try ModelFilling.lenient(old))
        let store = try coordinator.addPersistentStore(type: type, at: target.appendingPathComponent(file))
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        var filling = ModelFilling(old, .plain)
        try filling.fill(context)
        try coordinator.remove(store)
      }
      try ModelBundle.writeSource([("V1", old), ("V2", new)], current: "V2", to: target.appendingPathComponent(model))
    }
  }
}
