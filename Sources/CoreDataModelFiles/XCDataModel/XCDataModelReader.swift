// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads a model source, the `contents` of an `.xcdatamodel`.
///
/// Ignores elements and attributes that are not part of the model itself, such as diagram layout, and unknown ones,
/// which newer versions of Xcode may add.
struct XCDataModelReader {
  let file: URL
  /// The warnings about ignored or corrected values.
  let warnings: ModelWarnings
  /// Counts the attributes, including elements of composite attributes.
  let attributeCount = AttributeCount()
  /// The composite types of the model by name.
  var composites: [String: XMLElementNode] = [:]

  /// Reads an `.xcdatamodel`: the package, or the XML file itself.
  static func document(at url: URL, warnings: ModelWarnings = ModelWarnings()) throws -> ModelDocument {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
      throw ModelFileError(
        .missingFile, found: "The file does not exist.", advice: "Check the path of the model.", file: url)
    }
    let file = isDirectory.boolValue ? url.appendingPathComponent("contents") : url
    guard FileManager.default.fileExists(atPath: file.path) else {
      throw ModelFileError(
        .missingContents, found: "The model has no contents file.", advice: "Restore it from version control.",
        file: url)
    }
    return try document(of: ModelFile.read(file), file: file, warnings: warnings)
  }

  /// Reads the XML of a model source.
  static func document(of data: Data, file: URL, warnings: ModelWarnings = ModelWarnings()) throws -> ModelDocument {
    let root = try XMLTreeReader.root(of: data, file: file)
    return try document(of: root, file: file, warnings: warnings)
  }

  /// Reads the root element of a model source.
  static func document(of root: XMLElementNode, file: URL, warnings: ModelWarnings) throws -> ModelDocument {
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
    // A value that a later version of Xcode may add generates no code.
    entity.codeGeneration = element["codeGenerationType"].flatMap(CodeGenerationKind.init) ?? .manual
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

  /// Returns the renaming identifier, which Xcode writes as `elementID`; hand-written models may use
  /// `renamingIdentifier`.
  func renamingIdentifier(of element: XMLElementNode) -> String? {
    element["elementID"] ?? element["renamingIdentifier"]
  }

  func userInfo(of element: XMLElementNode) -> [String: PlainValue] {
    var result: [String: PlainValue] = [:]
    for entry in element.children("userInfo").flatMap({ $0.children("entry") }) {
      guard let key = entry["key"] else { continue }
      let text = entry.attributes["value"] ?? ""
      // If the editor has changed the value, what is left of the JSON is out of date.
      let json = entry["valueJSON"].flatMap { $0 == text ? ValueJSON.value(of: $0) : nil }
      result[key] = json ?? .string(text)
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

  /// Parses the predicate in an attribute. Errors include its location.
  func predicate(
    _ attribute: String, of element: XMLElementNode, entity: String?, property: String? = nil
  ) throws -> PredicateSyntax? {
    try parsed(attribute, of: element, entity: entity, property: property) { try PredicateParser.parse($0) }
  }

  /// Parses the expression in an attribute. Errors include its location.
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

  /// Returns a flag whose attribute name differs between versions of Xcode.
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

/// Attributes and relationships.
extension XCDataModelReader {
  /// The types by their names in sources, including older names.
  private static let kinds = Dictionary(
    AttributeKind.allCases.map { ($0.sourceName, $0) } + [("Binary Data", .binaryData), ("Object ID", .objectID)]
  ) { first, _ in first }
  private static let deleteRules = Dictionary(uniqueKeysWithValues: DeleteRuleKind.allCases.map { ($0.sourceName, $0) })

  func attribute(_ element: XMLElementNode, entity: String?, enclosing: [String] = []) throws -> AttributeDocument {
    let name = try name(of: element, entity: entity)
    attributeCount.value += 1
    guard attributeCount.value <= AttributeCount.most, enclosing.count <= AttributeCount.deepest else {
      throw ModelFileError(
        .unsupportedFile,
        found: "The model has more than \(AttributeCount.most) attributes, or composite types nested more than "
          + "\(AttributeCount.deepest) deep.",
        advice: "Use fewer composite types inside others.", file: file, line: element.line, entity: entity,
        property: name)
    }
    let typeName = element["attributeType"] ?? "Undefined"
    guard let kind = Self.kinds[typeName] else {
      throw ModelFileError(
        .unknownAttributeType, found: "The attribute type \"\(typeName)\" is unknown.",
        advice: "Known types are \(Self.kinds.keys.sorted().joined(separator: ", ")).", file: file,
        line: element.line, entity: entity, property: name)
    }
    var attribute = AttributeDocument(name: name, kind: kind, isOptional: element.flag("optional"))
    attribute.isTransient = element.flag("transient")
    attribute.defaultValue = defaultValue(of: element, kind: kind, entity: entity, property: name)
    attribute.valueClassName = element["customClassName"]
    attribute.valueTransformerName = element["valueTransformerName"]
    attribute.allowsExternalBinaryDataStorage = element.flag("allowsExternalBinaryDataStorage")
    attribute.preservesValueInHistoryOnDeletion =
      element.flag("preserveAfterDeletion") || element.flag("preservesValueInHistoryOnDeletion")
    attribute.allowsCloudEncryption = element.flag("allowsCloudEncryption")
    attribute.isIndexed = element.flag("indexed")
    attribute.isIndexedBySpotlight = element.flag("spotlightIndexingEnabled")
    attribute.usesScalarValueType = element.flag("usesScalarValueType")
    attribute.renamingIdentifier = renamingIdentifier(of: element)
    attribute.versionHashModifier = element["versionHashModifier"]
    attribute.userInfo = userInfo(of: element)
    attribute.validations = validations(of: element, kind: kind, entity: entity, property: name)
    if element.flag("derived") {
      attribute.derivation = try expression("derivationExpression", of: element, entity: entity, property: name)
    }
    if kind == .composite {
      attribute.compositeName = element["composite"]
      attribute.elements = try elements(of: element, entity: entity, property: name, enclosing: enclosing)
    }
    return attribute
  }

  /// Returns the elements of a composite attribute, from the composite type that it names.
  private func elements(
    of element: XMLElementNode, entity: String?, property: String, enclosing: [String]
  ) throws -> [AttributeDocument] {
    let typeName = element["composite"] ?? ""
    guard let type = composites[typeName] else {
      throw ModelFileError(
        .missingComposite, found: "The composite type \"\(typeName)\" does not exist.",
        advice: "Correct its name, or add it.", file: file, line: element.line, entity: entity, property: property)
    }
    guard !enclosing.contains(typeName) else {
      throw ModelFileError(
        .missingComposite, found: "The composite type \"\(typeName)\" contains itself.",
        advice: "Remove the attribute that closes the cycle.", file: file, line: type.line, entity: entity,
        property: property)
    }
    return try type.children("attribute").map {
      try attribute($0, entity: entity, enclosing: enclosing + [typeName])
    }
  }

  func relationship(_ element: XMLElementNode, entity: String) throws -> RelationshipDocument {
    let name = try name(of: element, entity: entity)
    let isToMany = element.flag("toMany")
    var relationship = RelationshipDocument(
      name: name, destinationEntityName: element["destinationEntity"], inverseName: element["inverseName"],
      isToMany: isToMany, isOptional: element.flag("optional"))
    if let count = try integer("maxCount", of: element, entity: entity, property: name) {
      relationship.maxCount = count
    }
    relationship.minCount = try integer("minCount", of: element, entity: entity, property: name) ?? 0
    relationship.isTransient = element.flag("transient")
    relationship.isOrdered = element.flag("ordered")
    let rule = element["deletionRule"] ?? "Nullify"
    guard let deleteRule = Self.deleteRules[rule] else {
      throw ModelFileError(
        .unreadableValue, found: "The delete rule \"\(rule)\" is unknown.",
        advice: "Known rules are \(Self.deleteRules.keys.sorted().joined(separator: ", ")).", file: file,
        line: element.line, entity: entity, property: name)
    }
    relationship.deleteRule = deleteRule
    relationship.isIndexedBySpotlight = element.flag("spotlightIndexingEnabled")
    relationship.renamingIdentifier = renamingIdentifier(of: element)
    relationship.versionHashModifier = element["versionHashModifier"]
    relationship.userInfo = userInfo(of: element)
    return relationship
  }

  func fetchedProperty(_ element: XMLElementNode, entity: String) throws -> FetchedPropertyDocument {
    let name = try name(of: element, entity: entity)
    let request = try element.children("fetchRequest").first.map {
      try fetchRequest($0, entity: entity, property: name)
    }
    var property = FetchedPropertyDocument(name: name, request: request, isOptional: element.flag("optional"))
    property.renamingIdentifier = renamingIdentifier(of: element)
    property.versionHashModifier = element["versionHashModifier"]
    property.userInfo = userInfo(of: element)
    return property
  }
}

/// Counts attributes. If composite types contain others several times, a small file could otherwise exhaust memory.
final class AttributeCount {
  static let most = 300_000
  /// The maximum depth, the same as in compiled models.
  static let deepest = 15

  var value = 0
}

/// Default values and validation rules.
extension XCDataModelReader {
  func defaultValue(of element: XMLElementNode, kind: AttributeKind, entity: String?, property: String) -> PlainValue? {
    if kind == .date, let text = element["defaultDateTimeInterval"] {
      if let date = value(text, kind: .date) { return date }
      return replaceInvalid(
        "defaultDateTimeInterval", text, "a number", nil, element, entity: entity, property: property)
    }
    guard let text = element.attributes["defaultValueString"] else {
      guard let json = element["defaultValueJSON"] else { return nil }
      if let value = ValueJSON.value(of: json), XCDataModelWriter.hasJSON(value, kind: kind) { return value }
      return replaceInvalid(
        "defaultValueJSON", json, "a value of the type \(kind)", nil, element, entity: entity, property: property)
    }
    // An empty string is a value only for string attributes.
    guard kind == .string || !text.isEmpty else { return nil }
    if let value = value(text, kind: kind) { return value }
    return replaceInvalid(
      "defaultValueString", text, "a value of the type \(kind)", DefaultValues.fitted(.string(text), to: kind), element,
      entity: entity, property: property)
  }

  /// Warns about an invalid value and returns its replacement.
  private func replaceInvalid(
    _ attribute: String, _ text: String, _ wanted: String, _ value: PlainValue?, _ element: XMLElementNode,
    entity: String?, property: String
  ) -> PlainValue? {
    let taken =
      switch value {
      case .boolean(let flag)?: "\(flag ? "true" : "false") is used instead."
      case .integer(let number)?: "\(number) is used instead."
      case .real(let number)?: "\(number) is used instead."
      case .decimal(let number)?: "\(number) is used instead."
      default: "It is ignored."
      }
    warnings.add(
      ModelFileError(
        .unreadableValue, found: "\(attribute) is \"\(text)\", which is not \(wanted). \(taken)",
        advice: "Correct it in the model.", file: file, line: element.line, entity: entity, property: property))
    return value
  }

  private func value(_ text: String, kind: AttributeKind) -> PlainValue? {
    switch kind {
    case .integer16, .integer32, .integer64:
      // Changing an attribute's type in Xcode leaves values such as "0.0" behind.
      return (Int64(text) ?? Double(text).flatMap { Int64(exactly: $0.rounded(.towardZero)) }).map { .integer($0) }
    case .double, .float:
      return Double(text).map { .real($0) }
    case .decimal:
      return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).map { .decimal($0) }
    case .boolean:
      switch text.lowercased() {
      case "yes", "true", "1": return .boolean(true)
      case "no", "false", "0": return .boolean(false)
      default: return nil
      }
    case .uuid:
      return UUID(uuidString: text).map { .uuid($0) }
    case .uri:
      return URL(string: text).map { .url($0) }
    case .date:
      guard let interval = Double(text), interval.isFinite else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: interval))
    case .binaryData:
      return Data(base64Encoded: text).map { .data($0) }
    case .string, .undefined, .transformable, .objectID, .composite:
      return .string(text)
    }
  }

  /// Returns the validation rules for an attribute's limits, with Core Data's error codes.
  func validations(
    of element: XMLElementNode, kind: AttributeKind, entity: String?, property: String
  ) -> [ValidationDocument] {
    var rules: [ValidationDocument] = []
    func add(
      _ attribute: String, _ kind: AttributeKind, _ left: ExpressionSyntax,
      _ comparison: ComparisonSyntax.Operator, _ code: Int64
    ) {
      guard let text = element[attribute] else { return }
      guard let limit = value(text, kind: kind) else {
        // A guessed limit could reject valid values.
        _ = replaceInvalid(
          attribute, text, "a value of the type \(kind)", nil, element, entity: entity, property: property)
        return
      }
      rules.append(
        ValidationDocument(
          predicate: .comparison(ComparisonSyntax(left, comparison, .constant(limit))), warning: .integer(code)))
    }

    switch kind {
    case .string:
      let length = ExpressionSyntax.keyPath("length")
      add("minValueString", .integer64, length, .greaterThanOrEqualTo, ValidationCode.stringTooShort)
      add("maxValueString", .integer64, length, .lessThanOrEqualTo, ValidationCode.stringTooLong)
      add("regularExpressionString", .string, .evaluatedObject, .matches, ValidationCode.patternMismatch)
    case .date:
      add("minDateTimeInterval", .date, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.dateTooSoon)
      add("maxDateTimeInterval", .date, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.dateTooLate)
    default:
      add("minValueString", kind, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.numberTooSmall)
      add("maxValueString", kind, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.numberTooLarge)
    }
    return rules
  }
}

/// The codes of `NSValidation…Error` used as warnings in compiled models.
enum ValidationCode {
  static let numberTooLarge: Int64 = 1610
  static let numberTooSmall: Int64 = 1620
  static let dateTooLate: Int64 = 1630
  static let dateTooSoon: Int64 = 1640
  static let stringTooLong: Int64 = 1660
  static let stringTooShort: Int64 = 1670
  static let patternMismatch: Int64 = 1680
}
