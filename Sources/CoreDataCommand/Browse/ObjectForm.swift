// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// The values of an object that a form can change, as text.
struct ObjectForm {
  struct Field {
    enum Kind {
      /// A text, which may be empty.
      case text
      /// A number, a date, an identifier; an empty field means no value.
      case value
      case boolean
      /// The identifiers of objects.
      case objects
    }

    /// The property, or the path of a composite attribute's element.
    let path: [String]
    let kind: Kind
    let isOptional: Bool
    /// The value; nil for none.
    let text: String?
    let note: String

    var label: String { path.joined(separator: ".") }
    var valueName: String { "v." + label }
    var noneName: String { "n." + label }
  }

  private(set) var fields: [Field] = []
  /// Properties that have values, but none for a form, with the reason.
  private(set) var others: [(name: String, reason: String)] = []
  /// Differs if the row was changed meanwhile, or any value that the form shows.
  private(set) var state = ""

  /// The maximum length of a text, in bytes, and of a relationship.
  private static let (maxText, maxMembers) = (100_000, 100)

  /// - Parameter version: the version of the object's row; 0 for a new object.
  init(_ object: NSManagedObject, version: Int64) {
    for attribute in object.entity.storedAttributes where !(attribute is NSDerivedAttributeDescription) {
      add(attribute, [attribute.name], object.value(forKey: attribute.name))
    }
    for relationship in object.entity.sortedRelationships { add(relationship, object) }
    // FNV-1a, which only has to notice a change.
    let parts = fields.map { "\($0.label)\u{0}\($0.text.map { "=\($0)" } ?? "")" }
    let hash = parts.joined(separator: "\u{0}").utf8.reduce(14_695_981_039_346_656_037 as UInt64) {
      ($0 ^ UInt64($1)) &* 1_099_511_628_211
    }
    state = "\(version)-\(String(hash, radix: 16))"
  }

  private mutating func add(_ attribute: NSAttributeDescription, _ path: [String], _ value: Any?) {
    let kind = attribute.attributeType.kind
    let name = path.joined(separator: ".")
    func field(_ kind: Field.Kind, _ text: String?, _ note: String) -> Field {
      let required = attribute.isOptional ? "" : ", required"
      return Field(path: path, kind: kind, isOptional: attribute.isOptional, text: text, note: note + required)
    }
    switch kind {
    case .composite:
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      for element in elements.sorted(by: { $0.name < $1.name }) {
        add(element, path + [element.name], (value as? NSDictionary)?[element.name])
      }
    case .string:
      let text = value as? String
      if let text, text.utf8.count > Self.maxText {
        return others.append((name, "\(NumberText.counted(text.utf8.count, "byte")) of text"))
      }
      // Browsers change line breaks of other systems, and other control characters.
      guard !(text ?? "").unicodeScalars.contains(where: Self.isChangedByBrowsers) else {
        return others.append((name, "a text with control characters"))
      }
      fields.append(field(.text, text, kind.title))
    case .boolean:
      fields.append(field(.boolean, (value as? NSNumber).map { $0.boolValue ? "true" : "false" }, kind.title))
    case .binaryData, .transformable, .undefined, .objectID:
      others.append((name, kind.title))
    default:
      let json = NSManagedObject.exported(value, attribute)
      let text: String? =
        switch json {
        case .null: nil
        case .string(let text): text
        default: json.line()
        }
      fields.append(field(.value, text, "\(kind.title), such as \(ValueText.example(of: kind))"))
    }
  }

  private static func isChangedByBrowsers(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    return properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
      || properties.isNoncharacterCodePoint
  }

  private mutating func add(_ relationship: NSRelationshipDescription, _ object: NSManagedObject) {
    let name = relationship.name
    let destination = relationship.destinationEntity?.name ?? ""
    if relationship.isToMany, object.objectIDs(forRelationshipNamed: name).count > Self.maxMembers {
      return others.append((name, "more than \(Self.maxMembers) objects"))
    }
    let ids = object.members(of: relationship).map(\.shortID)
    let note =
      relationship.isToMany
      ? "\(destination), such as \(destination)/p1, \(destination)/p2" + (relationship.isOrdered ? ", in order" : "")
      : "\(destination), such as \(destination)/p1"
    fields.append(
      Field(
        path: [name], kind: .objects, isOptional: relationship.isOptional,
        text: ids.isEmpty ? nil : ids.joined(separator: ", "),
        note: note + (relationship.isOptional ? "" : ", required")))
  }

  // MARK: A sent form

  /// Returns what a sent form has for a field; nil for no value.
  static func text(of field: Field, in sent: FormFields) -> String? {
    guard let raw = sent[field.valueName] else { return field.text }
    let text = raw.replacingOccurrences(of: "\r\n", with: "\n").replacingOccurrences(of: "\r", with: "\n")
    switch field.kind {
    case .text:
      // The box was checked before if there was no value. A text that is written then is the value.
      let isNone = sent[field.noneName] != nil && (field.text != nil || text.isEmpty)
      return isNone || text.isEmpty && field.text == nil && !field.isOptional ? nil : text
    case .value, .boolean:
      let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
      return trimmed.isEmpty ? nil : trimmed
    case .objects:
      let ids = text.split { $0 == "," || $0 == "\n" || $0 == " " }
      return ids.isEmpty ? nil : ids.joined(separator: ", ")
    }
  }

  /// Returns the assignments of the values that a sent form changes.
  func assignments(_ sent: FormFields) -> [Assignment] {
    fields.compactMap { field in
      let text = Self.text(of: field, in: sent)
      return text == field.text ? nil : Assignment(path: field.path, value: text)
    }
  }
}

extension NSPersistentStore {
  /// Returns the version of an object's row; 0 if the store has no versions.
  func version(of id: NSManagedObjectID, _ coordinator: NSPersistentStoreCoordinator) throws -> Int64 {
    guard let store = self as? any RowStore else { return 0 }
    return try coordinator.performAndWait { try store.row(for: id)?.version ?? 0 }
  }
}
