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

  func setDestination<Value: PersistentModel>(_ keyPath: AnyKeyPath, to value: Value?) {
    let slot = slot(keyPath)
    guard row != nil else { return setLoose(slot, value as Any) }
    connect(slot, to: value)
  }

  func connect(_ slot: PropertySlot, to value: (any PersistentModel)?) {
    guard let row, let context else { trap("\(place(of: slot)) cannot be set: the model is not inserted.") }
    row.setValue(value.map { context.row(of: $0, for: self, slot) }, forKey: slot.name)
    holdModel()
  }

  func destinations<Value: RelationshipCollection>(_ keyPath: AnyKeyPath, as type: Value.Type) -> Value {
    let slot = slot(keyPath)
    guard let row else { return loose(slot, as: type) }
    guard let context else { trap("\(place(of: slot)) cannot be read: the model is not inserted.") }
    let rows = (row.value(forKey: slot.name) as? Set<NSManagedObject>) ?? []
    return Value.collection(of: rows, in: context, optional: type) ?? { stop(slot, type) }()
  }

  func setDestinations<Value: RelationshipCollection>(_ keyPath: AnyKeyPath, to value: Value) {
    let slot = slot(keyPath)
    guard row != nil else { return setLoose(slot, value) }
    connect(slot, to: PropertySlot.models(in: value))
  }

  func connect(_ slot: PropertySlot, to models: [any PersistentModel]) {
    guard let row, let context else { trap("\(place(of: slot)) cannot be set: the model is not inserted.") }
    row.setValue(NSSet(array: models.map { context.row(of: $0, for: self, slot) }), forKey: slot.name)
    holdModel()
  }

  private func model<Value: PersistentModel>(_ row: ModelRow, _ slot: PropertySlot, as type: Value.Type) -> Value {
    guard let context else { trap("\(place(of: slot)) cannot be read: the model is not inserted.") }
    guard let model = context.model(of: row) as? Value else { stop(slot, type) }
    return model
  }
}

extension RelationshipCollection {
  /// Returns the models of rows as this collection.
  fileprivate static func collection<Value>(
    of rows: Set<NSManagedObject>, in context: ContextCore, optional: Value.Type
  ) -> Value? {
    var models: [PersistentElement] = []
    models.reserveCapacity(rows.count)
    for case let row as ModelRow in rows {
      guard let model = context.model(of: row) as? PersistentElement else { return nil }
      models.append(model)
    }
    return models as? Value
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

  /// Moves a value from the memory of a model into its row.
  func move(_ value: Any, to storage: StorageCore) {
    switch kind {
    case .attribute(let access): storage.write(any: value, access, self)
    case .toOne:
      if let model = Self.models(in: value).first { storage.connect(self, to: model) }
    case .toMany:
      let models = Self.models(in: value)
      if !models.isEmpty { storage.connect(self, to: models) }
    case .unstorable: break
    }
  }
}
