// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Writes the source of a mapping model, the `xcmapping.xml` of an `.xcmappingmodel`: a Core Data XML store, formatted
/// like that of Xcode's mapping editor.
struct XCMappingWriter {
  /// The two versions of a mapping model, with the paths where Xcode looks for them.
  struct Versions {
    let source: ModelDocument
    let destination: ModelDocument
    var sourcePath: String
    var destinationPath: String
  }

  private struct Object {
    let type: String
    var attributes: [(name: String, type: String, value: String)] = []
    var relationships: [(name: String, isToMany: Bool, destination: String, objects: [Int])] = []
  }

  private let versions: Versions
  private var objects: [Object] = []

  /// Returns the file for a document.
  ///
  /// - Throws: `ModelFileError` if the document contains something that a source cannot express.
  static func data(of document: MappingDocument, versions: Versions) throws -> Data {
    // Inferred mappings use `valueForKey:`, where the editor uses equivalent key paths.
    var document = document
    for position in document.entityMappings.indices {
      for index in document.entityMappings[position].attributeMappings.indices {
        document.entityMappings[position].attributeMappings[index].valueExpression?.useKeyPaths()
      }
      for index in document.entityMappings[position].relationshipMappings.indices {
        document.entityMappings[position].relationshipMappings[index].valueExpression?.useKeyPaths()
      }
    }
    var plain = XCMappingWriter(versions: versions)
    // Only expressions that the compiler would not add by itself are written.
    let text = try plain.text(of: document)
    let data = Data(text.utf8)
    let back = try XCMappingReader.document(
      of: data, file: URL(fileURLWithPath: "xcmapping.xml"), source: versions.source, destination: versions.destination)
    try check(back, document)
    return data
  }

  /// Throws an error if the source would be read as a different mapping model.
  private static func check(_ back: MappingDocument, _ document: MappingDocument) throws {
    for (written, wanted) in zip(back.entityMappings, document.entityMappings) {
      func inexpressible(_ what: String, _ property: String? = nil) -> ModelFileError {
        ModelFileError(
          .unreadableValue,
          found: "A mapping model source cannot express \(what) of the entity mapping \(wanted.name).",
          advice: "Write a compiled mapping model (.cdm) or a text (.mapping) instead.",
          entity: wanted.destinationEntityName,
          property: property)
      }
      guard written.name == wanted.name else { throw inexpressible("the name") }
      // A source distinguishes copies from transformations only by entity names. Either is defined by its property
      // mappings.
      let copies: Set<EntityMappingKind> = [.copy, .transform]
      guard written.kind == wanted.kind || copies.isSuperset(of: [written.kind, wanted.kind]) else {
        throw inexpressible("the type \"\(wanted.kind.word)\"")
      }
      // The source expression of a removed entity does not matter.
      guard wanted.destinationEntityName == nil || written.sourceExpression == wanted.sourceExpression else {
        throw inexpressible("the source expression")
      }
      guard written.userInfo == wanted.userInfo else { throw inexpressible("the user info") }
      let pairs = [
        (written.attributeMappings, wanted.attributeMappings),
        (written.relationshipMappings, wanted.relationshipMappings),
      ]
      for (found, given) in pairs {
        let found = Dictionary(found.map { ($0.name, $0) }) { first, _ in first }
        for property in given where found[property.name] != property {
          throw inexpressible("the value of \(property.name)", property.name)
        }
      }
    }
  }

  private init(versions: Versions) { self.versions = versions }

  private mutating func text(of document: MappingDocument) throws -> String {
    let model = add("XDDEVMAPPINGMODEL")
    var entities: [Int] = []
    for (position, mapping) in document.entityMappings.enumerated() {
      entities.append(try entityMapping(mapping, number: position + 1, of: model, in: document))
    }
    objects[model].attributes = [
      ("sourcemodelpath", "string", versions.sourcePath),
      ("sourcemodeldata", "binary", base64(EditorModelWriter.archive(of: versions.source))),
      ("destinationmodelpath", "string", versions.destinationPath),
      ("destinationmodeldata", "binary", base64(EditorModelWriter.archive(of: versions.destination))),
    ]
    objects[model].relationships = [("entitymappings", true, "XDDEVENTITYMAPPING", entities)]
    return Self.head(nextIdentifier: objects.count + 102) + objects.enumerated().map(element).joined() + "</database>\n"
  }

  private mutating func add(_ type: String) -> Int {
    objects.append(Object(type: type))
    return objects.count - 1
  }

  private mutating func entityMapping(
    _ mapping: EntityMappingDocument, number: Int, of model: Int, in document: MappingDocument
  ) throws -> Int {
    let place = add("XDDEVENTITYMAPPING")
    var attributes: [(name: String, type: String, value: String)] = []
    func set(_ name: String, _ value: String?, as type: String = "string") {
      if let value { attributes.append((name, type, value)) }
    }
    set("sourcename", mapping.sourceEntityName)
    if !mapping.userInfo.isEmpty { set("userinfodata", base64(try archive(mapping.userInfo)), as: "binary") }
    if mapping.name != Self.defaultName(of: mapping) { set("name", mapping.name) }
    set("mappingtypename", "Undefined")
    set("mappingnumber", "\(number)", as: "int16")
    set("migrationpolicyclassname", mapping.policyClassName)
    set("sourcefilterpredicatestring", mapping.filter)
    set("destinationname", mapping.destinationEntityName)
    set("autogenerateexpression", "1", as: "bool")
    objects[place].attributes = attributes
    let listed = try mapping.attributeMappings.map {
      try propertyMapping($0, isRelationship: false, of: place, mapping, in: document)
    }
    let related = try mapping.relationshipMappings.map {
      try propertyMapping($0, isRelationship: true, of: place, mapping, in: document)
    }
    objects[place].relationships = [
      ("mappingmodel", false, "XDDEVMAPPINGMODEL", [model]),
      ("attributemappings", true, "XDDEVATTRIBUTEMAPPING", listed),
      ("relationshipmappings", true, "XDDEVRELATIONSHIPMAPPING", related),
    ]
    return place
  }

  /// Returns the name of a mapping whose source has none.
  private static func defaultName(of mapping: EntityMappingDocument) -> String {
    switch (mapping.sourceEntityName, mapping.destinationEntityName) {
    case (let source?, let destination?): "\(source)To\(destination)"
    case (let only?, nil), (nil, let only?): only
    case (nil, nil): ""
    }
  }

  private mutating func propertyMapping(
    _ property: PropertyMappingDocument, isRelationship: Bool, of mapping: Int, _ owner: EntityMappingDocument,
    in document: MappingDocument
  ) throws -> Int {
    let place = add(isRelationship ? "XDDEVRELATIONSHIPMAPPING" : "XDDEVATTRIBUTEMAPPING")
    var attributes: [(name: String, type: String, value: String)] = []
    let compiled = XCMappingReader.compiledExpression(
      of: property.name, isRelationship: isRelationship, in: owner, among: document.entityMappings,
      source: EntityIndex(versions.source))
    if isRelationship, property.valueExpression != compiled,
      let named = Self.namedMapping(property.valueExpression, property.name)
    {
      if let path = named.keyPath { attributes.append(("sourcekeypath", "string", path)) }
      attributes.append(("sourcemappingname", "string", named.mapping))
    } else if property.valueExpression != compiled, let expression = property.valueExpression {
      var builder = KeyedArchiveBuilder()
      let root = try builder.expression(expression)
      attributes.append(("valueexpressiondata", "binary", base64(builder.data(root: root))))
    }
    if !property.userInfo.isEmpty {
      attributes.append(("userinfodata", "binary", base64(try archive(property.userInfo))))
    }
    attributes.append(("name", "string", property.name))
    if isRelationship {
      // Without this mark the compiler adds an expression to a relationship.
      let isLeftAlone = property.valueExpression == nil && compiled != nil
      attributes.append(("autogenerateexpression", "bool", isLeftAlone ? "0" : "1"))
    }
    objects[place].attributes = attributes
    objects[place].relationships = [("entitymapping", false, "XDDEVENTITYMAPPING", [mapping])]
    return place
  }

  /// Returns the mapping and key path, for which the editor has fields, of an expression that requests the objects
  /// created by a mapping; nil for other expressions.
  private static func namedMapping(
    _ expression: ExpressionSyntax?, _ name: String
  ) -> (mapping: String, keyPath: String?)? {
    guard case .function(_, _, let arguments)? = expression, arguments.count == 2,
      case .constant(.string(let mapping)) = arguments[0], !mapping.isEmpty,
      expression == MappingExpressions.destinationObjects(mapping: mapping, of: arguments[1])
    else { return nil }
    if arguments[1] == MappingExpressions.sourceValue(name) { return (mapping, nil) }
    let path = PredicatePrinter().format(arguments[1])
    // The format must parse back to the expression.
    return (try? PredicateParser.parseExpression(path)) == arguments[1] ? (mapping, path) : nil
  }

  private func archive(_ userInfo: [String: PlainValue]) throws -> Data {
    var builder = KeyedArchiveBuilder()
    let root = try builder.plain(.dictionary(userInfo))
    return builder.data(root: root)
  }

  private func base64(_ data: Data) -> String {
    data.base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]) + "\n"
  }

  // MARK: XML

  private func element(_ position: Int, _ object: Object) -> String {
    var text = "    <object type=\"\(object.type)\" id=\"z\(position + 102)\">\n"
    for attribute in object.attributes {
      text +=
        "        <attribute name=\"\(attribute.name)\" type=\"\(attribute.type)\">"
        + "\(XMLOutput.escapedText(attribute.value))</attribute>\n"
    }
    for relationship in object.relationships {
      let references = relationship.objects.map { "z\($0 + 102)" }.joined(separator: " ")
      text +=
        "        <relationship name=\"\(relationship.name)\" type=\"\(relationship.isToMany ? "0/0" : "1/1")\" "
        + "destination=\"\(relationship.destination)\"\(references.isEmpty ? "" : " idrefs=\"\(references)\"")>"
        + "</relationship>\n"
    }
    return text + "    </object>\n"
  }

  /// Returns the header of all mapping models made by Xcode. The hashes are those of the editor's own model.
  private static func head(nextIdentifier: Int) -> String {
    let hashes = [
      ("XDDevAttributeMapping", "0plcXXRN7XHKl5CcF+fwriFmUpON3ZtcI/AfK748aWc="),
      ("XDDevEntityMapping", "qeN1Ym3TkWN1G6dU9RfX6Kd2ccEvcDVWHpd3LpLgboI="),
      ("XDDevMappingModel", "EqtMzvRnVZWkXwBHu4VeVGy8UyoOe+bi67KC79kphlQ="),
      ("XDDevPropertyMapping", "XN33V44TTGY4JETlMoOB5yyTKxB+u4slvDIinv0rtGA="),
      ("XDDevRelationshipMapping", "akYY9LhehVA/mCb4ATLWuI9XGLcjpm14wWL1oEBtIcs="),
    ].map { name, hash in
      """
                              <key>\(name)</key>
                              <data>
      \t\t\(hash)
      \t\t</data>

      """
    }.joined()
    return """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
          <databaseInfo>
              <version>134481920</version>
              <UUID>\(UUID().uuidString)</UUID>
              <nextObjectID>\(nextIdentifier)</nextObjectID>
              <metadata>
                  <plist version="1.0">
                      <dict>
                          <key>NSPersistenceFrameworkVersion</key>
                          <integer>977</integer>
                          <key>NSStoreModelVersionHashes</key>
                          <dict>
      \(hashes)                    </dict>
                          <key>NSStoreModelVersionHashesDigest</key>
                          <string>+Hmc2uYZK6og+Pvx5GUJ7oW75UG4V/ksQanTjfTKUnxyGWJRMtB5tIRgVwGsrd7lz/QR57++wbvWsr6nxwyS0A==</string>
                          <key>NSStoreModelVersionHashesVersion</key>
                          <integer>3</integer>
                          <key>NSStoreModelVersionIdentifiers</key>
                          <array>
                              <string></string>
                          </array>
                      </dict>
                  </plist>
              </metadata>
          </databaseInfo>

      """
  }
}

extension ExpressionSyntax {
  /// Replaces calls of `valueForKey:` with a constant key by key paths.
  fileprivate mutating func useKeyPaths() {
    guard case .function(let operand, let name, var arguments) = self else { return }
    if let operand, name == "valueForKey:", arguments.count == 1, case .constant(.string(let key)) = arguments[0],
      !key.contains(".")
    {
      self = .keyPathOf(operand, key)
      return
    }
    for index in arguments.indices { arguments[index].useKeyPaths() }
    self = .function(operand: operand, name: name, arguments: arguments)
  }
}
