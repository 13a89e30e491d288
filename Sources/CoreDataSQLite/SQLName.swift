// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// Names of tables, columns and other objects in SQL text.
package enum SQLName {
  /// Returns the name as SQL text, in double quotes only if SQLite would not accept it as a name otherwise.
  ///
  /// Core Data never quotes its names, which consist of letters, digits and underscores and are not keywords.
  package static func quoted(_ name: String) -> String {
    var name = name
    let isPlain = name.withUTF8 { bytes in
      guard let first = bytes.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
        bytes.allSatisfy(isLetterDigitOrUnderscore)
      else { return false }
      return bytes.withMemoryRebound(to: CChar.self) { sqlite3_keyword_check($0.baseAddress, Int32($0.count)) == 0 }
    }
    return isPlain ? name : "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }

  /// Returns whether a UTF-8 byte can be part of an unquoted name.
  package static func isLetterDigitOrUnderscore(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  /// Returns whether SQLite treats two names as equal: it ignores the case of ASCII letters only.
  package static func areEqual(_ first: String, _ second: String) -> Bool {
    folded(first) == folded(second)
  }

  /// Returns the name with ASCII letters in lower case, for comparison.
  package static func folded(_ name: String) -> String {
    var name = name
    return name.withUTF8 { bytes in
      String(unsafeUninitializedCapacity: bytes.count) { folded in
        for (position, byte) in bytes.enumerated() {
          folded[position] = (0x41...0x5A).contains(byte) ? byte + 0x20 : byte
        }
        return bytes.count
      }
    }
  }
}
