// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Writes a document as the `contents` of an `.xcdatamodel`, as Xcode would.
///
/// What a source cannot say, such as sort descriptors of fetch requests or validation rules of relationships, is
/// refused, so that nothing is lost in silence.
struct XCDataModelWriter {
  let style: SourceStyle
  /// The composite types of the model by the name that the file gives them, in the order in which they were met.
  private(set) var composites: [(name: String, elements: [AttributeDocument])] = []

  /// The text of a source.
  /// - Throws: `ModelFileError` that names what a source cannot say.
  static func text(of document: ModelDocument, style: SourceStyle = .current) throws -> String {
    var writer = XCDataModelWriter(style: style)
    return try writer.model(document).document
  }

  private init(style: SourceStyle) {
    self.style = style
  }

  private mutating func model(_ document: ModelDocument) throws -> XMLOutput {
    var model = XMLOutput("model")
    model.set("type", "com.apple.IDECoreDataModeler.DataModel")
    model.set("documentVersion", "1.0")
    model.set("lastSavedToolsVersion", "22225")
    model.set("systemVersion", "23B74")
    model.set("minimumToolsVersion", "Automatic")
    model.set("sourceLanguage", "Swift")
    // A merged model has several identifiers, and a source has room for one text.
    model.set("userDefinedModelVersionIdentifier", document.versionIdentifiers.joined(separator: ", "))
    model.children = try document.entities.map { try entity($0) }
    model.children += try document.fetchRequestTemplates.map { try fetchRequest($0, entity: $0.entityName) }
    model.children += document.configurations.map { configuration in
      var element = XMLOutput("configuration")
      element.set("name", configuration.name)
      element.children = configuration.entityNames.map { Self.named("memberEntity", $0) }
      return element
    }
    // Writing the elements of one composite type may bring up others.
    var position = 0
    while position < composites.count {
      let composite = composites[position]
      var element = Self.named("composite", composite.name)
      element.children = try composite.elements.map { try attribute($0, entity: composite.name) }
      model.children.append(element)
      position += 1
    }
    return model
  }

  private mutating func entity(_ entity: EntityDocument) throws -> XMLOutput {
    var element = Self.named("entity", entity.name)
    element.set("representedClassName", entity.className)
    element.set("isAbstract", flag: entity.isAbstract)
    element.set("parentEntity", entity.parentName)
    element.set("elementID", entity.renamingIdentifier)
    element.set("versionHashModifier", entity.versionHashModifier)
    element.set("syncable", flag: style.syncable != .nothing)
    element.children = try entity.attributes.map { try attribute($0, entity: entity.name) }
    element.children += try entity.relationships.map { try relationship($0, entity: entity.name) }
    element.children += try entity.fetchedProperties.map { try fetchedProperty($0, entity: entity.name) }
    element.children += try entity.indexes.map { try fetchIndex($0, entity: entity.name) }
    if !entity.compoundIndexes.isEmpty {
      element.children.append(Self.lists(entity.compoundIndexes, ("compoundIndexes", "compoundIndex", "index")))
    }
    if !entity.uniquenessConstraints.isEmpty {
      element.children.append(
        Self.lists(
          entity.uniquenessConstraints, ("uniquenessConstraints", "uniquenessConstraint", "constraint")))
    }
    element.children += try userInfo(entity.userInfo, entity: entity.name)
    return element
  }

  /// The name of the composite type of an attribute; attributes with the same elements share one.
  mutating func compositeName(of attribute: AttributeDocument) -> String {
    if let name = attribute.compositeName, composites.contains(where: { $0 == (name, attribute.elements) }) {
      return name
    }
    if attribute.compositeName == nil, let known = composites.first(where: { $0.elements == attribute.elements }) {
      return known.name
    }
    let wanted = attribute.compositeName ?? attribute.name.prefix(1).uppercased() + attribute.name.dropFirst()
    var name = wanted
    var number = 2
    while composites.contains(where: { $0.name == name }) {
      name = "\(wanted)\(number)"
      number += 1
    }
    composites.append((name, attribute.elements))
    return name
  }

  func userInfo(_ info: [String: PlainValue], entity: String, property: String? = nil) throws -> [XMLOutput] {
    guard !info.isEmpty else { return [] }
    var element = XMLOutput("userInfo")
    element.children = try info.sorted { $0.key < $1.key }.map { key, value in
      guard case .string(let text) = value else {
        throw Self.unsayable(
          "The user info \"\(key)\" is no text.", "Make it a text.", entity: entity, property: property)
      }
      var entry = XMLOutput("entry")
      entry.set("key", key)
      entry.set("value", text)
      return entry
    }
    return [element]
  }

  private static func lists(_ lists: [[String]], _ names: (outer: String, list: String, item: String)) -> XMLOutput {
    var outer = XMLOutput(names.outer)
    outer.children = lists.map { list in
      var element = XMLOutput(names.list)
      element.children = list.map { value in
        var item = XMLOutput(names.item)
        item.set("value", value)
        return item
      }
      return element
    }
    return outer
  }

  static func named(_ element: String, _ name: String) -> XMLOutput {
    var element = XMLOutput(element)
    element.set("name", name)
    return element
  }

  /// The error for what a document can hold and a source cannot.
  static func unsayable(_ found: String, _ advice: String, entity: String, property: String? = nil) -> ModelFileError {
    ModelFileError(
      .unreadableValue, found: "A model source cannot hold this: \(found)", advice: advice, entity: entity,
      property: property)
  }
}
