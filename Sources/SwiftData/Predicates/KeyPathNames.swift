// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Synchronization

/// Finds the stored properties that key paths name.
protocol KeyPathNames {
  /// Returns the property of a key path with one component; nil for one that is not stored.
  func property(_ keyPath: AnyKeyPath, of type: any PersistentModel.Type) -> PropertyReference?
}

/// A stored property of a model class.
struct PropertyReference {
  enum Kind {
    case attribute(Any.Type, ValueShape)
    case toOne(any PersistentModel.Type)
    case toMany(any PersistentModel.Type)
    case identifier
  }

  let name: String
  let kind: Kind
  let isOptional: Bool
}

/// The names that `@Model` has written into `schemaMetadata`.
struct MetadataNames: KeyPathNames {
  private final class Table: @unchecked Sendable {
    // Immutable, but for what key paths consist of.
    var properties: [AnyKeyPath: PropertyReference] = [:]
  }

  private static let known = Mutex<[ObjectIdentifier: Table]>([:])

  func property(_ keyPath: AnyKeyPath, of type: any PersistentModel.Type) -> PropertyReference? {
    if let property = Self.table(of: type).properties[keyPath] { return property }
    // `persistentModelID` and `id` come from the protocol, unless the class declares an `id` of its own.
    if Swift.type(of: keyPath).valueType == PersistentIdentifier.self, KeyPathProbe(keyPath, of: type).isIdentifier {
      return PropertyReference(name: "objectID", kind: .identifier, isOptional: false)
    }
    return nil
  }

  private static func table(of type: any PersistentModel.Type) -> Table {
    if let table = known.withLock({ $0[ObjectIdentifier(type)] }) { return table }
    let table = Table()
    for owner in ModelLayout.classes(of: type) {
      for property in owner.schemaMetadata where !(property.metadata is any PropertyGroups) {
        table.properties[property.keypath] = reference(property)
      }
    }
    known.withLock { $0[ObjectIdentifier(type)] = table }
    return table
  }

  private static func reference(_ property: Schema.PropertyMetadata) -> PropertyReference? {
    // A property without a column is read in memory.
    if property.metadata?.isTransient == true { return nil }
    let type = Swift.type(of: property.keypath).valueType
    let isOptional = type is any OptionalValue.Type
    if let destination = PropertySlot.destination(of: type) {
      return PropertyReference(
        name: property.name, kind: destination.isToOne ? .toOne(destination.type) : .toMany(destination.type),
        isOptional: isOptional)
    }
    let options = (property.metadata as? Schema.Attribute)?.options ?? []
    guard case .success(let shape) = options.shape(of: type).shape else { return nil }
    let value = (type as? any OptionalValue.Type)?.wrapped ?? type
    return PropertyReference(name: property.name, kind: .attribute(value, shape), isOptional: isOptional)
  }
}
