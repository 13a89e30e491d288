// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A member of a type, or a condition between its members.
package enum MemberDeclaration {
  case property(PropertyDeclaration)
  /// A macro, such as `#Unique<Trip>([\.name])`.
  case expansion(MacroExpansionDeclaration)
  /// `#if`, `#elseif`, `#else` or `#endif`, with its condition.
  case condition(String)
  /// Any other declaration: its keyword, such as `init`.
  case other(keyword: String)
}

/// A `var` or `let` among the members of a type.
package struct PropertyDeclaration {
  package let head: DeclarationHead
  package let isConstant: Bool
  /// What the declaration introduces; more than one in `var a = 1, b = 2`.
  package let bindings: [Binding]

  package struct Binding {
    /// The position of the name's token.
    package let position: Int
    /// The name as written, with backticks if it has any; empty for a tuple pattern.
    package let name: String
    /// The type as written; nil if it is inferred.
    package let type: String?
    /// The initial value as written; nil if there is none.
    package let initialValue: String?
    package let accessors: Accessors
  }

  package enum Accessors {
    case none
    /// `willSet` or `didSet`.
    case observers
    /// A computed property.
    case computed
  }
}

/// A macro used as a declaration.
package struct MacroExpansionDeclaration {
  /// The position of the `#`.
  package let position: Int
  /// The name without `#` and module.
  package let name: String
  /// The generic arguments as written, with their brackets; empty if there are none.
  package let genericArguments: String
  /// The arguments as written, with their parentheses; empty if there are none.
  package let arguments: String
}

extension SourceFile {
  /// Returns the declarations in a range of tokens, such as the body of a type, in source order.
  package func memberDeclarations(in range: Range<Int>) -> [MemberDeclaration] {
    var result: [MemberDeclaration] = []
    var position = range.lowerBound
    let end = min(range.upperBound, words.count)
    while position < end {
      if tokens[position].kind == .directive {
        result.append(.condition(word(position)))
        position += 1
      } else if word(position) == "#", isWord(position + 1) {
        let (expansion, next) = macroExpansion(at: position)
        result.append(.expansion(expansion))
        position = next
      } else if word(position) == ";" {
        position += 1
      } else {
        let head = DeclarationHead(from: position, in: self)
        let keyword = head.end
        if ["var", "let"].contains(word(keyword)) {
          let (bindings, next) = bindings(from: keyword + 1, before: end)
          result.append(
            .property(
              PropertyDeclaration(head: head, isConstant: word(keyword) == "let", bindings: bindings)))
          position = max(next, keyword + 1)
        } else {
          if keyword < end { result.append(.other(keyword: word(keyword))) }
          position = afterDeclaration(from: keyword + 1, before: end)
        }
      }
    }
    return result
  }

  private func macroExpansion(at position: Int) -> (MacroExpansionDeclaration, next: Int) {
    var next = position + 2
    while word(next) == ".", isWord(next + 1) { next += 2 }
    let name = word(next - 1)
    var generics = ""
    if word(next) == "<" {
      generics = source(next..<afterBrackets(next))
      next = afterBrackets(next)
    }
    var arguments = ""
    if word(next) == "(" {
      arguments = source(next..<afterBrackets(next))
      next = afterBrackets(next)
    }
    // A trailing closure.
    if word(next) == "{" { next = afterBrackets(next) }
    return (
      MacroExpansionDeclaration(
        position: position, name: name, genericArguments: generics, arguments: arguments), next
    )
  }

  /// Returns the variables of a declaration, and the position after it.
  private func bindings(from start: Int, before end: Int) -> ([PropertyDeclaration.Binding], next: Int) {
    var result: [PropertyDeclaration.Binding] = []
    var next = start
    while next < end {
      let position = next
      let name = isWord(next) ? word(next) : ""
      next = name.isEmpty ? max(afterBrackets(next), next + 1) : next + 1
      var type: String?
      if word(next) == ":" {
        let afterType = min(afterType(next + 1), end)
        type = source(next + 1..<afterType)
        next = afterType
      }
      var initialValue: String?
      if word(next) == "=" {
        let afterValue = afterExpression(from: next + 1, before: end)
        initialValue = source(next + 1..<afterValue)
        next = afterValue
      }
      var accessors = PropertyDeclaration.Accessors.none
      if next < end, word(next) == "{" {
        accessors = hasObservers(next) ? .observers : .computed
        next = max(afterBrackets(next), next + 1)
      }
      result.append(
        PropertyDeclaration.Binding(
          position: position, name: name, type: type, initialValue: initialValue, accessors: accessors))
      guard next < end, word(next) == "," else { break }
      next += 1
    }
    return (result, min(next, end))
  }

  /// Whether the braces at a position contain property observers.
  private func hasObservers(_ position: Int) -> Bool {
    let first = DeclarationHead(from: position + 1, in: self).end
    guard ["willSet", "didSet"].contains(word(first)) else { return false }
    return word(word(first + 1) == "(" ? afterBrackets(first + 1) : first + 1) == "{"
  }

  /// Returns the position after the initial value that begins at a position.
  private func afterExpression(from start: Int, before end: Int) -> Int {
    var next = start
    while next < end {
      if tokens[next].kind == .directive || [",", ";", "}"].contains(word(next)) { break }
      if next > start, word(next) == "{", hasObservers(next) { break }
      if next > start, startsMember(next) { break }
      next = ["(", "[", "{"].contains(word(next)) ? max(afterBrackets(next), next + 1) : next + 1
    }
    return min(next, end)
  }

  /// Returns the position after a declaration that is neither a property nor a macro.
  private func afterDeclaration(from start: Int, before end: Int) -> Int {
    var next = start
    while next < end, tokens[next].kind != .directive, word(next) != ";", !startsMember(next) {
      next = ["(", "[", "{"].contains(word(next)) ? max(afterBrackets(next), next + 1) : next + 1
    }
    return min(next, end)
  }

  /// Whether a token is the first one of a member: the first on its line, it may begin a declaration, and what stands
  /// before it may end one.
  package func startsMember(_ position: Int) -> Bool {
    guard position > 0, isFirstOnLine(position) else { return false }
    switch tokens[position - 1].kind {
    case .mark:
      // An operator before the line break wants an operand; `?` and `!` may end a type or a value.
      guard [")", "]", "}", ">", "?", "!"].contains(word(position - 1)) else { return false }
    default: break
    }
    switch word(position) {
    case "@": return true
    case "#": return isWord(position + 1)
    case let word: return isWord(position) && Self.memberWords.contains(word)
    }
  }

  private func isFirstOnLine(_ position: Int) -> Bool {
    bytes[tokens[position - 1].range.upperBound..<tokens[position].range.lowerBound]
      .contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
  }

  /// The words that begin a declaration.
  private static let memberWords: Set<String> = DeclarationHead.words.union([
    "actor", "associatedtype", "case", "deinit", "enum", "extension", "func", "import", "init", "let", "macro",
    "operator", "protocol", "struct", "subscript", "typealias", "var",
  ])

  /// Returns the source of some tokens, as written.
  package func source(_ positions: Range<Int>) -> String {
    guard let first = positions.first, let last = positions.last, last < tokens.count else { return "" }
    return String(
      decoding: bytes[tokens[first].range.lowerBound..<tokens[last].range.upperBound], as: UTF8.self)
  }
}
