// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The developer's own values of a description. Nothing depends on them, so they can be set while a coordinator, and with it
/// other threads, use the model.
final class DescriptionUserInfo: @unchecked Sendable {
  /// Shared by all descriptions: the values are seldom used, and a model has thousands of descriptions.
  private static let lock = NSLock()

  private var stored: [AnyHashable: Any]? = [:]

  var values: [AnyHashable: Any]? {
    get { Self.lock.withLock { stored } }
    set {
      var other = newValue
      // The old values are released without the lock, since a deinitializer of the program may read others.
      Self.lock.withLock { swap(&stored, &other) }
    }
  }
}
