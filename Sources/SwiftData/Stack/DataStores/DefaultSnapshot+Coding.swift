// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation
import Synchronization

extension DefaultSnapshot {
  /// The key of a decoder's `userInfo` for the `Schema` whose classes the snapshots have. An addition to Apple's API.
  ///
  /// Needed only if the process has several classes with one entity name, such as those of two schema versions, and the
  /// store is not in a container yet. Otherwise the container of the store, or the container made last, decides.
  public static let schemaKey: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "SwiftData.DefaultSnapshot.schema") else {
      trap("Foundation refuses the text of a key.")
    }
    return key
  }()

  /// Encodes the identifier and the properties, in no particular order.
  public func encode(to encoder: any Encoder) throws {
    if let problem { throw problem }
    var container = encoder.container(keyedBy: DataStoreSnapshotCodingKey.self)
    try container.encode(persistentIdentifier, forKey: .persistentIdentifier)
    for (name, value) in values {
      if let value {
        try container.encode(value, forKey: .modeledProperty(name))
      } else {
        try container.encodeNil(forKey: .modeledProperty(name))
      }
    }
  }

  /// Decodes what `encode(to:)` wrote, with the types that the properties have now. Properties that the class lacks are
  /// ignored, and those that were not encoded keep their initial values.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DataStoreSnapshotCodingKey.self)
    let identifier = try container.decode(PersistentIdentifier.self, forKey: .persistentIdentifier)
    let classes = SnapshotClasses.candidates(for: identifier, decoder.userInfo[Self.schemaKey] as? Schema)
    guard let first = classes.first else {
      throw DecodingError.dataCorruptedError(
        forKey: .persistentIdentifier, in: container,
        debugDescription: "No container of this process has a class for the entity '\(identifier.entityName)'. Make "
          + "the container first, or set DefaultSnapshot.schemaKey in the decoder's userInfo.")
    }
    do {
      self.init(identifier, try Self.values(in: container, of: first))
    } catch {
      // Another version of the class may fit.
      for other in classes.dropFirst() {
        // The error of the most likely class is thrown if no class fits.
        if let values = try? Self.values(in: container, of: other) {
          self.init(identifier, values)
          return
        }
      }
      throw error
    }
  }

  private static func values(
    in container: KeyedDecodingContainer<DataStoreSnapshotCodingKey>, of type: any PersistentModel.Type
  ) throws -> [String: (any Codable)?] {
    var values: [String: (any Codable)?] = [:]
    for slot in ModelLayout.of(type).slots where !slot.isTransient {
      let key = DataStoreSnapshotCodingKey.modeledProperty(slot.name)
      guard container.contains(key) else { continue }
      if try container.decodeNil(forKey: key) {
        values[slot.name] = .some(nil)
        continue
      }
      let type: any Codable.Type
      switch slot.kind {
      case .unstorable: continue
      case .toOne: type = PersistentIdentifier.self
      case .toMany: type = [PersistentIdentifier].self
      case .attribute: type = slot.wrappedType as? any Codable.Type ?? Data.self
      }
      values[slot.name] = .some(try decode(type, container, key))
    }
    return values
  }

  private static func decode<Value: Codable>(
    _ type: Value.Type, _ container: KeyedDecodingContainer<DataStoreSnapshotCodingKey>,
    _ key: DataStoreSnapshotCodingKey
  ) throws -> any Codable { try container.decode(type, forKey: key) }
}

/// The model classes of containers, by which snapshots are decoded.
enum SnapshotClasses {
  private struct Known {
    /// The classes of each entity name, those of the container made last at the end.
    var byEntity: [String: [any PersistentModel.Type]] = [:]
    /// The schemas of open stores, by their identifiers.
    var byStore: [String: Schema] = [:]
  }

  private static let known = Mutex(Known())

  /// Makes the classes of a schema known before a store is opened with it.
  static func add(_ schema: Schema) {
    known.withLock { known in
      for entity in schema.entities {
        guard let type = entity.type else { continue }
        known.byEntity[entity.name, default: []].removeAll { ObjectIdentifier($0) == ObjectIdentifier(type) }
        known.byEntity[entity.name, default: []].append(type)
      }
    }
  }

  /// Makes the schema of an open store known.
  static func add(_ schema: Schema, ofStore identifier: String) {
    known.withLock { $0.byStore[identifier] = schema }
  }

  /// Returns the classes that a model may have, the most likely one first.
  static func candidates(
    for identifier: PersistentIdentifier, _ schema: Schema?
  ) -> [any PersistentModel.Type] {
    if let schema { return schema.entitiesByName[identifier.entityName]?.type.map { [$0] } ?? [] }
    return known.withLock { known in
      let all = Array((known.byEntity[identifier.entityName] ?? []).reversed())
      let own = identifier.storeIdentifier.flatMap { known.byStore[$0]?.entitiesByName[identifier.entityName]?.type }
      guard let own else { return all }
      return [own] + all.filter { ObjectIdentifier($0) != ObjectIdentifier(own) }
    }
  }
}
