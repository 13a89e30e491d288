// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The models of the stores. Each entity has an attribute `code`, which names a row.
enum ExchangeModel: String, Codable {
  /// Every type of attribute, every kind of relationship, and a hierarchy.
  case everything
  /// Notes before their migration.
  case before
  /// Notes after it.
  case after

  func make() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    switch self {
    case .everything: model.entities = Self.everything()
    case .before: model.entities = Self.notes(isNew: false)
    case .after: model.entities = Self.notes(isNew: true)
    }
    return model
  }

  private static func everything() -> [NSEntityDescription] {
    let item = entity(
      "Item",
      [
        ("int16", .integer16AttributeType), ("int32", .integer32AttributeType), ("int64", .integer64AttributeType),
        ("decimal", .decimalAttributeType), ("double", .doubleAttributeType), ("float", .floatAttributeType),
        ("text", .stringAttributeType), ("flag", .booleanAttributeType), ("date", .dateAttributeType),
        ("data", .binaryDataAttributeType), ("uuid", .UUIDAttributeType), ("uri", .URIAttributeType),
      ])
    let list = attribute("list", .transformableAttributeType)
    list.valueTransformerName = NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue
    let image = attribute("image", .binaryDataAttributeType)
    image.allowsExternalBinaryDataStorage = true
    let folded = NSDerivedAttributeDescription()
    folded.name = "folded"
    folded.attributeType = .stringAttributeType
    folded.derivationExpression = NSExpression(format: "canonical:(text)", argumentArray: [])
    let place = NSCompositeAttributeDescription()
    place.name = "place"
    place.elements = [attribute("street", .stringAttributeType), attribute("number", .integer32AttributeType)]
    item.properties += [list, image, folded, place]
    item.uniquenessConstraints = [["code"]]

    let medium = entity("Medium", [("title", .stringAttributeType)])
    medium.isAbstract = true
    let film = entity("Film", [("minutes", .integer32AttributeType)])
    let song = entity("Song", [("key", .stringAttributeType)])
    film.properties.removeAll { $0.name == "code" }
    song.properties.removeAll { $0.name == "code" }
    medium.subentities = [film, song]

    let tag = entity("Tag", [])
    connect(item, "parent", toMany: false, item, "children", toMany: true)
    connect(item, "media", toMany: true, medium, "item", toMany: false)
    connect(item, "tags", toMany: true, tag, "items", toMany: true)
    connect(item, "songs", toMany: true, ordered: true, song, "playlists", toMany: true)
    connect(item, "cover", toMany: false, film, "coverOf", toMany: false)
    return [item, medium, film, song, tag]
  }

  /// The migration renames an entity and an attribute, adds a required attribute, and widens a number.
  private static func notes(isNew: Bool) -> [NSEntityDescription] {
    let note = entity(
      isNew ? "Memo" : "Note", [("count", isNew ? .doubleAttributeType : .integer16AttributeType)])
    let text = attribute(isNew ? "body" : "text", .stringAttributeType)
    if isNew {
      note.renamingIdentifier = "Note"
      text.renamingIdentifier = "text"
      let stars = attribute("stars", .integer32AttributeType)
      stars.isOptional = false
      stars.defaultValue = 3
      note.properties.append(stars)
    }
    note.properties.append(text)
    let folder = entity("Folder", [])
    connect(note, "folder", toMany: false, folder, "notes", toMany: true)
    return [note, folder]
  }

  private static func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let result = NSAttributeDescription()
    result.name = name
    result.attributeType = type
    return result
  }

  private static func entity(_ name: String, _ attributes: [(String, NSAttributeType)]) -> NSEntityDescription {
    let result = NSEntityDescription()
    result.name = name
    let code = attribute("code", .stringAttributeType)
    code.isOptional = false
    result.properties = [code] + attributes.map { attribute($0.0, $0.1) }
    return result
  }

  private static func connect(
    _ first: NSEntityDescription, _ name: String, toMany: Bool, ordered: Bool = false,
    _ second: NSEntityDescription, _ inverseName: String, toMany inverseToMany: Bool
  ) {
    func relationship(_ name: String, _ toMany: Bool, to destination: NSEntityDescription) -> NSRelationshipDescription
    {
      let result = NSRelationshipDescription()
      result.name = name
      result.minCount = 0
      result.maxCount = toMany ? 0 : 1
      result.destinationEntity = destination
      return result
    }
    let there = relationship(name, toMany, to: second)
    there.isOrdered = ordered
    let back = relationship(inverseName, inverseToMany, to: first)
    there.inverseRelationship = back
    back.inverseRelationship = there
    first.properties.append(there)
    second.properties.append(back)
  }
}
