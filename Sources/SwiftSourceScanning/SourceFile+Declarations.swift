// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension SourceFile {
  /// Returns the declarations with a keyword among a type's members, without those that may not be compiled.
  package func members(of type: TypeDeclaration, _ keyword: String) -> [(position: Int, head: DeclarationHead)] {
    var result: [(Int, DeclarationHead)] = []
    var position = type.body.lowerBound
    while position < min(type.body.upperBound, words.count) {
      switch word(position) {
      case "{", "(", "[": position = max(afterBrackets(position), position + 1)
      case keyword where isWord(position) && word(position - 1) != "." && isCertain(position):
        result.append((position, DeclarationHead(before: position, in: self)))
        position += 1
      default: position += 1
      }
    }
    return result
  }

  /// Returns the positions of words among a type's members that may not be compiled.
  package func uncertainMembers(of type: TypeDeclaration) -> [Int] {
    var result: [Int] = []
    var position = type.body.lowerBound
    while position < min(type.body.upperBound, words.count) {
      if ["{", "(", "["].contains(word(position)) {
        position = max(afterBrackets(position), position + 1)
      } else {
        if isWord(position), !isCertain(position) { result.append(position) }
        position += 1
      }
    }
    return result
  }

  /// A parameter of a function.
  package struct Parameter {
    /// The argument label; `_` for none.
    package let label: String
    /// The name inside the function.
    package let name: String
    package let type: String

    /// The wrapped type of an optional type; nil for any other type.
    package var wrapped: String? { type.hasSuffix("?") || type.hasSuffix("!") ? String(type.dropLast()) : nil }
  }

  /// Returns the parameters between parentheses.
  package func parameters(_ range: Range<Int>) -> [Parameter] {
    var result: [Parameter] = []
    var position = range.lowerBound
    while position < range.upperBound {
      let label = word(position)
      let name = isWord(position + 1) ? word(position + 1) : label
      position += isWord(position + 1) ? 2 : 1
      guard word(position) == ":" else { break }
      let end = min(afterType(position + 1), range.upperBound)
      result.append(Parameter(label: label, name: name, type: text(position + 1..<end)))
      position = end
      // Skips a default value.
      while position < range.upperBound, word(position) != "," {
        position = ["(", "[", "{"].contains(word(position)) ? afterBrackets(position) : position + 1
      }
      position += 1
    }
    return result
  }

  /// Returns the source of some tokens on one line.
  package func text(_ positions: Range<Int>) -> String {
    guard let first = positions.first, let last = positions.last, last < tokens.count else { return "" }
    let bytes = bytes[tokens[first].range.lowerBound..<tokens[last].range.upperBound]
    let text = String(decoding: bytes, as: UTF8.self)
    // If there are comments or line breaks between the tokens, they are joined with spaces instead.
    return text.contains { $0.isNewline } || text.contains("/") ? words[positions].joined(separator: " ") : text
  }

  /// Returns the position after the type that begins at a position.
  package func afterType(_ start: Int) -> Int {
    var next = start
    while true {
      while word(next) == "@" || ["some", "any", "inout", "borrowing", "consuming"].contains(word(next)) {
        next += word(next) == "@" ? 2 : 1
      }
      switch word(next) {
      case "(", "[": next = afterBrackets(next)
      case _ where isWord(next): next += 1
      default: return max(start, min(next, words.count))
      }
      suffixes: while true {
        switch word(next) {
        case "?", "!": next += 1
        case "<": next = afterBrackets(next)
        case "." where isWord(next + 1): next += 2
        default: break suffixes
        }
      }
      let afterEffects = afterEffects(next)
      if word(afterEffects) == "-", word(afterEffects + 1) == ">" { next = afterEffects }
      if word(next) == "&" {
        next += 1
      } else if word(next) == "-", word(next + 1) == ">" {
        next += 2
      } else {
        return max(start, min(next, words.count))
      }
    }
  }

  /// Returns the position after the effects of a function's type, such as `async throws`.
  private func afterEffects(_ start: Int) -> Int {
    var next = start
    while ["async", "throws", "rethrows"].contains(word(next)) {
      next = word(next + 1) == "(" ? afterBrackets(next + 1) : next + 1
    }
    return next
  }
}
