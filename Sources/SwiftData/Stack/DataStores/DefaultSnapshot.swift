// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The values of a model of any class, for stores without a snapshot type of their own.
///
/// Encoded, it has the identifier and the properties by their names, as `DataStoreSnapshot` describes. Decoding finds
/// the class of the model by the name of its entity, among the classes of the containers of the process; see
/// `schemaKey`.
public struct DefaultSnapshot: DataStoreSnapshot, @unchecked Sendable {
  // The values are copies of a model's attributes, whose types need not be Sendable but are Codable.

  /// The identifier of the model.
  public let persistentIdentifier: PersistentIdentifier
  /// The values by property; `Optional<Any>.none` for a property that is nil. Relationships have identifiers.
  private(set) var values: [String: (any Codable)?]
  /// Why the values are incomplete; nil if they are complete.
  private(set) var problem: SnapshotProblem?

  init(_ identifier: PersistentIdentifier, _ values: [String: (any Codable)?]) {
    persistentIdentifier = identifier
    self.values = values
  }

  /// Creates the snapshot of a model. Related models are named by their identifiers, so `relatedBackingDatas` does not
  /// change.
  public init(
    from backingData: any BackingData, relatedBackingDatas: inout [PersistentIdentifier: any BackingData]
  ) {
    guard let core = (backingData as? any AnyModelStorage)?.core else {
      self.init(PersistentIdentifier(newOf: ""), [:])
      problem = SnapshotProblem("The backing data \(type(of: backingData)) are those of another framework.")
      return
    }
    self.init(of: core)
  }

  /// Creates the snapshot of an inserted model.
  init(of core: StorageCore) {
    var values: [String: (any Codable)?] = [:]
    var problem: SnapshotProblem?
    for slot in core.layout.slots where !slot.isTransient {
      do {
        values[slot.name] = .some(try core.snapshotValue(of: slot))
      } catch {
        // The values of a deleted model may be gone, and nothing needs them.
        if !core.isDeleted { problem = problem ?? error }
      }
    }
    self.init(core.identifier, values)
    self.problem = problem
  }

  /// Returns a copy with another identifier.
  public func copy(
    persistentIdentifier: PersistentIdentifier,
    remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]? = nil
  ) -> DefaultSnapshot {
    var values = values
    if let remappedIdentifiers, !remappedIdentifiers.isEmpty {
      for (name, value) in values {
        if let one = value as? PersistentIdentifier {
          values[name] = .some(remappedIdentifiers[one] ?? one)
        } else if let many = value as? [PersistentIdentifier] {
          values[name] = .some(many.map { remappedIdentifiers[$0] ?? $0 })
        }
      }
    }
    return DefaultSnapshot(persistentIdentifier, values)
  }
}

/// A value that a snapshot cannot hold, or that a model cannot have.
struct SnapshotProblem: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

extension StorageCore {
  /// Returns the value of a property for a snapshot; nil for a property without a value.
  fileprivate func snapshotValue(of slot: PropertySlot) throws(SnapshotProblem) -> (any Codable)? {
    guard let row, let context else { throw SnapshotProblem("\(place(of: slot)) is not in a context.") }
    switch slot.kind {
    case .unstorable: return nil
    case .toOne: return (row.value(forKey: slot.name) as? ModelRow).map { context.identifier(of: $0) }
    case .toMany:
      let rows = (row.value(forKey: slot.name) as? Set<NSManagedObject>) ?? []
      return rows.compactMap { ($0 as? ModelRow).map { context.identifier(of: $0) } }.sorted()
    case .attribute(let access):
      let value: Any
      do {
        value = try access.read(any: row)
      } catch {
        throw SnapshotProblem(
          "\(place(of: slot)) \((error as? UnreadableAttribute)?.reason ?? "cannot be read: \(error)").")
      }
      guard let some = SnapshotValues.flattened(value) else { return nil }
      if let codable = some as? any Codable { return codable }
      guard let data = slot.transformer(in: row.entity)?.transformedValue(some) as? Data else {
        throw SnapshotProblem(
          "\(place(of: slot)) has a \(type(of: some)), which is neither Codable nor made Data "
            + "by its transformer.")
      }
      return data
    }
  }
}

extension ContextCore {
  /// The identifier of a row: the temporary one until the row is saved.
  func identifier(of row: ModelRow) -> PersistentIdentifier {
    row.storage?.identifier ?? PersistentIdentifier(row.objectID)
  }
}

extension PropertySlot {
  /// The declared type of the values, without `Optional`.
  var wrappedType: Any.Type {
    let type = Swift.type(of: keyPath).valueType
    return (type as? any OptionalValue.Type)?.wrapped ?? type
  }

  /// The value transformer of an attribute; nil if there is none.
  func transformer(in entity: NSEntityDescription) -> ValueTransformer? {
    entity.attributesByName[name]?.valueTransformerName.flatMap { ValueTransformer(forName: .init($0)) }
  }
}
