// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Names of tables and columns as they stand in SQL.
package enum SQLName {
  /// The name as it is where SQLite takes it so, else in quotation marks. Core Data itself never quotes a name, and its
  /// own are all letters, digits and underscores.
  package static func quoted(_ name: String) -> String {
    let isPlain =
      !name.isEmpty && !(name.first?.isNumber ?? true)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
          true
        default: false
        }
      }
    return isPlain ? name : "\"" + name.replacingQuotationMarks + "\""
  }
}

extension String {
  fileprivate var replacingQuotationMarks: String {
    split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
  }
}
