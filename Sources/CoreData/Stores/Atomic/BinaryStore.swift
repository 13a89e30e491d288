// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// A store in a binary property list. The format is the framework's own, because Apple's is undocumented.
final class BinaryStore: FileStore, @unchecked Sendable {
  override var type: String { NSBinaryStoreType }
  override class var format: any StoreFormat.Type { BinaryStoreFormat.self }
}

/// Encodes rows as arrays in a property list.
///
/// The root is a dictionary: `format` and `version`, which identify the file; `metadata`; `lastNumber`, the greatest
/// number ever given to an object; and `entities`. Each entity has its `name`, the names of its `properties`, and
/// `rows`. A row holds the object's number and its values in the order of the properties. A missing value is an empty
/// array, a to-one relationship a number, and a to-many relationship an array of numbers.
struct BinaryStoreFormat: StoreFormat {
  private static let (name, version) = ("OpenCoreData binary store", Int64(1))
  private static let none = ArchiveValue.array([])

  private let contents: [String: ArchiveValue]
  let metadata: [String: Any]

  private static var limits: PropertyListLimits {
    var limits = PropertyListLimits.archive
    limits.bytes = FileStore.largest
    limits.objects = 200_000_000
    limits.elements = 400_000_000
    return limits
  }

  init(_ data: Data, url: URL) throws {
    guard data.starts(with: "bplist".utf8) else {
      throw PropertyLists.Unreadable(
        description: "It is not a binary store of this framework. Binary stores of Apple's framework cannot be read.")
    }
    guard case .dictionary(let contents) = try PropertyLists.value(of: data, limits: Self.limits),
      contents["format"] == .string(Self.name), case .dictionary(let metadata)? = contents["metadata"]
    else { throw PropertyLists.Unreadable(description: "The property list is not a binary store.") }
    guard contents["version"] == .integer(Self.version) else {
      throw PropertyLists.Unreadable(description: "The binary store is of a later version of this framework.")
    }
    self.contents = contents
    self.metadata = try metadata.mapValues { try $0.foundationValue() }
  }

  var objectCounts: [String: Int] {
    guard case .array(let entities)? = contents["entities"] else { return [:] }
    return entities.reduce(into: [:]) { counts, entity in
      guard case .dictionary(let parts) = entity, case .string(let name)? = parts["name"],
        case .array(let rows)? = parts["rows"]
      else { return }
      counts[name, default: 0] += rows.count
    }
  }

  func data(withMetadata metadata: [String: Any]) throws -> Data {
    var copy = contents
    copy["metadata"] = try ArchiveValue(foundationValue: metadata)
    return PropertyLists.data(of: .dictionary(copy))
  }

  // MARK: Writing

  static func data(of tables: RowTables, metadata: [String: Any]) throws -> Data {
    var entities: [ArchiveValue] = []
    for entity in tables.model.entities.sorted(by: { ($0.name ?? "") < ($1.name ?? "") }) {
      let rows = tables.rows(of: entity, includesSubentities: false)
      if rows.isEmpty { continue }
      let plan = tables.plan(entity)
      let positions = plan.steps.indices.filter { if case .transient = plan.steps[$0] { false } else { true } }
      entities.append(
        .dictionary([
          "name": .string(entity.name ?? ""),
          "properties": .array(positions.map { .string(plan.table.names[$0]) }),
          "rows": .array(
            try rows.map { row in
              .array([.integer(row.id.key.number)] + (try positions.map { try value($0, of: row, plan, tables) }))
            }),
        ]))
    }
    return PropertyLists.data(
      of: .dictionary([
        "format": .string(name), "version": .integer(version),
        "metadata": try ArchiveValue(foundationValue: metadata),
        "lastNumber": .integer(tables.nextNumber - 1), "entities": .array(entities),
      ]))
  }

  private static func value(
    _ position: Int, of row: RowSnapshot, _ plan: MemoryRowPlan, _ tables: RowTables
  ) throws -> ArchiveValue {
    switch plan.steps[position] {
    case .transient: return none
    case .attribute(let attribute): return try value(of: row.slots[position], attribute)
    case .toOne:
      if case .toOne(let id) = row.slots[position] { return .integer(id.key.number) }
      return none
    case .members(let number, _):
      return .array(tables.list(.init(owner: row.id.key, relationship: number)).map { .integer($0.key.number) })
    }
  }

  private static func value(of slot: Slot, _ attribute: NSAttributeDescription) throws -> ArchiveValue {
    switch slot {
    case .null, .unread, .toOne, .toMany: return none
    case .integer(let value): return .integer(value)
    case .boolean(let value): return .boolean(value)
    case .double(let value), .date(let value): return .real(value)
    case .float(let value): return .real(Double(value))
    case .string(let value): return .string(value)
    case .data(let value), .archived(let value): return .data(value)
    case .unarchived(let value): return .data(value.data)
    case .uuid(let value): return .data(withUnsafeBytes(of: value.uuid) { Data($0) })
    case .object(let values as NSDictionary) where attribute is NSCompositeAttributeDescription:
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      return .dictionary(
        Dictionary(
          uniqueKeysWithValues: try elements.map {
            ($0.name, try value(of: Slot(values[$0.name as NSString], for: $0) ?? .null, $0))
          }))
    case .object(let value as NSDecimalNumber):
      return .string(DecimalConversion.text(of: value.decimalValue))
    case .object(let value as NSURL): return .string(value.absoluteString)
    case .object(let value): return try TransformableValues.encode(value, of: attribute).map { .data($0) } ?? none
    }
  }

  // MARK: Reading

  /// The rows of one entity in the file.
  private struct Part {
    let plan: MemoryRowPlan
    let positions: [Int]
    let rows: [(id: NSManagedObjectID, values: ArraySlice<ArchiveValue>)]
  }

  func fill(_ tables: RowTables, url: URL) throws {
    guard case .array(let entities)? = contents["entities"], case .integer(let last)? = contents["lastNumber"] else {
      throw FileStoreErrors.unreadable(
        url,
        "The binary store is damaged: the entity list or the last object number "
          + "is missing.")
    }
    let parts = try entities.map { try part($0, tables, url) }
    var ids: [Int64: NSManagedObjectID] = [:]
    for row in parts.flatMap(\.rows) where ids.updateValue(row.id, forKey: row.id.key.number) != nil {
      throw FileStoreErrors.unreadable(url, "Two objects have the number \(row.id.key.number).")
    }
    var rows: [RowSnapshot] = []
    var members: [(NSManagedObjectID, String, [NSManagedObjectID])] = []
    for part in parts {
      for row in part.rows {
        var slots = part.plan.emptySlots
        for (position, value) in zip(part.positions, row.values) {
          func refuse() -> NSError {
            FileStoreErrors.unreadable(
              url,
              "The value of '\(part.plan.table.names[position])' of the object \(row.id.key.number) of "
                + "'\(part.plan.entity.name ?? "")' is not of the right type.")
          }
          switch part.plan.steps[position] {
          case .transient: throw refuse()
          case .attribute(let attribute):
            guard let slot = Self.slot(value, attribute) else { throw refuse() }
            slots[position] = slot
          case .toOne:
            guard value != Self.none else { continue }
            guard case .integer(let number) = value else { throw refuse() }
            guard let other = ids[number] else { continue }
            let destination = part.plan.table.relationship(at: position)?.destinationEntity
            guard destination.map({ other.entityDescription.isKindOf(entity: $0) }) ?? true else { throw refuse() }
            slots[position] = .toOne(other)
          case .members:
            guard case .array(let numbers) = value else { throw refuse() }
            let related = numbers.compactMap { number -> NSManagedObjectID? in
              if case .integer(let number) = number { return ids[number] }
              return nil
            }
            let destination = part.plan.table.relationship(at: position)?.destinationEntity
            guard related.allSatisfy({ id in destination.map { id.entityDescription.isKindOf(entity: $0) } ?? true })
            else { throw refuse() }
            members.append((row.id, part.plan.table.names[position], related))
          }
        }
        rows.append(RowSnapshot(id: row.id, version: 1, slots: slots))
      }
    }
    tables.load(rows, members: members)
    tables.reserve(from: last == .max ? .max : last + 1)
  }

  private func part(_ entity: ArchiveValue, _ tables: RowTables, _ url: URL) throws -> Part {
    guard case .dictionary(let parts) = entity, case .string(let name)? = parts["name"],
      let description = tables.model.entitiesByName[name], case .array(let names)? = parts["properties"],
      case .array(let rows)? = parts["rows"]
    else { throw FileStoreErrors.unreadable(url, "The binary store contains an entity that the model lacks.") }
    let plan = tables.plan(description)
    let positions = try names.map { element in
      if case .string(let property) = element, let position = plan.table.position(of: property) { return position }
      throw FileStoreErrors.unreadable(url, "The binary store has a property of '\(name)' that the model lacks.")
    }
    return Part(
      plan: plan, positions: positions,
      rows: try rows.map { row in
        guard case .array(let values) = row, values.count == positions.count + 1,
          case .integer(let number) = values[0], number > 0
        else { throw FileStoreErrors.unreadable(url, "A row of '\(name)' has the wrong number of values.") }
        return (tables.id(description, number), values.dropFirst())
      })
  }

  /// Returns the slot for a stored value; nil if the value has the wrong type.
  private static func slot(_ value: ArchiveValue, _ attribute: NSAttributeDescription) -> Slot? {
    if value == none { return .null }
    switch (attribute.attributeType, value) {
    case (.integer16AttributeType, .integer(let number)), (.integer32AttributeType, .integer(let number)),
      (.integer64AttributeType, .integer(let number)):
      let slot = Slot.integer(number)
      return slot.isInRange(of: attribute.attributeType) ? slot : nil
    case (.booleanAttributeType, .boolean(let flag)): return .boolean(flag)
    case (.doubleAttributeType, .real(let number)): return .double(number)
    case (.floatAttributeType, .real(let number)): return .float(Float(number))
    case (.dateAttributeType, .real(let number)): return .date(number)
    case (.stringAttributeType, .string(let text)): return .string(text)
    case (.binaryDataAttributeType, .data(let data)): return .data(data)
    case (.transformableAttributeType, .data(let data)): return .archived(data)
    case (.UUIDAttributeType, .data(let data)) where data.count == 16:
      return .uuid(UUID(uuid: data.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }))
    case (.URIAttributeType, .string(let text)): return URL(string: text).map { .object($0 as NSURL) }
    case (.decimalAttributeType, .string(let text)): return StoredDecimal.object(text).map { .object($0) }
    case (.compositeAttributeType, .dictionary(let parts)):
      let values = NSMutableDictionary()
      for element in (attribute as? NSCompositeAttributeDescription)?.elements ?? [] {
        guard let slot = slot(parts[element.name] ?? none, element) else { return nil }
        values[element.name as NSString] = slot.partValue(of: element)
      }
      return Slot(composite: values)
    default: return nil
    }
  }
}
