// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The versions of the workloads' model, created in code.
enum NotesModel {
  /// Note, Attachment and Tag, as in the data set.
  static func first() -> NSManagedObjectModel { model() }

  /// With an additional optional attribute.
  static func withAddedAttribute() -> NSManagedObjectModel {
    model { note in note.append(attribute("subtitle", .stringAttributeType, optional: true)) }
  }

  /// With an additional required attribute with a default value.
  static func withRequired() -> NSManagedObjectModel {
    model { note in
      let rating = attribute("rating", .integer16AttributeType, optional: false)
      rating.defaultValue = 3
      note.append(rating)
    }
  }

  /// With a renamed attribute, and an additional required one with a default value.
  static func withRenamedAndRequired() -> NSManagedObjectModel {
    model { note in
      guard let title = note.firstIndex(where: { $0.name == "title" }) else { return }
      let heading = attribute("heading", .stringAttributeType, optional: true)
      heading.renamingIdentifier = "title"
      note[title] = heading
      let rating = attribute("rating", .integer16AttributeType, optional: false)
      rating.defaultValue = 3
      note.append(rating)
    }
  }

  /// Without one attribute, so that the table must be rebuilt.
  static func withoutFullName() -> NSManagedObjectModel {
    model { note in note.removeAll { $0.name == "fullName" } }
  }

  /// Note and Attachment without Tag: the source of migrations by copying.
  static func plain() -> NSManagedObjectModel { model(hasTags: false) }

  /// With the full name split into two attributes.
  static func split() -> NSManagedObjectModel {
    model(hasTags: false) { note in
      note.removeAll { $0.name == "fullName" }
      note.append(attribute("firstName", .stringAttributeType, optional: true))
      note.append(attribute("lastName", .stringAttributeType, optional: true))
    }
  }

  /// With the full name split into two attributes, and an entity for first names.
  static func splitWithWriters() -> NSManagedObjectModel {
    let model = split()
    let writer = entity("Writer")
    writer.properties = [attribute("name", .stringAttributeType, optional: true)]
    model.entities.append(writer)
    return model
  }

  private static func model(
    hasTags: Bool = true, _ change: (inout [NSAttributeDescription]) -> Void = { _ in }
  ) -> NSManagedObjectModel {
    let note = entity("Note")
    let attachment = entity("Attachment")
    let tag = entity("Tag")
    var noteAttributes = [
      attribute("title", .stringAttributeType, optional: true),
      attribute("body", .stringAttributeType, optional: true),
      attribute("fullName", .stringAttributeType, optional: true),
      attribute("dateCreated", .dateAttributeType, optional: true),
      attribute("displayIndex", .integer32AttributeType, optional: true),
    ]
    change(&noteAttributes)
    let attachments = relationship("attachments", to: attachment, isToMany: true, rule: .cascadeDeleteRule)
    let owner = relationship("note", to: note, isToMany: false)
    attachments.inverseRelationship = owner
    owner.inverseRelationship = attachments
    note.properties = noteAttributes + [attachments]
    attachment.properties = [
      attribute("caption", .stringAttributeType, optional: true),
      attribute("width", .doubleAttributeType, optional: true),
      attribute("height", .doubleAttributeType, optional: true), owner,
    ]
    let model = NSManagedObjectModel()
    guard hasTags else {
      model.entities = [attachment, note]
      return model
    }
    let tags = relationship("tags", to: tag, isToMany: true)
    let notes = relationship("notes", to: note, isToMany: true)
    tags.inverseRelationship = notes
    notes.inverseRelationship = tags
    note.properties += [tags]
    tag.properties = [attribute("name", .stringAttributeType, optional: true), notes]
    model.entities = [attachment, note, tag]
    return model
  }

  private static func entity(_ name: String) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.managedObjectClassName = "NSManagedObject"
    return entity
  }

  private static func attribute(
    _ name: String, _ type: NSAttributeType, optional: Bool
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = optional
    return attribute
  }

  private static func relationship(
    _ name: String, to destination: NSEntityDescription, isToMany: Bool, rule: NSDeleteRule = .nullifyDeleteRule
  ) -> NSRelationshipDescription {
    let relationship = NSRelationshipDescription()
    relationship.name = name
    relationship.destinationEntity = destination
    relationship.isOptional = true
    relationship.minCount = 0
    relationship.maxCount = isToMany ? 0 : 1
    relationship.deleteRule = rule
    return relationship
  }
}
