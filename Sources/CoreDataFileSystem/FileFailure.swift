// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file system call that failed.
package struct FileFailure: Error, Hashable {
  /// The attempted operation as a verb, such as "rename".
  package let operation: String
  /// The path of the file.
  package let path: String
  /// The system's error number (`errno`).
  package let number: Int32

  package init(operation: String, path: String, number: Int32) {
    self.operation = operation
    self.path = path
    self.number = number
  }

  /// Whether the cause is permissions or a read-only file system.
  package var isAboutPermissions: Bool { [EACCES, EPERM, EROFS].contains(number) }
}
