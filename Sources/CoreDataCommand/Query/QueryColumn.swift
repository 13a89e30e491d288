// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// A column of a query's result: a key path from an object, such as `author.name` or `notes.@count`.
struct QueryColumn {
  let path: String
  /// The attribute at the end of the path; nil for objects and for results of collection operators.
  let attribute: NSAttributeDescription?
  /// The relationships of the path, to be read together with the objects.
  let relationships: String?

  /// - Parameter entity: the entity of the objects, which may be of its subentities and have their properties.
  /// - Throws: `CommandFailure` that names the component that is unknown, and near names.
  init(_ path: String, of entity: NSEntityDescription) throws {
    self.path = path
    var entity = entity
    var (attribute, passed, isAfterMany) = (NSAttributeDescription?.none, [String](), false)
    var elements: [NSAttributeDescription]?
    let components = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for (index, name) in components.enumerated() {
      let family = Self.family(of: entity)
      if let known = elements {
        guard let element = known.first(where: { $0.name == name }) else {
          throw PropertyNames.unknown(
            name, in: path, of: "The attribute \(components[index - 1])", known.map(\.name))
        }
        (attribute, elements) = (element, (element as? NSCompositeAttributeDescription)?.elements)
      } else if attribute != nil {
        throw CommandFailure(
          .usage, "The key path \(path) goes on after the attribute \(components[index - 1]), which has no properties.")
      } else if name.hasPrefix("@"), isAfterMany {
        try Self.checkOperator(name, path, components[(index + 1)...].joined(separator: "."), of: entity)
        break
      } else if let found = family.lazy.compactMap({ $0.attributesByName[name] }).first {
        (attribute, elements) = (found, (found as? NSCompositeAttributeDescription)?.elements)
      } else if let relationship = family.lazy.compactMap({ $0.relationshipsByName[name] }).first {
        passed.append(name)
        isAfterMany = isAfterMany || relationship.isToMany
        if let destination = relationship.destinationEntity { entity = destination }
      } else {
        throw PropertyNames.unknown(
          name, in: path, of: entity.name ?? "",
          Array(Set(family.flatMap { Array($0.attributesByName.keys) + $0.relationshipsByName.keys })))
      }
    }
    self.attribute = isAfterMany ? nil : attribute
    relationships = passed.isEmpty ? nil : passed.joined(separator: ".")
  }

  static func family(of entity: NSEntityDescription) -> [NSEntityDescription] {
    [entity] + entity.subentities.flatMap { family(of: $0) }
  }

  /// Makes sure that a collection operator exists, and that the key path after it leads to a property.
  private static func checkOperator(
    _ name: String, _ path: String, _ rest: String, of entity: NSEntityDescription
  ) throws {
    try PropertyNames.checkOperator(name, in: path)
    guard (name == "@count") == rest.isEmpty else {
      throw CommandFailure(
        .usage,
        "In the key path \(path), \(name) \(rest.isEmpty ? "needs the property that it is about" : "stands at the end")."
      )
    }
    if !rest.isEmpty { _ = try QueryColumn(rest, of: entity) }
  }

  /// The columns of an entity and its subentities if none are named: attributes, then to-one relationships.
  static func all(of entity: NSEntityDescription) throws -> [QueryColumn] {
    let family = family(of: entity)
    let attributes = family.flatMap(\.attributesByName.values).filter { !$0.isTransient }.map(\.name)
    let relationships = family.flatMap(\.relationshipsByName.values).filter { !$0.isTransient && !$0.isToMany }
      .map(\.name)
    return try (Set(attributes).sorted() + Set(relationships).sorted()).map { try QueryColumn($0, of: entity) }
  }

  /// Whether numbers stand in the column.
  var isNumber: Bool {
    guard let attribute else { return path.contains("@") }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .decimalAttributeType,
      .doubleAttributeType, .floatAttributeType:
      return true
    default: return false
    }
  }

  /// Whether text of any length stands in the column: not a date, a Boolean value or a UUID.
  var isText: Bool {
    guard let attribute else { return !isNumber }
    switch attribute.attributeType {
    case .dateAttributeType, .booleanAttributeType, .UUIDAttributeType: return false
    default: return !isNumber
    }
  }

  /// Returns the value of an object in the column.
  ///
  /// - Throws: the errors of `checkedValue(forKeyPath:)`.
  func value(of object: NSManagedObject) throws -> QueryValue {
    let first = path.prefix { $0 != "." }
    if object.entity.propertiesByName[String(first)] == nil { return .absent }
    if attribute?.attributeType == .transformableAttributeType { return try storedForm(of: object) }
    return QueryValue(try object.checkedValue(forKeyPath: path), of: attribute)
  }

  /// Returns the stored form of a transformable value, as exports have it. The classes of an app are not known here.
  private func storedForm(of object: NSManagedObject) throws -> QueryValue {
    var owner: NSManagedObject? = object
    var key = path
    if let dot = path.lastIndex(of: ".") {
      owner = try object.checkedValue(forKeyPath: String(path[..<dot])) as? NSManagedObject
      key = String(path[path.index(after: dot)...])
    }
    return try owner?.storedForm(forKey: key).map { .data($0) } ?? .null
  }
}

/// A value as `store query` and `store get` write it.
indirect enum QueryValue {
  case null
  /// There is no such property: it belongs to another subentity.
  case absent
  /// A value that JSON, CSV and tables write alike.
  case plain(JSONText)
  case data(Data)
  case object(NSManagedObjectID)
  case list([QueryValue])
  case composite([(name: String, value: QueryValue)])

  /// - Parameter attribute: its attribute, if it is the value of one.
  init(_ value: Any?, of attribute: NSAttributeDescription?) {
    switch value {
    case nil, is NSNull: self = .null
    case let object as NSManagedObject: self = .object(object.objectID)
    case let text as String: self = .plain(.string(text))
    case let date as Date: self = .plain(.string(DateText.text(date.timeIntervalSinceReferenceDate)))
    case let data as Data: self = .data(data)
    case let uuid as UUID: self = .plain(.string(uuid.uuidString))
    case let url as URL: self = .plain(.string(url.absoluteString))
    case let number as NSDecimalNumber:
      self = .plain(
        number == .notANumber ? .null : .string(number.description(withLocale: Locale(identifier: "en_US_POSIX"))))
    case let number as NSNumber: self = .plain(Self.number(number, attribute))
    case let values as NSDictionary where attribute is NSCompositeAttributeDescription:
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      self = .composite(
        elements.sorted { $0.name < $1.name }.map { ($0.name, QueryValue(values[$0.name], of: $0)) })
    case let objects as NSOrderedSet: self = .list(objects.array.map { QueryValue($0, of: nil) })
    case let objects as Set<NSManagedObject>: self = .list(Self.sorted(objects.map { QueryValue($0, of: nil) }))
    case let objects as NSSet: self = .list(Self.sorted(objects.allObjects.map { QueryValue($0, of: nil) }))
    case let values as [Any]: self = .list(values.map { QueryValue($0, of: nil) })
    case let values as NSArray: self = .list(values.map { QueryValue($0, of: nil) })
    case let value?: self = .plain(.string(String(describing: value)))
    }
  }

  private static func number(_ number: NSNumber, _ attribute: NSAttributeDescription?) -> JSONText {
    switch attribute?.attributeType {
    case .booleanAttributeType: return .bool(number.boolValue)
    case .doubleAttributeType, .floatAttributeType: return real(number.doubleValue)
    default:
      let isReal = ["d", "f"].contains(String(cString: number.objCType))
      return isReal ? real(number.doubleValue) : .integer(number.int64Value)
    }
  }

  /// JSON cannot represent infinity, and null would lose it.
  private static func real(_ number: Double) -> JSONText {
    number.isFinite ? .real(number) : .string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
  }

  /// Sorts the members of a set: objects by entity and number, others by their text.
  private static func sorted(_ values: [QueryValue]) -> [QueryValue] {
    values.map { ($0.text(isExact: true), $0) }.sorted { $0.0.compare($1.0, options: .numeric) == .orderedAscending }
      .map(\.1)
  }

  var json: JSONText {
    switch self {
    case .null, .absent: .null
    case .plain(let text): text
    case .data(let data): .string(data.base64EncodedString())
    case .object(let id): .string(id.uriRepresentation().absoluteString)
    case .list(let values): .array(values.map(\.json))
    case .composite(let parts): .object(parts.map { .init($0.name, $0.value.json) })
    }
  }

  /// The value as a field of CSV; nil if there is none.
  var field: String? {
    switch self {
    case .null, .absent: nil
    default: text(isExact: true)
    }
  }

  /// Returns the value as text.
  ///
  /// - Parameter isExact: false for people: the size of binary data, the end of an identifier, and a few of many members.
  func text(isExact: Bool) -> String {
    switch self {
    case .null, .absent: return ""
    case .plain(.string(let text)): return text
    case .plain(let other): return other.line()
    case .data(let data): return isExact ? data.base64EncodedString() : NumberText.counted(data.count, "byte")
    case .object(let id): return isExact ? id.uriRepresentation().absoluteString : OpenedObjects.short(id)
    case .list(let values):
      let shown = isExact ? values : Array(values.prefix(Self.membersShown))
      let rest = values.count - shown.count
      return shown.map { $0.text(isExact: isExact) }.joined(separator: isExact ? "," : ", ")
        + (rest > 0 ? " and \(rest) more" : "")
    case .composite(let parts):
      if isExact { return json.line() }
      return parts.map { "\($0.name): \($0.value.text(isExact: false))" }.joined(separator: ", ")
    }
  }

  private static let membersShown = 10
}
