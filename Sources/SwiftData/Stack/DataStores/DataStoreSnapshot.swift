// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The values of a model at one moment.
///
/// A store with a snapshot type of its own must encode it with a keyed container whose keys are the names of the
/// model's properties (`DataStoreSnapshotCodingKey`), because contexts read the values by encoding the snapshot. An
/// attribute is encoded as its Swift type, a to-one relationship as a `PersistentIdentifier`, and a to-many
/// relationship as an array of them. Apple does not document how its contexts read snapshots.
public protocol DataStoreSnapshot: Codable, Sendable {
  /// Creates the snapshot of a model.
  ///
  /// - Parameters:
  ///   - backingData: the values of the model.
  ///   - relatedBackingDatas: the values of the other models of the same save, by their identifiers.
  init(
    from backingData: any BackingData, relatedBackingDatas: inout [PersistentIdentifier: any BackingData])

  /// The identifier of the model.
  var persistentIdentifier: PersistentIdentifier { get }

  /// Returns a copy with another identifier.
  ///
  /// - Parameters:
  ///   - persistentIdentifier: the identifier of the copy.
  ///   - remappedIdentifiers: replaces the identifiers in relationships; nil to keep them.
  func copy(
    persistentIdentifier: PersistentIdentifier, remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]?
  ) -> Self
}

/// A value in a snapshot.
public typealias DataStoreSnapshotValue = Codable & Sendable

/// The key of a value in an encoded snapshot.
public enum DataStoreSnapshotCodingKey: CodingKey, Hashable, Sendable {
  /// The identifier of the model, under `persistentIdentifier`.
  case persistentIdentifier
  /// The value of a property, under the name of the property.
  case modeledProperty(String)

  private static let identifierKey = "persistentIdentifier"

  /// Creates the key for a name.
  public init?(stringValue: String) {
    self = stringValue == Self.identifierKey ? .persistentIdentifier : .modeledProperty(stringValue)
  }

  /// Returns nil: keys are names.
  public init?(intValue: Int) { nil }

  /// The name.
  public var stringValue: String {
    switch self {
    case .persistentIdentifier: Self.identifierKey
    case .modeledProperty(let name): name
    }
  }

  /// Nil: keys are names.
  public var intValue: Int? { nil }
}
