// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// The values of a model: in memory until it is inserted, and in a row of a context from then on.
final class StorageCore {
  private(set) var layout: ModelLayout
  /// The values by the indexes of their slots, until the model is inserted.
  private var values: [Any?]
  private(set) var row: ModelRow?
  private(set) var context: ContextCore?
  /// The identifier of a model until its first save; nil until the program asks for it.
  private(set) var temporaryIdentifier: PersistentIdentifier?
  /// The model that has this storage; nil once it is being deallocated.
  var model: (any PersistentModel)? {
    get { modelAddress?.object.map { layout.model($0) } }
    set { modelAddress = newValue.map { WeakAddress($0) } }
  }
  private var modelAddress: WeakAddress<AnyObject>?

  init(_ layout: ModelLayout) {
    self.layout = layout
    isDiscarding = false
    values = Array(repeating: nil, count: layout.slots.count)
  }

  /// Whether values that are set are forgotten: those that declarations give a model of a row, which has its own.
  let isDiscarding: Bool

  /// Creates the storage that a model of a row has until it gets that of the row.
  init(discarding layout: ModelLayout) {
    self.layout = layout
    values = []
    isDiscarding = true
  }

  init(_ layout: ModelLayout, row: ModelRow, in context: ContextCore) {
    isDiscarding = false
    self.layout = layout
    values = []
    self.row = row
    self.context = context
    row.storage = self
  }

  var identifier: PersistentIdentifier {
    if let row, !row.objectID.isTemporaryID { return PersistentIdentifier(row.objectID) }
    if let temporaryIdentifier { return temporaryIdentifier }
    let new = PersistentIdentifier(newOf: String(describing: layout.type))
    temporaryIdentifier = new
    if let row { context?.temporaryIdentifiers.add(new, of: row) }
    return new
  }

  var isDeleted: Bool { row.map { $0.isDeleted || $0.managedObjectContext == nil } ?? false }

  /// Makes room for the properties of a subclass, whose superclass has created the storage.
  func extend(to type: any PersistentModel.Type) {
    guard row == nil, type != layout.type else { return }
    layout = ModelLayout.of(type)
    values += Array(repeating: nil, count: layout.slots.count - values.count)
    temporaryIdentifier = nil
  }

  /// The row of a model that is being inserted, whose values are still in memory.
  private(set) var pendingRow: ModelRow?

  /// Begins to insert the model.
  func prepare(_ row: ModelRow, in context: ContextCore, model: any PersistentModel) {
    (pendingRow, self.context, self.model) = (row, context, model)
  }

  /// Moves the values into the row.
  func moveValues() {
    let values = self.values
    (row, pendingRow, self.values) = (pendingRow, nil, [])
    guard let row else { return }
    row.isSettingAttribute = true
    for slot in layout.slots {
      guard case .attribute(let access) = slot.kind, let value = values[slot.index] else { continue }
      write(slot) { try access.write(any: value, to: row) }
    }
    row.isSettingAttribute = false
    for slot in layout.relationships {
      if let value = values[slot.index] { slot.connect(value, to: self) }
    }
    if let temporaryIdentifier { context?.temporaryIdentifiers.add(temporaryIdentifier, of: row) }
    holdModel()
  }

  /// Copies the values of a model whose insertion will be undone back into memory.
  func copyValues() {
    guard let row, let context else { return }
    values = layout.slots.map { slot in
      switch slot.kind {
      case .attribute(let access):
        // A value that cannot be read is one that was never set.
        try? access.read(any: row)
      case .toOne: (row.value(forKey: slot.name) as? ModelRow).map { context.model(of: $0) }
      case .toMany:
        (row.value(forKey: slot.name) as? Set<NSManagedObject>).map { rows in
          rows.compactMap { ($0 as? ModelRow).map { context.model(of: $0) } }
        }
      case .unstorable: nil
      }
    }
  }

  /// Lets the model show another row, in favor of which a save has dropped its own.
  func move(to kept: ModelRow) {
    row?.storage = nil
    row?.changedModel = nil
    row = kept
    kept.add(self)
    if let temporaryIdentifier { context?.temporaryIdentifiers.add(temporaryIdentifier, of: kept) }
  }

  /// Separates a model, whose values are in memory, from its row, so that it can be inserted again.
  func leaveRow() {
    row?.storage = nil
    row?.changedModel = nil
    (row, context) = (nil, nil)
  }

  /// Whether the row was deleted, and the deletion has been saved.
  var hasLostRow: Bool { row.map { $0.managedObjectContext == nil } ?? false }

  /// Prepares a model whose deletion has been saved for being inserted again, as a new one with the same attributes.
  func leaveDeletedRow() {
    guard hasLostRow else { return }
    copyValues()
    leaveRow()
    temporaryIdentifier = nil
  }

  /// The models to which relationships lead that are not inserted.
  var looseModels: [any PersistentModel] {
    if values.isEmpty { return [] }
    return layout.relationships.flatMap { PropertySlot.models(in: values[$0.index]) }
  }

  // MARK: Values

  func slot(_ keyPath: AnyKeyPath) -> PropertySlot {
    guard let slot = layout.slot(for: keyPath) else {
      trap("\(keyPath.words) is not a stored property of \(layout.type), whose properties are \(names).")
    }
    return slot
  }

  /// Says why a model without values was found by its identifier.
  private static let deletion =
    "Its row was deleted. Fetch models by their persistentModelID if they may have been deleted since."

  private var names: String { layout.slots.map(\.name).joined(separator: ", ") }

  func loose<Value>(_ slot: PropertySlot, as type: Value.Type) -> Value {
    if let value = values[slot.index] {
      if let value = value as? Value { return value }
    } else if let none = (type as? any OptionalValue.Type)?.none as? Value {
      return none
    }
    trap("\(slot.name) of \(layout.type) has no value yet: the initializer must set it before it is read.")
  }

  func setLoose(_ slot: PropertySlot, _ value: Any) {
    if !isDiscarding { values[slot.index] = value }
  }

  func attribute<Value>(_ keyPath: AnyKeyPath, as type: Value.Type) -> Value {
    let slot = slot(keyPath)
    guard let row else { return loose(slot, as: type) }
    guard let access = slot.access(for: Value.self) else { stop(slot, Value.self) }
    do {
      return try access.read(row)
    } catch {
      let reason = (error as? UnreadableAttribute)?.reason ?? "cannot be read: \(error)"
      trap("\(place(of: slot)) \(reason).\(isDeleted ? " \(Self.deletion)" : "")")
    }
  }

  func setAttribute<Value>(_ keyPath: AnyKeyPath, to value: Value) {
    let slot = slot(keyPath)
    guard row != nil else { return setLoose(slot, value) }
    write(value, to: slot)
  }

  private func write<Value>(_ value: Value, to slot: PropertySlot) {
    guard let row, let access = slot.access(for: Value.self) else { stop(slot, Value.self) }
    row.isSettingAttribute = true
    write(slot) { try access.write(value, to: row) }
    row.isSettingAttribute = false
    row.notifyOthers(than: self, slot)
    holdModel()
  }

  private func write(_ slot: PropertySlot, _ writing: () throws -> Void) {
    do {
      try writing()
    } catch {
      trap("\(place(of: slot)) \((error as? UnreadableAttribute)?.reason ?? "cannot be set: \(error)").")
    }
  }

  /// Keeps the model until its changes are saved.
  func holdModel() {
    if row?.changedModel == nil { row?.changedModel = model }
    context?.noteChange()
  }

  /// Describes the place of a value in an error message.
  func place(of slot: PropertySlot) -> String {
    let id = row?.objectID.uriRepresentation().absoluteString ?? "a model that is not inserted"
    return "\(layout.type).\(slot.name) of \(id)"
  }

  func stop(_ slot: PropertySlot, _ type: Any.Type) -> Never {
    trap("\(place(of: slot)) is accessed as \(type), which is not the type of its declaration.")
  }
}

/// The backing data of a model of a class.
struct ModelStorage<Model: PersistentModel>: BackingData {
  let core: StorageCore

  init(for modelType: Model.Type) {
    core = ModelInCreation.takeStorage(of: modelType) ?? StorageCore(ModelLayout.of(modelType))
  }
  init(_ core: StorageCore) { self.core = core }

  var metadata: Any { "\(Model.self) \(core.identifier.id.primaryKey)" }
  var persistentModelID: PersistentIdentifier? {
    get { core.identifier }
    set {
      trap(unless: newValue == core.identifier, "The identifier of a model is given by its context, and cannot be set.")
    }
  }

  func getValue<Value: Decodable>(forKey key: KeyPath<Model, Value>) -> Value { core.attribute(key, as: Value.self) }
  func getTransformableValue<Value>(forKey key: KeyPath<Model, Value>) -> Value { core.attribute(key, as: Value.self) }
  func setValue<Value: Encodable>(forKey key: KeyPath<Model, Value>, to newValue: Value) {
    core.setAttribute(key, to: newValue)
  }
  func setTransformableValue<Value>(forKey key: KeyPath<Model, Value>, to newValue: Value) {
    core.setAttribute(key, to: newValue)
  }

  func getValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value>) -> Value {
    core.destination(key, as: Value.self)
      ?? { core.missingDestination(key) }()
  }
  func getValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value?>) -> Value? {
    core.destination(key, as: Value.self)
  }
  func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value>, to newValue: Value) {
    core.setDestination(key, to: newValue)
  }
  func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value?>, to newValue: Value?) {
    core.setDestination(key, to: newValue)
  }

  func getValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Model, Value>) -> Value
  where Other == Value.PersistentElement { core.destinations(key, as: Value.self) }
  func getValue<Value: RelationshipCollection & Decodable, Other>(forKey key: KeyPath<Model, Value>) -> Value
  where Other == Value.PersistentElement { core.destinations(key, as: Value.self) }
  func setValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Model, Value>, to newValue: Value)
  where Other == Value.PersistentElement { core.setDestinations(key, to: newValue) }
  func setValue<Value: RelationshipCollection & Encodable, Other>(
    forKey key: KeyPath<Model, Value>, to newValue: Value
  ) where Other == Value.PersistentElement { core.setDestinations(key, to: newValue) }
}

/// The storage of a model, without its class.
protocol AnyModelStorage {
  var core: StorageCore { get }
}

extension ModelStorage: AnyModelStorage {}
