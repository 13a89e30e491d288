// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads a `.strings` file: lines of `"key" = "value";` with comments, or a property list.
package struct StringsFile {
  private let text: [Unicode.Scalar]
  private var position = 0
  private var line = 1

  /// Returns the strings of a file by their keys.
  ///
  /// - Throws: `PropertyLists.Unreadable`.
  package static func strings(in data: Data) throws -> [String: String] {
    if data.isEmpty { return [:] }
    if data.starts(with: "bplist".utf8) || data.starts(with: "<?xml".utf8) || data.starts(with: "<!DOCTYPE".utf8)
      || data.starts(with: "<plist".utf8)
    {
      guard case .dictionary(let entries) = try PropertyLists.value(of: data) else {
        throw PropertyLists.Unreadable(description: "The property list does not contain a dictionary.")
      }
      return try entries.mapValues { value in
        guard case .string(let word) = value else {
          throw PropertyLists.Unreadable(description: "It contains values that are not strings.")
        }
        return word
      }
    }
    var file = StringsFile(text: Array(try decoded(data).unicodeScalars))
    return try file.entries()
  }

  private init(text: [Unicode.Scalar]) { self.text = text }

  /// Decodes UTF-8, or UTF-16 with a byte order mark, as written by older tools.
  private static func decoded(_ data: Data) throws -> String {
    let bytes = [UInt8](data)
    let isBig = bytes.starts(with: [0xFE, 0xFF])
    if isBig || bytes.starts(with: [0xFF, 0xFE]) {
      var units: [UInt16] = []
      for position in stride(from: 2, to: bytes.count - 1, by: 2) {
        let (first, second) = (UInt16(bytes[position]), UInt16(bytes[position + 1]))
        units.append(isBig ? first << 8 | second : second << 8 | first)
      }
      if let text = String(validating: units, as: UTF16.self) { return text }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw PropertyLists.Unreadable(description: "It is not UTF-8 or UTF-16 text.")
    }
    return text.hasPrefix("\u{FEFF}") ? String(text.unicodeScalars.dropFirst()) : text
  }

  private mutating func entries() throws -> [String: String] {
    var result: [String: String] = [:]
    try skipSpace()
    let isBraced = accept("{")
    while true {
      try skipSpace()
      if isBraced, accept("}") {
        try skipSpace()
        guard peek == nil else { throw unexpected("the end") }
        return result
      }
      guard peek != nil else {
        guard !isBraced else { throw unexpected("'}'") }
        return result
      }
      let key = try word("a key")
      try skipSpace()
      // A key without a value has itself as its value.
      var value = key
      if accept("=") {
        try skipSpace()
        value = try word("a string")
        try skipSpace()
      }
      guard accept(";") else { throw unexpected("';'") }
      result[key] = value
    }
  }

  // MARK: Strings

  private mutating func word(_ expected: String) throws -> String {
    if let quote = peek, quote == "\"" || quote == "'" {
      advance()
      return try quoted(until: quote)
    }
    var result = String.UnicodeScalarView()
    while let scalar = peek, Self.isPlain(scalar) {
      result.append(scalar)
      advance()
    }
    guard !result.isEmpty else { throw unexpected(expected) }
    return String(result)
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "$", "/", ":", ".", "-": true
    default: false
    }
  }

  private mutating func quoted(until quote: Unicode.Scalar) throws -> String {
    // Collected as UTF-16, because an escape may be half of a surrogate pair.
    var units: [UInt16] = []
    while let scalar = peek {
      advance()
      if scalar == quote { return String(decoding: units, as: UTF16.self) }
      if scalar == "\\" {
        units.append(contentsOf: try escaped())
      } else {
        units.append(contentsOf: Array(UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter))
      }
    }
    throw unexpected("a closing quote")
  }

  private mutating func escaped() throws -> [UInt16] {
    guard let scalar = peek else { throw unexpected("a character after '\\'") }
    advance()
    switch scalar {
    case "a": return [7]
    case "b": return [8]
    case "f": return [12]
    case "n": return [10]
    case "r": return [13]
    case "t": return [9]
    case "v": return [11]
    case "0"..."7": return [UInt16(truncatingIfNeeded: number(first: scalar, digits: 3, radix: 8))]
    case "U", "u":
      guard let digit = peek, Character(digit).isHexDigit else { throw unexpected("hexadecimal digits") }
      advance()
      return [UInt16(truncatingIfNeeded: number(first: digit, digits: 4, radix: 16))]
    default: return Array(UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter)
    }
  }

  private mutating func number(first: Unicode.Scalar, digits: Int, radix: Int) -> Int {
    var value = Character(first).hexDigitValue ?? 0
    var count = 1
    while count < digits, let scalar = peek, let digit = Character(scalar).hexDigitValue, digit < radix {
      value = value * radix + digit
      count += 1
      advance()
    }
    return value
  }

  // MARK: Characters

  private var peek: Unicode.Scalar? { position < text.count ? text[position] : nil }

  private mutating func advance() {
    if text[position] == "\n" { line += 1 }
    position += 1
  }

  private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    guard peek == scalar else { return false }
    advance()
    return true
  }

  /// Skips white space and comments.
  private mutating func skipSpace() throws {
    while let scalar = peek {
      if scalar.properties.isWhitespace {
        advance()
      } else if scalar == "/", position + 1 < text.count, text[position + 1] == "/" {
        while let scalar = peek, scalar != "\n", scalar != "\r" { advance() }
      } else if scalar == "/", position + 1 < text.count, text[position + 1] == "*" {
        position += 2
        while position + 1 < text.count, !(text[position] == "*" && text[position + 1] == "/") { advance() }
        guard position + 1 < text.count else { throw unexpected("the end of a comment") }
        position += 2
      } else {
        return
      }
    }
  }

  private func unexpected(_ expected: String) -> PropertyLists.Unreadable {
    let found = peek.map { "'\($0)'" } ?? "the end of the file"
    return PropertyLists.Unreadable(description: "Line \(line) has \(found) where \(expected) was expected.")
  }
}
