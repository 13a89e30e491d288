// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A model with 120 versions of about 20 entities with about 15 properties each, in the form of Xcode's sources.
///
/// Every version adds an attribute; some rename or drop one, or add an entity, as models do over the years.
enum VersionedModel {
  static let versionCount = 120

  /// Names the versions like Xcode: `Model`, `Model 2`, and so on.
  static func name(_ version: Int) -> String { version == 1 ? "Model" : "Model \(version)" }

  /// Writes an `.xcdatamodeld` whose last version is the current one.
  static func write(to url: URL) throws {
    let files = FileManager.default
    var entities = (0..<18).map { Entity(number: $0) }
    for version in 1...versionCount {
      if version > 1 { advance(&entities, to: version) }
      let package = url.appendingPathComponent("\(name(version)).xcdatamodel", isDirectory: true)
      try files.createDirectory(at: package, withIntermediateDirectories: true)
      try Data(text(of: entities).utf8).write(to: package.appendingPathComponent("contents"))
    }
    let mark = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0">
      <dict><key>_XCCurrentVersionName</key><string>\(name(versionCount)).xcdatamodel</string></dict>
      </plist>

      """
    try Data(mark.utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
  }

  private struct Attribute {
    var name: String
    let type: String
    var oldName: String?
  }

  private struct Entity {
    let number: Int
    var attributes: [Attribute]

    init(number: Int) {
      self.number = number
      let types = VersionedModel.types
      attributes = (0..<10).map { Attribute(name: "value\($0)", type: types[$0 % types.count]) }
    }

    var name: String { "Entity\(number)" }
  }

  private static let types = ["String", "Integer 64", "Double", "Date", "Boolean", "Binary"]

  private static func advance(_ entities: inout [Entity], to version: Int) {
    let position = (version * 7) % entities.count
    for entity in entities.indices {
      for attribute in entities[entity].attributes.indices { entities[entity].attributes[attribute].oldName = nil }
    }
    entities[position].attributes.append(Attribute(name: "added\(version)", type: types[version % types.count]))
    if version % 5 == 0 {
      let old = entities[position].attributes[1].name
      entities[position].attributes[1].name = "renamed\(version)"
      entities[position].attributes[1].oldName = old
    }
    if version % 10 == 0 { entities[(position + 1) % entities.count].attributes.removeFirst() }
    if version % 30 == 0 { entities.append(Entity(number: entities.count)) }
  }

  private static func text(of entities: [Entity]) -> String {
    var lines = [
      #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#,
      #"<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" "#
        + #"systemVersion="23A344" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="">"#,
    ]
    for (position, entity) in entities.enumerated() {
      lines.append(
        "    <entity name=\"\(entity.name)\" representedClassName=\"\(entity.name)\" syncable=\"YES\" "
          + "codeGenerationType=\"class\">")
      for attribute in entity.attributes {
        let scalar = attribute.type == "Boolean" ? " usesScalarValueType=\"YES\"" : ""
        let old = attribute.oldName.map { " elementID=\"\($0)\"" } ?? ""
        lines.append(
          "        <attribute name=\"\(attribute.name)\" optional=\"YES\" attributeType=\"\(attribute.type)\""
            + "\(scalar)\(old)/>")
      }
      let (next, previous) = ((position + 1) % entities.count, (position + entities.count - 1) % entities.count)
      lines.append(relationship("next", to: entities[next].name, inverse: "previous", isToMany: false))
      lines.append(relationship("previous", to: entities[previous].name, inverse: "next", isToMany: true))
      lines.append("    </entity>")
    }
    return (lines + ["</model>", ""]).joined(separator: "\n")
  }

  private static func relationship(_ name: String, to entity: String, inverse: String, isToMany: Bool) -> String {
    "        <relationship name=\"\(name)\" optional=\"YES\" \(isToMany ? "toMany=\"YES\"" : "maxCount=\"1\"") "
      + "deletionRule=\"Nullify\" destinationEntity=\"\(entity)\" inverseName=\"\(inverse)\" inverseEntity=\"\(entity)\"/>"
  }
}
