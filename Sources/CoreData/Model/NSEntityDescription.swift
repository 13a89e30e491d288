// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime
import CoreDataMistakes
import CoreDataModelFiles
import Foundation
import Synchronization

/// The description of an entity: a class of objects with the same properties.
///
/// Editable until a coordinator uses its model; afterwards every setter but that of `userInfo` traps.
///
/// Differs from Apple: editing the hierarchy keeps the indexes. Does not conform to `NSCoding` yet.
open class NSEntityDescription: NSObject, NSCopying, @unchecked Sendable {
  weak var owningModel: NSManagedObjectModel?
  var parent: NSEntityDescription? {
    get { parentReference?.entity }
    set { parentReference = newValue?.reference }
  }
  private var parentReference: EntityReference?
  let ownReference = EntityReference()
  var children: [NSEntityDescription] = []
  /// The properties that the entity itself declares; `derived` includes the inherited ones.
  var ownProperties: [NSPropertyDescription] = []
  var ownIndexes: [NSFetchIndexDescription] = []
  var ownCompoundIndexes: [[Any]] = [] { willSet { willEdit("compoundIndexes") } }
  var declaredClassName: String? {
    willSet {
      willEdit("managedObjectClassName")
      foundClass.store(nil, ordering: .releasing)
    }
  }
  /// The entity's class after `ManagedObjectClasses` has found it. Read for every object that is created.
  let foundClass = Atomic<UnsafeRawPointer?>(nil)
  /// The kind of code generation for the class; used only by model sources.
  var codeGeneration = CodeGenerationKind.manual { willSet { willEdit() } }
  var declaredRenamingIdentifier: String? { willSet { willEdit("renamingIdentifier") } }

  /// The copies of inherited properties, by the original. They stay the same objects when the model is edited.
  var inheritedCopies: [ObjectIdentifier: NSPropertyDescription] = [:]
  let derivedState = DerivedStateCell<EntityDerivedState>()
  /// The positions of the properties in objects; see `slotTable`.
  let slotTableState = DerivedStateCell<SlotTable>()

  deinit {
    ownReference.clear()
  }

  /// The entity's name.
  open var name: String? {
    willSet {
      // Looks the name up first: that derives the dictionary of the model from the names before the edit.
      trap(
        unless: newValue == name || owningModel?.entitiesByName[newValue ?? ""] == nil,
        "A model cannot have two entities named '\(newValue ?? "")'.")
      willEdit()
    }
  }

  /// Whether the entity is abstract, so that only its sub-entities have objects.
  open var isAbstract = false { willSet { willEdit() } }

  /// A string that affects the version hash, to distinguish otherwise equal versions.
  open var versionHashModifier: String? { willSet { willEdit() } }

  /// The developer's own values; empty by default. They can be set while a coordinator uses the model, on any thread.
  open var userInfo: [AnyHashable: Any]? {
    get { ownUserInfo.values }
    set {
      if isEditable { willEdit() }
      ownUserInfo.values = newValue
    }
  }
  private let ownUserInfo = DescriptionUserInfo()

  /// Groups of attributes, or of their names, whose combined values must be unique. Part of the version hash.
  open var uniquenessConstraints: [[Any]] = [] { willSet { willEdit() } }

  /// Creates an entity without a name and properties.
  public required override init() {
    super.init()
  }

  /// The model that the entity belongs to. Traps if there is none.
  open var managedObjectModel: NSManagedObjectModel {
    guard let owningModel else {
      trap("The entity '\(name ?? "")' has no model: add it to the entities of one, and keep the model.")
    }
    return owningModel
  }

  /// The name of the objects' class; by default `NSManagedObject`. Not part of the version hash.
  open var managedObjectClassName: String! {
    get { declaredClassName ?? "NSManagedObject" }
    set { declaredClassName = newValue }
  }

  /// The name that identifies the entity in all versions of the model; by default its own name.
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
        trap(
          unless: index.owningEntity == nil || index.owningEntity === self,
          "The index '\(index.name)' belongs to entity '\(index.owningEntity?.name ?? "")': add a copy of it.")
      }
      for index in ownIndexes { index.owningEntity = nil }
      ownIndexes = newValue
      for index in ownIndexes { index.owningEntity = self }
    }
  }

  /// The indexes of older models: groups of properties or their names.
  @available(*, deprecated, message: "Use NSEntityDescription.indexes instead")
  open var compoundIndexes: [[Any]] {
    get { ownCompoundIndexes }
    set { ownCompoundIndexes = newValue }
  }

  /// Returns a copy without a model, a superentity and sub-entities. Inherited properties become its own.
  ///
  /// The copy's relationships have the same destinations as the original's.
  open func copy(with zone: NSZone? = nil) -> Any { copy(properties: properties) }

  func copy(properties: [NSPropertyDescription]) -> NSEntityDescription {
    let copy = type(of: self).init()
    copy.name = name
    copy.isAbstract = isAbstract
    copy.declaredClassName = declaredClassName
    copy.declaredRenamingIdentifier = declaredRenamingIdentifier
    copy.versionHashModifier = versionHashModifier
    copy.codeGeneration = codeGeneration
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

  /// Returns the property of this entity that corresponds to an indexed property of an equal entity.
  func property(like property: NSPropertyDescription) -> NSPropertyDescription? {
    if property is NSExpressionDescription { return property.copy() as? NSExpressionDescription }
    return propertiesByName[property.name] ?? property
  }

  /// Returns the names of properties given as descriptions or as strings.
  static func names(in groups: [[Any]]) -> [[String]] {
    groups.map { group in
      group.map { ($0 as? NSPropertyDescription)?.name ?? ($0 as? String) ?? String(describing: $0) }
    }
  }

  /// Whether the entity can be edited, because no coordinator uses the model.
  var isEditable: Bool { owningModel?.isEditable ?? true }

  /// Called before every edit. Traps once a coordinator uses the model, and discards derived state.
  func willEdit(_ member: String = #function) {
    trap(
      unless: isEditable,
      "Entity '\(name ?? "")': '\(member)' cannot be changed, since a coordinator uses the model. Edit a copy of it.")
    invalidateDerivedState()
  }

  /// Returns whether another entity has equal content and an equal superentity.
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

extension NSEntityDescription {
  /// All properties, inherited ones first.
  ///
  /// When it is set, inherited properties in the list remain inherited, and all others become the entity's own. Traps
  /// if a property belongs to another entity, or two have the same name.
  public var properties: [NSPropertyDescription] {
    get { derived.properties }
    set { setProperties(newValue) }
  }

  /// All properties, inherited ones included, by name.
  public var propertiesByName: [String: NSPropertyDescription] { derived.propertiesByName }

  /// All attributes, inherited ones included, by name.
  public var attributesByName: [String: NSAttributeDescription] { derived.attributesByName }

  /// All relationships, inherited ones included, by name.
  public var relationshipsByName: [String: NSRelationshipDescription] { derived.relationshipsByName }

  /// Returns the relationships whose destination is an entity.
  public func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
    properties.compactMap { $0 as? NSRelationshipDescription }.filter { $0.destinationEntity === entity }
  }

  private func setProperties(_ list: [NSPropertyDescription]) {
    willEdit("properties")
    let inherited = Set(inheritedCopies.values.map(ObjectIdentifier.init))
    let own = list.filter { !inherited.contains(ObjectIdentifier($0)) }
    var names: Set<String> = []
    for property in own {
      trap(
        unless: property.owningEntity == nil || property.owningEntity === self,
        "'\(property.name)' belongs to entity '\(property.owningEntity?.name ?? "")': add a copy of it.")
      trap(
        unless: names.insert(property.name).inserted,
        "Entity '\(name ?? "")' cannot have two properties named '\(property.name)'.")
    }
    for property in ownProperties { property.owningEntity = nil }
    ownProperties = own
    for property in own { property.owningEntity = self }
  }

  /// The parent entity.
  public var superentity: NSEntityDescription? { parent }

  /// The direct sub-entities.
  ///
  /// Setting it makes this entity the superentity of each. Traps if one already has another superentity, or for a
  /// cycle.
  public var subentities: [NSEntityDescription] {
    get { children }
    set { setSubentities(newValue) }
  }

  /// The direct sub-entities by name.
  public var subentitiesByName: [String: NSEntityDescription] {
    Dictionary(children.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  /// Returns whether the entity is, or inherits from, another entity.
  public func isKindOf(entity: NSEntityDescription) -> Bool {
    self === entity || lineage.contains { $0 === entity }
  }

  /// The entity and its ancestors, from the entity to the root.
  var lineage: [NSEntityDescription] { Array(sequence(first: self) { $0.parent }) }

  private func setSubentities(_ list: [NSEntityDescription]) {
    willEdit("subentities")
    for child in list {
      child.willEdit("superentity")
      trap(
        unless: child.parent == nil || child.parent === self,
        "'\(child.name ?? "")' already has the superentity '\(child.parent?.name ?? "")': remove it there first.")
      trap(
        unless: !lineage.contains { $0 === child },
        "Entity '\(child.name ?? "")' cannot inherit from '\(name ?? "")', which is itself or inherits from it.")
    }
    for child in children where !list.contains(where: { $0 === child }) {
      child.parent = nil
      child.invalidateDerivedState()
    }
    children = list
    for child in children {
      child.parent = self
      child.invalidateDerivedState()
    }
    owningModel?.adoptDescendants()
  }

  var derived: EntityDerivedState { derivedState.value(makeDerivedState) }

  func sealDerivedState() {
    derivedState.seal(makeDerivedState)
    // Objects may have been created while the properties could still be edited.
    slotTableState.sealWhenMade()
  }

  /// Discards the state derived from the entity, including that of its sub-entities and its model.
  func invalidateDerivedState() {
    derivedState.drop()
    slotTableState.drop()
    for child in children { child.invalidateDerivedState() }
    owningModel?.invalidateDerivedState()
  }

  private func makeDerivedState() -> EntityDerivedState {
    var copies: [ObjectIdentifier: NSPropertyDescription] = [:]
    let inherited = (parent?.properties ?? []).map { property -> NSPropertyDescription in
      let original = property.inheritedFrom ?? property
      let copy = inheritedCopies[ObjectIdentifier(original)] ?? type(of: original).init()
      copy.owningEntity = nil
      copy.inheritedFrom = nil
      copy.adopt(original)
      copy.owningEntity = self
      copy.inheritedFrom = original
      copies[ObjectIdentifier(original)] = copy
      return copy
    }
    inheritedCopies = copies
    return EntityDerivedState(inherited: inherited, own: ownProperties)
  }

  /// The non-retaining reference to the entity, shared by all users.
  var reference: EntityReference {
    ownReference.point(to: self)
    return ownReference
  }
}

/// The keys of an entity in expressions, as in `entity.name`.
extension NSEntityDescription: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "name": name
    case "userInfo": userInfo
    case "managedObjectClassName": managedObjectClassName
    default: throw EvaluationError.unknownKey(key, object: "The entity '\(name ?? "")'")
    }
  }
}

/// The properties of an entity, inherited ones included. Recomputed after an edit.
final class EntityDerivedState: Sendable {
  let properties: [NSPropertyDescription]
  let propertiesByName: [String: NSPropertyDescription]
  let attributesByName: [String: NSAttributeDescription]
  let relationshipsByName: [String: NSRelationshipDescription]

  init(inherited: [NSPropertyDescription], own: [NSPropertyDescription]) {
    let declared = Set(own.map(\.name))
    let properties = inherited.filter { !declared.contains($0.name) } + own
    var byName: [String: NSPropertyDescription] = [:]
    for property in properties { byName[property.name] = property }
    self.properties = properties
    propertiesByName = byName
    attributesByName = byName.compactMapValues { $0 as? NSAttributeDescription }
    relationshipsByName = byName.compactMapValues { $0 as? NSRelationshipDescription }
  }
}

/// A cache of state derived from a model, which edits discard. It locks while the model can be edited, but not after it
/// is sealed.
final class DerivedStateCell<State: AnyObject & Sendable>: @unchecked Sendable {
  private let isSealed = Atomic(false)
  private let lock = NSRecursiveLock()
  /// Changed under the lock, and never after it is sealed.
  private var state: State?
  private var isFinal = false

  /// Returns the state, creating it if necessary.
  func value(_ make: () -> State) -> State {
    if isSealed.load(ordering: .acquiring), let state { return state }
    lock.lock()
    defer { lock.unlock() }
    if let state { return state }
    let made = make()
    state = made
    if isFinal { isSealed.store(true, ordering: .releasing) }
    return made
  }

  func drop() {
    lock.lock()
    defer { lock.unlock() }
    state = nil
  }

  /// Creates the state if necessary, and lets readers skip the lock from now on. No edits may follow.
  func seal(_ make: () -> State) {
    _ = value(make)
    isSealed.store(true, ordering: .releasing)
  }

  /// Discards the state, and seals it when it is next created. No edits may follow.
  func sealWhenMade() {
    lock.lock()
    defer { lock.unlock() }
    guard !isFinal else { return }
    state = nil
    isFinal = true
  }
}

/// A reference to an entity that does not retain it.
///
/// A weak reference would be simpler, but it allocates a side table for the entity, through which all its reference
/// counting goes from then on; and every object and every identifier retains its entity. This reference holds the
/// entity's address until the entity, before it is deallocated, clears it under the lock. `swift_tryRetain` refuses an
/// entity that is being deallocated.
final class EntityReference {
  private let lock = NSLock()
  private var address: UnsafeMutableRawPointer?

  /// The entity; nil once it is being deallocated.
  var entity: NSEntityDescription? {
    lock.lock()
    defer { lock.unlock() }
    return address.flatMap { WeakAddress.object(at: $0) }
  }

  fileprivate func point(to entity: NSEntityDescription?) {
    lock.withLock { address = entity.map { Unmanaged.passUnretained($0).toOpaque() } }
  }

  /// Called by the entity when it is deallocated.
  func clear() { point(to: nil) }
}
