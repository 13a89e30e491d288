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
}
