// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

@testable import SwiftData

/// The rows of a store by `Entity/p12`, as texts by property, which models and managed objects give alike.
struct RowTexts: Equatable {
  var rows: [String: [String: String]] = [:]

  init(_ rows: [String: [String: String]]) { self.rows = rows }

  /// Reads every property of every model.
  init(_ context: ModelContext, _ types: [any PersistentModel.Type]) throws {
    for type in types { try add(type, context) }
  }

  private mutating func add<Model: PersistentModel>(_ type: Model.Type, _ context: ModelContext) throws {
    for model in try context.fetch(FetchDescriptor<Model>()) {
      var texts: [String: String] = [:]
      for property in Model.schemaMetadata {
        guard let keyPath = property.keypath as? PartialKeyPath<Model>, !(property.metadata is any PropertyGroups)
        else { continue }
        texts[property.name] = try Self.text(property: model[keyPath: keyPath])
      }
      rows[Self.key(model)] = texts
    }
  }

  /// Reads every property of every object with Core Data alone.
  init(_ context: NSManagedObjectContext, _ model: NSManagedObjectModel) throws {
    for entity in model.entities {
      for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")) {
        var texts: [String: String] = [:]
        for property in entity.properties {
          let value = object.value(forKey: property.name)
          texts[property.name] =
            switch property {
            case let attribute as NSAttributeDescription: try Self.text(stored: value, attribute)
            default: Self.text(destinations: value)
            }
        }
        rows[Self.key(object)] = texts
      }
    }
  }

  /// Removes references to rows.
  mutating func forget(_ keys: Set<String>) {
    for (key, texts) in rows {
      for (name, text) in texts {
        if keys.contains(text) { rows[key]?[name] = "nil" }
        guard text.hasPrefix("[\""), keys.contains(where: { text.contains("\"\($0)\"") }) else { continue }
        let list = text.dropFirst().dropLast().components(separatedBy: ", ").filter { item in
          !keys.contains(String(item.dropFirst().dropLast()))
        }
        rows[key]?[name] = "[" + list.joined(separator: ", ") + "]"
      }
    }
  }

  private static func key(_ model: any PersistentModel) -> String {
    "\(model.persistentModelID.entityName)/\(model.persistentModelID.id.primaryKey)"
  }

  static func key(_ object: NSManagedObject) -> String {
    object.objectID.uriRepresentation().pathComponents.suffix(2).joined(separator: "/")
  }

  // MARK: Values

  private static func text(property value: Any) throws -> String {
    switch value {
    case let optional as any OptionalValue: return try optional.someValue.map { try text(property: $0) } ?? "nil"
    case let model as any PersistentModel: return key(model)
    case let models as [any PersistentModel]: return "\(models.map { key($0) }.sorted())"
    case let plain as any PlainStorable: return text(plain: plain.stored)
    case let value as any Encodable:
      // Some values alone are no JSON document.
      let list = try JSONSerialization.jsonObject(with: try JSONEncoder().encode([AnyValue(value)]))
      return (list as? [Any])?.first.map { text(json: $0) } ?? "nil"
    default: return "\((value as? Pegase.NSColor)?.name ?? "unknown \(value)")"
    }
  }

  private struct AnyValue: Encodable {
    let value: any Encodable
    init(_ value: any Encodable) { self.value = value }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  private static func text(stored value: Any?, _ attribute: NSAttributeDescription) throws -> String {
    switch value {
    case nil, is NSNull:
      // A struct whose properties are all nil has no stored values.
      return attribute is NSCompositeAttributeDescription && !attribute.isOptional ? "{}" : "nil"
    case let parts as NSDictionary:
      guard let composite = attribute as? NSCompositeAttributeDescription else { return "\(parts)" }
      return try text(parts: parts, composite)
    case let array as NSArray: return "[" + array.map { text(plain: $0) }.joined(separator: ", ") + "]"
    case let color as Pegase.NSColor: return color.name
    case let data as Data where attribute.attributeType == .transformableAttributeType:
      return text(json: try JSONSerialization.jsonObject(with: data))
    case let number as NSNumber where attribute.attributeType == .floatAttributeType:
      return text(plain: NSNumber(value: number.floatValue))
    case let value?: return text(plain: value)
    }
  }

  private static func text(parts: NSDictionary, _ composite: NSCompositeAttributeDescription) throws -> String {
    var texts: [String: String] = [:]
    for element in composite.elements {
      guard let part = parts[element.name], !(part is NSNull) else { continue }
      if let data = part as? Data {
        texts[element.name] = text(json: try JSONSerialization.jsonObject(with: data))
      } else {
        // Of an enum without raw values, the element of the case holds its name.
        texts[element.name] = part as? String == element.name ? "{}" : try text(stored: part, element)
      }
    }
    if texts.isEmpty, composite.isOptional { return "nil" }
    // Of an enum with raw values, the only element has the name of the attribute.
    if composite.elements.count == 1, let raw = texts[composite.name] { return raw }
    return text(keyed: texts)
  }

  private static func text(destinations value: Any?) -> String {
    switch value {
    case let object as NSManagedObject: key(object)
    case let set as NSSet: "\(set.compactMap { ($0 as? NSManagedObject).map(key) }.sorted())"
    default: "nil"
    }
  }

  private static func text(plain value: Any) -> String {
    switch value {
    case let number as NSNumber where number.doubleValue == number.doubleValue.rounded(): "\(number.int64Value)"
    case let number as NSNumber: number.stringValue
    case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
    case let data as Data: "\"\(data.base64EncodedString())\""
    default: "\"\(value)\""
    }
  }

  private static func text(json: Any) -> String {
    switch json {
    case let object as [String: Any]: text(keyed: object.filter { !($0.value is NSNull) }.mapValues { text(json: $0) })
    case let array as [Any]: "[" + array.map { text(json: $0) }.joined(separator: ", ") + "]"
    default: text(plain: json)
    }
  }

  private static func text(keyed texts: [String: String]) -> String {
    "{" + texts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "}"
  }
}
