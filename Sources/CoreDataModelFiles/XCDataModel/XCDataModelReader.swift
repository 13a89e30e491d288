// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads a model source, the `contents` of an `.xcdatamodel`.
///
/// Ignores elements and attributes that are not part of the model itself (diagram layout, code generation) and unknown
/// ones, which newer versions of Xcode may add.
struct XCDataModelReader {
  let file: URL
  /// The warnings about ignored or corrected values.
  let warnings: ModelWarnings
  /// Counts the attributes, including elements of composite attributes.
  let attributeCount = AttributeCount()
  /// The composite types of the model by name.
  var composites: [String: XMLElementNode] = [:]

  /// Reads an `.xcdatamodel`: the package, or the XML file itself.
  static func document(
    at url: URL, warnings: ModelWarnings = ModelWarnings()
  ) throws -> ModelDocument {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
      throw ModelFileError(
        .missingFile, found: "The file does not exist.", advice: "Check the path of the model.", file: url)
    }
    let file = isDirectory.boolValue ? url.appendingPathComponent("contents") : url
    guard FileManager.default.fileExists(atPath: file.path) else {
      let isOld = FileManager.default.fileExists(atPath: url.appendingPathComponent("elements").path)
      throw ModelFileError(
        .missingContents,
        found: isOld
          ? "The model is in the undocumented format used before Xcode 4." : "The model has no contents file.",
        advice: isOld
          ? "Save it with a newer Xcode, or use the compiled model (.mom)." : "Restore it from version control.",
        file: url)
    }
    return try document(of: ModelFile.read(file), file: file, warnings: warnings)
  }

  /// Reads the XML of a model source.
  static func document(
    of data: Data, file: URL, warnings: ModelWarnings = ModelWarnings()
  ) throws -> ModelDocument {
    let root = try XMLTreeReader.root(of: data, file: file)
    guard root.name == "model" else {
      throw ModelFileError(
        .unsupportedFile, found: "The root element is <\(root.name)> instead of <model>.",
        advice: "Check that it is the contents file of an .xcdatamodel.", file: file, line: root.line)
    }
    var reader = XCDataModelReader(file: file, warnings: warnings)
    for composite in root.children("composite") {
      reader.composites[try reader.name(of: composite)] = composite
    }
    return try reader.model(root)
  }

  private func model(_ root: XMLElementNode) throws -> ModelDocument {
    var document = ModelDocument(versionIdentifiers: [root["userDefinedModelVersionIdentifier"] ?? ""])
    document.entities = try root.children("entity").map(entity)
    try document.checkDepthOfInheritance()
    document.configurations = try root.children("configuration").map { element in
      ConfigurationDocument(
        name: try name(of: element), entityNames: try element.children("memberEntity").map { try name(of: $0) })
    }
    document.fetchRequestTemplates = try root.children("fetchRequest").map { try fetchRequest($0) }
    return document
  }

  private func entity(_ element: XMLElementNode) throws -> EntityDocument {
    let name = try name(of: element)
    var entity = EntityDocument(
      name: name, parentName: element["parentEntity"], isAbstract: element.flag("isAbstract"),
      className: element["representedClassName"])
    entity.renamingIdentifier = renamingIdentifier(of: element)
    entity.versionHashModifier = element["versionHashModifier"]
    entity.userInfo = userInfo(of: element)
    entity.attributes = try element.children("attribute").map { try attribute($0, entity: name) }
    entity.relationships = try element.children("relationship").map { try relationship($0, entity: name) }
    entity.fetchedProperties = try element.children("fetchedProperty").map { try fetchedProperty($0, entity: name) }
    entity.indexes = try element.children("fetchIndex").map { try fetchIndex($0, entity: name) }
    entity.compoundIndexes = element.children("compoundIndexes").flatMap { $0.children("compoundIndex") }
      .map { $0.children("index").compactMap { $0["value"] } }
    entity.uniquenessConstraints = element.children("uniquenessConstraints")
      .flatMap { $0.children("uniquenessConstraint") }
      .map { $0.children("constraint").compactMap { $0["value"] } }
    return entity
  }

  func name(of element: XMLElementNode, entity: String? = nil) throws -> String {
    guard let name = element["name"] else {
      throw ModelFileError(
        .missingName, found: "An element <\(element.name)> has no name.", advice: "Give it one.", file: file,
        line: element.line, entity: entity)
    }
    return name
  }

  /// Xcode writes renaming identifiers as `elementID`; models written by hand may use `renamingIdentifier`.
  func renamingIdentifier(of element: XMLElementNode) -> String? {
    element["elementID"] ?? element["renamingIdentifier"]
  }

  func userInfo(of element: XMLElementNode) -> [String: PlainValue] {
    var result: [String: PlainValue] = [:]
    for entry in element.children("userInfo").flatMap({ $0.children("entry") }) {
      if let key = entry["key"] { result[key] = .string(entry.attributes["value"] ?? "") }
    }
    return result
  }

  /// Returns the integer in an attribute, or nil if it is missing.
  func integer(_ attribute: String, of element: XMLElementNode, entity: String?, property: String?) throws -> Int? {
    guard let text = element[attribute] else { return nil }
    guard let number = Int(text) else {
      throw ModelFileError(
        .unreadableValue, found: "\(attribute) is \"\(text)\", which is not an integer.", advice: "Correct it.",
        file: file, line: element.line, entity: entity, property: property)
    }
    return number
  }

  /// Parses the predicate in an attribute. An error has its location.
  func predicate(
    _ attribute: String, of element: XMLElementNode, entity: String?, property: String? = nil
  ) throws -> PredicateSyntax? {
    try parsed(attribute, of: element, entity: entity, property: property) { try PredicateParser.parse($0) }
  }

  /// Parses the expression in an attribute. An error has its location.
  func expression(
    _ attribute: String, of element: XMLElementNode, entity: String?, property: String? = nil
  ) throws -> ExpressionSyntax? {
    try parsed(attribute, of: element, entity: entity, property: property) { try PredicateParser.parseExpression($0) }
  }

  private func parsed<Tree>(
    _ attribute: String, of element: XMLElementNode, entity: String?, property: String?,
    _ parse: (String) throws -> Tree
  ) throws -> Tree? {
    guard let text = element[attribute] else { return nil }
    do {
      return try parse(text)
    } catch {
      throw ModelFileError(
        .unreadableExpression, found: "\(attribute) \"\(text)\" cannot be read: \(error).", advice: "Correct it.",
        file: file, line: element.line, entity: entity, property: property)
    }
  }
}

/// Fetch requests and fetch indexes.
extension XCDataModelReader {
  func fetchRequest(
    _ element: XMLElementNode, entity owner: String? = nil, property: String? = nil
  ) throws -> FetchRequestDocument {
    let entity = element["entity"] ?? ""
    var request = FetchRequestDocument(
      name: element["name"] ?? "", entityName: entity,
      predicate: try predicate("predicateString", of: element, entity: owner ?? entity, property: property))
    request.fetchLimit = try integer("fetchLimit", of: element, entity: entity, property: property) ?? 0
    request.fetchBatchSize = try integer("fetchBatchSize", of: element, entity: entity, property: property) ?? 0
    if let type = try integer("resultType", of: element, entity: entity, property: property) {
      request.resultType = UInt(clamping: type)
    }
    request.includesSubentities = flag(["includeSubentities", "includesSubentities"], of: element, default: true)
    request.includesPropertyValues = flag(
      ["includePropertyValues", "includesPropertyValues"], of: element, default: true)
    request.returnsObjectsAsFaults = flag(
      ["returnObjectsAsFaults", "returnsObjectsAsFaults"], of: element, default: true)
    request.returnsDistinctResults = flag(
      ["returnDistinctResults", "returnsDistinctResults"], of: element, default: false)
    request.includesPendingChanges = flag(
      ["includesPendingChanges", "includePendingChanges"], of: element, default: true)
    return request
  }

  /// Returns a flag that versions of Xcode spell differently.
  private func flag(_ names: [String], of element: XMLElementNode, default fallback: Bool) -> Bool {
    let name = names.first { element[$0] != nil } ?? names[0]
    return element.flag(name, default: fallback)
  }

  func fetchIndex(_ element: XMLElementNode, entity: String) throws -> FetchIndexDocument {
    let predicateName =
      ["partialIndexPredicate", "predicate", "predicateString"].first { element[$0] != nil } ?? "predicate"
    return FetchIndexDocument(
      name: try name(of: element, entity: entity),
      elements: try element.children("fetchIndexElement").map { part in
        let type = part["type"] ?? "Binary"
        guard ["binary", "rtree"].contains(type.lowercased()) else {
          throw ModelFileError(
            .unreadableValue, found: "The index type \"\(type)\" is unknown.",
            advice: "Known types are Binary and RTree.", file: file, line: part.line, entity: entity,
            property: part["property"])
        }
        return FetchIndexElementDocument(
          propertyName: part["property"] ?? "", expression: try expression("expression", of: part, entity: entity),
          isRTree: type.lowercased() == "rtree", isAscending: part["order"] != "descending")
      },
      partialIndexPredicate: try predicate(predicateName, of: element, entity: entity))
  }
}
