// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The Swift source of a SwiftData schema with the version hashes of a model, such as the one in a shipped store.
///
/// The types of an app that a model does not name, such as the enum whose raw values are stored, are declared inside the
/// schema, with comments that say what was guessed.
package struct GeneratedSchema {
  /// The source.
  package private(set) var text = ""
  /// Sentences about parts of the model that SwiftData cannot express, or that were not generated.
  package private(set) var remarks: [String] = []

  private let document: ModelDocument
  private let index: EntityIndex
  private var types: SchemaTypes
  private let relationships: SchemaRelationships

  /// Generates a source.
  ///
  /// - Parameters:
  ///   - document: a valid model.
  ///   - name: the name of the schema; nil for one by its version, such as `SchemaV1`.
  ///   - origin: the name of the model's file.
  package init(_ document: ModelDocument, name: String? = nil, origin: String) {
    self.document = document
    index = EntityIndex(document)
    types = SchemaTypes(document)
    relationships = SchemaRelationships(document)
    let version = Self.version(document.versionIdentifiers)
    let name = name ?? "SchemaV\(version?.first ?? 1)"
    if version == nil {
      remarks.append("The model has no version such as 1.0.0; 1.0.0 is written.")
    }
    write(name, version ?? [1, 0, 0], origin)
    remarks += relationships.remarks
  }

  /// Returns the numbers of the first version identifier that is a version of a schema.
  private static func version(_ identifiers: [String]) -> [Int]? {
    for identifier in identifiers {
      let numbers = identifier.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
      if numbers.count == 3, !numbers.contains(nil) { return numbers.compactMap { $0 } }
    }
    return nil
  }

  private mutating func write(_ name: String, _ version: [Int], _ origin: String) {
    let classes = document.entities.filter { entity in
      guard SwiftName.declared(entity.name) != nil else {
        remarks.append("\(entity.name): the name is not valid for a class in Swift.")
        return false
      }
      return true
    }
    var lines = [
      "// Written from the model of \(SwiftName.inComment(origin)) by coredata model generate --swiftdata.", "",
      "import Foundation", "import SwiftData", "",
      "/// A version of the app's models as it was shipped. Do not edit it afterwards: stores of it exist.",
      "enum \(name): VersionedSchema {",
      "  static let versionIdentifier = Schema.Version(\(version.map(String.init).joined(separator: ", ")))",
    ]
    lines += Self.list(
      "  static var models: [any PersistentModel.Type] {", classes.map { "\(SwiftName.declared($0.name) ?? "").self" })
    for entity in classes { lines += [""] + declaration(of: entity).map { $0.isEmpty ? "" : "  " + $0 } }
    for type in types.declared { lines += [""] + type.map { $0.isEmpty ? "" : "  " + $0 } }
    lines.append("}")
    text = lines.joined(separator: "\n") + "\n"
  }

  /// Returns a computed property with a list of values, wrapped if it is long.
  private static func list(_ head: String, _ items: [String]) -> [String] {
    let line = "    [\(items.joined(separator: ", "))]"
    if line.count <= 110 { return [head, line, "  }"] }
    return [head, "    ["] + items.map { "      \($0)," } + ["    ]", "  }"]
  }

  // MARK: Classes

  /// A stored property of a class.
  private struct Property {
    var lines: [String]
    let name: String
    let type: String
    /// Whether `init` has a parameter for it.
    let isParameter: Bool
  }

  private mutating func declaration(of entity: EntityDocument) -> [String] {
    note(entity)
    let name = SwiftName.declared(entity.name) ?? ""
    let properties = ownProperties(of: entity)
    let isFinal = index.subentities(of: entity.name).isEmpty
    let parent = entity.parentName.flatMap { SwiftName.declared($0) }
    if parent != nil {
      remarks.append("\(entity.name) inherits from another class: Apple's systems allow that from version 26 on.")
    }
    var lines = ["@Model", "\(isFinal ? "final " : "")class \(name)\(parent.map { ": \($0)" } ?? "") {"]
    lines += groups(of: entity, name).map { "  \($0)" }
    if lines.count > 2 { lines.append("") }
    lines += properties.flatMap(\.lines).map { "  \($0)" }
    if !properties.isEmpty { lines.append("") }
    lines += initializer(of: entity, properties).map { "  \($0)" }
    return lines + ["}"]
  }

  private mutating func note(_ entity: EntityDocument) {
    func remark(_ found: String) { remarks.append("\(entity.name): \(found)") }
    if entity.isAbstract { remark("it is abstract, which SwiftData cannot express; its hash will differ.") }
    if let modifier = entity.versionHashModifier, !modifier.isEmpty {
      remark("its hash modifier \"\(modifier)\" cannot be expressed; its hash will differ.")
    }
    if let old = entity.renamingIdentifier, old != entity.name {
      remark("it was called \(old); SwiftData has no name for an earlier entity.")
    }
    for property in entity.fetchedProperties { remark("the fetched property \(property.name) is left out.") }
    let compound = entity.indexes.filter { index in
      index.partialIndexPredicate != nil || index.elements.contains { $0.expression != nil || !$0.isAscending }
    }
    for index in compound { remark("the index \(index.name) cannot be expressed and is left out.") }
  }

  /// Returns the constraints over several properties, and the indexes.
  private func groups(of entity: EntityDocument, _ name: String) -> [String] {
    func list(_ names: [String]) -> String { "[\(names.map { "\\.\($0)" }.joined(separator: ", "))]" }
    let constraints = entity.uniquenessConstraints.filter { $0.count > 1 || !isOwn($0[0], entity) }
    let indexes = entity.indexes.filter { index in
      index.partialIndexPredicate == nil && index.elements.allSatisfy { $0.expression == nil && $0.isAscending }
    }
    func paths(_ index: FetchIndexDocument) -> String { list(index.elements.map(\.propertyName)) }
    var lines: [String] = []
    if !constraints.isEmpty { lines.append("#Unique<\(name)>(\(constraints.map(list).joined(separator: ", ")))") }
    let spatial = indexes.filter { $0.elements.contains { $0.isRTree } }
    let binary = indexes.filter { index in !spatial.contains(index) }
    if !indexes.isEmpty {
      let items =
        spatial.isEmpty
        ? binary.map(paths) : binary.map { ".binary(\(paths($0)))" } + spatial.map { ".rtree(\(paths($0)))" }
      lines.append("#Index<\(name)>(\(items.joined(separator: ", ")))")
    }
    return lines
  }

  private func isOwn(_ property: String, _ entity: EntityDocument) -> Bool {
    entity.attributes.contains { $0.name == property } || entity.relationships.contains { $0.name == property }
  }

  private mutating func ownProperties(of entity: EntityDocument) -> [Property] {
    let unique = Set(entity.uniquenessConstraints.filter { $0.count == 1 }.flatMap { $0 })
    var found: [Property] = []
    for attribute in entity.attributes {
      guard let name = declared(attribute.name, entity) else { continue }
      found.append(property(attribute, name, entity, isUnique: unique.contains(attribute.name)))
    }
    for relationship in entity.relationships {
      guard let name = declared(relationship.name, entity) else { continue }
      let destination = SwiftName.declared(relationship.destinationEntityName ?? "") ?? "Never"
      let suffix = relationship.isOptional ? "?" : ""
      let type = (relationship.isToMany ? "[\(destination)]" : destination) + suffix
      let annotation = relationships.annotation(
        of: relationship, in: entity.name, isUnique: unique.contains(relationship.name))
      let isEmptyList = relationship.isToMany && !relationship.isOptional
      let line = "var \(name): \(type)\(isEmptyList ? " = []" : "")"
      found.append(
        Property(
          lines: Self.joined(annotation, line), name: name, type: type,
          isParameter: !relationship.isOptional && !isEmptyList))
    }
    return found
  }

  /// Returns an annotation and a declaration, on one line if they fit.
  private static func joined(_ annotation: String?, _ line: String) -> [String] {
    guard let annotation else { return [line] }
    return annotation.count + line.count < 110 ? ["\(annotation) \(line)"] : [annotation, line]
  }

  private mutating func declared(_ property: String, _ entity: EntityDocument) -> String? {
    guard let name = SwiftName.declared(property) else {
      remarks.append("\(entity.name).\(property): the name is not valid for a property in Swift.")
      return nil
    }
    return name
  }

  private mutating func property(
    _ attribute: AttributeDocument, _ name: String, _ entity: EntityDocument, isUnique: Bool
  ) -> Property {
    if attribute.derivation != nil {
      remarks.append("\(entity.name).\(name): it is derived, which SwiftData cannot express; its hash will differ.")
    }
    var options: [String] = []
    if isUnique { options.append(".unique") }
    if attribute.isTransient { options.append(".ephemeral") }
    if attribute.allowsExternalBinaryDataStorage { options.append(".externalStorage") }
    if attribute.preservesValueInHistoryOnDeletion { options.append(".preserveValueOnDeletion") }
    if attribute.allowsCloudEncryption { options.append(".allowsCloudEncryption") }
    if attribute.isIndexedBySpotlight { options.append(".spotlight") }
    let found = types.type(of: attribute, in: entity.name)
    if let transformer = found.transformer {
      options.append(".transformable(by: \(SwiftName.literal(transformer)))")
    }
    if let old = attribute.renamingIdentifier, old != attribute.name {
      options.append("originalName: \(SwiftName.literal(old))")
    }
    if let modifier = attribute.versionHashModifier, !modifier.isEmpty {
      options.append("hashModifier: \(SwiftName.literal(modifier))")
    }
    let type = found.name + (attribute.isOptional ? "?" : "")
    let value = attribute.defaultValue.flatMap { types.initialValue($0, of: attribute) }
    let annotation = options.isEmpty ? nil : "@Attribute(\(options.joined(separator: ", ")))"
    let line = "var \(name): \(type)\(value.map { " = \($0.text)" } ?? "")"
    let comments = [found.comment, value?.comment].compactMap { $0 }.map { "// \($0)" }
    return Property(
      lines: comments + Self.joined(annotation, line), name: name, type: type,
      isParameter: !attribute.isOptional && value == nil)
  }

  // MARK: Initializers

  /// The parameters of the initializers, by entity, of those whose subclasses call them.
  private var parameters: [String: [Property]] = [:]

  private mutating func initializer(of entity: EntityDocument, _ properties: [Property]) -> [String] {
    let inherited = entity.parentName.map { parent -> [Property] in
      if parameters[parent] == nil, let document = index[parent] {
        // A superclass that comes later in the model: its own remarks are made then.
        let known = remarks
        parameters[parent] = allParameters(of: document)
        remarks = known
      }
      return parameters[parent] ?? []
    }
    let own = properties.filter(\.isParameter)
    parameters[entity.name] = (inherited ?? []) + own
    let all = parameters[entity.name] ?? []
    let head = all.map { "\($0.name): \($0.type)" }.joined(separator: ", ")
    // An initializer that adds nothing is inherited only if there are no stored properties without values.
    var lines =
      head.count < 100
      ? ["init(\(head)) {"]
      : ["init("] + all.enumerated().map { "  \($1.name): \($1.type)\($0 == all.count - 1 ? "" : ",")" } + [") {"]
    lines += own.map { "  self.\($0.name) = \($0.name)" }
    if let inherited {
      lines.append("  super.init(\(inherited.map { "\($0.name): \($0.name)" }.joined(separator: ", ")))")
    }
    lines.append("}")
    if lines.count == 2 { lines = ["init() {}"] }
    guard inherited != nil, own.isEmpty else { return lines }
    // The same signature as the superclass's.
    lines[0] = "override " + lines[0]
    return lines
  }

  private mutating func allParameters(of entity: EntityDocument) -> [Property] {
    let inherited = entity.parentName.flatMap { index[$0] }.map { allParameters(of: $0) } ?? []
    return inherited + ownProperties(of: entity).filter(\.isParameter)
  }
}
