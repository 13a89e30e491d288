// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads one model source, the `contents` of an `.xcdatamodel`, into a document.
///
/// Elements and attributes that say nothing about the model itself (the diagram's layout, code generation) are passed
/// over, and so is what this reader has never heard of, as Xcode adds to the format.
struct XCDataModelReader {
  let file: URL
  let parsers: SourceParsers
  /// What is passed over.
  let warnings: ModelWarnings
  /// The number of attributes read so far, elements of composite attributes included.
  let attributeCount = AttributeCount()
  /// The composite types of the model by name.
  var composites: [String: XMLElementNode] = [:]

  /// Reads an `.xcdatamodel`: the package, or the XML file itself.
  static func document(
    at url: URL, parsers: SourceParsers, warnings: ModelWarnings = ModelWarnings()
  ) throws -> ModelDocument {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw ModelFileError(
        .missingFile, found: "There is no such file.", advice: "Check the path of the model.", file: url)
    }
    let file = isFolder.boolValue ? url.appendingPathComponent("contents") : url
    guard FileManager.default.fileExists(atPath: file.path) else {
      let isOld = FileManager.default.fileExists(atPath: url.appendingPathComponent("elements").path)
      throw ModelFileError(
        .missingContents,
        found: isOld
          ? "The model is in the format before Xcode 4, which is not documented." : "The model has no contents file.",
        advice: isOld
          ? "Save it with a newer Xcode, or use the compiled model (.mom)." : "Restore it from version control.",
        file: url)
    }
    return try document(of: ModelFile.read(file), file: file, parsers: parsers, warnings: warnings)
  }

  /// Reads the XML of a model source.
  static func document(
    of data: Data, file: URL, parsers: SourceParsers, warnings: ModelWarnings = ModelWarnings()
  ) throws -> ModelDocument {
    let root = try XMLTreeReader.root(of: data, file: file)
    guard root.name == "model" else {
      throw ModelFileError(
        .unsupportedFile, found: "The XML holds <\(root.name)> where <model> was expected.",
        advice: "Is it the contents file of an .xcdatamodel?", file: file, line: root.line)
    }
    var reader = XCDataModelReader(file: file, parsers: parsers, warnings: warnings)
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

  /// Xcode writes renaming identifiers as `elementID`; models written by hand also say `renamingIdentifier`.
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

  /// A whole number in an attribute; nil where the attribute is absent.
  func integer(_ attribute: String, of element: XMLElementNode, entity: String?, property: String?) throws -> Int? {
    guard let text = element[attribute] else { return nil }
    guard let number = Int(text) else {
      throw ModelFileError(
        .unreadableValue, found: "\(attribute) is \"\(text)\", which is not a whole number.", advice: "Correct it.",
        file: file, line: element.line, entity: entity, property: property)
    }
    return number
  }

  /// Parses a predicate, and tells where it stands if that fails.
  func predicate(
    _ attribute: String, of element: XMLElementNode, entity: String?, property: String? = nil
  ) throws -> PredicateSyntax? {
    try parsed(attribute, of: element, entity: entity, property: property, parsers.predicate)
  }

  /// Parses an expression, and tells where it stands if that fails.
  func expression(
    _ attribute: String, of element: XMLElementNode, entity: String?, property: String? = nil
  ) throws -> ExpressionSyntax? {
    try parsed(attribute, of: element, entity: entity, property: property, parsers.expression)
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
