// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

extension PersistentModel {
  /// The identifier: temporary until the model is saved for the first time.
  public var persistentModelID: PersistentIdentifier {
    persistentBackingData.persistentModelID ?? storage.identifier
  }
  /// The identifier: temporary until the model is saved for the first time.
  public var id: PersistentIdentifier { persistentModelID }
  /// The context that the model was inserted into or fetched by; nil for one that was not inserted.
  public var modelContext: ModelContext? { storage.context?.context }
  /// Whether the model has unsaved changes.
  public var hasChanges: Bool { storage.row?.hasChanges ?? false }
  /// Whether the model was deleted, and the deletion has not been undone.
  public var isDeleted: Bool { storage.isDeleted }

  /// Creates the backing data of a model that is not inserted.
  public static func createBackingData<P: PersistentModel>() -> some BackingData<P> { ModelStorage<P>(for: P.self) }

  /// Returns whether both are the same row of the same store.
  public static func == (left: Self, right: Self) -> Bool {
    left === right || left.persistentModelID == right.persistentModelID
  }

  /// Hashes the identifier, which changes when the model is saved for the first time.
  public func hash(into hasher: inout Hasher) { hasher.combine(persistentModelID) }

  var storage: StorageCore {
    guard let storage = persistentBackingData as? any AnyModelStorage else {
      trap("\(Self.self) has backing data of another framework, \(type(of: persistentBackingData)).")
    }
    return storage.core
  }
}

// The accessors that `@Model` writes call these.
extension PersistentModel {
  /// Returns the value of an attribute.
  @_disfavoredOverload
  public func getValue<Value: Decodable>(forKey key: KeyPath<Self, Value>) -> Value {
    persistentBackingData.getValue(forKey: key)
  }

  /// Returns the destination of a to-one relationship.
  public func getValue<Value: PersistentModel>(forKey key: KeyPath<Self, Value>) -> Value {
    persistentBackingData.getValue(forKey: key)
  }

  /// Returns the destination of a to-one relationship.
  public func getValue<Value: PersistentModel>(forKey key: KeyPath<Self, Value?>) -> Value? {
    persistentBackingData.getValue(forKey: key)
  }

  /// Returns the destinations of a to-many relationship, in no particular order.
  public func getValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Self, Value>) -> Value
  where Other == Value.PersistentElement {
    persistentBackingData.getValue(forKey: key)
  }

  /// Returns the destinations of a to-many relationship, in no particular order.
  public func getValue<Value: RelationshipCollection & Decodable, Other>(forKey key: KeyPath<Self, Value>) -> Value
  where Other == Value.PersistentElement {
    persistentBackingData.getValue(forKey: key)
  }

  /// Returns the value of an attribute that a value transformer converts.
  public func getTransformableValue<Value>(forKey key: KeyPath<Self, Value>) -> Value {
    persistentBackingData.getTransformableValue(forKey: key)
  }

  /// Sets the value of an attribute.
  @_disfavoredOverload
  public func setValue<Value: Encodable>(forKey key: KeyPath<Self, Value>, to newValue: Value) {
    persistentBackingData.setValue(forKey: key, to: newValue)
  }

  /// Sets the destination of a to-one relationship. If one of the two models is inserted, so is the other.
  public func setValue<Value: PersistentModel>(forKey key: KeyPath<Self, Value>, to newValue: Value) {
    persistentBackingData.setValue(forKey: key, to: newValue)
    storage.join(self, contextOf: [newValue])
  }

  /// Sets the destination of a to-one relationship. If one of the two models is inserted, so is the other.
  public func setValue<Value: PersistentModel>(forKey key: KeyPath<Self, Value?>, to newValue: Value?) {
    persistentBackingData.setValue(forKey: key, to: newValue)
    storage.join(self, contextOf: newValue.map { [$0] } ?? [])
  }

  /// Sets the destinations of a to-many relationship. If one of the models is inserted, so are the others.
  public func setValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Self, Value>, to newValue: Value)
  where Other == Value.PersistentElement {
    persistentBackingData.setValue(forKey: key, to: newValue)
    storage.join(self, contextOf: PropertySlot.models(in: newValue))
  }

  /// Sets the destinations of a to-many relationship. If one of the models is inserted, so are the others.
  public func setValue<Value: RelationshipCollection & Encodable, Other>(
    forKey key: KeyPath<Self, Value>, to newValue: Value
  ) where Other == Value.PersistentElement {
    persistentBackingData.setValue(forKey: key, to: newValue)
    storage.join(self, contextOf: PropertySlot.models(in: newValue))
  }

  /// Sets the value of an attribute that a value transformer converts.
  public func setTransformableValue<Value>(forKey key: KeyPath<Self, Value>, to newValue: Value) {
    persistentBackingData.setTransformableValue(forKey: key, to: newValue)
  }
}
