// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension XMLStoreDocument {
  /// The maximum file size in bytes.
  package static let largest = 1 << 30
  private static let limits = XMLLimits(bytes: largest, elements: 100_000_000)

  /// Reads an XML store.
  ///
  /// - Throws: `ModelFileError` with the line and what was found there.
  package init(contentsOf data: Data, file: URL) throws {
    let root = try XMLTreeReader.root(of: data, file: file, limits: Self.limits)
    guard root.name == "database", let info = root.children("databaseInfo").first else {
      throw Self.broken("The file has no <database> with a <databaseInfo>.", root, file)
    }
    guard let uuid = info.children("UUID").first?.text, !uuid.isEmpty else {
      throw Self.broken("The store has no <UUID>.", info, file)
    }
    self.uuid = uuid
    metadata = try Self.metadata(info, file)
    var objects: [Object] = []
    var numbers: Set<Int64> = []
    var last = info.children("nextObjectID").first.flatMap { Int64($0.text) } ?? Self.numberBeforeFirst
    for element in root.children("object") {
      let object = try Self.object(element, file)
      guard numbers.insert(object.number).inserted else {
        throw Self.broken("There are two objects with the id \"z\(object.number)\".", element, file)
      }
      last = max(last, object.number)
      objects.append(object)
    }
    self.objects = objects
    lastNumber = last
  }

  private static func broken(_ found: String, _ element: XMLElementNode, _ file: URL) -> ModelFileError {
    ModelFileError(
      .brokenXML, found: "Line \(element.line): \(found)", advice: "Restore the store from a backup.", file: file,
      line: element.line)
  }

  private static func metadata(_ info: XMLElementNode, _ file: URL) throws -> [String: Any] {
    guard let metadata = info.children("metadata").first else {
      throw broken("The store has no <metadata>.", info, file)
    }
    // Programs that use Apple's framework have written stores without metadata.
    if metadata.children.isEmpty, metadata.text.allSatisfy(\.isWhitespace) { return [:] }
    guard let list = metadata.children("plist").first else {
      throw broken("The <metadata> has no <plist>.", metadata, file)
    }
    do {
      guard case .dictionary(let entries) = try XMLPropertyList.value(ofRoot: list, limits: .metadata) else {
        throw broken("The metadata is not a dictionary.", list, file)
      }
      return try entries.mapValues { try $0.foundationValue() }
    } catch let failure as ArchiveFailure {
      throw broken("The metadata cannot be read. \(failure.found)", list, file)
    }
  }

  private static func object(_ element: XMLElementNode, _ file: URL) throws -> Object {
    guard let type = element["type"], let id = element["id"], let number = number(id) else {
      throw broken("An <object> has no type, or no id such as \"z102\".", element, file)
    }
    var object = Object(type: type, number: number, line: element.line)
    for child in element.children {
      guard let name = child["name"] else { throw broken("A <\(child.name)> has no name.", child, file) }
      switch child.name {
      case "attribute":
        object.attributes.append(
          Attribute(name: name, type: child["type"] ?? "", text: XMLStoreText.unescaped(child.text)))
      case "relationship":
        let objects = try (child["idrefs"] ?? "").split(whereSeparator: \.isWhitespace).map { text in
          guard let number = Self.number(String(text)) else {
            throw broken("\"\(text.prefix(40))\" is not a reference such as \"z102\".", child, file)
          }
          return number
        }
        object.relationships.append(
          Relationship(
            name: name, isToMany: child["type"] != "1/1", destination: child["destination"] ?? "", objects: objects))
      default: throw broken("An object contains a <\(child.name.prefix(40))>.", child, file)
      }
    }
    return object
  }

  private static func number(_ text: String) -> Int64? {
    guard text.hasPrefix("z"), let number = Int64(text.dropFirst()), number > 0 else { return nil }
    return number
  }
}
