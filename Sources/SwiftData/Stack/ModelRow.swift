// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The managed object in which the values of an inserted model are kept.
final class ModelRow: NSManagedObject {
  /// The storage of the model, while the model exists.
  weak var storage: StorageCore?
  /// The model while it has unsaved changes, so that a fetch returns the object that was changed.
  var changedModel: AnyObject?

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
