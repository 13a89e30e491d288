// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The managed object in which the values of an inserted model are kept.
final class ModelRow: NSManagedObject, ArrayStoring, ValidatedByModel {
  /// The storage of the model, while the model exists.
  var storage: StorageCore? {
    get { storageAddress?.object }
    set { storageAddress = newValue.map { WeakAddress($0) } }
  }
  private var storageAddress: WeakAddress<StorageCore>?
  /// The storages of further models, which were inserted with the unique values of this row.
  private var others: [Other] = []
  /// The model while it has unsaved changes, so that a fetch returns the object that was changed.
  var changedModel: AnyObject?

  /// The cache that has arrays of this row's relationships.
  weak var collections: CollectionCache?
  /// The name of the property that is being set through a model, which notifies its observers itself.
  private var settingName: String?
  /// Whether an attribute is being set, which has no other side.
  var isSettingAttribute = false

  /// The model of the row: the oldest that still exists; nil if there is none.
  var model: (any PersistentModel)? {
    if let model = storage?.model { return model }
    guard !others.isEmpty else { return nil }
    others.removeAll { $0.storage?.model == nil }
    guard let next = others.first?.storage else { return nil }
    others.removeFirst()
    storage = next
    return next.model
  }

  /// The models of the row.
  var models: [any PersistentModel] { ([model] + others.map { $0.storage?.model }).compactMap { $0 } }

  /// Adds the storage of a model whose own row was dropped in favor of this one.
  func add(_ other: StorageCore) {
    if model == nil { storage = other } else { others.append(Other(storage: other)) }
  }

  var storesArraysAsText: Bool { storage?.context?.storesArraysAsText ?? false }

  /// Sets a property on behalf of a model.
  func setting(_ name: String, _ body: () -> Void) {
    let outer = settingName
    settingName = name
    body()
    settingName = outer
  }

  override func willChangeValue(forKey key: String) {
    super.willChangeValue(forKey: key)
    if isSettingAttribute || key == settingName { return }
    forEachObserver(of: key) { $0.willSet($1) }
  }

  override func didChangeValue(forKey key: String) {
    super.didChangeValue(forKey: key)
    if isSettingAttribute { return }
    collections?.forget(self, key)
    if key != settingName { forEachObserver(of: key) { $0.didSet($1) } }
  }

  override func awake(fromSnapshotEvents flags: NSSnapshotEventType) {
    super.awake(fromSnapshotEvents: flags)
    collections?.removeAll()
    notifyAll()
  }

  override func willTurnIntoFault() {
    super.willTurnIntoFault()
    if let storage, storage.model != nil { storage.context?.merging.note(self, storage.layout) }
  }

  override func didTurnIntoFault() {
    super.didTurnIntoFault()
    collections?.removeAll()
  }

  private func forEachObserver(of name: String, _ body: (PropertyNotifier, any PersistentModel) -> Void) {
    guard let model, let notifier = storage?.layout.slot(named: name)?.notifier else { return }
    body(notifier, model)
    if !others.isEmpty { for other in models.dropFirst() { body(notifier, other) } }
  }

  /// Notifies the observers of the other models of this row that a property has been set through one of them.
  func notifyOthers(than setter: StorageCore, _ slot: PropertySlot) {
    guard !others.isEmpty else { return }
    for model in models where model !== setter.model { slot.notifier?.notify(model) }
  }

  /// Notifies observers that properties may have changed.
  ///
  /// - Parameter slots: the properties; nil for all.
  func notifyAll(_ slots: [PropertySlot]? = nil) {
    guard let model, let known = storage?.layout.slots else { return }
    for model in others.isEmpty ? [model] : models {
      for slot in slots ?? known { slot.notifier?.notify(model) }
    }
  }

  private struct Other {
    weak var storage: StorageCore?
  }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    if value == nil, let attribute = entity.attributesByName[key], isStoredAsNull(attribute) { return }
    try super.validateValue(&value, forKey: key)
  }
  /// Returns whether an attribute may have a value where the store has none.
  private func isStoredAsNull(_ attribute: NSAttributeDescription) -> Bool {
    if let composite = attribute as? NSCompositeAttributeDescription {
      // A struct whose properties are all nil has no stored values, but is one.
      return composite.elements.allSatisfy(\.isOptional)
    }
    // NaN is stored as NULL.
    return [.doubleAttributeType, .floatAttributeType].contains(attribute.attributeType) && !isInserted
  }
}
