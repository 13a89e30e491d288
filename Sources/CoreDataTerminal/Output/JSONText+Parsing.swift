// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension JSONText {
  /// A text that is not JSON.
  package struct ParsingProblem: Error, Hashable, CustomStringConvertible {
    /// What was expected.
    package let reason: String
    /// The position of the offending byte, counted from 1.
    package let column: Int

    package var description: String { "\(reason) at byte \(column)" }
  }

  /// Parses a JSON value. Integers of 64 bits keep all their digits; a number with a fraction or an exponent, or a larger
  /// one, becomes a double.
  ///
  /// - Throws: `ParsingProblem`.
  package init(parsing bytes: some Collection<UInt8>) throws {
    self = try Array(bytes).withUnsafeBufferPointer { buffer in
      var parser = JSONParser(bytes: buffer)
      let value = try parser.value(depth: 0)
      try parser.end()
      return value
    }
  }
}

/// A recursive parser of one JSON value (RFC 8259).
private struct JSONParser {
  let bytes: UnsafeBufferPointer<UInt8>
  var position = 0

  /// The maximum depth of nested values.
  private static let maxDepth = 64

  init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func problem(_ reason: String) -> JSONText.ParsingProblem {
    JSONText.ParsingProblem(reason: reason, column: position + 1)
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
  }

  mutating func end() throws {
    skipSpace()
    if next != nil { throw problem("the end of the value was expected") }
  }

  mutating func value(depth: Int) throws -> JSONText {
    guard depth < Self.maxDepth else { throw problem("values are nested more than \(Self.maxDepth) levels deep") }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return .object(try members(depth))
    case UInt8(ascii: "["): return .array(try elements(depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return try number()
    case nil: throw problem("a value was expected, and the text ends")
    default: throw problem("a value was expected")
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSONText) throws -> JSONText {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count,
      memcmp(word.utf8Start, bytes.baseAddress! + position, word.utf8CodeUnitCount) == 0
    else { throw problem("a value was expected") }
    position = end
    return value
  }

  private mutating func take(_ character: Character, _ reason: String) throws {
    skipSpace()
    guard next == character.asciiValue else { throw problem(reason) }
    position += 1
  }

  private mutating func members(_ depth: Int) throws -> [JSONText.Member] {
    position += 1
    var members: [JSONText.Member] = []
    skipSpace()
    if next == UInt8(ascii: "}") {
      position += 1
      return members
    }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw problem("a key in quotation marks was expected") }
      let key = try string()
      try take(":", "a colon was expected")
      members.append(.init(key, try value(depth: depth + 1)))
      skipSpace()
      if next == UInt8(ascii: ",") {
        position += 1
        continue
      }
      try take("}", "a comma or } was expected")
      return members
    }
  }

  private mutating func elements(_ depth: Int) throws -> [JSONText] {
    position += 1
    var elements: [JSONText] = []
    skipSpace()
    if next == UInt8(ascii: "]") {
      position += 1
      return elements
    }
    while true {
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if next == UInt8(ascii: ",") {
        position += 1
        continue
      }
      try take("]", "a comma or ] was expected")
      return elements
    }
  }

  private mutating func number() throws -> JSONText {
    let start = position
    var isInteger = true
    func digits(_ parser: inout JSONParser) throws {
      let first = parser.position
      while let byte = parser.next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { parser.position += 1 }
      if parser.position == first { throw parser.problem("a digit was expected") }
    }
    if next == UInt8(ascii: "-") { position += 1 }
    let whole = position
    try digits(&self)
    if bytes[whole] == UInt8(ascii: "0"), position > whole + 1 {
      position = whole
      throw problem("a number must not begin with 0")
    }
    if next == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      try digits(&self)
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isInteger = false
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      try digits(&self)
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isInteger, let number = Int64(text) { return .integer(number) }
    guard let number = Double(text), number.isFinite else {
      position = start
      throw problem("the number \(text) is too large")
    }
    return .real(number)
  }

  private mutating func string() throws -> String {
    position += 1
    var start = position
    var text = ""
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        text += try part(start)
        position += 1
        return text
      case UInt8(ascii: "\\"):
        text += try part(start)
        position += 1
        try escape(&text)
        start = position
      case 0..<0x20: throw problem("a control character must be escaped in a string")
      default: position += 1
      }
    }
    throw problem("the end of a string was expected")
  }

  private func part(_ start: Int) throws -> String {
    guard let text = String(validating: bytes[start..<position], as: UTF8.self) else {
      throw problem("the text before is not UTF-8")
    }
    return text
  }

  private mutating func escape(_ text: inout String) throws {
    guard let byte = next else { throw problem("the end of a string was expected") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""): text += "\""
    case UInt8(ascii: "\\"): text += "\\"
    case UInt8(ascii: "/"): text += "/"
    case UInt8(ascii: "b"): text += "\u{8}"
    case UInt8(ascii: "f"): text += "\u{C}"
    case UInt8(ascii: "n"): text += "\n"
    case UInt8(ascii: "r"): text += "\r"
    case UInt8(ascii: "t"): text += "\t"
    case UInt8(ascii: "u"):
      var code = try hexadecimal()
      if (0xD800..<0xDC00).contains(code) {
        guard next == UInt8(ascii: "\\"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u") else {
          throw problem("the second half of a character was expected")
        }
        position += 2
        let low = try hexadecimal()
        guard (0xDC00..<0xE000).contains(low) else { throw problem("the second half of a character was expected") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw problem("the first half of a character was expected") }
      text.unicodeScalars.append(scalar)
    default: throw problem("an unknown escape sequence")
    }
  }

  private mutating func hexadecimal() throws -> UInt32 {
    guard position + 4 <= bytes.count else { throw problem("four hexadecimal digits were expected") }
    var code: UInt32 = 0
    for byte in bytes[position..<(position + 4)] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw problem("four hexadecimal digits were expected")
      }
      code = code << 4 | UInt32(digit)
    }
    position += 4
    return code
  }
}
