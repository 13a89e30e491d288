// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Names of tables, columns and other schema objects in SQL text.
package enum SQLiteIdentifier {
  /// Returns the name in double quotes, with quotes inside it escaped.
  package static func quoted(_ name: String) -> String {
    "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }

  /// Whether SQLite treats two names as equal: it ignores the case of ASCII letters only.
  package static func areEqual(_ first: String, _ second: String) -> Bool {
    folded(first) == folded(second)
  }

  /// Returns the name with ASCII letters in lower case, for comparison.
  package static func folded(_ name: String) -> String {
    String(decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
  }
}
