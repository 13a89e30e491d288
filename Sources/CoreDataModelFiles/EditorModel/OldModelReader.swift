// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads the `elements` file of an `.xcdatamodel` from before Xcode 4.
///
/// It is a keyed archive, either of the editor's own classes, like the models in an `.xcmappingmodel`, or of a compiled
/// model. The editor's objects are converted to the XML elements that newer versions of Xcode write for them.
struct OldModelReader {
  private let editor: EditorModelReader
  private let file: URL
  private let warnings: ModelWarnings

  /// Returns the file of an `.xcdatamodel` that has only the old format; nil for any other.
  static func file(of package: URL) -> URL? {
    let (newer, older) = (package.appendingPathComponent("contents"), package.appendingPathComponent("elements"))
    let files = FileManager.default
    return !files.fileExists(atPath: newer.path) && files.fileExists(atPath: older.path) ? older : nil
  }

  /// Reads a file.
  ///
  /// - Throws: `ModelFileError`.
  static func document(at url: URL, warnings: ModelWarnings) throws -> ModelDocument {
    let data = try ModelFile.read(url)
    do {
      let archive = try Self.archive(data)
      if try archive.root().className == "NSManagedObjectModel" {
        return try CompiledModelReader.document(of: data, file: url, warnings: warnings)
      }
      let reader = OldModelReader(editor: EditorModelReader(archive: archive), file: url, warnings: warnings)
      return try XCDataModelReader.document(of: reader.model(), file: url, warnings: warnings)
    } catch let failure as ArchiveFailure {
      throw ModelFileError(
        .missingContents,
        found: "The model is in the format used before Xcode 4, and its elements file cannot be read. \(failure.found)",
        advice: "Save it with a newer Xcode, or use the compiled model (.mom).", file: url)
    } catch var error as ModelFileError {
      // The converted elements have no line numbers.
      if error.line == 0 { error.line = nil }
      throw error.inFile(url)
    }
  }

  private static func archive(_ data: Data) throws -> KeyedArchive {
    do {
      return try KeyedArchive(data)
    } catch let error as ModelFileError {
      throw ArchiveFailure(kind: .notAnArchive, found: error.found)
    }
  }

  private var archive: KeyedArchive { editor.archive }

  private func element(
    _ name: String, _ attributes: [String: String?], _ children: [XMLElementNode] = []
  ) -> XMLElementNode {
    XMLElementNode(name: name, line: 0, attributes: attributes.compactMapValues { $0 }, children: children)
  }

  private func model() throws -> XMLElementNode {
    let root = try archive.root()
    guard root.className == "XDPMModel" else { throw ArchiveFailure.unknownClass(root.className, "an editor's model") }
    let classes = try root.object("_xd_rootPackage")?.entries("XDBucketForClassesstorage") ?? []
    if try !root.entries("_configurationsByName").isEmpty { note("Its configurations are not read.") }
    return element(
      "model", ["userDefinedModelVersionIdentifier": try root.string("_modelVersionIdentifier")],
      try classes.sorted { $0.key < $1.key }.map { try entity($0.value, name: $0.key) })
  }

  /// Adds a warning about an omitted part, whose archived form is not known from any file.
  private func note(_ found: String, entity: String? = nil) {
    warnings.add(
      ModelFileError(
        .unreadableValue, found: "The model is in the format used before Xcode 4. \(found)",
        advice: "Save it with a newer Xcode, or use the compiled model (.mom).", file: file, entity: entity))
  }

  private func entity(_ value: ArchiveValue, name: String) throws -> XMLElementNode {
    guard let object = try archive.object(value) else { throw ArchiveFailure.broken("The entity \(name) is missing.") }
    let facts = try editor.facts(of: object)
    var children: [XMLElementNode] = []
    for (key, value) in try object.entries("XDBucketForOwnedAttributesstorage").sorted(by: { $0.key < $1.key }) {
      guard let property = try archive.object(value) else {
        throw ArchiveFailure.broken("The property \(key) is missing.")
      }
      switch property.className {
      case "XDPMAttribute": children.append(try attribute(property, name: key))
      case "XDPMRelationship": children.append(try relationship(property, name: key))
      default: note("Its fetched property \(key) is not read.", entity: name)
      }
    }
    let requests = try facts["XD_PSK_fetchRequestsArray"].flatMap { try archive.object($0) }
    if try !(requests.map(ArchivedValues.elements) ?? []).isEmpty {
      note("Its fetch requests are not read.", entity: name)
    }
    return element(
      "entity",
      [
        "name": name, "parentEntity": try editor.parentName(of: object),
        "isAbstract": try yes("XD_PSK_isAbstract", facts),
        "representedClassName": try editor.text("XD_PSK_entityClassName", facts),
        "elementID": try editor.text("XD_PSK_elementID", facts),
        "versionHashModifier": try editor.text("XD_PSK_versionHashModifier", facts),
      ], children + (try constraints(facts)) + (try userInfo("XD_PSK_userInfo", facts)))
  }

  private func constraints(_ facts: [String: ArchiveValue]) throws -> [XMLElementNode] {
    let constraints = try editor.constraints(facts["XDPMUniquenessConstraints"]).map { names in
      element("uniquenessConstraint", [:], names.map { element("constraint", ["value": $0]) })
    }
    return constraints.isEmpty ? [] : [element("uniquenessConstraints", [:], constraints)]
  }

  private func attribute(_ object: ArchivedObject, name: String) throws -> XMLElementNode {
    try archive.charge(ArchivedProperties.cost)
    let facts = try editor.facts(of: object)
    let code = try editor.integer("XD_PAttK_attributeType", facts) ?? 0
    guard let kind = UInt32(exactly: code).flatMap(AttributeKind.init(rawValue:)) else {
      throw ArchiveFailure(kind: .unknownAttributeType, found: "The type \(code) of the attribute \(name) is unknown.")
    }
    var attributes = try shared(facts)
    attributes["name"] = name
    attributes["attributeType"] = kind.sourceName
    attributes[kind == .date ? "defaultDateTimeInterval" : "defaultValueString"] =
      try value("XD_PAttK_defaultValueAsString", facts) ?? value("XD_PAttK_defaultValue", facts)
    attributes["minValueString"] = try value("XD_PAttK_minValueString", facts)
    attributes["maxValueString"] = try value("XD_PAttK_maxValueString", facts)
    attributes["regularExpressionString"] = try editor.text("XD_PAttK_regularExpressionString", facts)
    attributes["valueTransformerName"] = try editor.text("XD_PAttK_valueTransformerName", facts)
    attributes["preserveAfterDeletion"] = try yes("XD_PAttK_preserveAfterDeletion", facts)
    attributes["allowsExternalBinaryDataStorage"] = try yes("XD_PAttK_allowsExternalBinaryDataStorage", facts)
    return element("attribute", attributes, try userInfo("XD_PPSK_userInfo", facts))
  }

  private func relationship(_ object: ArchivedObject, name: String) throws -> XMLElementNode {
    try archive.charge(ArchivedProperties.cost)
    let facts = try editor.facts(of: object)
    var attributes = try shared(facts)
    attributes["name"] = name
    attributes["destinationEntity"] = try target("XD_PRK_destination", facts)
    attributes["inverseName"] = try target("XD_PRK_inverseRelationship", facts)
    attributes["toMany"] = try yes("XD_PRK_isToMany", facts)
    attributes["ordered"] = try yes("XD_PRK_ordered", facts)
    for (key, fact) in [("minCount", "XD_PRK_minCount"), ("maxCount", "XD_PRK_maxCount")] {
      attributes[key] = try editor.integer(fact, facts).map { String($0) }
    }
    if let code = try editor.integer("XD_PRK_deleteRule", facts) {
      guard let rule = DeleteRuleKind.allCases.first(where: { Int64($0.rawValue) == code }) else {
        throw ArchiveFailure.broken("The delete rule \(code) of the relationship \(name) is unknown.")
      }
      attributes["deletionRule"] = rule.sourceName
    }
    return element("relationship", attributes, try userInfo("XD_PPSK_userInfo", facts))
  }

  private func shared(_ facts: [String: ArchiveValue]) throws -> [String: String?] {
    [
      "optional": try yes("XD_PPSK_isOptional", facts), "transient": try yes("XD_PPSK_isTransient", facts),
      "indexed": try yes("XD_PPSK_isIndexed", facts), "elementID": try editor.text("XD_PPSK_elementID", facts),
      "versionHashModifier": try editor.text("XD_PPSK_versionHashModifier", facts),
    ]
  }

  private func yes(_ key: String, _ facts: [String: ArchiveValue]) throws -> String? {
    try editor.flag(key, facts) ? "YES" : nil
  }

  private func target(_ key: String, _ facts: [String: ArchiveValue]) throws -> String? {
    try facts[key].flatMap { try archive.object($0) }?.string("_name")
  }

  /// Returns a string, or a number as a string; nil if the value is missing, empty or an object.
  private func value(_ key: String, _ facts: [String: ArchiveValue]) throws -> String? {
    switch try archive.resolved(facts[key]) {
    case .string(let text)?: return text.isEmpty ? nil : text
    case .integer(let number)?: return String(number)
    case .real(let number)?: return String(number)
    case .boolean(let flag)?: return flag ? "YES" : "NO"
    default: return nil
    }
  }

  private func userInfo(_ key: String, _ facts: [String: ArchiveValue]) throws -> [XMLElementNode] {
    let entries = try facts[key].flatMap { try archive.object($0) }.map(ArchivedValues.entries) ?? []
    let texts = try entries.sorted { $0.key < $1.key }.compactMap { entry in
      try ArchivedValues.string(entry.value, in: archive).map { element("entry", ["key": entry.key, "value": $0]) }
    }
    return texts.isEmpty ? [] : [element("userInfo", [:], texts)]
  }
}
