// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Synchronization

/// The stored properties of a model class and its superclasses, with the place of each.
///
/// There is one for each class of the process, whatever schemas contain it.
final class ModelLayout: @unchecked Sendable {
  // Immutable, but for what key paths consist of.

  let type: any PersistentModel.Type
  /// The superclass of all, which has the backing data.
  let root: any PersistentModel.Type
  let slots: [PropertySlot]
  /// The slots of relationships.
  let relationships: [PropertySlot]
  private let byName: [String: PropertySlot]
  private let byKeyPath: [AnyKeyPath: PropertySlot]
  private let recent = KeyPathCache()

  private static let known = Mutex<[ObjectIdentifier: ModelLayout]>([:])

  /// Returns the layout of a class.
  static func of(_ type: any PersistentModel.Type) -> ModelLayout {
    if let layout = known.withLock({ $0[ObjectIdentifier(type)] }) { return layout }
    // Evaluating initial values may make models of other classes.
    let layout = ModelLayout(type)
    return known.withLock { known in
      if let other = known[ObjectIdentifier(type)] { return other }
      known[ObjectIdentifier(type)] = layout
      return layout
    }
  }

  private init(_ type: any PersistentModel.Type) {
    self.type = type
    var slots: [PropertySlot] = []
    var byKeyPath: [AnyKeyPath: PropertySlot] = [:]
    let classes = Self.classes(of: type)
    root = classes[0]
    for owner in classes {
      for property in owner.schemaMetadata where !(property.metadata is any PropertyGroups) {
        let slot = PropertySlot(property, of: owner, index: slots.count)
        slots.append(slot)
        byKeyPath[property.keypath] = slot
      }
    }
    self.slots = slots
    relationships = slots.filter(\.isRelationship)
    self.byKeyPath = byKeyPath
    byName = Dictionary(slots.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns a model class and those of its superclasses that are model classes, the root first.
  static func classes(of type: any PersistentModel.Type) -> [any PersistentModel.Type] {
    var classes: [any PersistentModel.Type] = [type]
    while let last = classes.last, let parent = _getSuperclass(last) as? any PersistentModel.Type {
      classes.append(parent)
    }
    return classes.reversed()
  }

  /// Returns an object of the class as a model.
  func model(_ object: AnyObject) -> any PersistentModel {
    func downcast<Model: PersistentModel>(_ type: Model.Type) -> any PersistentModel {
      unsafeDowncast(object, to: type)
    }
    return _openExistential(type, do: downcast)
  }

  func slot(named name: String) -> PropertySlot? { byName[name] }

  /// Returns the slot of a property of the class or a superclass; nil for any other key path.
  @inline(__always)
  func slot(for keyPath: AnyKeyPath) -> PropertySlot? {
    if let slot = recent.slot(keyPath) { return slot }
    return find(keyPath)
  }

  private func find(_ keyPath: AnyKeyPath) -> PropertySlot? {
    guard let slot = byKeyPath[keyPath] else { return nil }
    recent.add(keyPath, slot)
    return slot
  }

  /// Returns the name of a property, or of a part of a composite.
  static func name(of keyPath: AnyKeyPath, in type: any PersistentModel.Type) throws -> String {
    guard let name = of(type).slot(for: keyPath)?.name else {
      throw SwiftDataError(.unsupportedKeyPath, "\(keyPath.words) is not a stored property of \(type).")
    }
    return name
  }

  static func keyPath<Model: PersistentModel>(of name: String, in type: Model.Type) throws -> PartialKeyPath<Model> {
    guard let keyPath = of(type).slot(named: name)?.keyPath as? PartialKeyPath<Model> else {
      throw SwiftDataError(.unsupportedKeyPath, "\(type) has no stored property named '\(name)'.")
    }
    return keyPath
  }
}

/// The place of a property in models of a class.
final class PropertySlot: @unchecked Sendable {
  // Immutable, but for what key paths consist of.

  let name: String
  let keyPath: AnyKeyPath
  let index: Int
  let isTransient: Bool
  let kind: Kind
  var isRelationship: Bool {
    switch kind {
    case .toOne, .toMany: true
    case .attribute, .unstorable: false
    }
  }
  /// Notifies the observers of the property.
  let notifier: PropertyNotifier?

  enum Kind {
    /// The access is an `AttributeAccess` for the type of the values.
    case attribute(AnyAttributeAccess)
    case toOne(any PersistentModel.Type)
    case toMany(any PersistentModel.Type)
    /// A type whose values cannot be stored; a container with the class throws the reason.
    case unstorable
  }

  init(_ property: Schema.PropertyMetadata, of owner: any PersistentModel.Type, index: Int) {
    notifier = PropertyNotifier.make(property.keypath, of: owner)
    name = property.name
    keyPath = property.keypath
    self.index = index
    isTransient = property.metadata?.isTransient ?? false
    let type = Swift.type(of: property.keypath).valueType
    if let destination = Self.destination(of: type) {
      kind = destination.isToOne ? .toOne(destination.type) : .toMany(destination.type)
    } else {
      let options = (property.metadata as? Schema.Attribute)?.options ?? []
      let access = AttributeAccesses.access(
        to: property.name, of: type, isTransformable: options.contains { $0.transformerName != nil },
        isWhole: options.contains(.codable))
      kind = access.map { .attribute($0) } ?? .unstorable
    }
  }

  /// Returns the access to an attribute; nil if its values do not have the type.
  @inline(__always)
  func access<Value>(for type: Value.Type) -> AttributeAccess<Value>? {
    // A cast would look up the class for the type at each access.
    guard case .attribute(let access) = kind, access.valueType == ObjectIdentifier(type) else { return nil }
    return unsafeDowncast(access, to: AttributeAccess<Value>.self)
  }

  /// Returns the class of a relationship's destinations; nil if the type is that of an attribute.
  static func destination(of type: Any.Type) -> (type: any PersistentModel.Type, isToOne: Bool)? {
    let type = (type as? any OptionalValue.Type)?.wrapped ?? type
    if let model = type as? any PersistentModel.Type { return (model, true) }
    if let collection = type as? any RelationshipCollection.Type { return (collection.elementModel, false) }
    return nil
  }
}

extension RelationshipCollection {
  static var elementModel: any PersistentModel.Type { PersistentElement.self }
}
