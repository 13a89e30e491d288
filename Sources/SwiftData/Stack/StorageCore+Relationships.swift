// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// Relationships, whose destinations are models.
extension StorageCore {
  func destination<Value: PersistentModel>(_ keyPath: AnyKeyPath, as type: Value.Type) -> Value? {
    let slot = slot(keyPath)
    guard let row else { return PropertySlot.models(in: loose(slot, as: Any?.self)).first as? Value }
    guard let destination = row.value(forKey: slot.name) as? ModelRow else { return nil }
    return model(destination, slot, as: type)
  }

  /// Traps because a required to-one relationship has no destination.
  func missingDestination(_ keyPath: AnyKeyPath) -> Never {
    trap(
      "\(place(of: slot(keyPath))) has no destination, but its declaration requires one. The destination was deleted, or "
        + "the store was written by another version: make the relationship optional.")
  }

  /// Inserts the model of this storage into the context of one of the models that it will refer to, if there is one.
  func join(_ model: any PersistentModel, contextOf others: @autoclosure () -> [any PersistentModel]) {
    guard row == nil, pendingRow == nil else { return }
    let contexts = others().lazy.compactMap { $0.storage.row?.managedObjectContext == nil ? nil : $0.storage.context }
    contexts.first?.insert(any: model)
  }

  func setDestination<Value: PersistentModel>(_ keyPath: AnyKeyPath, to value: Value?) {
    let slot = slot(keyPath)
    guard row != nil else { return setLoose(slot, value as Any) }
    connect(slot, to: value)
  }

  func connect(_ slot: PropertySlot, to value: (any PersistentModel)?) {
    guard let row, let context else { trap("\(place(of: slot)) cannot be set: the model is not inserted.") }
    let destination = value.flatMap { context.row(of: $0, for: self, slot) }
    // The array of the other side gets this model at its end.
    var others: CollectionCache.AnyArray?
    if let destination, let inverse = row.entity.relationshipsByName[slot.name]?.inverseRelationship, inverse.isToMany,
      row.value(forKey: slot.name) as? ModelRow !== destination
    {
      others = context.collections.take(destination, inverse.name)
    }
    row.setting(slot.name) { row.setValue(destination, forKey: slot.name) }
    if let others, let model { context.collections.put(others, with: model) }
    row.notifyOthers(than: self, slot)
    holdModel()
  }

  func destinations<Value: RelationshipCollection>(_ keyPath: AnyKeyPath, as type: Value.Type) -> Value {
    let slot = slot(keyPath)
    guard let row else { return loose(slot, as: type) }
    guard let context else { trap("\(place(of: slot)) cannot be read: the model is not inserted.") }
    return Value.models(of: row, slot.name, in: context) as? Value ?? { stop(slot, type) }()
  }

  func setDestinations<Value: RelationshipCollection>(_ keyPath: AnyKeyPath, to value: Value) {
    let slot = slot(keyPath)
    guard row != nil else { return setLoose(slot, value) }
    value.connect(self, slot)
  }

  fileprivate func connect<Model: PersistentModel>(_ slot: PropertySlot, to models: [Model], from old: [Model]) {
    guard let row, let context else { trap("\(place(of: slot)) cannot be set: the model is not inserted.") }
    let change = CollectionChange(from: old, to: models)
    func rows(_ models: some Sequence<Model>) -> [ModelRow] {
      models.compactMap { context.row(of: $0, for: self, slot) }
    }
    let set = row.mutableSetValue(forKey: slot.name)
    row.setting(slot.name) {
      if change.isSmall {
        // Two models may have one row.
        let added = rows(change.added)
        let removed = change.removed.isEmpty ? [] : Set(rows(change.removed)).subtracting(rows(models))
        for member in added { set.add(member) }
        for member in removed { set.remove(member) }
      } else {
        row.setValue(NSSet(array: rows(models)), forKey: slot.name)
      }
    }
    if set.count == models.count {
      context.collections.keep(models, of: row, slot.name, members: nil)
    } else {
      context.collections.forget(row, slot.name)
    }
    row.notifyOthers(than: self, slot)
    holdModel()
  }

  private func model<Value: PersistentModel>(_ row: ModelRow, _ slot: PropertySlot, as type: Value.Type) -> Value {
    guard let context else { trap("\(place(of: slot)) cannot be read: the model is not inserted.") }
    guard let model = context.model(of: row) as? Value else { stop(slot, type) }
    return model
  }
}

/// What distinguishes two arrays of models.
private struct CollectionChange<Model: PersistentModel> {
  var added: ArraySlice<Model> = []
  var removed: [Model] = []
  /// Whether few models are added and removed.
  let isSmall: Bool

  init(from old: [Model], to new: [Model]) {
    // Appending is the most frequent change.
    if old.count <= new.count, Self.areSame(old, new) {
      added = new[old.count...]
    } else {
      let (before, after) = (Set(old.map { ObjectIdentifier($0) }), Set(new.map { ObjectIdentifier($0) }))
      added = new.filter { !before.contains(ObjectIdentifier($0)) }[...]
      removed = old.filter { !after.contains(ObjectIdentifier($0)) }
    }
    isSmall = added.count + removed.count <= max(16, old.count / 4)
  }

  /// Returns whether an array begins with the models of another one.
  private static func areSame(_ old: [Model], _ new: [Model]) -> Bool {
    // References are compared as bytes, since a loop over thousands of models would take longer than adding one.
    old.withUnsafeBytes { old in
      new.withUnsafeBytes { new in
        guard let start = old.baseAddress, let other = new.baseAddress else { return true }
        return memcmp(start, other, old.count) == 0
      }
    }
  }
}

extension RelationshipCollection {
  /// Returns the models of a relationship; nil if one of them has another class.
  fileprivate static func models(
    of row: ModelRow, _ name: String, in context: ContextCore
  ) -> [PersistentElement]? {
    if let known = context.collections.models(of: row, name, as: PersistentElement.self) { return known }
    let rows = (row.value(forKey: name) as? Set<NSManagedObject>) ?? []
    var models: [PersistentElement] = []
    models.reserveCapacity(rows.count)
    for case let row as ModelRow in rows {
      guard let model = context.model(of: row) as? PersistentElement else { return nil }
      models.append(model)
    }
    // The arrays of a context that the program has released would retain it.
    if context.isInUse { context.collections.keep(models, of: row, name, members: rows) }
    return models
  }

  /// Makes the models the members of a relationship.
  fileprivate func connect(_ storage: StorageCore, _ slot: PropertySlot) {
    guard let row = storage.row, let context = storage.context else { return }
    let new = self as? [PersistentElement] ?? []
    storage.connect(slot, to: new, from: Self.models(of: row, slot.name, in: context) ?? [])
  }

  /// Adds the models to the members that the other sides have given a relationship of a new row.
  fileprivate func add(to storage: StorageCore, _ slot: PropertySlot) {
    guard let row = storage.row, let context = storage.context else { return }
    let old = Self.models(of: row, slot.name, in: context) ?? []
    let known = Set(old.map { ObjectIdentifier($0) })
    let new = (self as? [PersistentElement] ?? []).filter { !known.contains(ObjectIdentifier($0)) }
    if !new.isEmpty { storage.connect(slot, to: old + new, from: old) }
  }
}

extension PropertySlot {
  /// Returns the models in the value of a relationship.
  static func models(in value: Any?) -> [any PersistentModel] {
    guard let value else { return [] }
    if let model = value as? any PersistentModel { return [model] }
    if let optional = value as? any OptionalValue { return models(in: optional.someValue) }
    return value as? [any PersistentModel] ?? []
  }

  /// Moves the destinations of a relationship from the memory of a model into its row.
  func connect(_ value: Any, to storage: StorageCore) {
    switch kind {
    case .toOne:
      if let model = Self.models(in: value).first { storage.connect(self, to: model) }
    case .toMany:
      let value = (value as? any OptionalValue)?.someValue ?? value
      (value as? any RelationshipCollection)?.add(to: storage, self)
    case .attribute, .unstorable: break
    }
  }
}
