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
    // A merged model has several identifiers, but a source has only one string.
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
    if entity.codeGeneration != .manual { element.set("codeGenerationType", entity.codeGeneration.rawValue) }
    element.children = try entity.attributes.map { try attribute($0, entity: entity.name) }
    element.children += try entity.relationships.map { try relationship($0, entity: entity.name) }
    element.children += try entity.fetchedProperties.map { try fetchedProperty($0, entity: entity.name) }
    element.children += try entity.indexes.map { try fetchIndex($0) }
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
      var entry = XMLOutput("entry")
      entry.set("key", key)
      if case .string(let text) = value {
        entry.set("value", text)
        return entry
      }
      // SwiftData's models have Booleans and lists here. The model editor has only strings, and ignores the attribute.
      guard let json = ValueJSON.text(of: value) else {
        throw Self.inexpressible(
          "The user info \"\(key)\" is an object of a class that only a program knows.", "Make it a string.",
          entity: entity, property: property)
      }
      entry.set("value", json)
      entry.set("valueJSON", json)
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

  func fetchIndex(_ index: FetchIndexDocument) throws -> XMLOutput {
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
  /// The elements marked `syncable="YES"`, an attribute from Sync Services that Xcode still writes.
  package enum Syncable: Hashable, Sendable {
    case nothing
    case entities
    case entitiesAndProperties
  }

  /// The elements marked as syncable.
  package var syncable: Syncable
  /// Whether attributes of scalar types that use objects are marked `usesScalarValueType="NO"`.
  package var marksObjectValues: Bool

  package init(syncable: Syncable, marksObjectValues: Bool) {
    self.syncable = syncable
    self.marksObjectValues = marksObjectValues
  }

  /// The style of current versions of Xcode.
  package static let current = SourceStyle(syncable: .entities, marksObjectValues: true)
}

/// Attributes and relationships.
extension XCDataModelWriter {
  mutating func attribute(_ attribute: AttributeDocument, entity: String) throws -> XMLOutput {
    var element = Self.named("attribute", attribute.name)
    element.set("optional", flag: attribute.isOptional)
    element.set("transient", flag: attribute.isTransient)
    element.set("attributeType", attribute.kind.sourceName)
    if attribute.kind == .composite { element.set("composite", compositeName(of: attribute)) }
    try setValues(of: attribute, entity: entity, in: &element)
    if let derivation = attribute.derivation {
      element.set("derived", "YES")
      element.set("derivationExpression", text(of: derivation))
    }
    if attribute.usesScalarValueType {
      element.set("usesScalarValueType", "YES")
    } else if style.marksObjectValues, attribute.kind.hasScalarType {
      element.set("usesScalarValueType", "NO")
    }
    element.set("valueTransformerName", attribute.valueTransformerName)
    element.set("customClassName", attribute.valueClassName)
    element.set("allowsExternalBinaryDataStorage", flag: attribute.allowsExternalBinaryDataStorage)
    element.set("allowsCloudEncryption", flag: attribute.allowsCloudEncryption)
    element.set("spotlightIndexingEnabled", flag: attribute.isIndexedBySpotlight)
    element.set("elementID", attribute.renamingIdentifier)
    element.set("versionHashModifier", attribute.versionHashModifier)
    element.set("preserveAfterDeletion", flag: attribute.preservesValueInHistoryOnDeletion)
    element.set("indexed", flag: attribute.isIndexed)
    element.set("syncable", flag: style.syncable == .entitiesAndProperties)
    element.children = try userInfo(attribute.userInfo, entity: entity, property: attribute.name)
    return element
  }

  func relationship(_ relationship: RelationshipDocument, entity: String) throws -> XMLOutput {
    guard relationship.validations.isEmpty else {
      throw Self.inexpressible(
        "The relationship has validation rules.", "Check them in the class of the entity.", entity: entity,
        property: relationship.name)
    }
    var element = Self.named("relationship", relationship.name)
    element.set("optional", flag: relationship.isOptional)
    element.set("transient", flag: relationship.isTransient)
    element.set("toMany", flag: relationship.isToMany)
    element.set("minCount", relationship.minCount == 0 ? nil : "\(relationship.minCount)")
    element.set("maxCount", relationship.maxCount == 0 ? nil : "\(relationship.maxCount)")
    element.set("deletionRule", relationship.deleteRule.sourceName)
    element.set("ordered", flag: relationship.isOrdered)
    element.set("destinationEntity", relationship.destinationEntityName)
    element.set("inverseName", relationship.inverseName)
    if relationship.inverseName != nil { element.set("inverseEntity", relationship.destinationEntityName) }
    element.set("spotlightIndexingEnabled", flag: relationship.isIndexedBySpotlight)
    element.set("elementID", relationship.renamingIdentifier)
    element.set("versionHashModifier", relationship.versionHashModifier)
    element.set("syncable", flag: style.syncable == .entitiesAndProperties)
    element.children = try userInfo(relationship.userInfo, entity: entity, property: relationship.name)
    return element
  }

  func fetchedProperty(_ property: FetchedPropertyDocument, entity: String) throws -> XMLOutput {
    var element = Self.named("fetchedProperty", property.name)
    element.set("optional", flag: property.isOptional)
    element.set("elementID", property.renamingIdentifier)
    element.set("versionHashModifier", property.versionHashModifier)
    element.set("syncable", flag: style.syncable == .entitiesAndProperties)
    if var request = property.request {
      // The model editor uses this name for the request of every fetched property.
      if request.name.isEmpty { request.name = "fetchedPropertyFetchRequest" }
      element.children.append(try fetchRequest(request, entity: entity, property: property.name))
    }
    element.children += try userInfo(property.userInfo, entity: entity, property: property.name)
    return element
  }

  /// Returns the text of a derivation, with functions in place of collection operators unless that would parse as a
  /// different expression.
  private func text(of derivation: ExpressionSyntax) -> String {
    let plain = PredicatePrinter().format(derivation)
    let functions = PredicatePrinter.derivationFormat(derivation)
    // If the text does not parse back, use the other form.
    return (try? PredicateParser.parseExpression(functions)) == derivation ? functions : plain
  }
}

extension AttributeKind {
  /// The name of the type in a source.
  var sourceName: String {
    switch self {
    case .binaryData: "Binary"
    case .objectID: "ObjectID"
    default: title
    }
  }

  /// Whether generated classes can use a scalar type for values of the type.
  var hasScalarType: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .double, .float, .boolean, .date, .uuid: true
    default: false
    }
  }
}

extension DeleteRuleKind {
  /// The name of the rule in a source.
  var sourceName: String {
    switch self {
    case .noAction: "No Action"
    case .nullify: "Nullify"
    case .cascade: "Cascade"
    case .deny: "Deny"
    }
  }
}

/// Default values and validation rules.
extension XCDataModelWriter {
  func setValues(of attribute: AttributeDocument, entity: String, in element: inout XMLOutput) throws {
    func inexpressible(_ found: String, _ advice: String) -> ModelFileError {
      Self.inexpressible(found, advice, entity: entity, property: attribute.name)
    }
    var limits: [String: String] = [:]
    for rule in attribute.validations {
      guard let (name, text) = Self.limit(rule, of: attribute.kind), limits.updateValue(text, forKey: name) == nil
      else {
        throw inexpressible(
          "A validation rule is not supported by the model editor.", "Check it in the class of the entity.")
      }
    }
    for name in ["minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval"] {
      element.set(name, limits[name])
    }
    if let value = attribute.defaultValue {
      if let text = Self.text(of: value, kind: attribute.kind) {
        element.set(attribute.kind == .date ? "defaultDateTimeInterval" : "defaultValueString", text)
      } else if Self.hasJSON(value, kind: attribute.kind), let json = ValueJSON.text(of: value) {
        element.set("defaultValueJSON", json)
      } else {
        throw inexpressible("The default value is not of type \(attribute.kind).", "Set it in the class of the entity.")
      }
    }
    element.set("regularExpressionString", limits["regularExpressionString"])
  }

  /// Returns an attribute's default value as text, or nil if there is none or it cannot be written.
  static func defaultText(of attribute: AttributeDocument) -> String? {
    attribute.defaultValue.flatMap { text(of: $0, kind: attribute.kind) }
  }

  /// Returns a value as text, or nil if it cannot be written.
  private static func text(of value: PlainValue, kind: AttributeKind) -> String? {
    switch (kind, value) {
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
      return "\(number)"
    case (.double, .real(let number)), (.float, .real(let number)):
      return "\(number)"
    case (.decimal, .decimal(let number)):
      let text = "\(number)"
      return text.contains(".") ? text : text + ".0"
    case (.boolean, .boolean(let flag)):
      return flag ? "YES" : "NO"
    case (.uuid, .uuid(let uuid)):
      return uuid.uuidString
    case (.uri, .url(let url)):
      return url.absoluteString
    case (.date, .date(let date)):
      return short(date.timeIntervalSinceReferenceDate)
    case (.binaryData, .data(let data)) where !data.isEmpty:
      return data.base64EncodedString()
    case (.string, .string(let text)), (.undefined, .string(let text)), (.transformable, .string(let text)),
      (.objectID, .string(let text)), (.composite, .string(let text)):
      // The reader accepts an empty string as a value only for string attributes.
      return text.isEmpty && kind != .string ? nil : text
    default:
      return nil
    }
  }

  /// Whether a default value without text fits the type, so that it is written as JSON: the values of transformable and
  /// composite attributes, and empty data.
  static func hasJSON(_ value: PlainValue, kind: AttributeKind) -> Bool {
    switch (kind, value) {
    case (.transformable, _), (.undefined, _), (.composite, .dictionary), (.binaryData, .data): true
    default: false
    }
  }

  /// Returns the attribute of a source for a validation rule, or nil if there is none.
  private static func limit(_ rule: ValidationDocument, of kind: AttributeKind) -> (name: String, text: String)? {
    guard case .comparison(let comparison) = rule.predicate, case .constant(let value) = comparison.right,
      case .integer(let code) = rule.warning, comparison.modifier == .direct, comparison.options.isEmpty
    else { return nil }
    let length = ExpressionSyntax.keyPath("length")
    switch (kind, comparison.left, comparison.op, code, value) {
    case (.string, length, .greaterThanOrEqualTo, ValidationCode.stringTooShort, .integer(let number)):
      return ("minValueString", "\(number)")
    case (.string, length, .lessThanOrEqualTo, ValidationCode.stringTooLong, .integer(let number)):
      return ("maxValueString", "\(number)")
    case (.string, .evaluatedObject, .matches, ValidationCode.patternMismatch, .string(let pattern)):
      return pattern.isEmpty ? nil : ("regularExpressionString", pattern)
    case (.date, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.dateTooSoon, .date(let date)):
      return ("minDateTimeInterval", short(date.timeIntervalSinceReferenceDate))
    case (.date, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.dateTooLate, .date(let date)):
      return ("maxDateTimeInterval", short(date.timeIntervalSinceReferenceDate))
    case (_, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.numberTooSmall, _):
      return limitText(of: value, kind: kind).map { ("minValueString", $0) }
    case (_, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.numberTooLarge, _):
      return limitText(of: value, kind: kind).map { ("maxValueString", $0) }
    default:
      return nil
    }
  }

  private static func limitText(of value: PlainValue, kind: AttributeKind) -> String? {
    switch (kind, value) {
    case (.string, _), (.date, _): nil
    case (.double, .real(let number)), (.float, .real(let number)): short(number)
    case (.decimal, .decimal(let number)): "\(number)"
    default: text(of: value, kind: kind)
    }
  }

  /// Returns a number, without a decimal point if it is an integer.
  private static func short(_ number: Double) -> String {
    Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}
