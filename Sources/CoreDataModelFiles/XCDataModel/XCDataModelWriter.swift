// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Writes a document as the `contents` of an `.xcdatamodel`, like Xcode.
///
/// Throws an error for anything that a source cannot express, such as sort descriptors of fetch requests or validation
/// rules of relationships, so that nothing is lost silently.
struct XCDataModelWriter {
  let style: SourceStyle
  /// The composite types with their names in the file, in the order in which they were found.
  private(set) var composites: [(name: String, elements: [AttributeDocument])] = []

  /// Returns the text of a source.
  /// - Throws: `ModelFileError` that names what a source cannot express.
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
    // A merged model has several identifiers, but a source has only one text.
    model.set("userDefinedModelVersionIdentifier", document.versionIdentifiers.joined(separator: ", "))
    model.children = try document.entities.map { try entity($0) }
    model.children += try document.fetchRequestTemplates.map { try fetchRequest($0, entity: $0.entityName) }
    model.children += document.configurations.map { configuration in
      var element = XMLOutput("configuration")
      element.set("name", configuration.name)
      element.children = configuration.entityNames.map { Self.named("memberEntity", $0) }
      return element
    }
    // Writing the elements of a composite type may add other composite types.
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

  /// Returns the name of an attribute's composite type. Attributes with the same elements share one.
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
        throw Self.inexpressible(
          "The user info \"\(key)\" is not a string.", "Make it a string.", entity: entity, property: property)
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

  /// Creates an error for something that a document can contain but a source cannot.
  static func inexpressible(_ found: String, _ advice: String, entity: String, property: String? = nil)
    -> ModelFileError
  {
    ModelFileError(
      .unreadableValue, found: "A model source cannot express this: \(found)", advice: advice, entity: entity,
      property: property)
  }
}

/// Fetch requests and fetch indexes.
extension XCDataModelWriter {
  func fetchRequest(_ request: FetchRequestDocument, entity: String, property: String? = nil) throws -> XMLOutput {
    guard request.sortKeys.isEmpty else {
      throw Self.inexpressible(
        "The fetch request \(request.name) has sort descriptors.", "Set them where the request is used.",
        entity: entity, property: property)
    }
    var element = Self.named("fetchRequest", request.name)
    element.set("entity", request.entityName)
    element.set("predicateString", request.predicate.map { PredicatePrinter().format($0) })
    element.set("fetchLimit", request.fetchLimit == 0 ? nil : "\(request.fetchLimit)")
    element.set("fetchBatchSize", request.fetchBatchSize == 0 ? nil : "\(request.fetchBatchSize)")
    element.set("resultType", request.resultType == 0 ? nil : "\(request.resultType)")
    element.set("includeSubentities", request.includesSubentities ? nil : "NO")
    element.set("includePropertyValues", request.includesPropertyValues ? nil : "NO")
    element.set("returnObjectsAsFaults", request.returnsObjectsAsFaults ? nil : "NO")
    element.set("returnDistinctResults", flag: request.returnsDistinctResults)
    element.set("includesPendingChanges", request.includesPendingChanges ? nil : "NO")
    return element
  }

  func fetchIndex(_ index: FetchIndexDocument, entity: String) throws -> XMLOutput {
    var element = Self.named("fetchIndex", index.name)
    element.set("partialIndexPredicate", index.partialIndexPredicate.map { PredicatePrinter().format($0) })
    element.children = index.elements.map { part in
      var child = XMLOutput("fetchIndexElement")
      child.set("property", part.propertyName.isEmpty ? nil : part.propertyName)
      child.set("expression", part.expression.map { PredicatePrinter().format($0) })
      child.set("type", part.isRTree ? "RTree" : "Binary")
      child.set("order", part.isAscending ? "ascending" : "descending")
      return child
    }
    return element
  }
}

/// The style of a model source. Older versions of Xcode write more redundant attributes.
package struct SourceStyle: Hashable, Sendable {
  /// What is marked `syncable="YES"`, a mark of Sync Services that Xcode still writes.
  package enum Syncable: Hashable, Sendable {
    case nothing
    case entities
    case entitiesAndProperties
  }

  /// What is marked as syncable.
  package var syncable: Syncable
  /// Whether attributes of scalar types that use objects are marked `usesScalarValueType="NO"`.
  package var marksObjectValues: Bool

  /// Creates a style.
  package init(syncable: Syncable, marksObjectValues: Bool) {
    self.syncable = syncable
    self.marksObjectValues = marksObjectValues
  }

  /// The style of current versions of Xcode.
  package static let current = SourceStyle(syncable: .entities, marksObjectValues: true)
}
