// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

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

  /// Returns the text of a derivation. It usually has functions in place of collection operators, unless that would
  /// parse as a different expression.
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
    case .undefined: "Undefined"
    case .integer16: "Integer 16"
    case .integer32: "Integer 32"
    case .integer64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binaryData: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .objectID: "ObjectID"
    case .composite: "Composite"
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
      guard let text = Self.text(of: value, kind: attribute.kind) else {
        throw inexpressible("The default value is not of type \(attribute.kind).", "Set it in the class of the entity.")
      }
      element.set(attribute.kind == .date ? "defaultDateTimeInterval" : "defaultValueString", text)
    }
    element.set("regularExpressionString", limits["regularExpressionString"])
  }

  /// Returns the text of an attribute's default value, or nil if there is none or it has no text.
  static func defaultText(of attribute: AttributeDocument) -> String? {
    attribute.defaultValue.flatMap { text(of: $0, kind: attribute.kind) }
  }

  /// Returns the text of a value, or nil if there is none.
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
      // The reader accepts an empty text as a value only for strings.
      return text.isEmpty && kind != .string ? nil : text
    default:
      return nil
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
