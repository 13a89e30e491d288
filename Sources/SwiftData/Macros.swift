// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

@_exported import Observation

/// Makes a class a persistent model: each stored property becomes an attribute or a relationship of an entity.
///
/// The class needs an initializer. Properties with `@Transient`, computed properties and type properties are not
/// persisted. Reading a persisted property is tracked by `Observation`.
///
/// ```swift
/// @Model
/// final class Trip {
///   @Attribute(.unique) var name: String
///   @Relationship(deleteRule: .cascade, inverse: \Stop.trip) var stops: [Stop] = []
///
///   init(name: String) {
///     self.name = name
///   }
/// }
/// ```
@attached(
  member, conformances: PersistentModel, Observable,
  names: named(_$backingData), named(persistentBackingData), named(schemaMetadata), named(_$propertyRows), named(init),
  named(_$observationRegistrar), named(_observationRegistrar), named(_SwiftDataNoType), named(access),
  named(withMutation))
@attached(memberAttribute)
@attached(extension, conformances: PersistentModel, Observable)
public macro Model() = #externalMacro(module: "SwiftDataMacros", type: "ModelMacro")

/// Gives a persisted property its accessors. `@Model` adds this macro; do not write it.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: prefixed(_))
public macro _PersistedProperty() = #externalMacro(module: "SwiftDataMacros", type: "PersistedPropertyMacro")

/// Sets the options of an attribute.
///
/// - Parameters:
///   - options: how values are stored, and whether they are unique.
///   - originalName: the name of the property in the previous version of the model, if it was renamed.
///   - hashModifier: a string that distinguishes versions of the model with an otherwise equal attribute.
@attached(peer)
public macro Attribute(
  _ options: Schema.Attribute.Option..., originalName: String? = nil, hashModifier: String? = nil
) = #externalMacro(module: "SwiftDataMacros", type: "AttributeMacro")

/// Sets the options of a relationship.
///
/// - Parameters:
///   - options: further options.
///   - deleteRule: what happens to the related models when the model is deleted.
///   - minimumModelCount: the least number of related models.
///   - maximumModelCount: the greatest number of related models; 0 for any number.
///   - originalName: the name of the property in the previous version of the model, if it was renamed.
///   - inverse: the property of the related model that leads back.
///   - hashModifier: a string that distinguishes versions of the model with an otherwise equal relationship.
@attached(peer)
public macro Relationship(
  _ options: Schema.Relationship.Option..., deleteRule: Schema.Relationship.DeleteRule = .nullify,
  minimumModelCount: Int? = 0, maximumModelCount: Int? = 0, originalName: String? = nil, inverse: AnyKeyPath? = nil,
  hashModifier: String? = nil
) = #externalMacro(module: "SwiftDataMacros", type: "RelationshipMacro")

/// Excludes a stored property from the model. The property needs an initial value.
@attached(peer)
public macro Transient() = #externalMacro(module: "SwiftDataMacros", type: "TransientMacro")

/// Declares properties, or combinations of properties, whose values are unique among the models of a class.
///
/// Write it in the body of the class: `#Unique<Trip>([\.name], [\.start, \.end])`.
@freestanding(declaration)
public macro Unique<T: PersistentModel>(_ constraints: [PartialKeyPath<T>]...) =
  #externalMacro(module: "SwiftDataMacros", type: "UniqueMacro")

/// Declares indexes on properties, or combinations of properties, of a class.
///
/// Write it in the body of the class: `#Index<Trip>([\.name], [\.start, \.end])`.
@freestanding(declaration)
public macro Index<T: PersistentModel>(_ indices: [PartialKeyPath<T>]...) =
  #externalMacro(module: "SwiftDataMacros", type: "IndexMacro")

/// Declares indexes of certain kinds: `#Index<Trip>(.binary([\.name]), .rtree([\.latitude, \.longitude]))`.
@freestanding(declaration)
public macro Index<T: PersistentModel>(_ indices: Schema.Index<T>.Types<T>...) =
  #externalMacro(module: "SwiftDataMacros", type: "IndexMacro")

/// Makes an actor one that works with models: it gets a context of its own and runs on the context's executor.
///
/// ```swift
/// @ModelActor
/// actor Importer {
///   func add(_ name: String) throws {
///     modelContext.insert(Trip(name: name))
///     try modelContext.save()
///   }
/// }
/// ```
@attached(member, names: named(modelExecutor), named(modelContainer), named(init))
@attached(extension, conformances: ModelActor)
public macro ModelActor() = #externalMacro(module: "SwiftDataMacros", type: "ModelActorMacro")
