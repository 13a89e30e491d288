// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A stored value that a property's type cannot represent, such as a raw value that an enum no longer has. An addition
/// to Apple's API.
public struct UnreadableValue: Hashable, Sendable, CustomStringConvertible {
  /// The name of the entity.
  public let entity: String
  /// The name of the property.
  public let property: String
  /// The identifier of the model.
  public let persistentModelID: PersistentIdentifier
  /// What is stored, and what the property needs.
  public let reason: String

  /// The identifier of the row in its table, such as `p3`.
  package var row: String { persistentModelID.uri?.lastPathComponent ?? "a model that was not saved" }

  /// The property, the row and the reason, as a sentence.
  public var description: String {
    "'\(entity).\(property)' of \(persistentModelID.uri?.absoluteString ?? "a model that was not saved") \(reason)."
  }
}

// Reading a property traps if its stored value does not fit the type: a property cannot throw.
extension PersistentModel {
  /// Reads a property as its accessor does, but throws where that traps. An addition to Apple's API.
  ///
  /// - Parameter keyPath: the key path of an attribute.
  /// - Throws: `SwiftDataError.modelValidationFailure` with the entity, the property, the row and the stored value.
  public func readValue<Value>(forKey keyPath: KeyPath<Self, Value>) throws -> Value {
    let storage = self.storage
    guard let slot = storage.layout.slot(for: keyPath), let access = slot.access(for: Value.self) else {
      throw SwiftDataError(.unsupportedKeyPath, "\(keyPath.words) is not a stored attribute of \(type(of: self)).")
    }
    guard let row = storage.row else { return self[keyPath: keyPath] }
    do {
      return try access.read(row)
    } catch {
      let found = UnreadableValue(row, slot, error)
      throw SwiftDataError(
        .modelValidationFailure, found.description, entity: found.entity, property: found.property)
    }
  }
}

extension ModelContext {
  /// Reads all attributes and required to-one relationships of all models in the stores, and returns those whose stored
  /// values do not fit their types. An addition to Apple's API.
  ///
  /// A version that removes a case of an enum, or changes what a `Codable` element of an array consists of, has the
  /// version hashes of the one before it, so that nothing is migrated. Call this in a test with a store of the old
  /// version, or in `didMigrate`, before a property is read that would trap.
  ///
  /// - Parameter limit: the number of values after which the search ends.
  /// - Returns: the values, by entity.
  public func unreadableValues(limit: Int = 100) throws -> [UnreadableValue] {
    var found: [UnreadableValue] = []
    for entity in container.schema.entities {
      guard found.count < limit, let type = entity.type else { continue }
      let slots = ModelLayout.of(type).slots.filter { !$0.isTransient }
      let required = Set(entity.storedRequiredRelationships)
      let request = NSFetchRequest<NSManagedObjectID>(entityName: entity.name)
      request.resultType = .managedObjectIDResultType
      request.includesSubentities = false
      let identifiers = try managed.fetch(request)
      for start in stride(from: 0, to: identifiers.count, by: 500) where found.count < limit {
        let rows = try core.rows(Array(identifiers[start..<min(start + 500, identifiers.count)]), of: type)
        for row in rows {
          found += slots.compactMap { slot in slot.problem(in: row, isRequired: required.contains(slot.name)) }
        }
        for row in rows where !row.hasChanges { managed.refresh(row, mergeChanges: false) }
      }
    }
    return Array(found.prefix(limit))
  }
}

extension UnreadableValue {
  fileprivate init(_ row: ModelRow, _ slot: PropertySlot, _ error: any Error) {
    entity = row.entity.name ?? ""
    property = slot.name
    persistentModelID = PersistentIdentifier(row.objectID)
    reason = (error as? UnreadableAttribute)?.reason ?? "cannot be read: \(error)"
  }
}

extension PropertySlot {
  fileprivate func problem(in row: ModelRow, isRequired: Bool) -> UnreadableValue? {
    do {
      switch kind {
      case .attribute(let access): _ = try access.read(any: row)
      case .toOne where isRequired && row.value(forKey: name) == nil:
        throw UnreadableAttribute(reason: "has no destination, but its declaration requires one")
      default: break
      }
      return nil
    } catch {
      return UnreadableValue(row, self, error)
    }
  }
}

extension Schema.Entity {
  fileprivate var storedRequiredRelationships: [String] {
    let inherited = superentity?.storedRequiredRelationships ?? []
    return inherited + relationships.filter { $0.isToOneRelationship && !$0.isOptional }.map(\.name)
  }
}
