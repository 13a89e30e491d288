// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Synchronization

/// An entity: the description of a kind of object.
///
/// Editable until the model it belongs to is used by a coordinator; afterwards every setter traps.
///
/// Differs from Apple: editing the hierarchy keeps the indexes. `NSCoding` is not there yet.
open class NSEntityDescription: NSObject, NSCopying, @unchecked Sendable {
  internal weak var owningModel: NSManagedObjectModel?
  internal var parent: NSEntityDescription? {
    get { parentReference?.entity }
    set { parentReference = newValue?.reference }
  }
  private var parentReference: EntityReference?
  internal let ownReference = EntityReference()
  internal var children: [NSEntityDescription] = []
  /// What the entity itself declares; what it inherits is in `derived`.
  internal var ownProperties: [NSPropertyDescription] = []
  internal var ownIndexes: [NSFetchIndexDescription] = []
  internal var ownCompoundIndexes: [[Any]] = [] { willSet { willEdit("compoundIndexes") } }
  internal var declaredClassName: String? {
    willSet {
      willEdit("managedObjectClassName")
      foundClass.withLock { $0 = nil }
    }
  }
  /// The class of that name once `ManagedObjectClasses` has found it; read whenever an object is made.
  internal let foundClass = Mutex<AnyClass?>(nil)
  internal var declaredRenamingIdentifier: String? { willSet { willEdit("renamingIdentifier") } }

  /// Copies of inherited properties by the original, kept so that they stay the same objects over edits.
  internal var inheritedCopies: [ObjectIdentifier: NSPropertyDescription] = [:]
  internal let derivedState = DerivedStateCell<EntityDerivedState>()
  /// The positions of the properties in objects; see `slotTable`.
  internal let slotTableState = DerivedStateCell<EntityTable>()

  deinit {
    ownReference.clear()
  }

  /// The entity's name.
  open var name: String? {
    willSet {
      willEdit()
      precondition(
        newValue == name || owningModel?.entitiesByName[newValue ?? ""] == nil,
        "A model cannot have two entities named '\(newValue ?? "")'.")
    }
  }

  /// Whether there can be no objects of exactly this entity.
  open var isAbstract = false { willSet { willEdit() } }

  /// A value mixed into the version hash, to tell versions apart that are equal otherwise.
  open var versionHashModifier: String? { willSet { willEdit() } }

  /// Anything the developer wants to keep with the entity.
  open var userInfo: [AnyHashable: Any]? { willSet { willEdit() } }

  /// Groups of attributes (or their names) whose values together must occur once only. Part of the version hash.
  open var uniquenessConstraints: [[Any]] = [] { willSet { willEdit() } }

  /// Makes an entity without name and properties.
  public required override init() {
    super.init()
  }

  /// The model that the entity belongs to. Traps for an entity that was not given to a model.
  open var managedObjectModel: NSManagedObjectModel {
    guard let owningModel else {
      preconditionFailure("The entity '\(name ?? "")' has no model: add it to the entities of one, and keep the model.")
    }
    return owningModel
  }

  /// The name of the class of the entity's objects; `NSManagedObject` unless set. Not part of the version hash.
  open var managedObjectClassName: String! {
    get { declaredClassName ?? "NSManagedObject" }
    set { declaredClassName = newValue }
  }

  /// The name by which the entity is known over all versions of the model; its own name unless set.
  open var renamingIdentifier: String? {
    get { declaredRenamingIdentifier ?? name }
    set { declaredRenamingIdentifier = newValue }
  }

  /// The fetch indexes that the entity declares. Not part of the version hash.
  open var indexes: [NSFetchIndexDescription] {
    get { ownIndexes }
    set {
      willEdit()
      for index in newValue {
        precondition(
          index.owningEntity == nil || index.owningEntity === self,
          "The index '\(index.name)' belongs to entity '\(index.owningEntity?.name ?? "")': add a copy of it.")
      }
      for index in ownIndexes { index.owningEntity = nil }
      ownIndexes = newValue
      for index in ownIndexes { index.owningEntity = self }
    }
  }

  /// Indexes of the older kind: groups of properties or their names.
  @available(*, deprecated, message: "Use NSEntityDescription.indexes instead")
  open var compoundIndexes: [[Any]] {
    get { ownCompoundIndexes }
    set { ownCompoundIndexes = newValue }
  }

  /// A copy that stands alone: without model, superentity and sub-entities, the inherited properties now its own.
  ///
  /// Relationships of the copy lead to the entities that those of the original lead to.
  open func copy(with zone: NSZone? = nil) -> Any {
    copy(properties: properties)
  }

  internal func copy(properties: [NSPropertyDescription]) -> NSEntityDescription {
    let copy = type(of: self).init()
    copy.name = name
    copy.isAbstract = isAbstract
    copy.declaredClassName = declaredClassName
    copy.declaredRenamingIdentifier = declaredRenamingIdentifier
    copy.versionHashModifier = versionHashModifier
    copy.userInfo = userInfo
    copy.properties = properties.map { property in
      let twin = type(of: property).init()
      twin.adopt(property)
      return twin
    }
    copy.uniquenessConstraints = Self.names(in: uniquenessConstraints)
    copy.ownCompoundIndexes = Self.names(in: ownCompoundIndexes)
    copy.indexes = ownIndexes.map { $0.copy { copy.property(like: $0) } }
    return copy
  }

  /// The property of this entity that an index of another, equal entity means.
  internal func property(like property: NSPropertyDescription) -> NSPropertyDescription? {
    if property is NSExpressionDescription { return property.copy() as? NSExpressionDescription }
    return propertiesByName[property.name] ?? property
  }

  /// Properties given as descriptions or as strings, by name.
  internal static func names(in groups: [[Any]]) -> [[String]] {
    groups.map { group in
      group.map { ($0 as? NSPropertyDescription)?.name ?? ($0 as? String) ?? String(describing: $0) }
    }
  }

  /// Called before every edit: traps once a coordinator uses the model, and drops what was derived.
  internal func willEdit(_ member: String = #function) {
    precondition(
      owningModel?.isEditable ?? true,
      "Entity '\(name ?? "")': '\(member)' cannot be changed, since a coordinator uses the model. Edit a copy of it.")
    invalidateDerivedState()
  }

  /// Equal when of the same content, with equal superentities.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSEntityDescription else { return false }
    if self === other { return true }
    return name == other.name && document.sorted == other.document.sorted && parent == other.parent
  }

  open override var hash: Int { name?.hashValue ?? 0 }

  open override var description: String {
    let names = properties.map(\.name).joined(separator: ", ")
    return "(\(type(of: self)) \(name ?? "")\(isAbstract ? ", abstract" : "")"
      + "\(parent?.name.map { ": \($0)" } ?? "") {\(names)})"
  }
}
