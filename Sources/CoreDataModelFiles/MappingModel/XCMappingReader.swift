// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads the source of a mapping model, the `xcmapping.xml` of an `.xcmappingmodel`, like Xcode's compiler.
///
/// The file is a Core Data XML store. If the developer gave no expression, the compiled mapping contains a default one;
/// the rules for it were derived by comparing a source with its `.cdm`.
struct XCMappingReader {
  private typealias Object = XMLStoreObjects.Object

  private let file: URL
  private let store: XMLStoreObjects
  private let source: EntityIndex
  private let destination: EntityIndex
  private let sourceHashes: [String: Data]
  private let destinationHashes: [String: Data]
  private let allowance: ReadingAllowance

  /// Reads a file. Uses the copies of the versions in the file if none are given.
  static func document(
    of data: Data, file: URL, source: ModelDocument? = nil, destination: ModelDocument? = nil
  ) throws -> MappingDocument {
    let store = try XMLStoreObjects(contentsOf: data, file: file)
    guard let model = store.all("XDDEVMAPPINGMODEL").first else {
      throw ModelFileError(
        .missingContents, found: "The file contains no mapping model.",
        advice: "Check that it is the xcmapping.xml of an .xcmappingmodel.", file: file)
    }
    let allowance = ReadingAllowance(bytes: data.count)
    let old = try source ?? versionInside("sourcemodeldata", of: model, file, allowance)
    let new = try destination ?? versionInside("destinationmodeldata", of: model, file, allowance)
    let reader = XCMappingReader(
      file: file, store: store, source: old ?? ModelDocument(), destination: new ?? ModelDocument(),
      allowance: allowance)
    var mapping = try reader.mapping(model)
    mapping.lacksModels = old == nil || new == nil
    return mapping
  }

  /// Returns the copies of the two versions in a file, or nil if there are none.
  static func versions(of data: Data, file: URL) throws -> (source: ModelDocument?, destination: ModelDocument?) {
    let allowance = ReadingAllowance(bytes: data.count)
    guard let model = try XMLStoreObjects(contentsOf: data, file: file).all("XDDEVMAPPINGMODEL").first else {
      return (nil, nil)
    }
    return (
      try versionInside("sourcemodeldata", of: model, file, allowance),
      try versionInside("destinationmodeldata", of: model, file, allowance)
    )
  }

  private init(
    file: URL, store: XMLStoreObjects, source: ModelDocument, destination: ModelDocument, allowance: ReadingAllowance
  ) {
    self.allowance = allowance
    self.file = file
    self.store = store
    self.source = EntityIndex(source)
    self.destination = EntityIndex(destination)
    sourceHashes = VersionHashes(source).entities
    destinationHashes = VersionHashes(destination).entities
  }

  private static func versionInside(
    _ key: String, of model: Object, _ file: URL, _ allowance: ReadingAllowance
  ) throws -> ModelDocument? {
    // Xcode keeps copies of both versions in the file. A file written by hand has none.
    guard let data = try binary(key, of: model, file: file), !data.isEmpty else { return nil }
    return try EditorModelReader.document(of: data, allowance: allowance)
  }

  private func mapping(_ model: Object) throws -> MappingDocument {
    // The file may still contain deleted mappings. Only those listed by the model are read.
    let listed = store.objects("entitymappings", of: model)
    let numbered = try listed.map { ($0, try number(of: $0)) }
    let entities = numbered.sorted { $0.1 < $1.1 }.map(\.0)
    var mappings = try entities.map(entityMapping)
    for (position, object) in entities.enumerated() {
      mappings[position].attributeMappings = try properties("attributemappings", of: object).map {
        try attributeMapping($0.object, name: $0.name, of: mappings[position])
      }
      mappings[position].relationshipMappings = try properties("relationshipmappings", of: object).map {
        try relationshipMapping($0.object, name: $0.name, of: mappings[position], among: mappings)
      }
    }
    return MappingDocument(
      entityMappings: mappings, sourceVersionName: versionName("sourcemodelpath", of: model),
      destinationVersionName: versionName("destinationmodelpath", of: model))
  }

  private func versionName(_ key: String, of model: Object) -> String? {
    model.attributes[key].flatMap { $0.isEmpty ? nil : ($0 as NSString).lastPathComponent }
      .map { ($0 as NSString).deletingPathExtension }
  }

  private func number(of object: Object) throws -> Int {
    guard let text = object.attributes["mappingnumber"] else { return 0 }
    guard let number = Int(text) else {
      throw ModelFileError(
        .unreadableValue, found: "mappingnumber is \"\(text)\", which is not an integer.", advice: "Correct it.",
        file: file, line: object.line)
    }
    return number
  }

  private func entityMapping(_ object: Object) throws -> EntityMappingDocument {
    func text(_ key: String) -> String? { object.attributes[key].flatMap { $0.isEmpty ? nil : $0 } }
    let (source, destination) = (text("sourcename"), text("destinationname"))
    let policy = text("migrationpolicyclassname")
    let defaultName: String
    let kind: EntityMappingKind
    switch (source, destination) {
    case (let source?, let destination?):
      defaultName = "\(source)To\(destination)"
      kind = source == destination ? .copy : .transform
    case (nil, let destination?):
      (defaultName, kind) = (destination, .add)
    case (let source?, nil):
      (defaultName, kind) = (source, .remove)
    case (nil, nil):
      throw ModelFileError(
        .missingName, found: "An entity mapping has neither a source nor a destination.", advice: "Remove it.",
        file: file, line: object.line)
    }
    var mapping = EntityMappingDocument(
      name: text("name") ?? defaultName, kind: policy == nil ? kind : .custom, sourceEntityName: source,
      destinationEntityName: destination)
    mapping.policyClassName = policy
    mapping.sourceEntityVersionHash = source.flatMap { sourceHashes[$0] }
    mapping.destinationEntityVersionHash = destination.flatMap { destinationHashes[$0] }
    mapping.sourceExpression = source.map {
      MappingExpressions.sourceObjects(entity: $0, filter: text("sourcefilterpredicatestring"))
    }
    mapping.userInfo = try userInfo(of: object)
    return mapping
  }

  /// Returns the property mappings of an entity mapping, sorted by name. Nameless ones, which the editor can leave
  /// behind, are omitted.
  private func properties(_ key: String, of object: Object) throws -> [(name: String, object: Object)] {
    store.objects(key, of: object).compactMap { property in property.attributes["name"].map { ($0, property) } }
      .filter { !$0.0.isEmpty }.sorted { $0.0 < $1.0 }
  }

  private func attributeMapping(
    _ object: Object, name: String, of mapping: EntityMappingDocument
  ) throws -> PropertyMappingDocument {
    let compiled = Self.compiledExpression(of: name, isRelationship: false, in: mapping, among: [], source: source)
    return PropertyMappingDocument(
      name: name, valueExpression: try expression(of: object) ?? compiled, userInfo: try userInfo(of: object))
  }

  private func relationshipMapping(
    _ object: Object, name: String, of mapping: EntityMappingDocument, among mappings: [EntityMappingDocument]
  ) throws -> PropertyMappingDocument {
    var result = PropertyMappingDocument(
      name: name, valueExpression: try expression(of: object), userInfo: try userInfo(of: object))
    guard result.valueExpression == nil, object.attributes["autogenerateexpression"] != "0" else { return result }
    if let named = object.attributes["sourcemappingname"], !named.isEmpty {
      result.valueExpression = MappingExpressions.destinationObjects(
        mapping: named, of: try keyPath(of: object) ?? MappingExpressions.sourceValue(name))
      return result
    }
    result.valueExpression = Self.compiledExpression(
      of: name, isRelationship: true, in: mapping, among: mappings, source: source, keyPath: try keyPath(of: object))
    return result
  }

  /// Returns the default expression that Xcode's compiler adds if the source has none.
  ///
  /// An attribute gets the value of the source attribute with the same name, if there is one. A relationship gets the
  /// objects that a mapping created from the objects at a key path, or else of the source relationship with the same
  /// name.
  static func compiledExpression(
    of name: String, isRelationship: Bool, in mapping: EntityMappingDocument, among mappings: [EntityMappingDocument],
    source: EntityIndex, keyPath: ExpressionSyntax? = nil
  ) -> ExpressionSyntax? {
    let line = mapping.sourceEntityName.map { source.lineage(of: $0) } ?? []
    guard isRelationship else {
      return line.contains { $0.attributes.contains { $0.name == name } } ? MappingExpressions.sourceValue(name) : nil
    }
    guard let relationship = line.lazy.flatMap(\.relationships).first(where: { $0.name == name }),
      let target = relationship.destinationEntityName
    else { return nil }
    // Objects of subentities have their own mappings, so only a single candidate can be named.
    let candidates = mappings.filter { candidate in
      candidate.destinationEntityName != nil
        && candidate.sourceEntityName.map { source.isKind($0, of: target) } == true
    }
    return candidates.count == 1
      ? MappingExpressions.destinationObjects(
        mapping: candidates[0].name, of: keyPath ?? MappingExpressions.sourceValue(name))
      : MappingExpressions.destinationObjects(relationship: name)
  }

  private func keyPath(of object: Object) throws -> ExpressionSyntax? {
    guard let text = object.attributes["sourcekeypath"], !text.isEmpty else { return nil }
    do {
      return try PredicateParser.parseExpression(text)
    } catch {
      throw ModelFileError(
        .unreadableExpression, found: "sourcekeypath \"\(text)\" cannot be read: \(error).", advice: "Correct it.",
        file: file, line: object.line, property: object.attributes["name"])
    }
  }

  private func expression(of object: Object) throws -> ExpressionSyntax? {
    guard let data = try Self.binary("valueexpressiondata", of: object, file: file) else { return nil }
    return try ArchivedExpressions.expression(KeyedArchive(data, allowance: allowance).root())
  }

  private func userInfo(of object: Object) throws -> [String: PlainValue] {
    guard let data = try Self.binary("userinfodata", of: object, file: file) else { return [:] }
    let archive = try KeyedArchive(data, allowance: allowance)
    var result: [String: PlainValue] = [:]
    for (key, value) in try ArchivedValues.entries(of: archive.root()) {
      result[key] = try ArchivedValues.plain(value, in: archive)
    }
    return result
  }

  private static func binary(_ key: String, of object: Object, file: URL) throws -> Data? {
    guard let text = object.attributes[key] else { return nil }
    guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
      throw ModelFileError(
        .unreadableValue, found: "\(key) is not valid base64.", advice: "Restore the file from version control.",
        file: file,
        line: object.line)
    }
    return data
  }
}

/// The objects of a Core Data XML store, by their identifiers in the file. The store's metadata is not read.
struct XMLStoreObjects {
  /// An object, with its attributes as strings and the identifiers of related objects.
  struct Object {
    let identifier: String
    let type: String
    let line: Int
    let attributes: [String: String]
    let relationships: [String: [String]]
  }

  /// The maximum number of references. A mapping model with 20,000 property mappings has a tenth of it.
  private static let maxReferenceCount = 500_000

  private let objects: [String: Object]
  private let order: [String]

  /// Reads a file.
  init(contentsOf data: Data, file: URL) throws {
    let root = try XMLTreeReader.root(of: data, file: file)
    guard root.name == "database" else {
      throw ModelFileError(
        .unsupportedFile, found: "The root element is <\(root.name)> instead of <database>.",
        advice: "Check that it is the xcmapping.xml of an .xcmappingmodel.", file: file, line: root.line)
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
          // A relationship contains each object once.
          relationships[name] = (relationship["idrefs"] ?? "").split(separator: " ").map(String.init)
            .filter { seen.insert($0).inserted }
          references += seen.count
          guard references <= Self.maxReferenceCount else {
            throw ModelFileError(
              .unsupportedFile, found: "The objects contain more than \(Self.maxReferenceCount) references.",
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

  /// Returns the objects of an entity, in file order.
  func all(_ type: String) -> [Object] {
    order.compactMap { objects[$0] }.filter { $0.type == type }
  }

  /// Returns the objects that an object refers to, except those missing from the file.
  func objects(_ relationship: String, of object: Object) -> [Object] {
    (object.relationships[relationship] ?? []).compactMap { objects[$0] }
  }
}
