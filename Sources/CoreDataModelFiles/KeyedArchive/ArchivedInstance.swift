// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An object of a class that only an app knows, kept as it stands in a keyed archive: it is written as it came.
package struct ArchivedInstance: Hashable, Sendable {
  /// The name of its class.
  package let className: String
  /// A keyed archive of the object alone.
  package let archive: Data

  /// Keeps an object.
  package init(className: String, archive: Data) {
    self.className = className
    self.archive = archive
  }
}
