// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The values of a subclass's properties that its initializer sets before it calls the superclass's, which creates the
/// backing data. Generated code uses this type.
public struct _InitialValues<Model: PersistentModel> {
  private var setters: [(Model) -> Void] = []

  /// Creates an empty list.
  public init() {}

  /// Keeps the value of an attribute.
  @_disfavoredOverload
  public mutating func setValue<Value: Encodable>(forKey key: KeyPath<Model, Value>, to value: Value) {
    setters.append { $0.setValue(forKey: key, to: value) }
  }

  /// Keeps the value of a to-one relationship.
  public mutating func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value>, to value: Value) {
    setters.append { $0.setValue(forKey: key, to: value) }
  }

  /// Keeps the value of an optional to-one relationship.
  public mutating func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value?>, to value: Value?) {
    setters.append { $0.setValue(forKey: key, to: value) }
  }

  /// Keeps the value of a to-many relationship.
  public mutating func setValue<Value: RelationshipCollection, Other>(
    forKey key: KeyPath<Model, Value>, to value: Value
  )
  where Other == Value.PersistentElement {
    setters.append { $0.setValue(forKey: key, to: value) }
  }

  /// Keeps the value of a to-many relationship whose models can be encoded.
  public mutating func setValue<Value: RelationshipCollection & Encodable, Other>(
    forKey key: KeyPath<Model, Value>, to value: Value
  ) where Other == Value.PersistentElement {
    setters.append { $0.setValue(forKey: key, to: value) }
  }

  /// Keeps the value of a transformable attribute.
  public mutating func setTransformableValue<Value>(forKey key: KeyPath<Model, Value>, to value: Value) {
    setters.append { $0.setTransformableValue(forKey: key, to: value) }
  }

  /// Returns the values, and forgets them.
  public mutating func take() -> Self {
    guard !setters.isEmpty else { return self }
    defer { setters = [] }
    return self
  }

  /// Sets the properties of a model.
  public func apply(to model: Model) {
    guard !setters.isEmpty else { return }
    model.storage.extend(to: type(of: model))
    for setter in setters { setter(model) }
  }
}
