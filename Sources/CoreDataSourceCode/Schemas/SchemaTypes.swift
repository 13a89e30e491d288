// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The Swift types of a schema's attributes, and the declarations of those that only the app knows.
struct SchemaTypes {
  /// A type as it is written.
  struct Found {
    var name: String
    /// What was guessed.
    var comment: String?
    /// The name of a value transformer of the app.
    var transformer: String?
  }

  /// The lines of the declared types, in the order in which they were needed.
  private(set) var declared: [[String]] = []
  /// The names of classes and declared types, which hide others of the same name.
  private var taken: Set<String>
  private var known: [Shape: String] = [:]

  private struct Shape: Hashable {
    /// The name that is wanted; nil for a struct, which attributes of any name share.
    let name: String?
    let elements: [AttributeDocument]
    let kind: Kind
  }

  /// What a composite attribute was in Swift.
  private enum Kind {
    case rawValue
    case cases
    case structure
  }

  /// - Parameter document: the model, whose classes are inside the schema too.
  init(_ document: ModelDocument) { taken = Set(document.entities.map(\.name)) }

  /// Names that a nested type cannot have.
  private static let reserved: Set<String> = ["Type", "Protocol", "Self", "Any"]

  private static let plain: [AttributeKind: (name: String, module: String)] = [
    .integer16: ("Int16", "Swift"), .integer32: ("Int32", "Swift"), .integer64: ("Int", "Swift"),
    .double: ("Double", "Swift"), .float: ("Float", "Swift"), .boolean: ("Bool", "Swift"),
    .string: ("String", "Swift"), .decimal: ("Decimal", "Foundation"), .date: ("Date", "Foundation"),
    .binaryData: ("Data", "Foundation"), .uuid: ("UUID", "Foundation"), .uri: ("URL", "Foundation"),
  ]

  /// Returns the name of a type of Swift or Foundation, with its module if the schema has a class of that name.
  private func named(_ name: String, _ module: String) -> String { taken.contains(name) ? "\(module).\(name)" : name }

  private func plainName(_ kind: AttributeKind) -> String? {
    Self.plain[kind].map { named($0.name, $0.module) }
  }

  /// Returns the type of an attribute's values, without the mark of an optional.
  mutating func type(of attribute: AttributeDocument, in entity: String) -> Found {
    switch attribute.kind {
    case .composite: return Found(name: composite(attribute, in: entity, isOptional: attribute.isOptional))
    case .transformable: return transformable(attribute)
    case .binaryData where isJSON(attribute.defaultValue):
      return Found(
        name: plainName(.binaryData) ?? "Data",
        comment:
          "Guessed: Data. The initial value is JSON, so that it may be a dictionary or an array of the app's types.")
    default:
      return Found(name: plainName(attribute.kind) ?? named("Data", "Foundation"))
    }
  }

  private func isJSON(_ value: PlainValue?) -> Bool {
    guard case .data(let data)? = value, let first = data.first else { return false }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  private static let archiving: Set<String> = [
    "NSSecureUnarchiveFromData", "NSKeyedUnarchiveFromData", "NSUnarchiveFromData",
  ]

  private func transformable(_ attribute: AttributeDocument) -> Found {
    if let transformer = attribute.valueTransformerName, !transformer.isEmpty, !Self.archiving.contains(transformer) {
      let found = attribute.valueClassName.map { ", which the model calls \($0)" } ?? ""
      return Found(
        name: "NSObject", comment: "Guessed: NSObject. Write the class of the values\(found).", transformer: transformer
      )
    }
    if let name = attribute.valueClassName, name.hasPrefix("Array<"), name.hasSuffix(">") {
      let element = String(name.dropFirst(6).dropLast())
      let known = Self.plain.values.first { $0.name == element }
      if let known { return Found(name: "[\(named(known.name, known.module))]") }
    }
    return Found(
      name: "[\(named("String", "Swift"))]",
      comment: "Guessed: an array of String. The model only says that it is an array.")
  }

  // MARK: Composites

  private func kind(_ attribute: AttributeDocument, isOptional: Bool) -> Kind {
    let elements = attribute.elements
    let isOfTexts = elements.allSatisfy { $0.kind == .string && $0.isOptional }
    if elements.count == 1, elements[0].name == attribute.name, elements[0].kind != .composite, elements[0].isOptional {
      return .rawValue
    }
    guard isOfTexts, elements.count > 1 else { return .structure }
    // Frameworks before 26 mark enums. Without the mark, a value that is there has all parts of a struct as a rule.
    return attribute.userInfo["EnumType"] != nil || !isOptional ? .cases : .structure
  }

  /// Returns the name of the type of a composite attribute, which is declared if it is new.
  private mutating func composite(_ attribute: AttributeDocument, in entity: String, isOptional: Bool) -> String {
    let kind = kind(attribute, isOptional: isOptional)
    let elements = attribute.elements.map { element in
      var element = element
      (element.defaultValue, element.userInfo, element.renamingIdentifier) = (nil, [:], nil)
      return element
    }
    let shape = Shape(name: kind == .structure ? nil : attribute.name, elements: elements, kind: kind)
    if let name = known[shape] { return name }
    let name = freeName(attribute.name)
    taken.insert(name)
    known[shape] = name
    let place = declared.count
    declared.append([])
    switch kind {
    case .rawValue: declared[place] = rawValue(name, attribute, entity)
    case .cases: declared[place] = cases(name, attribute, entity)
    case .structure: declared[place] = structure(name, attribute, entity, isOptional: isOptional)
    }
    return name
  }

  /// Returns a name for the type of a property.
  private func freeName(_ property: String) -> String {
    let letters = property.drop { $0 == "_" }
    var wanted = SwiftName.capitalized(String(letters))
    if SwiftName.declared(wanted) != wanted || Self.reserved.contains(wanted)
      || Self.plain.values.contains(where: { $0.name == wanted })
    {
      wanted += "Value"
    }
    var name = wanted
    var number = 2
    while taken.contains(name) {
      name = "\(wanted)\(number)"
      number += 1
    }
    return name
  }

  private func rawValue(_ name: String, _ attribute: AttributeDocument, _ entity: String) -> [String] {
    let raw = plainName(attribute.elements[0].kind) ?? "String"
    return [
      "/// Guessed from \(entity).\(attribute.name): the raw values of an enum of the app. The store does not have its cases:",
      "/// declare the enum \(name): \(raw), Codable instead.", "struct \(name): RawRepresentable, Codable, Hashable {",
      "  var rawValue: \(raw)", "}",
    ]
  }

  private func cases(_ name: String, _ attribute: AttributeDocument, _ entity: String) -> [String] {
    let list = attribute.elements.compactMap { SwiftName.declared($0.name) }
    let isMarked = attribute.userInfo["EnumType"] != nil
    let guess = isMarked ? "an enum without raw values" : "an enum without raw values; or a struct of optional texts"
    return ["/// Guessed from \(entity).\(attribute.name): \(guess).", "enum \(name): Codable {"]
      + list.map { "  case \($0)" } + ["}"]
  }

  private mutating func structure(
    _ name: String, _ attribute: AttributeDocument, _ entity: String, isOptional: Bool
  ) -> [String] {
    var lines: [String] = []
    for element in attribute.elements {
      guard let field = SwiftName.declared(element.name) else { continue }
      var found = type(of: element, in: "\(entity).\(attribute.name)")
      if element.kind == .composite {
        found.name = composite(element, in: "\(entity).\(attribute.name)", isOptional: element.isOptional)
      }
      if let comment = found.comment { lines.append("  // \(comment)") }
      lines.append("  var \(field): \(found.name)\(element.isOptional ? "?" : "")")
    }
    let rest =
      isOptional
      ? ["/// Its parts are optional in the model, as the attribute is: in the app, they may be required."] : []
    return ["/// Guessed from \(entity).\(attribute.name): a struct of the app."] + rest + ["struct \(name): Codable {"]
      + lines + ["}"]
  }

  // MARK: Initial values

  /// Returns an initial value, and what was guessed about it; nil if it is left to `init`.
  func initialValue(_ value: PlainValue, of attribute: AttributeDocument) -> (text: String, comment: String?)? {
    let moment = "The model has the moment at which it was made; guessed: that of each new model."
    switch (attribute.kind, value) {
    case (.string, .string(let text)): return (SwiftName.literal(text), nil)
    case (.boolean, .boolean(let flag)): return ("\(flag)", nil)
    case (.boolean, .integer(let number)): return ("\(number != 0)", nil)
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
      return ("\(number)", nil)
    case (.double, .integer(let number)), (.float, .integer(let number)), (.decimal, .integer(let number)):
      return ("\(number)", nil)
    case (.double, .real(let number)), (.float, .real(let number)), (.decimal, .real(let number)):
      return number.isFinite ? ("\(number)", nil) : nil
    case (.decimal, .decimal(let number)): return ("\(number)", nil)
    case (.date, .date): return ("\(named("Date", "Foundation"))()", moment)
    case (.uuid, .uuid): return ("\(named("UUID", "Foundation"))()", nil)
    case (.binaryData, .data(let data)) where data.isEmpty: return ("\(named("Data", "Foundation"))()", nil)
    case (.binaryData, .data(let data)) where isJSON(value) && data.count < 60:

      let text = SwiftName.literal(String(decoding: data, as: UTF8.self))
      return ("\(named("Data", "Foundation"))(\(text).utf8)", nil)
    case (.transformable, .array(let values)) where values.isEmpty: return ("[]", nil)
    default: return nil
    }
  }
}
