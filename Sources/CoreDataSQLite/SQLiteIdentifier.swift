// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Names of tables, columns and the like in SQL text.
package enum SQLiteIdentifier {
  /// The name in double quotes, safe whatever it holds.
  package static func quoted(_ name: String) -> String {
    "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }

  /// Whether SQLite takes two names for the same: it ignores the case of ASCII letters and of no others.
  package static func areEqual(_ first: String, _ second: String) -> Bool {
    folded(first) == folded(second)
  }

  /// The name with the case that SQLite ignores taken out.
  package static func folded(_ name: String) -> String {
    String(decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
  }
}
