// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension DatabaseCatalog.Table {
  /// What the definition has by which values are computed or rows vanish without an error; nil for a plain table.
  package var oddity: String? {
    if isVirtual { return "it is a virtual table" }
    if let column = columns.first(where: \.isGenerated) { return "an expression computes its column \(column.name)" }
    if Self.words(of: sql).contains("CONFLICT") {
      return "it has an ON CONFLICT clause, by which rows can vanish without an error"
    }
    return nil
  }

  /// The keywords and unquoted names of a statement, in capitals; what is quoted and comments are left out.
  static func words(of sql: String) -> [String] {
    var words: [String] = []
    var word = ""
    var rest = Substring(sql).utf8[...]
    func end() {
      if !word.isEmpty { words.append(word.uppercased()) }
      word = ""
    }
    while let byte = rest.first {
      let character = Character(UnicodeScalar(byte))
      if rest.starts(with: "--".utf8) {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      } else if rest.starts(with: "/*".utf8) {
        rest = rest.dropFirst(2)
        while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
        rest = rest.dropFirst(2)
      } else if let close = ["\"": "\"", "'": "'", "`": "`", "[": "]"][character] as Character? {
        // A doubled quotation mark ends one quoted text and begins another: nothing stands between them.
        rest = rest.dropFirst().drop { $0 != close.asciiValue }.dropFirst()
      } else {
        if character == "_" || character.isLetter || character.isNumber || byte >= 0x80 {
          word.append(character)
          rest = rest.dropFirst()
          continue
        }
        rest = rest.dropFirst()
      }
      end()
    }
    end()
    return words
  }
}
