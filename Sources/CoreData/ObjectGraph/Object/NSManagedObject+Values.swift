// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// The value of a property, by its name.
  public final subscript(key: String) -> Any? {
    get { value(forKey: key) }
    set { setValue(newValue, forKey: key) }
  }

  /// Returns the value of a property for the object's description.
  final func describeSlot(_ name: String) -> String {
    guard let position = table.position(of: name) else { return "nil" }
    switch slots[position] {
    case .unread: return "<relationship fault>"
    case .toOne(let id): return id.uriRepresentation().absoluteString
    case .toMany(let members): return "\(members.count) objects"
    case let slot: return slot.publicValue.map { Operand.described($0) } ?? "nil"
    }
  }

  /// Returns the position of a property's slot. Traps for an unknown name, as on Apple's systems.
  final func position(of key: String) -> Int {
    if let position = table.position(of: key) { return position }
    return Misuse.stop { throw ObjectGraphErrors.unknownKey(key, of: entity) }
  }

  /// Returns the value of a slot, with relationships resolved to objects.
  final func resolvedValue(at position: Int) -> Any? {
    if position >= table.firstRelationship, let destination = packedDestination(at: position) {
      return context?.object(for: destination)
    }
    switch slot(at: position) {
    case .toOne(let id):
      return context?.object(for: id)
    case .unread:
      readRelationship(at: position)
      return resolvedValue(at: position)
    case .toMany(let members):
      // Casting a set to `NSSet` is faster than the reverse.
      let objects = context?.objects(of: members) ?? []
      return members.isOrdered ? NSOrderedSet(array: objects) : Set(objects)
    case .archived(let data):
      guard let attribute = table.attribute(at: position) else { return data }
      let decoded = UnarchivedValue(TransformableValues.decode(data, of: attribute), from: data)
      setSlot(.unarchived(decoded), at: position)
      return slots[position].publicValue
    case .object(let value as UnreadableValue):
      noteReading(value, at: position)
      return value.rest
    case let slot:
      return slot.publicValue
    }
  }

  /// Returns the value of a slot as `resolvedValue(at:)` does, and holds the destinations of a relationship.
  final func heldValue(at position: Int) -> Any? {
    guard position >= table.firstRelationship else { return resolvedValue(at: position) }
    if let destination = packedDestination(at: position) {
      return heldDestination(context?.object(for: destination), at: position)
    }
    if let relationship = table.relationship(at: position), relationship.isToMany {
      let members = self.members(at: position)
      return relationship.isOrdered ? members.orderedSet : members.set
    }
    guard case .toOne(let id) = slot(at: position) else { return heldDestination(nil, at: position) }
    return heldDestination(context?.object(for: id), at: position)
  }

  private func heldDestination(_ object: NSManagedObject?, at position: Int) -> NSManagedObject? {
    hold(object, at: position)
    return object
  }

  /// Sets a slot and, for a relationship, the inverse. Traps for a value that does not have the property's type.
  final func store(_ value: Any?, at position: Int) {
    Misuse.stop { try storeChecked(value, at: position) }
  }

  private func storeChecked(_ value: Any?, at position: Int) throws {
    let kind = table.kinds[position]
    if let value, let slot = Slot.plain(value, kind) { return replace(slot, at: position) }
    switch table.properties[position] {
    case .attribute(let attribute):
      replace(try slot(of: value, for: attribute, kind: kind), at: position)
    case .relationship(let relationship):
      let destinations = try destinations(in: value, of: relationship)
      if relationship.isToMany {
        setMembers(destinations, at: position, of: relationship)
        _ = heldMembers(at: position)
      } else {
        setDestination(destinations.first, at: position, of: relationship)
        hold(destinations.first, at: position)
      }
    }
  }

  /// - Throws: 1550 for a value that does not have the attribute's type.
  final func slot(
    of value: Any?, for attribute: NSAttributeDescription, kind: NSAttributeType? = nil
  ) throws -> Slot {
    if let slot = Slot(value, for: attribute, kind: kind ?? attribute.attributeType) { return slot }
    if let composite = attribute as? NSCompositeAttributeDescription, let values = value as? [String: Any] {
      let elements = Set(composite.elements.map(\.name))
      throw ValidationErrors.wrongElements(
        .init(attribute, value, self), unknown: values.keys.filter { !elements.contains($0) }, known: elements)
    }
    throw unacceptable(value, attribute, wanted: attribute.attributeValueClassName ?? "\(attribute.attributeType)")
  }

  /// Returns the objects in a value for a relationship.
  ///
  /// - Throws: 1550 for anything other than objects that can be destinations of the relationship.
  final func destinations(in value: Any?, of relationship: NSRelationshipDescription) throws -> [NSManagedObject] {
    let elements: [Any]
    switch value {
    case nil, is NSNull: return []
    case let object as NSManagedObject where !relationship.isToMany: elements = [object]
    case let set as NSOrderedSet where relationship.isToMany: elements = set.array
    case let set as NSSet where relationship.isToMany: elements = set.allObjects
    case let array as [Any] where relationship.isToMany: elements = array
    case let value?:
      let wanted = relationship.isToMany ? (relationship.isOrdered ? "NSOrderedSet" : "NSSet") : "NSManagedObject"
      throw unacceptable(value, relationship, wanted: wanted)
    }
    return try elements.map { try destination($0, of: relationship) }
  }

  private func destination(_ value: Any, of relationship: NSRelationshipDescription) throws -> NSManagedObject {
    guard let object = value as? NSManagedObject else {
      throw unacceptable(value, relationship, wanted: "NSManagedObject")
    }
    try check(object, for: relationship)
    return object
  }

  /// - Throws: 1550 for an object that cannot be a destination of the relationship.
  final func check(_ object: NSManagedObject, for relationship: NSRelationshipDescription) throws {
    guard context == nil || object.context == nil || context === object.context else {
      throw ValidationErrors.otherContext(.init(relationship, object, self))
    }
    if let destination = relationship.destinationEntity, !object.entity.isKindOf(entity: destination) {
      throw ValidationErrors.wrongEntity(
        .init(relationship, object, self), expected: destination.name ?? "", found: object.entity.name ?? "")
    }
  }

  private func unacceptable(_ value: Any?, _ property: NSPropertyDescription, wanted: String) -> NSError {
    ValidationErrors.wrongClass(.init(property, value, self), expected: wanted)
  }

  /// Returns the positions of slots that differ from the snapshot; for a new object, those of slots that are not empty.
  final func changedSlots() -> [Int] {
    switch state.values {
    case .fault, .packed: return []
    case .edited(let edited): return Array(edited.changedPositions)
    case .removing, .new, .decoded: break
    }
    let slots = slots
    guard let old = snapshot?.slots else { return slots.indices.filter { !isEmpty(slots[$0]) } }
    return slots.indices.filter { !slots[$0].isSame(as: old[$0]) }
  }

  /// Returns the positions of changed slots that are stored, that is, not transient.
  final func changedStoredSlots() -> SlotSet {
    var changed = SlotSet()
    switch state.values {
    case .fault, .packed: return changed
    case .edited(let edited):
      for position in edited.changedPositions where !table.isTransient(at: position) { changed.insert(position) }
      return changed
    case .removing(let removals): return removals.positions
    case .new, .decoded: break
    }
    let slots = slots
    let old = snapshot?.slots
    for position in slots.indices where !table.isTransient(at: position) {
      let hasChanged = if let old { !slots[position].isSame(as: old[position]) } else { !isEmpty(slots[position]) }
      if hasChanged { changed.insert(position) }
    }
    return changed
  }

  private func isEmpty(_ slot: Slot) -> Bool {
    switch slot {
    case .null, .unread: true
    case .toMany(let members): members.isEmpty
    default: false
    }
  }

  /// Turns a fault without a row into an object without values.
  final func loseValues() {
    setSlots(
      table.properties.indices.map { position in
        guard let relationship = table.relationship(at: position), relationship.isToMany else { return .null }
        return .toMany(ToMany(isOrdered: relationship.isOrdered))
      })
  }

  /// Marks the object as updated.
  final func noteChange() {
    // Looking up the context costs more than setting a value.
    if changes.contains(.updated), eventChanges.contains(.updated) { return }
    if isAwakening { return noteSetWhileAwakening() }
    guard let context else { return }
    context.noteUpdate(self)
  }

  /// Returns the values that have changed since the last fetch or save, by property name. Transient properties are left
  /// out.
  public final func changedValues() -> [String: Any] { values(at: changedSlots()) { slot(at: $0) } }

  /// Returns, by property name, the earlier values of properties that have changed since the last
  /// `processPendingChanges()`. Transient properties are left out.
  public final func changedValuesForCurrentEvent() -> [String: Any] {
    guard isRealized, let before = slotsAtEventStart ?? snapshot?.slots else { return [:] }
    return values(at: slots.indices.filter { !slots[$0].isSame(as: before[$0]) }) { before[$0] }
  }

  /// Returns the values as of the last fetch or save, by property name, with `NSNull` for missing values. Transient
  /// properties are left out.
  ///
  /// - Parameter keys: the names of properties; nil for all.
  public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
    fireFault()
    let positions = keys.map { $0.map { position(of: $0) } } ?? Array(table.properties.indices)
    guard let snapshot else { return [:] }
    let slots = snapshot.slots
    return values(at: positions) { slots[$0] }
  }

  private func values(at positions: [Int], _ slot: (Int) -> Slot) -> [String: Any] {
    var result: [String: Any] = [:]
    for position in positions where !table.isTransient(at: position) {
      result[table.names[position]] = publicValue(of: slot(position)) ?? NSNull()
    }
    return result
  }

  private func publicValue(of slot: Slot) -> Any? {
    switch slot {
    case .toOne(let id): context?.object(for: id)
    case .toMany(let members):
      members.isOrdered
        ? NSOrderedSet(array: members.ids.compactMap { context?.object(for: $0) })
        : NSSet(array: members.ids.compactMap { context?.object(for: $0) })
    default: slot.publicValue
    }
  }

  /// Sets a slot, without tracking the change or updating an inverse.
  final func storePrimitive(_ value: Any?, at position: Int) {
    if isAwakening { noteSetWhileAwakening() }
    switch table.properties[position] {
    case .attribute(let attribute):
      setSlot(Misuse.stop { try slot(of: value, for: attribute) }, at: position)
    case .relationship(let relationship) where !relationship.isToMany:
      setSlot((value as? NSManagedObject).map { .toOne($0.identifier) } ?? .null, at: position)
      hold(value as? NSManagedObject, at: position)
    case .relationship(let relationship):
      let objects: [Any] =
        (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? (value as? [Any]) ?? []
      let ids = objects.compactMap { ($0 as? NSManagedObject)?.identifier }
      setSlot(.toMany(ToMany(ids, isOrdered: relationship.isOrdered)), at: position)
      _ = heldMembers(at: position)
      holds?.update()
    }
  }

  /// Returns the value of a key path: `department.name`, `employees.@count`, `location.x`.
  ///
  /// - Parameter keyPath: property names separated by dots, and collection operators.
  public final func value(forKeyPath keyPath: String) -> Any? {
    Misuse.stop { try KeyPathReader.value(keyPath, of: self, .collections) }
  }

  /// Sets the property at the end of a key path.
  ///
  /// - Parameters:
  ///   - value: the new value; nil to remove it.
  ///   - keyPath: property names separated by dots, possibly ending in an element of a composite attribute.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    Misuse.stop { try set(value, at: keyPath) { $0.setValue($1, forKey: $2) } }
  }

  /// Sets the property at the end of a key path with a setter for a single property.
  ///
  /// - Throws: 134060 for an unknown key before the last one, or a path that continues after an attribute's value; the
  ///   setter's errors.
  final func set(
    _ value: Any?, at keyPath: String, by set: (NSManagedObject, Any?, String) throws -> Void
  ) throws {
    guard let dot = keyPath.firstIndex(of: ".") else { return try set(self, value, keyPath) }
    let key = String(keyPath[..<dot])
    let rest = String(keyPath[keyPath.index(after: dot)...])
    let found: Any?
    do {
      found = try self.value(forKeyPathComponent: key)
    } catch EvaluationError.unknownKey {
      throw ObjectGraphErrors.unknownKey(key, of: entity)
    }
    switch found {
    case let object as NSManagedObject:
      try object.set(value, at: rest, by: set)
    case let members as any Sequence where entity.relationshipsByName[key]?.isToMany == true:
      // As in key-value coding, each member gets the value.
      for case let member as NSManagedObject in Array(members) as [Any] { try member.set(value, at: rest, by: set) }
    case let dictionary as NSDictionary:
      try set(self, dictionary.setting(value, at: rest), key)
    case nil where entity.attributesByName[key] is NSCompositeAttributeDescription:
      try set(self, NSDictionary().setting(value, at: rest), key)
    case nil:
      return
    case let other?:
      throw ObjectGraphErrors.noValue(
        keyPath, of: entity, reason: "the key path continues after \(key), whose value is a \(Swift.type(of: other)).")
    }
  }

  /// Returns the values of several properties, with `NSNull` for missing values.
  ///
  /// - Parameter keys: names of properties.
  public final func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { $1 }
  }

  /// Sets several properties.
  ///
  /// - Parameter keyedValues: the new values by property name; `NSNull` to remove a value.
  public final func setValuesForKeys(_ keyedValues: [String: Any]) {
    for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) {
      setValue(value is NSNull ? nil : value, forKey: key)
    }
  }

  // Key-value coding with keys from outside the program: a form, a file, a request.
  //
  // `value(forKey:)` and related methods trap for an unknown key or a value of another type, as Apple's do, because
  // keys in source code are the programmer's responsibility. These methods throw an error instead. They are additions
  // to Apple's API.

  /// Returns the value of a key path, and throws if there is none.
  ///
  /// - Parameter keyPath: property names separated by dots, and collection operators.
  /// - Throws: 134060 for an unknown key, or a path that continues after an attribute's value; 133000 for an object
  ///   whose row is missing; the store's errors if a row cannot be read.
  public final func checkedValue(forKeyPath keyPath: String) throws -> Any? {
    try throwingReadingFailures {
      do {
        return try KeyPathReader.value(keyPath, of: self, .collections)
      } catch let failure as EvaluationError {
        throw ObjectGraphErrors.noValue(keyPath, of: entity, reason: failure.description)
      }
    }
  }

  /// Sets the property at the end of a key path, and throws on failure. For a relationship, also changes the inverse.
  ///
  /// - Parameters:
  ///   - value: the new value; nil or `NSNull` to remove it.
  ///   - keyPath: property names separated by dots, possibly ending in an element of a composite attribute, or in a key
  ///     that the class defines with `setValue(_:forUndefinedKey:)`.
  /// - Throws: 134060 for an unknown key; 1550 for a value that does not have the property's type; the errors of
  ///   `checkedValue(forKeyPath:)`. On an error, nothing has changed.
  public final func setCheckedValue(_ value: Any?, forKeyPath keyPath: String) throws {
    try throwingReadingFailures {
      try set(value, at: keyPath) { object, value, key in
        guard object.table.position(of: key) != nil else {
          return try object.setIfDefined(value is NSNull ? nil : value, forUndefinedKey: key)
        }
        try object.checkType(of: value, forKey: key)
        object.setValue(value, forKey: key)
      }
    }
  }

  /// Sets several properties, and throws for unknown keys and values of the wrong type.
  ///
  /// - Parameter keyedValues: the new values by property name; `NSNull` to remove a value.
  /// - Throws: 134060 for a key that neither the model nor the class defines; 1550 for a value that does not have its
  ///   property's type. On an error, nothing has changed except what the class's `setValue(_:forUndefinedKey:)` has
  ///   set.
  public final func setCheckedValues(_ keyedValues: [String: Any]) throws {
    try throwingReadingFailures {
      let sorted = keyedValues.sorted { $0.key < $1.key }
      let known = sorted.filter { table.position(of: $0.key) != nil }
      for (key, value) in known { try checkType(of: value, forKey: key) }
      for (key, value) in sorted where table.position(of: key) == nil {
        try setIfDefined(value is NSNull ? nil : value, forUndefinedKey: key)
      }
      setValuesForKeys(Dictionary(uniqueKeysWithValues: known))
    }
  }

  /// Throws if a value does not have the property's type.
  private func checkType(of value: Any?, forKey key: String) throws {
    guard let position = table.position(of: key) else {
      throw ObjectGraphErrors.unknownKey(key, of: entity)
    }
    switch table.properties[position] {
    case .attribute(let attribute): _ = try slot(of: value, for: attribute)
    case .relationship(let relationship): _ = try destinations(in: value, of: relationship)
    }
  }

  /// Runs a closure, and throws if this object's row is missing, or if a row that the closure needed cannot be read.
  private func throwingReadingFailures<Value>(_ body: () throws -> Value) throws -> Value {
    guard let context else {
      if isRealized { return try body() }
      throw ObjectGraphErrors.missingObject(identifier)
    }
    let earlier = context.throwsForUnreadableValues
    context.throwsForUnreadableValues = true
    defer { context.throwsForUnreadableValues = earlier }
    return try context.throwingReadingFailures {
      fireFault()
      if isInaccessible, context.readingFailure == nil { throw ObjectGraphErrors.missingObject(identifier) }
      return try body()
    }
  }
}

extension Set<NSManagedObject> {
  /// Returns a value that is exactly such a set; nil for any other. A cast would turn a subclass of `NSSet` into an
  /// empty set.
  static func exactly(_ value: Any?) -> Set<NSManagedObject>? {
    guard let value, type(of: value) == Self.self else { return nil }
    return value as? Set<NSManagedObject>
  }
}

extension NSDictionary {
  /// Returns the dictionary of a composite attribute with a new value for one of its elements.
  fileprivate func setting(_ value: Any?, at keyPath: String) -> NSDictionary {
    let changed = mutableCopy() as? NSMutableDictionary ?? NSMutableDictionary()
    if let dot = keyPath.firstIndex(of: ".") {
      let key = String(keyPath[..<dot])
      let inner = self[key] as? NSDictionary ?? NSDictionary()
      changed[key] = inner.setting(value, at: String(keyPath[keyPath.index(after: dot)...]))
    } else if let value {
      changed[keyPath] = value
    } else {
      changed.removeObject(forKey: keyPath)
    }
    return changed
  }
}
