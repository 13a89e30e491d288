// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A token of Swift source code.
package struct SourceToken {
  package enum Kind {
    /// An identifier or a keyword, including backticks.
    case word
    case number
    /// A string, or the part of one between interpolations; also a regular expression.
    case text
    case comment
    /// One character of an operator or a bracket.
    case mark
    /// `#if`, `#elseif`, `#else` or `#endif`, with its condition.
    case directive
  }

  package let kind: Kind
  /// The bytes of the token in the file.
  package let range: Range<Int>
}

/// Splits Swift source code into tokens. Comments and strings are tokens; the code in interpolations is split like any
/// other code.
///
/// Any bytes are accepted. An unclosed token ends with the file, or with the line if it is a string that cannot
/// continue on the next one.
package struct SourceScanner {
  private let bytes: [UInt8]
  private var position = 0
  package private(set) var tokens: [SourceToken] = []
  /// The strings that enclose the code being scanned, the outermost first.
  private var strings: [OpenString] = []

  private struct OpenString {
    let hashes: Int
    let isMultiline: Bool
    /// The number of open parentheses in the interpolation.
    var depth = 0
  }

  /// Returns the tokens of a file.
  package static func tokens(_ bytes: [UInt8]) -> [SourceToken] {
    var scanner = SourceScanner(bytes)
    while scanner.position < bytes.count { scanner.scan() }
    return scanner.tokens
  }

  private init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  private func byte(_ offset: Int = 0) -> UInt8? {
    position + offset < bytes.count ? bytes[position + offset] : nil
  }

  private func has(_ text: StaticString, at offset: Int = 0) -> Bool {
    text.withUTF8Buffer { text in
      position + offset + text.count <= bytes.count
        && text.indices.allSatisfy { bytes[position + offset + $0] == text[$0] }
    }
  }

  private mutating func add(_ kind: SourceToken.Kind, from start: Int) {
    tokens.append(SourceToken(kind: kind, range: start..<position))
  }

  private mutating func scan() {
    let start = position
    switch bytes[position] {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0, 11, 12:
      position += 1
    case UInt8(ascii: "/") where has("//"):
      skipLine()
      add(.comment, from: start)
    case UInt8(ascii: "/") where has("/*"):
      skipComment()
      add(.comment, from: start)
    case UInt8(ascii: "/") where startsRegex():
      skipRegex(hashes: 0)
      add(.text, from: start)
    case UInt8(ascii: "\""):
      openString(hashes: 0)
    case UInt8(ascii: "#"):
      scanHash()
    case UInt8(ascii: "`"):
      position += 1
      while let next = byte(), next != UInt8(ascii: "`"), !Self.isNewline(next) { position += 1 }
      if byte() == UInt8(ascii: "`") { position += 1 }
      add(.word, from: start)
    case let first where Self.isWord(first):
      while let next = byte(), Self.isWord(next) { position += 1 }
      add(Self.isDigit(first) ? .number : .word, from: start)
    case let mark:
      position += 1
      add(.mark, from: start)
      count(mark)
    }
  }

  /// Counts the parentheses of an interpolation; after the last one the string continues.
  private mutating func count(_ mark: UInt8) {
    guard let last = strings.indices.last else { return }
    if mark == UInt8(ascii: "(") { strings[last].depth += 1 }
    guard mark == UInt8(ascii: ")") else { return }
    if strings[last].depth > 0 {
      strings[last].depth -= 1
    } else {
      let string = strings.removeLast()
      let start = position
      continueString(string)
      add(.text, from: start)
    }
  }

  private mutating func scanHash() {
    let start = position
    var hashes = 0
    while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
    switch byte(hashes) {
    case UInt8(ascii: "\""):
      position += hashes
      return openString(hashes: hashes)
    case UInt8(ascii: "/"):
      position += hashes
      skipRegex(hashes: hashes)
      return add(.text, from: start)
    default: break
    }
    let directives: [StaticString] = ["#if", "#elseif", "#else", "#endif"]
    for directive in directives where has(directive) {
      let length = directive.utf8CodeUnitCount
      if let next = byte(length), Self.isWord(next) { continue }
      position += length
      while let next = byte(), !Self.isNewline(next), !has("//"), !has("/*") { position += 1 }
      return add(.directive, from: start)
    }
    position += 1
    add(.mark, from: start)
  }

  // MARK: Strings

  private mutating func openString(hashes: Int) {
    let start = position - hashes
    let isMultiline = has("\"\"\"")
    position += isMultiline ? 3 : 1
    continueString(OpenString(hashes: hashes, isMultiline: isMultiline))
    add(.text, from: start)
  }

  /// Moves to the end of a string, or into its next interpolation.
  private mutating func continueString(_ string: OpenString) {
    while let next = byte() {
      switch next {
      case UInt8(ascii: "\\"):
        guard hasHashes(string.hashes, at: 1) else {
          position += 1
          continue
        }
        position += 1 + string.hashes
        if byte() == UInt8(ascii: "(") {
          position += 1
          strings.append(string)
          return
        }
        // The escaped character; but a line break still ends a single-line string.
        if let escaped = byte(), string.isMultiline || !Self.isNewline(escaped) { position += 1 }
      case UInt8(ascii: "\""):
        let length = string.isMultiline ? 3 : 1
        if string.isMultiline ? has("\"\"\"") : true, hasHashes(string.hashes, at: length) {
          position += length + string.hashes
          return
        }
        position += 1
      case _ where !string.isMultiline && Self.isNewline(next):
        return
      default:
        position += 1
      }
    }
  }

  private func hasHashes(_ count: Int, at offset: Int) -> Bool {
    (0..<count).allSatisfy { byte(offset + $0) == UInt8(ascii: "#") }
  }

  // MARK: Comments and regular expressions

  private mutating func skipLine() {
    while let next = byte(), !Self.isNewline(next) { position += 1 }
  }

  private mutating func skipComment() {
    var depth = 0
    while position < bytes.count {
      if has("/*") {
        depth += 1
        position += 2
      } else if has("*/") {
        depth -= 1
        position += 2
        if depth == 0 { return }
      } else {
        position += 1
      }
    }
  }

  /// Whether a slash begins a regular expression: an operand is expected, no space follows, and it is closed on the
  /// same line.
  private func startsRegex() -> Bool {
    if let last = tokens.last(where: { $0.kind != .comment }) {
      switch last.kind {
      case .number, .text: return false
      case .word: guard ["return", "in", "case", "try", "await"].contains(text(last)) else { return false }
      case .mark: if [")", "]", "}", "?", "!", ">"].contains(text(last)) { return false }
      case .comment, .directive: break
      }
    }
    guard let next = byte(1), next != UInt8(ascii: " "), next != UInt8(ascii: "\t"), next != UInt8(ascii: "=") else {
      return false
    }
    var offset = 1
    while let next = byte(offset), !Self.isNewline(next) {
      if next == UInt8(ascii: "/") { return true }
      offset += next == UInt8(ascii: "\\") ? 2 : 1
    }
    return false
  }

  private mutating func skipRegex(hashes: Int) {
    position += 1
    while let next = byte(), hashes > 0 || !Self.isNewline(next) {
      if next == UInt8(ascii: "/"), hasHashes(hashes, at: 1) {
        position += 1 + hashes
        return
      }
      position += next == UInt8(ascii: "\\") ? 2 : 1
    }
    position = min(position, bytes.count)
  }

  private func text(_ token: SourceToken) -> String { String(decoding: bytes[token.range], as: UTF8.self) }

  // MARK: Characters

  private static func isNewline(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  /// Whether a byte belongs to a word: letters, digits, the underscore, the dollar sign, and all bytes of non-ASCII
  /// characters.
  private static func isWord(_ byte: UInt8) -> Bool {
    byte >= 0x80 || isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
      || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
  }
}
