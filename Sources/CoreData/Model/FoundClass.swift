// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The class of an entity's objects, once it has been found. On any thread.
final class FoundClass: Sendable {
  private let place = Mutex<NSManagedObject.Type?>(nil)

  var type: NSManagedObject.Type? {
    get { place.withLock { $0 } }
    set { place.withLock { $0 = newValue } }
  }
}
