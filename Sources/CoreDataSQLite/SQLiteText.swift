// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Text as SQLite stores it, which can be any bytes.
package enum SQLiteText {
  /// Returns whether bytes are valid UTF-8, so that a `String` preserves them.
  package static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // Most texts are ASCII.
    if bytes.allSatisfy({ $0 < 0x80 }) { return true }
    return String(validating: bytes, as: UTF8.self) != nil
  }
}
