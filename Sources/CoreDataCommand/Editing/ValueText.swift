// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// A value that an attribute or a relationship cannot have.
struct ValueProblem: Error {
  /// A sentence without a subject: `"x" is not an Integer 32; an example is 42`.
  let reason: String

  init(_ reason: String) { self.reason = reason }

  /// The reason as a sentence that others can follow.
  var sentence: String { ".?!".contains(reason.last ?? " ") ? reason : reason + "." }

  /// A value that does not have the type of an attribute.
  init(_ text: String, isNot attribute: NSAttributeDescription) {
    let kind = attribute.attributeType.kind
    let shown = TextLayout.truncated(JSONText.string(text).line(), to: 60)
    let article = "AEIOU".contains(kind.title.first ?? " ") && kind != .uuid && kind != .uri ? "an" : "a"
    self.init("\(shown) is not \(article) \(kind.title); an example is \(ValueText.example(of: kind))")
  }
}

/// Values of attributes as text: in arguments, in the fields of CSV, and in the strings of JSON.
enum ValueText {
  static func example(of kind: AttributeKind) -> String {
    switch kind {
    case .integer16, .integer32, .integer64: "42"
    case .decimal: "19.90"
    case .double, .float: "0.5"
    case .boolean: "true"
    case .date: "2026-03-14T15:09:26Z"
    case .uuid: "6F9619FF-8B86-4D01-B42D-00CF4FC964FF"
    case .uri: "https://example.com/a"
    case .binaryData: "aGVsbG8= (base64)"
    case .transformable: "YnBsaXN0MDA= (the stored form in base64)"
    case .string, .undefined, .objectID, .composite: "text"
    }
  }

  /// Parses the value of an attribute.
  ///
  /// - Throws: `ValueProblem`.
  static func value(_ text: String, of attribute: NSAttributeDescription) throws -> AttributeValue {
    let kind = attribute.attributeType.kind
    switch kind {
    case .string: return .object(text)
    case .integer16, .integer32, .integer64:
      guard let number = Int64(text) else { throw ValueProblem(text, isNot: attribute) }
      return try integer(number, of: attribute)
    case .boolean:
      switch text.lowercased() {
      case "true", "yes", "1": return .object(true)
      case "false", "no", "0": return .object(false)
      default: throw ValueProblem(text, isNot: attribute)
      }
    case .double, .float: return try real(text, of: attribute)
    case .decimal: return .object(try decimal(text, of: attribute))
    case .date:
      guard let seconds = DateText.seconds(text) else { throw ValueProblem(text, isNot: attribute) }
      return .object(Date(timeIntervalSinceReferenceDate: seconds))
    case .uuid:
      guard let value = UUID(uuidString: text) else { throw ValueProblem(text, isNot: attribute) }
      return .object(value)
    case .uri:
      guard !text.isEmpty, let value = URL(string: text), value.absoluteString == text else {
        throw ValueProblem(text, isNot: attribute)
      }
      return .object(value)
    case .binaryData, .transformable:
      guard let data = Data(base64Encoded: text) else { throw ValueProblem(text, isNot: attribute) }
      return kind == .transformable ? .storedForm(data) : .object(data)
    case .undefined, .objectID, .composite:
      throw ValueProblem("attributes of the type \(kind.title) cannot be set as one value")
    }
  }

  /// Checks the range of an integer, which a save would report only later.
  static func integer(_ number: Int64, of attribute: NSAttributeDescription) throws -> AttributeValue {
    let range: ClosedRange<Int64>
    switch attribute.attributeType {
    case .integer16AttributeType: range = Int64(Int16.min)...Int64(Int16.max)
    case .integer32AttributeType: range = Int64(Int32.min)...Int64(Int32.max)
    default: range = Int64.min...Int64.max
    }
    guard range.contains(number) else {
      throw ValueProblem(
        "\(number) is out of the range of an \(attribute.attributeType.kind.title), \(range.lowerBound) to "
          + "\(range.upperBound)")
    }
    return .object(NSNumber(value: number))
  }

  private static func real(_ text: String, of attribute: NSAttributeDescription) throws -> AttributeValue {
    guard let number = Double(text), !number.isNaN else { throw ValueProblem(text, isNot: attribute) }
    let isExplicit = text.lowercased().contains("inf")
    if number.isInfinite && !isExplicit { throw ValueProblem(text, isNot: attribute) }
    guard attribute.attributeType == .floatAttributeType else { return .object(NSNumber(value: number)) }
    if Float(number).isInfinite && !isExplicit {
      throw ValueProblem("\(text) is out of the range of a Float")
    }
    return .object(NSNumber(value: Float(number)))
  }

  private static func decimal(_ text: String, of attribute: NSAttributeDescription) throws -> NSDecimalNumber {
    let body = text.drop { $0 == "-" || $0 == "+" }
    guard text.count - body.count <= 1, body.contains(where: \.isNumber),
      body.allSatisfy({ "0123456789.eE+-".contains($0) }), Double(text) != nil
    else { throw ValueProblem(text, isNot: attribute) }
    let digits = body.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }
    let value = NSDecimalNumber(string: text)
    guard digits.count <= 38, !value.decimalValue.isNaN else {
      throw ValueProblem("\(TextLayout.truncated(text, to: 60)) has more than the 38 digits of a Decimal")
    }
    return value
  }
}

/// A value for an attribute.
enum AttributeValue {
  case null
  case object(Any)
  /// The stored form of a transformable attribute.
  case storedForm(Data)

  /// Returns the value as it stands in the dictionary of a composite attribute.
  func element(of attribute: NSAttributeDescription) -> Any? {
    switch self {
    case .null: nil
    case .object(let value): value
    case .storedForm(let data): TransformableValues.decode(data, of: attribute)
    }
  }

  /// Sets an attribute of an object.
  func set(_ attribute: NSAttributeDescription, of object: NSManagedObject) {
    switch self {
    case .null: object.setValue(nil, forKey: attribute.name)
    case .object(let value): object.setValue(value, forKey: attribute.name)
    case .storedForm(let data): object.setStoredForm(data, forKey: attribute.name)
    }
  }
}

extension AttributeValue {
  /// Converts a JSON value, as `store export` writes it.
  ///
  /// - Throws: `ValueProblem`.
  init(_ json: JSONText, for attribute: NSAttributeDescription) throws {
    let kind = attribute.attributeType.kind
    switch (json, kind) {
    case (.null, _): self = .null
    case (.string(let text), _) where kind != .boolean: self = try ValueText.value(text, of: attribute)
    case (.bool(let flag), .boolean): self = .object(flag)
    case (.integer(let number), .integer16), (.integer(let number), .integer32), (.integer(let number), .integer64):
      self = try ValueText.integer(number, of: attribute)
    case (.integer(let number), .double), (.integer(let number), .float):
      self = try ValueText.value(String(number), of: attribute)
    case (.real(let number), .double), (.real(let number), .float):
      self = try ValueText.value(String(number), of: attribute)
    case (.integer(let number), .decimal): self = try ValueText.value(String(number), of: attribute)
    case (.object(let members), .composite): self = try .init(members, for: attribute)
    default: throw ValueProblem(json.line(), isNot: attribute)
    }
  }

  private init(_ members: [JSONText.Member], for attribute: NSAttributeDescription) throws {
    let parts = NSMutableDictionary()
    for member in members {
      guard let element = attribute.element(named: member.key) else {
        throw ValueProblem("\(attribute.name) has no element \(JSONText.string(member.key).line())")
      }
      do {
        guard let value = try AttributeValue(member.value, for: element).element(of: element) else { continue }
        parts[member.key as NSString] = value
      } catch let problem as ValueProblem {
        throw ValueProblem("\(member.key): \(problem.reason)")
      }
    }
    self = parts.count == 0 ? .null : .object(parts)
  }
}

extension NSAttributeDescription {
  /// Returns an element of a composite attribute; nil for any other attribute or name.
  func element(named name: String) -> NSAttributeDescription? {
    (self as? NSCompositeAttributeDescription)?.elements.first { $0.name == name }
  }
}

extension NSManagedObject {
  /// Returns the value of a property in the form in which `store export` writes it.
  ///
  /// - Throws: 134060 for the value of a transformable attribute that cannot be archived.
  func exported(_ property: NSPropertyDescription) throws -> JSONText {
    if let relationship = property as? NSRelationshipDescription {
      let members = members(of: relationship)
      let ids = members.map { JSONText.string($0.objectID.uriRepresentation().absoluteString) }
      return relationship.isToMany ? .array(ids) : ids.first ?? .null
    }
    guard let attribute = property as? NSAttributeDescription else { return .null }
    if attribute.attributeType == .transformableAttributeType {
      return try storedForm(forKey: attribute.name).map { .string($0.base64EncodedString()) } ?? .null
    }
    return Self.exported(value(forKey: attribute.name), attribute)
  }

  /// Returns the destinations of a relationship, in order if it is ordered, otherwise by entity and number.
  func members(of relationship: NSRelationshipDescription) -> [NSManagedObject] {
    switch value(forKey: relationship.name) {
    case let object as NSManagedObject: [object]
    case let ordered as NSOrderedSet: ordered.array.compactMap { $0 as? NSManagedObject }
    case let members as Set<NSManagedObject>: members.inExportOrder()
    default: []
    }
  }

  /// Returns the value of an attribute in the form in which `store export` writes it.
  static func exported(_ value: Any?, _ attribute: NSAttributeDescription) -> JSONText {
    guard let value else { return .null }
    switch (attribute.attributeType.kind, value) {
    case (.boolean, let number as NSNumber): return .bool(number.boolValue)
    case (.decimal, let number as NSDecimalNumber): return .string(number.stringValue)
    case (.integer16, let number as NSNumber), (.integer32, let number as NSNumber),
      (.integer64, let number as NSNumber):
      return .integer(number.int64Value)
    case (_, let date as Date): return .string(DateText.text(date.timeIntervalSinceReferenceDate))
    case (_, let data as Data): return .string(data.base64EncodedString())
    case (_, let identifier as UUID): return .string(identifier.uuidString)
    case (_, let url as URL): return .string(url.absoluteString)
    case (_, let text as String): return .string(text)
    case (.double, let number as NSNumber), (.float, let number as NSNumber):
      let real = number.doubleValue
      return real.isFinite ? .real(real) : .string(real < 0 ? "-Infinity" : "Infinity")
    case (.composite, let parts as NSDictionary):
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      return .object(
        elements.sorted { $0.name < $1.name }.map { .init($0.name, exported(parts[$0.name as NSString], $0)) })
    default: return .string(String(describing: value))
    }
  }
}

extension Set<NSManagedObject> {
  /// Sorts objects by entity and number.
  func inExportOrder() -> [NSManagedObject] {
    // Making a URL takes longer than comparing.
    map { (object: $0, entity: $0.entity.name ?? "", key: $0.objectID.uriRepresentation().lastPathComponent) }
      .sorted { ($0.entity, $0.key.utf8.count, $0.key) < ($1.entity, $1.key.utf8.count, $1.key) }
      .map(\.object)
  }
}
