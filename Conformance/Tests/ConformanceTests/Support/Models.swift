// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// An attribute; optional unless told otherwise.
func attribute(
  _ name: String, _ type: NSAttributeType = .stringAttributeType, optional: Bool = true, default value: Any? = nil
) -> NSAttributeDescription {
  let result = NSAttributeDescription()
  result.name = name
  result.attributeType = type
  result.isOptional = optional
  result.defaultValue = value
  return result
}

/// An entity with its own properties.
func entity(_ name: String, _ properties: [NSPropertyDescription] = []) -> NSEntityDescription {
  let result = NSEntityDescription()
  result.name = name
  result.properties = properties
  return result
}

/// A model of entities.
func model(_ entities: NSEntityDescription...) -> NSManagedObjectModel {
  let result = NSManagedObjectModel()
  result.entities = entities
  return result
}

/// A to-one relationship, or a to-many one, which has no destination yet.
func relationship(
  _ name: String, toMany: Bool = false, ordered: Bool = false, optional: Bool = true,
  rule: NSDeleteRule = .nullifyDeleteRule
) -> NSRelationshipDescription {
  let result = NSRelationshipDescription()
  result.name = name
  result.isOptional = optional
  result.minCount = 0
  result.maxCount = toMany ? 0 : 1
  result.isOrdered = ordered
  result.deleteRule = rule
  return result
}

/// Adds two relationships to their entities, as inverses of each other.
func connect(
  _ first: NSEntityDescription, _ there: NSRelationshipDescription, _ second: NSEntityDescription,
  _ back: NSRelationshipDescription
) {
  there.destinationEntity = second
  back.destinationEntity = first
  there.inverseRelationship = back
  back.inverseRelationship = there
  first.properties.append(there)
  second.properties.append(back)
}

/// What models of publishers differ in.
struct LibraryFacts {
  var booksRule = NSDeleteRule.nullifyDeleteRule
  var ordered = false
  var titleOptional = true
  var authorClass: AnyClass?
  var bookClass: AnyClass?
}

/// Authors with books, and books with tags.
func library(_ change: (inout LibraryFacts) -> Void = { _ in }) -> NSManagedObjectModel {
  var facts = LibraryFacts()
  change(&facts)
  let author = entity("Author", [attribute("name"), attribute("born", .integer32AttributeType)])
  let book = entity(
    "Book",
    [
      attribute("title", optional: facts.titleOptional), attribute("pages", .integer32AttributeType),
      attribute("price", .doubleAttributeType), attribute("published", .dateAttributeType),
    ])
  let tag = entity("Tag", [attribute("name")])
  if let type = facts.authorClass { author.managedObjectClassName = NSStringFromClass(type) }
  if let type = facts.bookClass { book.managedObjectClassName = NSStringFromClass(type) }
  connect(
    author, relationship("books", toMany: true, ordered: facts.ordered, rule: facts.booksRule), book,
    relationship("author"))
  connect(book, relationship("tags", toMany: true), tag, relationship("books", toMany: true))
  return model(author, book, tag)
}

/// The digits of bytes.
func hex(_ data: Data?) -> String {
  (data ?? Data()).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
