// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A token of a predicate format.
enum PredicateToken: Hashable {
  /// A name. `isEscaped` if preceded by `#`, so that it cannot be a reserved word; it may be in quotes then.
  case name(String, isEscaped: Bool)
  /// `count:` or `add:to:`
  case selector(String)
  /// `@count`
  case collectionOperator(String)
  case variable(String)
  case string(String)
  case number(String)
  /// `%@`, `%K`, `%ld`, without the percent sign.
  case placeholder(String)
  case symbol(String)
  case end

  /// The token as text, for error messages.
  var description: String {
    switch self {
    case .name(let name, _): "'\(name)'"
    case .selector(let name): "'\(name)'"
    case .collectionOperator(let name): "'\(name)'"
    case .variable(let name): "'$\(name)'"
    case .string(let text): "the string \"\(text)\""
    case .number(let text): "'\(text)'"
    case .placeholder(let text): "'%\(text)'"
    case .symbol(let text): "'\(text)'"
    case .end: "the end"
    }
  }
}

/// Splits a predicate format into tokens.
struct PredicateLexer {
  private let format: String
  private let characters: [Character]
  private var index = 0
  private var tokens: [(token: PredicateToken, position: Int)] = []

  private static let symbols: [[Character]] = [
    "&&", "||", "==", "!=", "<>", "<<", ">>", "<=", "=<", ">=", "=>", "**", "=", "<", ">", "!", "+", "-", "*", "/", "&",
    "|", "^", "~", "(", ")", "{", "}", "[", "]", ",", ".",
  ].map(Array.init)
  private static let placeholders: [[Character]] =
    (["lld", "llu", "llx", "lu", "ld", "lf", "lx", "@", "K", "d", "D", "i", "u", "U"]
    + ["f", "g", "e", "c", "C", "s", "S", "x", "X", "o", "hi", "hu", "qi", "qu", "zu", "zd"]).map(Array.init)

  private init(_ format: String) {
    self.format = format
    characters = Array(format)
  }

  /// Returns the tokens of a format with their positions; the last token is `end`.
  static func tokens(of format: String) throws -> [(token: PredicateToken, position: Int)] {
    var lexer = PredicateLexer(format)
    while lexer.index < lexer.characters.count { try lexer.readToken() }
    lexer.tokens.append((.end, lexer.index))
    return lexer.tokens
  }

  private mutating func readToken() throws {
    let start = index
    let character = characters[index]
    if character.isWhitespace {
      index += 1
      return
    }
    let token: PredicateToken
    if Self.startsName(character) {
      token = readNameOrSelector()
    } else if character.isWholeNumber || (character == "." && peek(1)?.isWholeNumber == true && !followsOperand) {
      token = .number(try readNumber())
    } else if character == "\"" || character == "'" {
      token = .string(try readString(quote: character))
    } else if character == "$" || character == "@" || character == "#" {
      index += 1
      if character == "#", let quote = peek(0), quote == "\"" || quote == "'" {
        tokens.append((.name(try readString(quote: quote), isEscaped: true), start))
        return
      }
      guard let next = peek(0), Self.startsName(next) else {
        throw failure(at: start, found: "'\(character)'", expected: "a name after it")
      }
      let name = readName()
      token =
        switch character {
        case "$": .variable(name)
        case "@": .collectionOperator("@" + name)
        default: .name(name, isEscaped: true)
        }
    } else if character == "%" {
      token = try readPlaceholder()
    } else if let symbol = Self.symbols.first(where: { matches($0) }) {
      index += symbol.count
      token = .symbol(String(symbol))
    } else {
      throw failure(at: start, found: "'\(character)'", expected: "a name, a value or an operator")
    }
    tokens.append((token, start))
  }

  /// Whether a dot at this position continues a key path, as in `a.1`.
  private var followsOperand: Bool {
    guard let last = tokens.last?.token else { return false }
    switch last {
    case .name, .variable, .collectionOperator, .placeholder, .symbol(")"), .symbol("]"): return true
    default: return false
    }
  }

  private static func startsName(_ character: Character) -> Bool {
    character.isLetter || character == "_"
  }

  private func peek(_ distance: Int) -> Character? {
    index + distance < characters.count ? characters[index + distance] : nil
  }

  private func matches(_ text: [Character]) -> Bool {
    guard index + text.count <= characters.count else { return false }
    for offset in text.indices where characters[index + offset] != text[offset] { return false }
    return true
  }

  private mutating func readName() -> String {
    let start = index
    while let character = peek(0), Self.startsName(character) || character.isWholeNumber || character == "$" {
      index += 1
    }
    return String(characters[start..<index])
  }

  private mutating func readNameOrSelector() -> PredicateToken {
    var name = readName()
    guard peek(0) == ":" else { return .name(name, isEscaped: false) }
    while peek(0) == ":" {
      index += 1
      name += ":"
      if let next = peek(0), Self.startsName(next) { name += readName() }
    }
    return .selector(name)
  }

  private mutating func readNumber() throws -> String {
    let start = index
    if characters[index] == "0", let mark = peek(1), "xXoObB".contains(mark) {
      index += 2
      while let digit = peek(0), digit.isHexDigit { index += 1 }
    } else {
      while let digit = peek(0), digit.isWholeNumber { index += 1 }
      if peek(0) == ".", peek(1)?.isWholeNumber == true {
        index += 1
        while let digit = peek(0), digit.isWholeNumber { index += 1 }
      }
      if let exponent = peek(0), "eE".contains(exponent) {
        let sign = peek(1).map { "+-".contains($0) } == true ? 1 : 0
        if peek(1 + sign)?.isWholeNumber == true {
          index += 1 + sign
          while let digit = peek(0), digit.isWholeNumber { index += 1 }
        }
      }
    }
    if let next = peek(0), Self.startsName(next) {
      throw failure(at: index, found: "'\(next)' after a number", expected: "a digit or an operator")
    }
    return String(characters[start..<index])
  }

  private mutating func readString(quote: Character) throws -> String {
    let start = index
    var text = ""
    index += 1
    while let character = peek(0), character != quote {
      index += 1
      text.append(character == "\\" ? try readEscape() : character)
    }
    guard peek(0) == quote else {
      throw failure(at: start, found: "an unterminated string", expected: "a closing \(quote)")
    }
    index += 1
    return text
  }

  private mutating func readEscape() throws -> Character {
    guard let mark = peek(0) else {
      throw failure(at: index, found: "the end", expected: "a character after the backslash")
    }
    index += 1
    switch mark {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "f": return "\u{c}"
    case "b": return "\u{8}"
    case "a": return "\u{7}"
    case "v": return "\u{b}"
    case "x", "u":
      let digits = String(characters[index...].prefix(mark == "x" ? 2 : 4))
      guard let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
        throw failure(at: index, found: "\"\(digits)\"", expected: "a hexadecimal character code")
      }
      index += digits.count
      return Character(scalar)
    default: return mark
    }
  }

  private mutating func readPlaceholder() throws -> PredicateToken {
    let start = index
    index += 1
    if peek(0) == "%" {
      index += 1
      return .symbol("%%")
    }
    guard let specifier = Self.placeholders.first(where: { matches($0) }) else {
      throw failure(at: start, found: "'%\(peek(0).map(String.init) ?? "")'", expected: "%@, %K, %d or the like")
    }
    index += specifier.count
    return .placeholder(String(specifier))
  }

  private func failure(at position: Int, found: String, expected: String) -> PredicateSyntaxError {
    PredicateSyntaxError(format: format, position: position, found: found, expected: expected)
  }
}
