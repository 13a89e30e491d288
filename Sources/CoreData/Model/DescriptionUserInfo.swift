// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The developer's own values of a description. Nothing depends on them, so they can be set even while a coordinator,
/// possibly on other threads, uses the model.
final class DescriptionUserInfo: @unchecked Sendable {
  /// Shared by all descriptions, because the values are seldom used and a model has thousands of descriptions.
  private static let lock = NSLock()

  private var stored: [AnyHashable: Any]? = [:]

  var values: [AnyHashable: Any]? {
    get { Self.lock.withLock { stored } }
    set {
      var other = newValue
      // The old values are released outside the lock, because a custom deinitializer may read others.
      Self.lock.withLock { swap(&stored, &other) }
    }
  }
}
