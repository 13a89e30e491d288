// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// The whole content of a store as typed values, for comparing migrations.
package struct StoreImage: Equatable {
  /// A value of an attribute.
  package enum Value: Hashable, CustomStringConvertible {
    case none
    case flag(Bool)
    case integer(Int64)
    case real(Double)
    case float(Float)
    case decimal(Decimal)
    case text(String)
    case seconds(Double)
    case bytes(Data)
    case identifier(UUID)
    case place(String)
    /// The elements of a composite attribute that have a value.
    indirect case parts([String: Value])

    package var description: String {
      switch self {
      case .none: "nil"
      case .flag(let value): value ? "true" : "false"
      case .integer(let value): "\(value)"
      case .real(let value): "\(value)"
      case .float(let value): "\(value)"
      case .decimal(let value): "\(value)"
      case .text(let value): "\"\(value)\""
      case .seconds(let value): "\(Date(timeIntervalSinceReferenceDate: value))"
      case .bytes(let value): "\(value.count) bytes, \(value.prefix(12).base64EncodedString())"
      case .identifier(let value): value.uuidString
      case .place(let value): value
      case .parts(let parts):
        "[" + parts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "]"
      }
    }
  }

  /// An object of a root entity's table.
  package struct Key: Hashable, Comparable, CustomStringConvertible {
    package var entity: String
    package var number: Int

    package var description: String { "\(entity)/p\(number)" }

    package static func < (left: Key, right: Key) -> Bool {
      (left.number, left.entity) < (right.number, right.entity)
    }
  }

  /// An object's content.
  package struct Object: Equatable {
    package var attributes: [String: Value] = [:]
    /// The members of each relationship, in order if it is ordered, otherwise sorted.
    package var relationships: [String: [Key]] = [:]
  }

  package var objects: [Key: Object] = [:]

  package init() {}

  /// Reads a store with the public API.
  package init(_ context: NSManagedObjectContext, _ document: ModelDocument) throws {
    let shape = ModelShape(document)
    for entity in document.entities where !entity.isAbstract {
      let request = NSFetchRequest<NSManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      for object in try context.fetch(request) {
        var image = Object()
        for (name, attribute) in shape.attributes(of: entity.name) {
          image.attributes[name] = Self.value(object.value(forKey: name), attribute)
        }
        for (name, place) in shape.relationships(of: entity.name) {
          let keys = object.objectIDs(forRelationshipNamed: name).map(Self.key)
          image.relationships[name] = place.relationship.isOrdered ? keys : keys.sorted()
        }
        objects[Self.key(object.objectID)] = image
      }
    }
    // A to-one relationship without inverse still refers to an object that has been deleted.
    let present = Set(objects.keys)
    objects = objects.mapValues { object in
      Object(
        attributes: object.attributes, relationships: object.relationships.mapValues { $0.filter(present.contains) })
    }
  }

  /// Returns the image with other keys: each is moved by the offset of its root entity.
  package func moved(_ distances: [String: Int], in document: ModelDocument) -> StoreImage {
    let shape = ModelShape(document)
    func moved(_ key: Key) -> Key {
      Key(entity: key.entity, number: key.number + (distances[shape.root(of: key.entity)] ?? 0))
    }
    var result = StoreImage()
    for (key, object) in objects {
      let relationships = object.relationships.mapValues { $0.map(moved) }
      result.objects[moved(key)] = Object(attributes: object.attributes, relationships: relationships)
    }
    return result
  }

  package static func key(_ id: NSManagedObjectID) -> Key {
    let parts = id.uriRepresentation().pathComponents
    return Key(entity: id.entity.name ?? "", number: Int(parts.last?.dropFirst() ?? "") ?? -1)
  }

  private static func value(_ value: Any?, _ attribute: AttributeDocument) -> Value {
    guard let value else { return .none }
    if let dictionary = value as? [String: Any], attribute.kind == .composite {
      var parts: [String: Value] = [:]
      for element in attribute.elements {
        let part = Self.value(dictionary[element.name], element)
        if part != .none { parts[element.name] = part }
      }
      return parts.isEmpty ? .none : .parts(parts)
    }
    let kind = attribute.kind
    switch (value, kind) {
    case (let number as NSDecimalNumber, .decimal): return .decimal(number.decimalValue)
    case (let number as NSNumber, .integer16), (let number as NSNumber, .integer32),
      (let number as NSNumber, .integer64):
      return .integer(number.int64Value)
    case (let number as NSNumber, .boolean): return .flag(number.boolValue)
    case (let number as NSNumber, .double): return .real(number.doubleValue)
    case (let number as NSNumber, .float): return .float(number.floatValue)
    case (let text as String, _): return .text(text)
    case (let date as Date, _): return .seconds(date.timeIntervalSinceReferenceDate)
    case (let data as Data, _): return .bytes(data)
    case (let id as UUID, _): return .identifier(id)
    case (let url as URL, _): return .place(url.absoluteString)
    default: return .text("unexpected \(type(of: value)) for \(kind): \(value)")
    }
  }

  /// Whether two values are equal, except for precision. A former Float column may contain more digits than its values
  /// had, and a conversion reveals them.
  private static func isAlike(_ found: Value?, _ wanted: Value?) -> Bool {
    if found == wanted { return true }
    func number(_ value: Value?) -> Double? {
      switch value {
      case .real(let value): value
      case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
      default: nil
      }
    }
    guard let found = number(found), let wanted = number(wanted) else { return false }
    return Float(found) == Float(wanted) && abs(Double(Float(wanted)) - wanted) <= abs(wanted) * 1e-13
  }

  /// Returns descriptions of the differences between two images; empty if they are equal.
  package func differences(from expected: StoreImage) -> [String] {
    var found: [String] = []
    for key in Set(objects.keys).union(expected.objects.keys).sorted() {
      guard let wanted = expected.objects[key] else {
        found.append("\(key) is there, and should not be")
        continue
      }
      guard let object = objects[key] else {
        found.append("\(key) is lost")
        continue
      }
      for name in Set(object.attributes.keys).union(wanted.attributes.keys).sorted()
      where !Self.isAlike(object.attributes[name], wanted.attributes[name]) {
        let texts = [object.attributes[name], wanted.attributes[name]].map { value in
          String(value.map { "\($0)" }?.prefix(80) ?? "missing")
        }
        found.append("\(key).\(name) is \(texts[0]) instead of \(texts[1])")
      }
      for name in Set(object.relationships.keys).union(wanted.relationships.keys).sorted()
      where object.relationships[name] != wanted.relationships[name] {
        found.append(
          "\(key).\(name) is \(object.relationships[name] ?? []) instead of \(wanted.relationships[name] ?? [])")
      }
    }
    return found
  }
}
