// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The managed object in which the values of an inserted model are kept.
final class ModelRow: NSManagedObject {
  /// The storage of the model, while the model exists.
  weak var storage: StorageCore?
  /// The storages of further models, which were inserted with the unique values of this row.
  private var others: [Other] = []
  /// The model while it has unsaved changes, so that a fetch returns the object that was changed.
  var changedModel: AnyObject?

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

  private struct Other {
    weak var storage: StorageCore?
  }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    // A struct whose properties are all nil has no stored values, but is one.
    if value == nil, let composite = entity.attributesByName[key] as? NSCompositeAttributeDescription,
      composite.elements.allSatisfy(\.isOptional)
    {
      return
    }
    try super.validateValue(&value, forKey: key)
  }
}
