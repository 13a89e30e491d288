// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// A store in an XML file, in the format of Apple's tools.
final class XMLStore: FileStore, @unchecked Sendable {
  override var type: String { NSXMLStoreType }
  override class var format: any StoreFormat.Type { XMLStoreFormat.self }

  override func finishOpening() throws {
    try super.finishOpening()
    tables?.reserve(from: XMLStoreDocument.numberBeforeFirst + 1)
  }

  override func begin(inPlaceOf other: FileStore?, identifier: String?) throws {
    try super.begin(inPlaceOf: other, identifier: identifier)
    tables?.reserve(from: XMLStoreDocument.numberBeforeFirst + 1)
  }
}

/// Encodes rows as elements of an XML file.
struct XMLStoreFormat: StoreFormat {
  private let document: XMLStoreDocument

  init(_ data: Data, url: URL) throws {
    document = try XMLStoreDocument(contentsOf: data, file: url)
  }

  var metadata: [String: Any] {
    document.metadata.merging([NSStoreUUIDKey: document.uuid, NSStoreTypeKey: NSXMLStoreType]) { $1 }
  }

  var objectCounts: [String: Int] { Dictionary(grouping: document.objects, by: \.type).mapValues(\.count) }

  func data(withMetadata metadata: [String: Any]) throws -> Data {
    var copy = document
    Self.set(metadata, in: &copy)
    return try copy.data()
  }

  private static func set(_ metadata: [String: Any], in document: inout XMLStoreDocument) {
    document.metadata = metadata.filter { ![NSStoreUUIDKey, NSStoreTypeKey].contains($0.key) }
    if let uuid = metadata[NSStoreUUIDKey] as? String { document.uuid = uuid }
  }

  // MARK: Writing

  static func data(of tables: RowTables, metadata: [String: Any]) throws -> Data {
    let names = XMLStoreNames(tables.model)
    var document = XMLStoreDocument(
      uuid: UUID().uuidString, metadata: [:],
      lastNumber: max(tables.nextNumber - 1, XMLStoreDocument.numberBeforeFirst), objects: [])
    set(metadata, in: &document)
    document.objects = try tables.allRows.map { try object($0, tables, names) }
    return try document.data()
  }

  private static func object(
    _ row: RowSnapshot, _ tables: RowTables, _ names: XMLStoreNames
  ) throws -> XMLStoreDocument.Object {
    let entity = row.id.entityDescription
    let plan = tables.plan(entity)
    var object = XMLStoreDocument.Object(type: names.name(of: entity), number: row.id.key.number)
    for (position, step) in plan.steps.enumerated() {
      let name = names.name(of: plan.table.names[position], in: entity)
      let related: [NSManagedObjectID]
      switch step {
      case .transient: continue
      case .attribute(let attribute):
        object.attributes += try XMLStoreValues.attributes(name, row.slots[position], attribute)
        continue
      case .toOne:
        if case .toOne(let id) = row.slots[position] { related = [id] } else { related = [] }
      case .members(let number, _):
        related = tables.list(.init(owner: row.id.key, relationship: number))
      }
      guard let relationship = plan.table.relationship(at: position) else { continue }
      object.relationships.append(
        .init(
          name: name, isToMany: relationship.isToMany,
          destination: relationship.destinationEntity.map(names.name(of:)) ?? "", objects: related.map(\.key.number)))
    }
    return object
  }

  // MARK: Reading

  func fill(_ tables: RowTables, url: URL) throws {
    let names = XMLStoreNames(tables.model)
    var ids: [Int64: NSManagedObjectID] = [:]
    for object in document.objects {
      guard let entity = names.entity(object.type) else {
        throw FileStoreErrors.unreadable(
          url, "Line \(object.line): the model has no entity for the objects of type \"\(object.type)\".")
      }
      ids[object.number] = tables.id(entity, object.number)
    }
    var rows: [RowSnapshot] = []
    var members: [(NSManagedObjectID, String, [NSManagedObjectID])] = []
    for object in document.objects {
      guard let id = ids[object.number] else { continue }
      let plan = tables.plan(id.entityDescription)
      var slots = plan.emptySlots
      func position(_ name: String) throws -> Int {
        if let found = names.property(name, in: plan), let position = plan.table.position(of: found) { return position }
        throw FileStoreErrors.unreadable(
          url,
          "Line \(object.line): the object z\(object.number) has the property \"\(name)\", which the entity "
            + "'\(plan.entity.name ?? "")' lacks.")
      }
      for attribute in object.attributes {
        let parts = attribute.name.split(separator: ".").map(String.init)
        let position = try position(parts.first ?? attribute.name)
        guard case .attribute(let description) = plan.steps[position] else { continue }
        do {
          try XMLStoreValues.read(attribute.text, parts.dropFirst(), description, into: &slots[position])
        } catch let problem as XMLStoreValues.Unreadable {
          throw FileStoreErrors.unreadable(
            url,
            "Line \(object.line): the attribute \"\(attribute.name)\" of the object z\(object.number) has the value "
              + "\"\(attribute.text.prefix(100))\", which is not \(problem.wanted).")
        }
      }
      for relationship in object.relationships {
        let position = try position(relationship.name)
        guard let description = plan.table.relationship(at: position) else { continue }
        let related = try relationship.objects.compactMap { number -> NSManagedObjectID? in
          guard let other = ids[number] else { return nil }
          if let destination = description.destinationEntity, !other.entityDescription.isKindOf(entity: destination) {
            throw FileStoreErrors.unreadable(
              url,
              "Line \(object.line): the relationship \"\(relationship.name)\" of the object z\(object.number) leads "
                + "to z\(number), which is not an object of '\(destination.name ?? "")'.")
          }
          return other
        }
        if description.isToMany {
          members.append((id, description.name, related))
        } else if let destination = related.first, case .toOne = plan.steps[position] {
          slots[position] = .toOne(destination)
        }
      }
      rows.append(RowSnapshot(id: id, version: 1, slots: slots))
    }
    tables.load(rows, members: members)
    tables.reserve(from: document.lastNumber == .max ? .max : document.lastNumber + 1)
  }
}

/// The names of entities and properties in XML stores: uppercase for entities, lowercase for properties. Names that
/// differ only in case stay as they are in the model.
struct XMLStoreNames {
  private var entities: [String: NSEntityDescription] = [:]
  private var entityNames: [ObjectIdentifier: String] = [:]
  private var properties: [ObjectIdentifier: [String: String]] = [:]

  init(_ model: NSManagedObjectModel) {
    let names = Self.folded(model.entities.compactMap(\.name)) { $0.uppercased() }
    for entity in model.entities {
      let name = names[entity.name ?? ""] ?? ""
      entities[name] = entity
      entityNames[ObjectIdentifier(entity)] = name
      properties[ObjectIdentifier(entity)] = Self.folded(entity.slotTable.names) { $0.lowercased() }
    }
  }

  private static func folded(_ names: [String], _ fold: (String) -> String) -> [String: String] {
    let groups = Dictionary(grouping: names, by: fold)
    return Dictionary(uniqueKeysWithValues: names.map { ($0, groups[fold($0)]?.count == 1 ? fold($0) : $0) })
  }

  func entity(_ name: String) -> NSEntityDescription? { entities[name] }

  func name(of entity: NSEntityDescription) -> String {
    entityNames[ObjectIdentifier(entity)] ?? (entity.name ?? "").uppercased()
  }

  func name(of property: String, in entity: NSEntityDescription) -> String {
    properties[ObjectIdentifier(entity)]?[property] ?? property
  }

  /// Returns the property with a given name in the file.
  func property(_ name: String, in plan: MemoryRowPlan) -> String? {
    properties[ObjectIdentifier(plan.entity)]?.first { $0.value == name }?.key
  }
}

/// Encodes values as text in an XML store.
enum XMLStoreValues {
  /// Text that is not valid for its attribute's type.
  struct Unreadable: Error {
    let wanted: String
  }

  /// Returns the elements for a value: none for nil, and several for a composite attribute.
  static func attributes(
    _ name: String, _ slot: Slot, _ attribute: NSAttributeDescription
  ) throws -> [XMLStoreDocument.Attribute] {
    if case .object(let values as NSDictionary) = slot, let composite = attribute as? NSCompositeAttributeDescription {
      return try composite.elements.flatMap { element in
        try attributes(
          "\(name).\(element.name)", Slot(values[element.name as NSString], for: element) ?? .null, element)
      }
    }
    guard let (type, text) = try text(of: slot, attribute) else { return [] }
    return [.init(name: name, type: type, text: text)]
  }

  private static func text(of slot: Slot, _ attribute: NSAttributeDescription) throws -> (type: String, text: String)? {
    switch slot {
    case .null, .unread, .toOne, .toMany: return nil
    case .integer(let value):
      switch attribute.attributeType {
      case .integer16AttributeType: return ("int16", "\(value)")
      case .integer32AttributeType: return ("int32", "\(value)")
      default: return ("int64", "\(value)")
      }
    case .boolean(let value): return ("bool", value ? "1" : "0")
    case .double(let value): return ("double", "\(value)")
    case .float(let value): return ("float", "\(value)")
    case .date(let value):
      let text = String(format: "%.20f", value)
      return ("date", Double(text) == value ? text : "\(value)")
    case .string(let value): return ("string", value)
    case .data(let value), .archived(let value): return ("binary", XMLStoreDocument.text(of: value))
    case .unarchived(let value): return ("binary", XMLStoreDocument.text(of: value.data))
    case .uuid(let value): return ("uuid", value.uuidString)
    case .object(let value as NSDecimalNumber):
      return ("decimal", DecimalConversion.text(of: value.decimalValue))
    case .object(let value as NSURL): return ("uri", value.absoluteString)
    case .object(let value):
      guard let archive = try TransformableValues.encode(value, of: attribute) else { return nil }
      return ("binary", XMLStoreDocument.text(of: archive))
    }
  }

  /// Reads the text of an attribute, or of an element of a composite attribute.
  static func read(
    _ text: String, _ elements: ArraySlice<String>, _ attribute: NSAttributeDescription, into slot: inout Slot
  ) throws {
    guard let name = elements.first else {
      slot = try self.slot(text, attribute)
      return
    }
    guard let composite = attribute as? NSCompositeAttributeDescription,
      let element = composite.elements.first(where: { $0.name == name })
    else { throw Unreadable(wanted: "an element of a composite attribute") }
    var values: [String: Any] = [:]
    if case .object(let known as NSDictionary) = slot { values = known as? [String: Any] ?? [:] }
    var part = Slot(values[name], for: element) ?? .null
    try read(text, elements.dropFirst(), element, into: &part)
    values[name] = part.partValue(of: element)
    slot = .object(NSDictionary(dictionary: values))
  }

  private static func slot(_ text: String, _ attribute: NSAttributeDescription) throws -> Slot {
    func value<Value>(_ value: Value?, _ wanted: String) throws -> Value {
      if let value { return value }
      throw Unreadable(wanted: wanted)
    }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      let slot = Slot.integer(try value(Int64(text), "an integer"))
      return slot.isInRange(of: attribute.attributeType) ? slot : try value(nil, "in the range of its type")
    case .booleanAttributeType:
      return .boolean(try value(["1": true, "0": false, "YES": true, "NO": false][text], "1 or 0"))
    case .doubleAttributeType: return .double(try value(Double(text), "a number"))
    case .floatAttributeType: return .float(try value(Float(text), "a number"))
    case .dateAttributeType: return .date(try value(Double(text), "a number of seconds"))
    case .decimalAttributeType: return .object(try value(StoredDecimal.object(text), "a decimal number"))
    case .stringAttributeType: return .string(text)
    case .binaryDataAttributeType, .transformableAttributeType:
      // Foundation cannot decode text that consists only of line breaks.
      let plain = Data(text.utf8.filter { $0 > UInt8(ascii: " ") })
      let data = try value(Data(base64Encoded: plain), "base64")
      return attribute.attributeType == .binaryDataAttributeType ? .data(data) : .archived(data)
    case .UUIDAttributeType: return .uuid(try value(UUID(uuidString: text), "a UUID"))
    case .URIAttributeType: return .object(try value(URL(string: text), "a URL") as NSURL)
    case .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType:
      throw Unreadable(wanted: "a value of a stored type")
    }
  }
}
