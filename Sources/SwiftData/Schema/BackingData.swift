// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The values of a model.
public protocol BackingData<Model> {
  associatedtype Model: PersistentModel

  /// Creates values for a model that is not inserted.
  init(for modelType: Model.Type)
  /// A description for debugging.
  var metadata: Any { get }
  /// The identifier of the model.
  var persistentModelID: PersistentIdentifier? { get set }

  // A model may be Codable itself: the functions for relationships then apply.
  @_disfavoredOverload
  func getValue<Value: Decodable>(forKey key: KeyPath<Model, Value>) -> Value
  func getValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value>) -> Value
  func getValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value?>) -> Value?
  func getValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Model, Value>) -> Value
  where Other == Value.PersistentElement
  func getValue<Value: RelationshipCollection & Decodable, Other>(forKey key: KeyPath<Model, Value>) -> Value
  where Other == Value.PersistentElement
  func getTransformableValue<Value>(forKey key: KeyPath<Model, Value>) -> Value

  @_disfavoredOverload
  func setValue<Value: Encodable>(forKey key: KeyPath<Model, Value>, to newValue: Value)
  func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value>, to newValue: Value)
  func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value?>, to newValue: Value?)
  func setValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Model, Value>, to newValue: Value)
  where Other == Value.PersistentElement
  func setValue<Value: RelationshipCollection & Encodable, Other>(
    forKey key: KeyPath<Model, Value>, to newValue: Value
  ) where Other == Value.PersistentElement
  func setTransformableValue<Value>(forKey key: KeyPath<Model, Value>, to newValue: Value)
}
