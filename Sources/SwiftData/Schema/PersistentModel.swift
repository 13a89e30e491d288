// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Observation

/// A class whose objects are stored. `@Model` makes a class conform.
public protocol PersistentModel: AnyObject, Observable, Hashable, Identifiable, SendableMetatype {
  /// Creates a model whose values are in the backing data.
  init(backingData: any BackingData<Self>)
  /// The values of the model.
  var persistentBackingData: any BackingData<Self> { get set }
  /// The stored properties of the class, without those of its superclass.
  static var schemaMetadata: [Schema.PropertyMetadata] { get }
  /// What observers of the model register with; nil for none. `@Model` implements it.
  ///
  /// The other side of a relationship, and changes that another context has saved, are announced by it.
  var _observationRegistrar: ObservationRegistrar? { get }
}

extension PersistentModel {
  /// None, for a class without `@Model`.
  public var _observationRegistrar: ObservationRegistrar? { nil }
}

/// A collection of models: the type of a to-many relationship.
public protocol RelationshipCollection {
  associatedtype PersistentElement: PersistentModel
}

extension Array: RelationshipCollection where Element: PersistentModel {
  /// The class of the models.
  public typealias PersistentElement = Element
}

extension Optional: RelationshipCollection where Wrapped: RelationshipCollection {
  /// The class of the models.
  public typealias PersistentElement = Wrapped.PersistentElement
}
