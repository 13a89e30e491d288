// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The objects of a Core Data XML store, by the identifiers that the file gives them.
///
/// Only what the objects hold is read, not what the store's metadata say.
struct XMLStoreObjects {
  /// One object: texts of attributes, and identifiers of the objects at the other ends of relationships.
  struct Object {
    let identifier: String
    let type: String
    let line: Int
    let attributes: [String: String]
    let relationships: [String: [String]]
  }

  /// A mapping model with 20,000 property mappings has a tenth of it.
  private static let mostReferences = 500_000

  private let objects: [String: Object]
  private let order: [String]

  /// Reads a file.
  init(contentsOf data: Data, file: URL) throws {
    let root = try XMLTreeReader.root(of: data, file: file)
    guard root.name == "database" else {
      throw ModelFileError(
        .unsupportedFile, found: "The XML holds <\(root.name)> where <database> was expected.",
        advice: "Is it the xcmapping.xml of an .xcmappingmodel?", file: file, line: root.line)
    }
    var objects: [String: Object] = [:]
    var order: [String] = []
    var references = 0
    for element in root.children("object") {
      guard let identifier = element["id"], let type = element["type"] else {
        throw ModelFileError(
          .brokenXML, found: "An <object> has no id or no type.", advice: "Restore the file from version control.",
          file: file, line: element.line)
      }
      var attributes: [String: String] = [:]
      for attribute in element.children("attribute") {
        if let name = attribute["name"] { attributes[name] = attribute.text }
      }
      var relationships: [String: [String]] = [:]
      for relationship in element.children("relationship") {
        if let name = relationship["name"] {
          var seen: Set<String> = []
          // A relationship holds each object once.
          relationships[name] = (relationship["idrefs"] ?? "").split(separator: " ").map(String.init)
            .filter { seen.insert($0).inserted }
          references += seen.count
          guard references <= Self.mostReferences else {
            throw ModelFileError(
              .unsupportedFile, found: "The objects refer to more than \(Self.mostReferences) others.",
              advice: "Save the mapping model with Xcode again.", file: file, line: relationship.line)
          }
        }
      }
      let object = Object(
        identifier: identifier, type: type, line: element.line, attributes: attributes, relationships: relationships)
      if objects.updateValue(object, forKey: identifier) == nil { order.append(identifier) }
    }
    self.objects = objects
    self.order = order
  }

  /// The objects of an entity, in the order of the file.
  func all(_ type: String) -> [Object] {
    order.compactMap { objects[$0] }.filter { $0.type == type }
  }

  /// The objects that one refers to; those which are not in the file are passed over.
  func objects(_ relationship: String, of object: Object) -> [Object] {
    (object.relationships[relationship] ?? []).compactMap { objects[$0] }
  }
}
