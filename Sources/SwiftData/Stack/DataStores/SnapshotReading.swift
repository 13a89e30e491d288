// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Converts the snapshots of a store to rows, and checks what the program's store has returned.
struct SnapshotReading {
  private let bridge: DataStoreBridge

  init(_ bridge: DataStoreBridge) { self.bridge = bridge }

  /// Returns the row of an identifier that the store has returned.
  func row(of identifier: PersistentIdentifier) throws -> NSManagedObjectID {
    if let id = bridge.objectID(for: identifier) { return id }
    let known = bridge.entityNames.sorted().joined(separator: ", ")
    let reason =
      if identifier.isTemporary {
        "is the temporary one of a model that this container has not inserted. A store must replace temporary "
          + "identifiers when it saves, also in relationships: see copy(persistentIdentifier:remappedIdentifiers:)"
      } else if identifier.storeIdentifier != bridge.storeIdentifier {
        "is not one of this store, whose identifier is '\(bridge.storeIdentifier)'"
      } else {
        "has an entity that the schema lacks, which has \(known)"
      }
    throw bridge.problem("The identifier \(identifier.words) \(reason).")
  }

  /// Returns the row of a snapshot and its values.
  func content(
    of snapshot: any DataStoreSnapshot
  ) throws -> (NSManagedObjectID, DataStoreBridge.RowContent) {
    let identifier = snapshot.persistentIdentifier
    let id = try row(of: identifier)
    guard let type = bridge.schema.entitiesByName[identifier.entityName]?.type else {
      throw bridge.problem("The schema has no class for the entity '\(identifier.entityName)'.")
    }
    let given: [String: Any?]
    do {
      given = try SnapshotValues.values(of: snapshot)
    } catch {
      throw bridge.problem("The snapshot of \(identifier.words) cannot be read: \(error)")
    }
    // The row converts values to the form that Core Data has for them.
    let scratch = ModelRow(entity: id.entity, insertInto: nil)
    var content = DataStoreBridge.RowContent(values: [:], members: [:])
    for slot in ModelLayout.of(type).slots where !slot.isTransient {
      do {
        switch slot.kind {
        case .unstorable: break
        case .attribute(let access):
          content.values[slot.name] = try attribute(slot, given[slot.name], access, scratch) ?? NSNull()
        case .toOne:
          let value = given[slot.name] ?? nil
          content.values[slot.name] = try value.map { try destination($0, slot, id.entity) } ?? NSNull()
        case .toMany:
          let value = given[slot.name] ?? nil
          content.members[slot.name] = try value.map { try members($0, slot, id.entity) } ?? []
        }
      } catch let problem as SnapshotProblem {
        throw bridge.problem("The snapshot of \(identifier.words) \(problem.description)")
      }
    }
    return (id, content)
  }

  private func attribute(
    _ slot: PropertySlot, _ given: Any??, _ access: AnyAttributeAccess, _ row: ModelRow
  ) throws -> Any? {
    let attribute = row.entity.attributesByName[slot.name]
    guard let given else {
      // The property has been added to the class since.
      if let initial = attribute?.defaultValue { return initial }
      if attribute?.isOptional != false { return nil }
      throw SnapshotProblem("has no value for '\(slot.name)', which is required and has no initial value.")
    }
    guard var value = given else {
      if attribute?.isOptional != false { return nil }
      throw SnapshotProblem("has nil for '\(slot.name)', which is required.")
    }
    if let data = value as? Data, !(slot.wrappedType is any Codable.Type) {
      value = slot.transformer(in: row.entity)?.reverseTransformedValue(data) ?? value
    }
    do {
      try access.write(any: value, to: row)
    } catch {
      throw SnapshotProblem("'\(slot.name)' \((error as? UnreadableAttribute)?.reason ?? "\(error)").")
    }
    return row.value(forKey: slot.name)
  }

  private func destination(
    _ value: Any, _ slot: PropertySlot, _ entity: NSEntityDescription
  ) throws -> NSManagedObjectID {
    guard let identifier = value as? PersistentIdentifier else {
      throw SnapshotProblem("has a \(type(of: value)) for the relationship '\(slot.name)' instead of an identifier.")
    }
    let id = try row(of: identifier)
    if let wanted = entity.relationshipsByName[slot.name]?.destinationEntity, !id.entity.isKindOf(entity: wanted) {
      throw SnapshotProblem("refers in '\(slot.name)' to a '\(identifier.entityName)'.")
    }
    return id
  }

  private func members(
    _ value: Any, _ slot: PropertySlot, _ entity: NSEntityDescription
  ) throws -> [NSManagedObjectID] {
    let identifiers: [Any]
    switch value {
    case let array as [PersistentIdentifier]: identifiers = array
    case let set as Set<PersistentIdentifier>: identifiers = Array(set)
    default:
      throw SnapshotProblem("has a \(type(of: value)) for the relationship '\(slot.name)' instead of identifiers.")
    }
    return try identifiers.map { try destination($0, slot, entity) }
  }
}
