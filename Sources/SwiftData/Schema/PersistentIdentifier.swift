// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Identifies a model across contexts, processes and devices that share a store.
public struct PersistentIdentifier: Hashable, Codable, Comparable, Identifiable, Sendable {
  /// The primary key and the store of a model.
  public struct ID: Hashable, Codable, Comparable, Sendable {
    let storeIdentifier: String?
    let entityName: String
    let primaryKey: String

    /// Orders by store, entity and primary key.
    public static func < (left: ID, right: ID) -> Bool {
      if left.storeIdentifier != right.storeIdentifier {
        return (left.storeIdentifier ?? "") < (right.storeIdentifier ?? "")
      }
      if left.entityName != right.entityName { return left.entityName < right.entityName }
      switch (left.number, right.number) {
      case (let first?, let second?): return first < second
      case (_?, nil): return true
      case (nil, _?): return false
      case (nil, nil): return left.primaryKey < right.primaryKey
      }
    }

    /// The number of a row, as in p9 and p10, or the primary key of a data store if it is a number.
    private var number: Int64? { Int64(primaryKey.hasPrefix("p") ? primaryKey.dropFirst() : primaryKey[...]) }
  }

  /// The store, the entity and the primary key.
  public let id: ID
  /// Whether the model has not been saved yet.
  public let isTemporary: Bool
  /// The name of the model's entity.
  public var entityName: String { id.entityName }
  /// The identifier of the store; nil for a model that has not been saved.
  public var storeIdentifier: String? { id.storeIdentifier }

  init(storeIdentifier: String?, entityName: String, primaryKey: String, isTemporary: Bool) {
    id = ID(storeIdentifier: storeIdentifier, entityName: entityName, primaryKey: primaryKey)
    self.isTemporary = isTemporary
  }

  /// Creates the identifier of a model that is not saved.
  init(newOf entityName: String) {
    self.init(storeIdentifier: nil, entityName: entityName, primaryKey: "t\(UUID().uuidString)", isTemporary: true)
  }

  /// Creates the identifier of a saved row.
  init(_ objectID: NSManagedObjectID) {
    var maker = IdentifierMaker()
    self = maker.identifier(of: objectID)
  }

  /// Returns an identifier from its parts, for a store of the program's own.
  ///
  /// - Parameters:
  ///   - storeIdentifier: the store's identifier.
  ///   - entityName: the name of the entity.
  ///   - primaryKey: the primary key.
  public static func identifier<Key: Comparable & CustomStringConvertible & Codable & Hashable & Sendable>(
    for storeIdentifier: String, entityName: String, primaryKey: Key
  ) throws -> PersistentIdentifier {
    PersistentIdentifier(
      storeIdentifier: storeIdentifier, entityName: entityName, primaryKey: primaryKey.description, isTemporary: false)
  }

  /// Orders by store, entity and primary key.
  public static func < (left: PersistentIdentifier, right: PersistentIdentifier) -> Bool { left.id < right.id }

  /// The URI by which Core Data names the row.
  var uri: URL? {
    URL(string: "x-coredata://\(storeIdentifier ?? "")/\(entityName)/\(id.primaryKey)")
  }

  private enum CodingKeys: CodingKey { case implementation }

  /// The form in which Apple's SwiftData encodes an identifier.
  private struct Implementation: Codable {
    var primaryKey: String
    var uriRepresentation: URL
    var isTemporary: Bool
    var storeIdentifier: String?
    var entityName: String
  }

  /// Decodes the form of Apple's SwiftData.
  public init(from decoder: any Decoder) throws {
    let parts = try decoder.container(keyedBy: CodingKeys.self).decode(Implementation.self, forKey: .implementation)
    self.init(
      storeIdentifier: parts.storeIdentifier, entityName: parts.entityName, primaryKey: parts.primaryKey,
      isTemporary: parts.isTemporary)
  }

  /// Encodes the identifier in the form of Apple's SwiftData.
  public func encode(to encoder: any Encoder) throws {
    guard let uri else {
      throw EncodingError.invalidValue(
        self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "The identifier has no URI."))
    }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(
      Implementation(
        primaryKey: id.primaryKey, uriRepresentation: uri, isTemporary: isTemporary, storeIdentifier: storeIdentifier,
        entityName: entityName), forKey: .implementation)
  }
}

/// A store that gives its rows identifiers of its own.
protocol IdentifyingStore: NSPersistentStore {
  /// Returns the identifier of a row; nil if it has none yet. May be called on any thread.
  func identifier(of id: NSManagedObjectID) -> PersistentIdentifier?
}

/// Makes the identifiers of many rows, and asks their store only once what is the same for all.
struct IdentifierMaker {
  private var store: NSPersistentStore?
  private var identifyingStore: (any IdentifyingStore)?
  private var storeIdentifier: String?

  mutating func identifier(of id: NSManagedObjectID) -> PersistentIdentifier {
    let store = id.persistentStore
    if store !== self.store {
      (self.store, identifyingStore, storeIdentifier) = (store, store as? any IdentifyingStore, store?.identifier)
    }
    if let identifier = identifyingStore?.identifier(of: id) { return identifier }
    return PersistentIdentifier(
      storeIdentifier: storeIdentifier, entityName: id.entity.name ?? "", primaryKey: id.referenceText,
      isTemporary: id.isTemporaryID)
  }
}
